#include "parley/data/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace parley;
using namespace parley::data;
using ::testing::HasSubstr;

namespace {

std::string error_of(const std::string& text) {
  const auto schema = parse_schema(text, "s.toml");
  return schema ? "" : schema.error().message;
}

const std::string kColumn = "[[column]]\nname = 'a'\n";

}  // namespace

TEST(Schema, KeysHaveNoBoundsAndMatchNothingWhereTheyAreMissing) {
  const Schema schema = parse_schema(kColumn + "type = 'key'\n", "s.toml").value();
  EXPECT_EQ(schema.columns[0].missing, Missing::kNoMatch);
  EXPECT_THAT(to_toml(schema), Not(HasSubstr("missing")));
  EXPECT_EQ(parse_schema(to_toml(schema), "s.toml").value(), schema);
  const Schema strict = parse_schema(kColumn + "type = 'key'\nmissing = 'error'\n", "s.toml").value();
  EXPECT_EQ(strict.columns[0].missing, Missing::kError);
  EXPECT_EQ(parse_schema(to_toml(strict), "s.toml").value(), strict);
  EXPECT_THAT(error_of(kColumn + "type = 'key'\nmissing = 'zero'\n"), HasSubstr("must be no-match, error or drop-row"));
  EXPECT_THAT(error_of(kColumn + "type = 'key'\nbound = 3\n"), HasSubstr("bounds belong to numbers"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nmissing = 'no-match'\n"), HasSubstr("must be error, zero"));
}

TEST(Schema, ReadsTypesBoundsLevelsAndRules) {
  const Schema schema = parse_schema(R"(
[table]
delimiter = "tab"
header = false
missing = ["", "-9"]
out_of_bounds = "refuse"
[[column]]
name = "age"
type = "integer"
lower = 0
upper = 120
missing = 40
[[column]]
name = "weight"
type = "number"
bound = 2.5
confirmed = false
missing = "zero"
[[column]]
name = "ward"
type = "category"
levels = ["a", "b"]
missing = "level"
unknown_level = "ignore"
[[column]]
name = "ill"
type = "label"
levels = ["no", "yes"]
)",
                                     "s.toml")
                            .value();
  EXPECT_EQ(schema.delimiter, "\t");
  EXPECT_EQ(schema.header, false);
  EXPECT_EQ(schema.missing_markers, (std::vector<std::string>{"", "-9"}));
  EXPECT_EQ(schema.out_of_bounds, OutOfBounds::kRefuse);
  ASSERT_EQ(schema.columns.size(), 4U);
  EXPECT_EQ(schema.columns[0].bound(), 120.0);
  EXPECT_EQ(schema.columns[0].missing, Missing::kValue);
  EXPECT_EQ(schema.columns[0].missing_value, 40);
  EXPECT_EQ(schema.columns[1].lower, -2.5);
  EXPECT_EQ(schema.columns[2].unknown, UnknownLevel::kIgnore);
  EXPECT_EQ(schema.columns[2].missing, Missing::kLevel);
  EXPECT_EQ(schema.unconfirmed(), (std::vector<std::string>{"weight"}));
}

TEST(Schema, WritesWhatItReadsBack) {
  Schema schema;
  schema.format = Format::kCsv;
  schema.delimiter = ";";
  schema.header = true;
  schema.skip_lines = 2;
  schema.comment = "#";
  schema.missing_markers = {"", "quote \" and \\ and\nline"};
  schema.columns.push_back(
      {.name = "a \"b\"", .type = ColumnType::kNumber, .lower = -1e300, .upper = 1e21, .confirmed = false});
  schema.columns.push_back({.name = "n",
                            .type = ColumnType::kInteger,
                            .lower = 0,
                            .upper = 3,
                            .missing = Missing::kValue,
                            .missing_value = 2});
  schema.columns.push_back(
      {.name = "ü", .type = ColumnType::kCategory, .levels = {"", "x,y", "\t"}, .missing = Missing::kDropRow});
  schema.columns.push_back(
      {.name = "b", .type = ColumnType::kBoolean, .levels = {"no", "yes"}, .missing = Missing::kZero});
  const auto again = parse_schema(to_toml(schema), "s.toml");
  ASSERT_TRUE(again) << again.error().message << "\n" << to_toml(schema);
  EXPECT_TRUE(*again == schema) << to_toml(schema) << to_toml(*again);
}

TEST(Schema, MarksGuessesForAPerson) {
  Schema schema;
  schema.columns.push_back({.name = "a", .type = ColumnType::kNumber, .lower = 0, .upper = 5, .confirmed = false});
  EXPECT_THAT(to_toml(schema), HasSubstr("upper = 5  # a guess from the data: confirm it"));
  EXPECT_THAT(to_toml(schema), HasSubstr("confirmed = false"));
}

TEST(SchemaMistakes, NameFileLineKeyRuleAndValue) {
  EXPECT_EQ(error_of(kColumn + "typ = 'number'\n"), "s.toml:3: column.1.typ: unknown key; did you mean 'type'?");
  EXPECT_EQ(error_of(kColumn + "type = 'numbr'\n"),
            "s.toml:3: column.1.type: must be one of number, integer, date, category, boolean, id, key, label, weight, "
            "ignore; did "
            "you mean 'number'? "
            "(got 'numbr')");
}

TEST(SchemaMistakes, ContradictionsAreErrors) {
  EXPECT_THAT(error_of("[[column]]\ntype = 'number'\n"), HasSubstr("name: is missing"));
  EXPECT_THAT(error_of(kColumn), HasSubstr("type: is missing"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nlower = 2\nupper = 1\n"),
              HasSubstr("upper: must not be below lower"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nlower = 2\n"), HasSubstr("needs both lower and upper"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nlower = nan\nupper = 1\n"), HasSubstr("must be a finite number"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nbound = 1\nlower = 0\n"), HasSubstr("give either bound"));
  EXPECT_THAT(error_of(kColumn + "type = 'category'\nbound = 1\n"), HasSubstr("bounds belong to"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nlevels = ['a']\n"), HasSubstr("levels belong to"));
  EXPECT_THAT(error_of(kColumn + "type = 'category'\nlevels = ['a', 'a']\n"), HasSubstr("listed twice"));
  EXPECT_THAT(error_of(kColumn + "type = 'boolean'\nlevels = ['a']\n"), HasSubstr("a boolean has two levels"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nmissing = 'level'\n"), HasSubstr("missing: must be error, zero"));
  EXPECT_THAT(error_of(kColumn + "type = 'number'\nbound = 1\nmissing = 2\n"), HasSubstr("must lie within the bounds"));
  EXPECT_THAT(error_of(kColumn + "type = 'id'\n" + kColumn + "type = 'number'\n"),
              HasSubstr("name of an earlier column"));
  EXPECT_THAT(error_of(kColumn + "type = 'label'\n[[column]]\nname='b'\ntype = 'label'\n"),
              HasSubstr("a table has one label"));
  EXPECT_THAT(error_of("[table]\ndelimiter = 'ab'\n"), HasSubstr("delimiter: must be one character"));
  EXPECT_THAT(error_of("[table]\nformat = 'libsvm'\n" + kColumn + "type = 'id'\n"), HasSubstr("no named columns"));
}
