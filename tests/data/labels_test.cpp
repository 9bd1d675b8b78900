#include "parley/data/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parley;
using namespace parley::data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

Result<LabelsAndNotes> binary(std::vector<double> values, std::vector<std::string> positive = {},
                              std::vector<std::string> classes = {}) {
  return make_labels({std::move(values), {}},
                     {.kind = LabelKind::kBinary, .positive = positive, .classes = classes, .place = {"f", 0, "y"}});
}

}  // namespace

TEST(Labels, OfTwoNumbersTheLargerIsPositive) {
  EXPECT_THAT(binary({1, 0, 1})->labels.values, ElementsAre(1, -1, 1));
  EXPECT_THAT(binary({2, 1})->labels.values, ElementsAre(1, -1));
  const auto signs = binary({-1, 1}).value();
  EXPECT_THAT(signs.labels.values, ElementsAre(-1, 1));
  EXPECT_THAT(signs.labels.classes, ElementsAre("-1", "1"));
}

TEST(Labels, TheNamedClassIsPositive) {
  const auto made = binary({1, 2, 2}, {"1.0"}).value();
  EXPECT_THAT(made.labels.values, ElementsAre(1, -1, -1));
  EXPECT_THAT(made.labels.classes, ElementsAre("2", "1"));
}

TEST(Labels, SeveralClassesAgainstTheRest) {
  const auto made = binary({1, 2, 3, 4}, {"2", "4"}).value();
  EXPECT_THAT(made.labels.values, ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(made.labels.classes, ElementsAre("not 2, 4", "2, 4"));
  EXPECT_EQ(made.notes.size(), 1U);
}

TEST(Labels, SameTextIsSameClassWhateverItsSpelling) {
  EXPECT_EQ(class_name("+1"), "1");
  EXPECT_EQ(class_name("1.0"), "1");
  EXPECT_EQ(class_name("-0"), "0");
  EXPECT_EQ(class_name("yes"), "yes");
}

TEST(Labels, ClassesSortByNumberWhenAllAreNumbers) {
  const auto made = make_labels({{0, 1, 2, 1}, {"10", "9", "-1"}}, {.kind = LabelKind::kClasses}).value();
  EXPECT_THAT(made.labels.classes, ElementsAre("-1", "9", "10"));
  EXPECT_THAT(made.labels.values, ElementsAre(2, 1, 0, 1));
  const auto names = make_labels({{0, 1, 2}, {"b", "10", "a"}}, {.kind = LabelKind::kClasses}).value();
  EXPECT_THAT(names.labels.classes, ElementsAre("10", "a", "b"));
}

TEST(Labels, AClassThatNoRowHasIsNoErrorWhereClassesArePublic) {
  const auto made = [](std::vector<double> values, std::vector<std::string> positive = {}) {
    return make_labels({std::move(values), {}},
                       {.kind = LabelKind::kBinary, .positive = std::move(positive), .absent_classes = true})
        .value()
        .labels;
  };
  EXPECT_THAT(made({1, 1}).values, ElementsAre(1, 1));
  EXPECT_THAT(made({-1, -1}).values, ElementsAre(-1, -1));
  EXPECT_THAT(made({0, 0}).classes, ElementsAre("0", "1"));
  EXPECT_THAT(made({0, 0}, {"0"}).values, ElementsAre(1, 1));
  EXPECT_THAT(made({0, 1}, {"0"}).classes, ElementsAre("1", "0"));
  EXPECT_FALSE(make_labels({{3, 3}, {}}, {.kind = LabelKind::kBinary, .absent_classes = true}))
      << "no convention, and no list";
}

// Which labels occur is private: one record must not decide what the classes of a model are called.
TEST(Labels, NoRecordDecidesWhatClassesByConventionAreCalled) {
  for (const std::string negative : {"0", "-1"})
    for (const std::vector<double>& values :
         {std::vector<double>{1, 1, 1}, {1, 1, 0}, {1, 1, -1}, {0, 0, 0}, {-1, -1, -1}, {1, 0, -1}}) {
      const auto made = [&](std::vector<std::string> positive) {
        return make_labels({values, {}}, {.kind = LabelKind::kBinary,
                                          .positive = std::move(positive),
                                          .absent_classes = true,
                                          .negative = negative})
            .value()
            .labels;
      };
      EXPECT_THAT(made({}).classes, ElementsAre(negative, "1"));
      EXPECT_THAT(made({"+1"}).classes, ElementsAre(negative, "1"));
      for (const std::string spelling : {"0", "-1"}) {
        EXPECT_THAT(made({spelling}).classes, ElementsAre("1", negative));
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(made({spelling}).values[i], values[i] == 1 ? -1 : 1);
      }
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(made({}).values[i], values[i] == 1 ? 1 : -1);
    }
}

TEST(Labels, ATestSetMaySpellWhatIsNotOneInTheOtherWay) {
  EXPECT_THAT(binary({0, 1}, {}, {"-1", "1"})->labels.values, ElementsAre(-1, 1));
  EXPECT_THAT(binary({-1, 1}, {}, {"0", "1"})->labels.values, ElementsAre(-1, 1));
  EXPECT_THAT(binary({-1, 1}, {}, {"0", "1"})->notes,
              ElementsAre("labels: -1 is called 0 here; labels.classes can name the classes"));
  EXPECT_FALSE(binary({-1, 1}, {}, {"0", "2"}));
}

TEST(Labels, ATestSetKeepsTheClassesOfTheTrainingSet) {
  EXPECT_THAT(binary({2, 2}, {}, {"1", "2"})->labels.values, ElementsAre(1, 1));
  EXPECT_THAT(binary({3, 1}, {}, {"1", "2"}).error().message, HasSubstr("a class that the training data do not have"));
  EXPECT_THAT(binary({7, 2}, {"2"}, {"not 2", "2"})->labels.values, ElementsAre(-1, 1));
}

TEST(LabelsBadInput, OneClassOnly) {
  EXPECT_EQ(binary({3, 3}).error().message, "f: y: one class only: there is nothing to tell apart (got '3')");
}
TEST(LabelsBadInput, TooManyClassesForABinaryTask) {
  EXPECT_THAT(binary({1, 2, 3}).error().message, HasSubstr("these labels have 3 (1, 2, 3)"));
}
TEST(LabelsBadInput, PositiveClassDoesNotOccur) {
  EXPECT_THAT(binary({1, 2}, {"3"}).error().message, HasSubstr("no row has the positive class"));
}
TEST(LabelsBadInput, RealLabelsForClasses) {
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(i + 0.5);
  EXPECT_THAT(binary(values).error().message, HasSubstr("more than 10000 different labels"));
}
