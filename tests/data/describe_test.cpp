#include "parley/data/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "parley/data/load.h"

using namespace parley;
using namespace parley::data;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// A file of its own for each test.
class OnDisk {
 public:
  explicit OnDisk(const std::string& content)
      : path_(
            (std::filesystem::temp_directory_path() / ("parley_describe_" + std::to_string(::getpid()) + "_" +
                                                       ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string()) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  OnDisk(const OnDisk&) = delete;
  OnDisk& operator=(const OnDisk&) = delete;
  ~OnDisk() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const char* const kTable =
    "id,age,weight,ward,smoker,free,y\n"
    "A,17,61.5,east,yes,1,no\n"
    "B,83,-2.25,west,no,,yes\n"
    "C,40,3,,no,1,no\n";

}  // namespace

TEST(Describe, DraftsTypesBoundsAndLevels) {
  const OnDisk file(kTable);
  const Description about = describe(file.path()).value();
  EXPECT_EQ(about.rows, 3U);
  const auto type = [&](const char* column) { return about.draft.find(column)->type; };
  EXPECT_EQ(type("id"), ColumnType::kId);
  EXPECT_EQ(type("age"), ColumnType::kInteger);
  EXPECT_EQ(type("weight"), ColumnType::kNumber);
  EXPECT_EQ(type("ward"), ColumnType::kCategory);
  EXPECT_EQ(type("smoker"), ColumnType::kBoolean);
  EXPECT_EQ(type("y"), ColumnType::kLabel);
  EXPECT_EQ(about.draft.find("age")->lower, 0.0);
  EXPECT_EQ(about.draft.find("age")->upper, 100.0);
  EXPECT_EQ(about.draft.find("weight")->lower, -5.0);
  EXPECT_EQ(about.draft.find("ward")->levels, (std::vector<std::string>{"east", "west"}));
  EXPECT_EQ(about.draft.find("ward")->missing, Missing::kLevel);
  EXPECT_EQ(about.draft.find("free")->missing, Missing::kZero);
}

TEST(Describe, MarksEveryGuessForAPerson) {
  const OnDisk file(kTable);
  const Description about = describe(file.path()).value();
  EXPECT_THAT(about.draft.unconfirmed(), ElementsAre("age", "weight", "ward", "smoker", "free", "y"));
  EXPECT_THAT(table(about), HasSubstr("6 of the draft's entries are guesses"));
}

TEST(Describe, TheDraftLoadsItsOwnFile) {
  const OnDisk file(kTable);
  const Description about = describe(file.path()).value();
  LoadOptions options;
  const auto schema = parse_schema(to_toml(about.draft), "draft");
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_TRUE(*schema == about.draft);
  options.schema = *schema;
  const auto data = load(file.path(), options);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->features.cols(), static_cast<linalg::Index>(about.features));
  EXPECT_THAT(data->labels.values, ElementsAre(-1, 1, -1));
  EXPECT_EQ(data->clipped, 0U);
}

TEST(Describe, DraftsWhatHasNoHeaderOrAPreamble) {
  const OnDisk file("|a comment\n1, red, 2.5\n3, blue, 4.5\n");
  const Description about = describe(file.path(), "last").value();
  EXPECT_EQ(about.draft.header, false);
  EXPECT_EQ(about.draft.find("x2")->type, ColumnType::kLabel);
  LoadOptions options{.schema = about.draft, .labels = LabelKind::kReal};
  const auto data = load(file.path(), options);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->labels.values, ElementsAre(2.5, 4.5));
}

TEST(Describe, LeavesOutColumnsWithTooManyValues) {
  std::string text = "y,name\n";
  for (int i = 0; i < 1500; ++i) text += std::to_string(i % 2) + ",n" + std::to_string(i) + "\n";
  const OnDisk file(text);
  const Description about = describe(file.path()).value();
  EXPECT_EQ(about.draft.find("name")->type, ColumnType::kIgnore);
  EXPECT_THAT(about.notes, Contains(HasSubstr("more than 1000 different values")));
}

TEST(Describe, DraftsOneBoundForLibsvm) {
  const OnDisk file("1 1:3 4:-7\n-1 2:0.5\n");
  const Description about = describe(file.path()).value();
  EXPECT_EQ(about.draft.bound, 10.0);
  EXPECT_EQ(about.draft.features, 4);
  EXPECT_EQ(about.draft.first_index, 1);
  EXPECT_FALSE(about.draft.confirmed);
  const auto data = load(file.path(), {.schema = parse_schema(to_toml(about.draft), "draft").value()});
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->bounds, ElementsAre(10, 10, 10, 10));
}

TEST(Describe, NamesALabelThatIsNotThere) {
  const OnDisk file(kTable);
  EXPECT_THAT(describe(file.path(), "agee").error().message,
              HasSubstr("label missing: the file has no such column; did you mean 'age'?"));
}

TEST(RoundBound, IsOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_EQ(round_bound(1), 1);
  EXPECT_EQ(round_bound(1.01), 2);
  EXPECT_EQ(round_bound(83), 100);
  EXPECT_EQ(round_bound(452600), 500000);
  EXPECT_EQ(round_bound(0.003), 0.005);
  for (double v = 1e-300; v < 1e300; v *= 3.7) {
    EXPECT_GE(round_bound(v), v);
    EXPECT_LE(round_bound(v), 2.6 * v);
  }
  EXPECT_GE(round_bound(std::numeric_limits<double>::max()), std::numeric_limits<double>::max());
  EXPECT_GT(round_bound(std::numeric_limits<double>::denorm_min()), 0);
}
