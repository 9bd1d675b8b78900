#include "parley/core/toml.h"

#include <gtest/gtest.h>

using namespace parley;

namespace {

Toml parsed(const char* text) {
  auto toml = Toml::parse(text, "job.toml");
  EXPECT_TRUE(toml) << toml.error().message;
  return *toml;
}

}  // namespace

TEST(Toml, ReadsWhatIsThereAndLeavesDefaultsAlone) {
  Toml toml = parsed("[model]\nl1 = 1\nname = 'x'\n");
  Toml model = toml.table("model");
  double l1 = 0;
  double l2 = 7;
  std::string name;
  EXPECT_TRUE(model.number("l1", l1));
  EXPECT_FALSE(model.number("l2", l2));
  EXPECT_TRUE(model.text("name", name));
  EXPECT_TRUE(toml.finish());
  EXPECT_EQ(l1, 1);
  EXPECT_EQ(l2, 7);
  EXPECT_EQ(name, "x");
}

TEST(Toml, SuggestsTheKeyThatWasMeant) {
  Toml toml = parsed("[model]\nl1_radus = 1.0\n");
  Toml model = toml.table("model");
  double radius = 0;
  model.number("l1_radius", radius);
  const auto done = toml.finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "job.toml:2: model.l1_radus: unknown key; did you mean 'l1_radius'?");
}

TEST(Toml, RefusesAnUnknownSection) {
  Toml toml = parsed("[modle]\nl1 = 1.0\n");
  (void)toml.table("model");
  EXPECT_EQ(toml.finish().error().message, "job.toml:1: modle: unknown key; did you mean 'model'?");
}

TEST(Toml, NamesLineRuleAndValueOfABadNumber) {
  Toml toml = parsed("[model]\n\nl1 = -2.5\n");
  double l1 = 0;
  toml.table("model").number("l1", l1, at_least(0));
  EXPECT_EQ(toml.finish().error().message, "job.toml:3: model.l1: must be at least 0 (got '-2.5')");
}

TEST(Toml, RefusesInfinityAndNan) {
  for (const char* text : {"x = inf", "x = nan"}) {
    Toml toml = parsed(text);
    double x = 0;
    toml.number("x", x);
    EXPECT_FALSE(toml.finish());
  }
}

TEST(Toml, RefusesTextWhereANumberBelongs) {
  Toml toml = parsed("x = 'five'");
  double x = 0;
  toml.number("x", x);
  EXPECT_EQ(toml.finish().error().message, "job.toml:1: x: must be a number (got 'five')");
}

TEST(Toml, ChoiceListsWhatIsPossible) {
  Toml toml = parsed("task = 'logstic'");
  int task = 0;
  toml.choice<int>("task", task, {{"linear", 1}, {"logistic", 2}});
  EXPECT_EQ(toml.finish().error().message,
            "job.toml:1: task: must be one of linear, logistic; did you mean 'logistic'? (got 'logstic')");
}

TEST(Toml, OverridesReachSectionsAndNamedTables) {
  Toml toml = parsed("[model]\nl1 = 1.0\n[[party]]\nname = 'clinic'\ndata = 'a.csv'\n");
  ASSERT_TRUE(toml.set("model.l1=2.5"));
  ASSERT_TRUE(toml.set("algorithm.name=exact"));
  ASSERT_TRUE(toml.set("party.clinic.data=b.csv"));
  double l1 = 0;
  std::string name;
  std::string data;
  toml.table("model").number("l1", l1);
  toml.table("algorithm").text("name", name);
  auto parties = toml.tables("party");
  ASSERT_EQ(parties.size(), 1U);
  std::string party;
  parties[0].text("name", party);
  parties[0].text("data", data);
  EXPECT_TRUE(toml.finish());
  EXPECT_EQ(l1, 2.5);
  EXPECT_EQ(name, "exact");
  EXPECT_EQ(data, "b.csv");
}

TEST(Toml, RefusesAnOverrideWithoutAValueOrATarget) {
  Toml toml = parsed("[[party]]\nname = 'clinic'\n");
  EXPECT_FALSE(toml.set("model.l1"));
  EXPECT_FALSE(toml.set("=1"));
  EXPECT_FALSE(toml.set("party.bank.data=x"));
  EXPECT_FALSE(toml.set("party.data=x"));
}

TEST(Toml, AMistakeOnTheCommandLineIsReportedThere) {
  Toml toml = parsed("[model]\nl1 = 1.0\n");
  ASSERT_TRUE(toml.set("model.l1=minus one"));
  double l1 = 0;
  toml.table("model").number("l1", l1);
  EXPECT_EQ(toml.finish().error().message, "--set: model.l1: must be a number (got 'minus one')");
}

TEST(Toml, SaysWhereTheTextIsNotToml) {
  const auto toml = Toml::parse("[model\nl1 = 1", "job.toml");
  ASSERT_FALSE(toml);
  EXPECT_EQ(toml.error().message.rfind("job.toml:1: not valid TOML", 0), 0U) << toml.error().message;
}
