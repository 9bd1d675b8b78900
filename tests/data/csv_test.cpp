// labels: threads
#include "parley/data/csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "parley/core/threads.h"
#include "parley/data/load.h"

using namespace parley;
using namespace parley::data;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

Result<Dataset> read(std::string_view text, LoadOptions options = {.labels = LabelKind::kReal}) {
  options.format = Format::kCsv;
  return load_text(text, "f", options);
}

Result<Dataset> read_with(std::string_view text, std::string_view schema,
                          LoadOptions options = {.labels = LabelKind::kReal}) {
  auto parsed = parse_schema(schema, "s");
  EXPECT_TRUE(parsed) << parsed.error().message;
  options.schema = *parsed;
  return read(text, options);
}

std::string error_of(std::string_view text, const LoadOptions& options = {.labels = LabelKind::kReal}) {
  const auto data = read(text, options);
  return data ? "" : data.error().message;
}

std::vector<double> dense(const Dataset& data) {
  std::vector<double> rows;
  for (linalg::Index i = 0; i < data.features.rows(); ++i)
    for (linalg::Index j = 0; j < data.features.cols(); ++j) rows.push_back(data.features.at(i, j));
  return rows;
}

std::string column(const std::string& name, const std::string& rest) {
  return "[[column]]\nname = '" + name + "'\n" + rest + "\n";
}

}  // namespace

TEST(Csv, ReadsIdLabelAndFeaturesByConvention) {
  const Dataset data = read("id,y,x0,x1\nA,1,0.5,2\nB,-1,1e3,-0.25\n").value();
  EXPECT_THAT(data.ids, ElementsAre("A", "B"));
  EXPECT_THAT(data.labels.values, ElementsAre(1, -1));
  EXPECT_THAT(data.columns.list(), ElementsAre("x0", "x1"));
  EXPECT_THAT(dense(data), ElementsAre(0.5, 2, 1e3, -0.25));
  EXPECT_TRUE(data.bounds.empty());
}

TEST(Csv, FindsEveryUsualDelimiter) {
  for (const std::string delimiter : {",", ";", "\t", "|", " ", "   ", ", ", " ; "}) {
    std::string text = "y,a,b\n1,2,3\n4,5,6\n";
    for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += delimiter.size())
      text.replace(at, 1, delimiter);
    const auto data = read(text);
    ASSERT_TRUE(data) << data.error().message << " for '" << delimiter << "'";
    EXPECT_THAT(dense(*data), ElementsAre(2, 3, 5, 6)) << "'" << delimiter << "'";
  }
}

TEST(Csv, UsesAStatedDelimiter) {
  EXPECT_THAT(dense(read_with("y:a\n1:2\n", "[table]\ndelimiter = ':'\n").value()), ElementsAre(2));
}

TEST(Csv, SemicolonsWinOverDecimalCommasInText) {
  const Dataset data = read("y;name\n1;a,b\n2;c,d\n").value();
  EXPECT_THAT(data.columns.list(), ElementsAre("name=a,b", "name=c,d"));
}

TEST(Csv, UnderstandsQuotes) {
  const Dataset data =
      read("y,\"a \"\"x\"\"\",b\r\n1,\"say \"\"hi\"\", you\",\"2.5\"\r\n2,\"two\nlines\", \"3\" \r\n").value();
  EXPECT_THAT(data.columns.list(), ElementsAre("a \"x\"=say \"hi\", you", "a \"x\"=two\nlines", "b"));
  EXPECT_THAT(dense(data), ElementsAre(1, 0, 2.5, 0, 1, 3));
}

TEST(Csv, AQuoteInsideAnUnquotedCellIsACharacter) {
  const Dataset data = read("y,a\n1,5\" pipe\n2,it's \"fine\"\n").value();
  EXPECT_THAT(data.columns.list(), ElementsAre("a=5\" pipe", "a=it's \"fine\""));
}

TEST(Csv, SkipsByteOrderMarkBlankLinesAndCarriageReturns) {
  const Dataset data = read("\xef\xbb\xbfy,a\r\n\r\n1,2\r\n  \r\n3,4").value();
  EXPECT_THAT(data.labels.values, ElementsAre(1, 3));
  EXPECT_THAT(dense(data), ElementsAre(2, 4));
}

TEST(Csv, WithoutHeaderColumnsAreNumbered) {
  LoadOptions options{.labels = LabelKind::kReal, .label = "last"};
  const Dataset data = read("1.5,2,3\n4,5,6\n", options).value();
  EXPECT_THAT(data.columns.list(), ElementsAre("x0", "x1"));
  EXPECT_THAT(data.labels.values, ElementsAre(3, 6));
  options.label = "first";
  EXPECT_THAT(read("1.5,2,3\n", options)->labels.values, ElementsAre(1.5));
  options.label = "x1";
  EXPECT_THAT(read("1.5,2,3\n", options)->labels.values, ElementsAre(2));
}

TEST(Csv, TellsAHeaderFromData) {
  LoadOptions options{.labels = LabelKind::kReal, .label = "b"};
  EXPECT_EQ(read("a,b\n1,2\n", options)->rows(), 1U);
  options.label_use = LabelUse::kNone;
  options.label = "";
  EXPECT_EQ(read("u,v\np,q\nu,w\n", options)->rows(), 2U);  // names over names
  EXPECT_EQ(read("u,u\np,q\nu,w\n", options)->rows(), 3U);  // a repeated word is data
  EXPECT_EQ(read("id,1,2\nA,5,6\n", options)->rows(), 1U);  // a usual name beside numbers
}

TEST(Csv, TakesAShortHeaderForRowNames) {
  const Dataset data = read("y\ta\n\"1\"\t5\t6\n\"2\"\t7\t8\n").value();
  EXPECT_THAT(data.ids, ElementsAre("1", "2"));
  EXPECT_THAT(data.labels.values, ElementsAre(5, 7));
}

TEST(Csv, SkipsACommentBeforeTheData) {
  LoadOptions options{.labels = LabelKind::kReal, .label = "x0"};
  const Dataset data = read("|1x3 Cross validator\n25, 3, 4\n38, 5, 6\n", options).value();
  EXPECT_EQ(data.rows(), 2U);
  EXPECT_THAT(data.notes, Contains("line 1 was taken for a comment and left out"));
  const Dataset stated =
      read_with("skip\nme\n# c, \"\ny,a\n1,2\n# \"\n3,4\n", "[table]\nskip_lines = 2\ncomment = '#'\n").value();
  EXPECT_THAT(dense(stated), ElementsAre(2, 4));
}

TEST(Csv, CategoriesBecomeOneHotColumnsInStableOrder) {
  const Dataset data = read("y,color,a\n1,red,1\n2,blue,2\n3,red,3\n4,?,4\n").value();
  EXPECT_THAT(data.columns.list(), ElementsAre("color=blue", "color=red", "color=(missing)", "a"));
  EXPECT_THAT(dense(data), ElementsAre(0, 1, 0, 1, 1, 0, 0, 2, 0, 1, 0, 3, 0, 0, 1, 4));
  EXPECT_THAT(data.schema.unconfirmed(), ElementsAre("color"));
  EXPECT_THAT(data.notes, Contains(StartsWith("no schema")));
}

TEST(Csv, DeclaredLevelsKeepTheirOrder) {
  const std::string schema =
      column("y", "type = 'label'") + column("c", "type = 'category'\nlevels = ['z', 'a', 'unused']");
  const Dataset data = read_with("y,c\n1,a\n2,z\n", schema).value();
  EXPECT_THAT(data.columns.list(), ElementsAre("c=z", "c=a", "c=unused"));
  EXPECT_THAT(dense(data), ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(data.bounds, ElementsAre(1, 1, 1));
  EXPECT_EQ(read_with("y,c\n1,a\n2,b\n", schema).error().message,
            "f:3: c: is not a level of this category; did you mean 'z'? (got 'b')");
}

TEST(Csv, UnknownLevelsCanBeLeftOut) {
  const Dataset data =
      read_with("y,c\n1,a\n2,b\n", column("y", "type = 'label'") +
                                       column("c", "type = 'category'\nlevels = ['a']\nunknown_level = 'ignore'"))
          .value();
  EXPECT_THAT(dense(data), ElementsAre(1, 0));
  EXPECT_THAT(data.notes, Contains(HasSubstr("1 cell holds a level that is not listed, and counts as none")));
}

TEST(Csv, FeaturesFollowTheSchemaNotTheFile) {
  const std::string schema =
      column("a", "type = 'number'") + column("b", "type = 'number'") + column("y", "type = 'label'");
  EXPECT_THAT(dense(read_with("y,b,a\n1,2,3\n", schema).value()), ElementsAre(3, 2));
  EXPECT_THAT(dense(read_with("3,2,1\n", schema).value()), ElementsAre(3, 2));  // without header: by position
}

TEST(Csv, BoundsClipAndCountOrRefuse) {
  const std::string columns =
      column("y", "type = 'label'\nlower = 0\nupper = 1") + column("a", "type = 'number'\nlower = -1\nupper = 3");
  const Dataset data = read_with("y,a\n5,-2\n1,4\n0,3\n", columns).value();
  EXPECT_THAT(dense(data), ElementsAre(-1, 3, 3));
  EXPECT_THAT(data.labels.values, ElementsAre(1, 1, 0));
  EXPECT_EQ(data.clipped, 3U);
  EXPECT_THAT(data.bounds, ElementsAre(3));
  EXPECT_THAT(data.notes, Contains("3 values beyond their bound were clipped to it"));
  EXPECT_EQ(read_with("y,a\n1,4\n", "[table]\nout_of_bounds = 'refuse'\n" + columns).error().message,
            "f:2: a: must lie between -1 and 3 (got '4')");
}

TEST(Csv, ARowThatIsDroppedClipsNothing) {
  const std::string columns = column("y", "type = 'label'") + column("a", "type = 'number'\nlower = -1\nupper = 3") +
                              column("b", "type = 'number'\nmissing = 'drop-row'");
  const Dataset data = read_with("y,a,b\n1,9,\n0,7,2\n1,1,1\n", columns).value();
  EXPECT_THAT(dense(data), ElementsAre(3, 2, 1, 1));
  EXPECT_EQ(data.clipped, 1U);
  EXPECT_EQ(data.dropped, 1U);
}

TEST(Csv, ADefaultBoundServesColumnsWithoutOne) {
  LoadOptions options{.labels = LabelKind::kReal, .bound = 2.0};
  const Dataset data = read("y,a\n1,4\n", options).value();
  EXPECT_THAT(dense(data), ElementsAre(2));
  EXPECT_THAT(data.bounds, ElementsAre(2));
}

TEST(Csv, MissingCellsFollowTheirRule) {
  const auto with = [&](const std::string& rule) {
    return read_with("y,a\n1,5\n2,\n3,NA\n", column("y", "type = 'label'") + column("a", "type = 'number'\n" + rule));
  };
  EXPECT_THAT(dense(with("missing = 'zero'").value()), ElementsAre(5, 0, 0));
  EXPECT_THAT(dense(with("missing = 7").value()), ElementsAre(5, 7, 7));
  const Dataset dropped = with("missing = 'drop-row'").value();
  EXPECT_THAT(dense(dropped), ElementsAre(5));
  EXPECT_THAT(dropped.labels.values, ElementsAre(1));
  EXPECT_EQ(dropped.dropped, 2U);
  EXPECT_EQ(with("missing = 'error'").error().message, "f:3: a: missing value, and the schema's rule for it is error");
}

namespace {

std::vector<std::string> texts(const KeyText& key) {
  std::vector<std::string> all;
  for (std::size_t row = 0; row < key.size(); ++row)
    all.push_back(key.missing(row) ? std::string("(missing)") : std::string(key[row]));
  return all;
}

LoadOptions joined_by(std::vector<std::string> keys) {
  return {.labels = LabelKind::kReal, .keys = std::move(keys)};
}

}  // namespace

TEST(Csv, KeepsKeysAsTextBesideTheFeatures) {
  const std::string schema = column("y", "type = 'label'") + column("b", "type = 'key'") +
                             column("x", "type = 'number'") + column("a", "type = 'key'") + column("c", "type = 'key'");
  const Dataset data =
      read_with("a,b,c,x,y\n07, 7 ,u,1,2\n,\"7,1\",v,3,4\n9,NA,w,5,6\n", schema, joined_by({"a", "b"})).value();
  EXPECT_THAT(data.columns.list(), ElementsAre("x"));
  ASSERT_EQ(data.keys.size(), 2U) << "c is a key that nobody asked for";
  EXPECT_THAT(texts(*data.key("a")), ElementsAre("07", "(missing)", "9"));
  EXPECT_THAT(texts(*data.key("b")), ElementsAre("7", "7,1", "(missing)"));
  EXPECT_EQ(data.key("c"), nullptr);
  EXPECT_THAT(texts(*data.select_rows({2, 0}).key("a")), ElementsAre("9", "07"));
}

TEST(Csv, TakesTheColumnsOfAJoinForKeysWhereNoSchemaSays) {
  const Dataset data = read("user,x,y\n7,1,2\n8,3,4\n", joined_by({"user"})).value();
  EXPECT_THAT(data.columns.list(), ElementsAre("x"));
  EXPECT_THAT(texts(*data.key("user")), ElementsAre("7", "8"));
  EXPECT_THAT(error_of("user,x,y\n7,1,2\n", joined_by({"usr"})),
              HasSubstr("f: usr: is missing: the table is joined by this column; did you mean 'user'?"));
  const auto declared =
      read_with("user,x,y\n7,1,2\n",
                column("user", "type = 'integer'") + column("x", "type = 'number'") + column("y", "type = 'label'"),
                joined_by({"user"}));
  ASSERT_FALSE(declared);
  EXPECT_THAT(declared.error().message, HasSubstr("f: user: the table is joined by this column, so its type must be "
                                                  "\"key\" (got 'integer')"));
}

TEST(Csv, KeysFollowTheirRuleForMissingCells) {
  const std::string rest = column("x", "type = 'number'") + column("y", "type = 'label'");
  const std::string text = "k,x,y\n1,1,1\n,2,2\n3,3,3\n";
  const auto dropped = read_with(text, column("k", "type = 'key'\nmissing = 'drop-row'") + rest, joined_by({"k"}));
  ASSERT_TRUE(dropped);
  EXPECT_THAT(texts(dropped->keys[0]), ElementsAre("1", "3"));
  EXPECT_EQ(dropped->rows(), 2U);
  const auto refused = read_with(text, column("k", "type = 'key'\nmissing = 'error'") + rest, joined_by({"k"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("f:3: k: missing value"));
}

TEST(Csv, ATableOfKeysAndLabelsNeedsNoFeature) {
  const auto data = read("user,y\n7,1\n8,2\n", joined_by({"user"}));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->features.cols(), 0);
  EXPECT_EQ(data->rows(), 2U);
  EXPECT_THAT(error_of("id,y\n7,1\n"), HasSubstr("has no column that is a feature"));
}

TEST(Csv, KeysOfALargeFileStayInOrder) {
  std::string text = "k,x,y\n";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("key-{},{},{}\n", i, i % 7, i);
  const auto data = read(text, joined_by({"k"}));
  ASSERT_TRUE(data);
  ASSERT_EQ(data->keys[0].size(), 200'000U);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < 200'000; ++i) wrong += data->keys[0][i] != fmt::format("key-{}", i) ? 1 : 0;
  EXPECT_EQ(wrong, 0U);
}

TEST(Csv, MissingMarkersAreTheSchemasToChoose) {
  const Dataset data =
      read_with("y,a\n1,-999\n2,3\n", "[table]\nmissing = ['-999x', '-999']\n" + column("y", "type = 'label'") +
                                          column("a", "type = 'number'\nmissing = 'zero'"))
          .value();
  EXPECT_THAT(dense(data), ElementsAre(0, 3));
}

TEST(Csv, BooleansIntegersAndIgnoredColumns) {
  const std::string schema = column("y", "type = 'label'") + column("b", "type = 'boolean'") +
                             column("v", "type = 'boolean'\nlevels = ['ill', 'well']") +
                             column("n", "type = 'integer'") + column("s", "type = 'ignore'");
  const Dataset data = read_with("y,b,v,n,s\n1,TRUE,well,3,x\n2,no,ill,-4,\"y\n\"\n", schema).value();
  EXPECT_THAT(dense(data), ElementsAre(1, 1, 3, 0, 0, -4));
  EXPECT_EQ(read_with("y,b,v,n,s\n1,yes,well,3.5,x\n", schema).error().message,
            "f:2: n: must be an integer (got '3.5')");
  EXPECT_EQ(read_with("y,b,v,n,s\n1,maybe,well,3,x\n", schema).error().message,
            "f:2: b: must be true or false (or yes/no, t/f, y/n, 1/0) (got 'maybe')");
}

TEST(Csv, WordsTakenForABooleanMeanTheSameInTheNextTable) {
  const LoadOptions options{.labels = LabelKind::kReal};
  const Dataset train = read("y,b\n1,yes\n2,no\n", options).value();
  EXPECT_THAT(dense(train), ElementsAre(1, 0));
  LoadOptions next = options_like(train, options);
  next.schema = parse_schema(to_toml(*next.schema), "s").value();
  EXPECT_THAT(dense(read("y,b\n1,Yes\n2,0\n3,TRUE\n4,no\n", next).value()), ElementsAre(1, 0, 1, 0));
  // A cell that is missing is neither.
  EXPECT_EQ(error_of("y,b\n1,yes\n2,\n", next), "f:3: b: missing value, and the schema's rule for it is error");
  EXPECT_EQ(error_of("y,b\n1,maybe\n", next), "f:2: b: must be true or false (or yes/no, t/f, y/n, 1/0) (got 'maybe')");
  // What a person listed is meant.
  EXPECT_EQ(
      read_with("y,b\n1,Yes\n", column("y", "type = 'label'") + column("b", "type = 'boolean'\nlevels = ['no', 'yes']"))
          .error()
          .message,
      "f:2: b: must be no or yes (got 'Yes')");
  EXPECT_THAT(dense(*read_with("y,b\n1,yes\n2,no\n",
                               column("y", "type = 'label'") +
                                   column("b", "type = 'boolean'\nlevels = ['yes', 'no']\nconfirmed = false"))),
              ElementsAre(0, 1));
}

TEST(Csv, ClassLabelsByNameAndOrder) {
  LoadOptions options{.labels = LabelKind::kBinary};
  const Dataset data = read("y,a\nyes,1\nno,2\n", options).value();
  EXPECT_THAT(data.labels.values, ElementsAre(1, -1));
  EXPECT_THAT(data.labels.classes, ElementsAre("no", "yes"));
  options.positive = {"no"};
  EXPECT_THAT(read("y,a\nyes,1\nno,2\n", options)->labels.values, ElementsAre(-1, 1));
  options.positive = {};
  EXPECT_THAT(read_with("y,a\nyes,1\nno,2\n",
                        column("y", "type = 'label'\nlevels = ['yes', 'no']") + column("a", "type = 'number'"), options)
                  ->labels.values,
              ElementsAre(-1, 1));
  options.labels = LabelKind::kClasses;
  EXPECT_THAT(read("y,a\n2,1\n10,2\n+2,3\n", options)->labels.values, ElementsAre(0, 1, 0));
}

TEST(Csv, ATestFileGetsTheColumnsAndClassesOfTheTrainingFile) {
  const LoadOptions options{.labels = LabelKind::kBinary};
  const Dataset train = read("y,c,a\nyes,red,1\nno,blue,2\n", options).value();
  const Dataset test = read("a,c,y\n3,green,yes\n4,red,yes\n", options_like(train, options)).value();
  EXPECT_EQ(test.columns, train.columns);
  EXPECT_THAT(dense(test), ElementsAre(0, 0, 3, 0, 1, 4));
  EXPECT_THAT(test.labels.values, ElementsAre(1, 1));
  LoadOptions unlabelled = options_like(train, options);
  unlabelled.label_use = LabelUse::kOptional;
  EXPECT_TRUE(read("a,c\n3,red\n", unlabelled)->labels.values.empty());
  EXPECT_EQ(read("y,c,a\nmaybe,red,1\n", options_like(train, options)).error().message,
            "f:2: y: is not one of the known classes; known: no, yes (got 'maybe')");
}

TEST(Csv, AnIdMayLackWhereItIsNotAskedFor) {
  const std::string schema =
      column("id", "type = 'id'") + column("a", "type = 'number'") + column("y", "type = 'label'");
  const std::string told = "a column of the schema is not in the file (got 'id')";
  LoadOptions options{.labels = LabelKind::kReal};
  EXPECT_THAT(read_with("a,y\n3,1\n4,2\n", schema, options).error().message, HasSubstr(told));
  options.id_may_lack = true;
  EXPECT_THAT(dense(*read_with("a,y\n3,1\n4,2\n", schema, options)), ElementsAre(3, 4));
  EXPECT_TRUE(read_with("a,y\n3,1\n4,2\n", schema, options)->ids.empty());
  EXPECT_THAT(read_with("id,a,y\np,3,1\nq,4,2\n", schema, options)->ids, ElementsAre("p", "q"));

  // Without a header the number of cells says what lacks.
  const std::string bare = "[table]\nheader = false\n" + schema;
  EXPECT_THAT(dense(*read_with("3,1\n4,2\n", bare, options)), ElementsAre(3, 4));
  options.label_use = LabelUse::kNone;
  EXPECT_THAT(read_with("p,3\nq,4\n", bare, options)->ids, ElementsAre("p", "q"));
  EXPECT_THAT(dense(*read_with("3\n4\n", bare, options)), ElementsAre(3, 4));
}

TEST(CsvBadInput, NoHeaderTellsWhetherTheLabelOrTheIdLacks) {
  const std::string columns = column("pid", "type = 'id'") + column("a", "type = 'number'") +
                              column("b", "type = 'number'") + column("y", "type = 'label'");
  const std::string bare = "[table]\nheader = false\n" + columns;
  for (const LabelUse use : {LabelUse::kNone, LabelUse::kOptional}) {
    const LoadOptions options{.label_use = use, .labels = LabelKind::kReal, .id_may_lack = true};
    const std::string told =
        "f:1: the schema has 4 columns, the file has 3: the label or the id is missing, and it is unclear which; name "
        "both";
    EXPECT_EQ(read_with("3,1,0\n4,2,1\n", bare, options).error().message, told);
    EXPECT_EQ(read_with("3,1,0\n4,2,1\n", columns, options).error().message, told + ", or a header");
    // A stray word does not make a column of words.
    EXPECT_EQ(read_with("3,1,0\nx,2,1\n4,2,1\n", bare, options).error().message, told);
    // The other reading would have words for numbers.
    EXPECT_THAT(read_with("p,3,1\nq,4,2\n", bare, options)->ids, ElementsAre("p", "q"));
    EXPECT_THAT(dense(*read_with("p,3,1\nq,4,2\n", bare, options)), ElementsAre(3, 1, 4, 2));
    EXPECT_THAT(dense(*read_with("3,1\n4,2\n", bare, options)), ElementsAre(3, 1, 4, 2));
    EXPECT_THAT(dense(*read_with("p,3,1,0\nq,4,2,1\n", bare, options)), ElementsAre(3, 1, 4, 2));
  }
}

TEST(Csv, NamesAndLevelsAreUtf8WhateverTheFileIs) {
  const Dataset latin = read(
                            "y,stra\xdf"
                            "e\n1,K\xf6ln\n2,Bonn\n")
                            .value();
  EXPECT_THAT(latin.columns.list(), ElementsAre("stra\xc3\x9f"
                                                "e=Bonn",
                                                "stra\xc3\x9f"
                                                "e=K\xc3\xb6ln"));
  const Dataset again = read(
                            "y,stra\xdf"
                            "e\n1,K\xf6ln\n",
                            options_like(latin, {.labels = LabelKind::kReal}))
                            .value();
  EXPECT_THAT(dense(again), ElementsAre(0, 1));
}

TEST(Csv, NotesConstantColumns) {
  const Dataset data = read("y,a,b\n1,3,1\n2,3,2\n").value();
  EXPECT_THAT(data.notes, Contains("1 column has the same value in every row: a"));
}

TEST(Csv, LeavesOutEmptyColumnsAndRowNumbers) {
  const Dataset data = read(",y,a,\n0,1,3,\n1,2,4,\n").value();
  EXPECT_THAT(data.columns.list(), ElementsAre("a"));
}

TEST(Csv, IsTheSameForEveryNumberOfThreadsAndChunks) {
  std::mt19937 random(5);
  std::string text = "y,c,a,t\n";
  for (int i = 0; i < 30000; ++i)
    text += std::to_string(random() % 3) + ",L" + std::to_string(random() % 20) + "," +
            std::to_string(random() % 1000 / 8.0) +
            (random() % 5 == 0 ? ",\"a \"\"quoted\"\"\nline, or two\"\r\n" : ",plain\n");
  set_thread_count(1);
  const Dataset one = read(text).value();
  set_thread_count(3);
  const Dataset three = read(text).value();
  set_thread_count(0);
  EXPECT_EQ(one.columns, three.columns);
  EXPECT_EQ(one.labels.values, three.labels.values);
  EXPECT_EQ(one.features.cols(), 20 + 1 + 2);
  std::vector<double> w(23);
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = static_cast<double>(j + 1);
  std::vector<double> a(one.rows());
  std::vector<double> b(one.rows());
  one.features.multiply(w, a);
  three.features.multiply(w, b);
  EXPECT_EQ(a, b);
  const std::string message = error_of(text + "1,L1,oops,plain\n");
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_EQ(message, "f:" + std::to_string(lines + 1) +
                         ": a: must be a finite number, as most cells of this column are (got 'oops')");
}

// Columns of doubles in a large table go straight to their places, which follow from line feeds: of all chunks but the
// first.
TEST(Csv, LargeTablesLandWhereTheirRowsBelong) {
  enum class Shape { kPlain, kLinesWithoutRecords, kDroppedRows, kLineFeedsInQuotes, kShorterRowsLater, kZerosLater };
  for (const Shape shape : {Shape::kPlain, Shape::kLinesWithoutRecords, Shape::kDroppedRows, Shape::kLineFeedsInQuotes,
                            Shape::kShorterRowsLater, Shape::kZerosLater}) {
    SCOPED_TRACE(static_cast<int>(shape));
    std::mt19937_64 random(3);
    std::string text = "id,y,long,short,mixed\n";
    std::vector<double> expected;
    std::vector<std::string> ids;
    for (int i = 0; i < 40000; ++i) {
      const bool later = i > 20000;
      const double value = static_cast<double>(random() >> 11) * 0x1p-53;
      const double mixed = later ? 0.1 * i : i % 100;
      const double last = shape == Shape::kZerosLater && i > 4000 ? 0 : value;
      const std::string digits =
          shape == Shape::kShorterRowsLater && later ? fmt::format("{:.1f}", last) : fmt::format("{}", last);
      if (shape == Shape::kLinesWithoutRecords && i % 7 == 0) text += i % 2 == 0 ? "\n" : "  \r\n";
      const bool missing = shape == Shape::kDroppedRows && i % 11 == 3;
      const std::string id =
          shape == Shape::kLineFeedsInQuotes && i % 5 == 0 ? fmt::format("a\n{}", i) : fmt::format("a{}", i);
      text += fmt::format("{},{},{},{},{}\n", id.find('\n') == std::string::npos ? id : '"' + id + '"', i % 3,
                          missing ? "" : digits, i % 5, mixed);
      if (missing) continue;
      ids.push_back(id);
      expected.insert(expected.end(), {std::strtod(digits.c_str(), nullptr), static_cast<double>(i % 5), mixed});
    }
    std::string schema = column("id", "type = 'id'") + column("y", "type = 'label'") +
                         column("long", "type = 'number'\nmissing = 'drop-row'") + column("short", "type = 'number'") +
                         column("mixed", "type = 'number'");
    for (const int threads : {1, 2, 5}) {
      set_thread_count(threads);
      const auto data = read_with(text, schema);
      set_thread_count(0);
      ASSERT_TRUE(data) << data.error().message;
      EXPECT_EQ(data->ids, ids);
      EXPECT_EQ(data->features.nonzeros(), static_cast<std::size_t>(std::count_if(expected.begin(), expected.end(),
                                                                                  [](double v) { return v != 0; })));
      EXPECT_TRUE(dense(*data) == expected);
    }
  }
}

TEST(Csv, RecordsAreCutOutsideQuotesOnly) {
  EXPECT_EQ(cut_at_record("a,b\nc,\"d\ne", ',', '\0'), 4U);
  EXPECT_EQ(cut_at_record("a,b\nc,\"d\ne\"\nf", ',', '\0'), 12U);
  EXPECT_EQ(cut_at_record("a,5\" x\nc", ',', '\0'), 7U);
  EXPECT_EQ(cut_at_record("a, \"x\ny\"\"\nz\"", ',', '\0'), 0U);
  EXPECT_EQ(cut_at_record("# \"\na\n", ',', '#'), 6U);
  EXPECT_EQ(cut_at_record("a \"b\nc\" d\ne", ' ', '\0'), 10U);
}

TEST(CsvBadInput, EmptyFile) {
  EXPECT_EQ(error_of(""), "f: is empty: it has no records");
  EXPECT_EQ(error_of("\n \n"), "f: is empty: it has no records");
  EXPECT_EQ(error_of("y,a\n"), "f: is empty: it has a header but no records");
}
TEST(CsvBadInput, RaggedRows) {
  EXPECT_EQ(error_of("y,a,b\n1,2,3\n1,2\n"), "f:3: has 2 cells where the table has 3 columns");
  EXPECT_EQ(error_of("y,a,b\n1,2,3\n\n1,2,3,4,5\n"), "f:4: has 5 cells where the table has 3 columns");
}
TEST(CsvBadInput, CellIsNoNumber) {
  EXPECT_EQ(error_of("y,a\nno,2\nyes,3\n"), "f:2: y: must be a finite number (got 'no')");
  EXPECT_EQ(error_of("y,a\n1,2\n2,3\n3,4x\n"),
            "f:4: a: must be a finite number, as most cells of this column are (got '4x')");
}
TEST(CsvBadInput, NanAndInfinity) {
  EXPECT_THAT(error_of("y,a\n1,2\n2,3\n3,inf\n"), StartsWith("f:4: a: must be a finite number"));
  EXPECT_THAT(error_of("y,a\n1,2\n2,3\n3,-Infinity\n"), StartsWith("f:4: a: must be a finite number"));
  EXPECT_EQ(error_of("y,a\n1,2\n2,3\n3,1e999\n"), "f:4: a: is too large for a number (got '1e999')");
  EXPECT_THAT(error_of("y,a\n1,2\n2,3\n3,nan\n"), StartsWith("f:4: a: missing value"));
  EXPECT_THAT(error_of("y,a\n1,2\nnan,3\n"), StartsWith("f:3: y: missing value"));
}
TEST(CsvBadInput, DuplicateColumnNames) {
  EXPECT_EQ(error_of("y,a,a\n1,2,3\n"), "f:1: header: two columns have the same name (got 'a')");
}
TEST(CsvBadInput, LabelMissing) {
  EXPECT_THAT(error_of("a,b\n1,2\n"),
              StartsWith("f: label: label missing: no column is named y, label, target or class"));
  EXPECT_EQ(error_of("agee,b\n1,2\n", {.label = "age"}),
            "f: label: label missing: the file has no such column; did you mean 'agee'? (got 'age')");
  EXPECT_THAT(error_of("1,2\n3,4\n"), HasSubstr("label missing: the file has no header"));
}
TEST(CsvBadInput, OneClassOnly) {
  EXPECT_EQ(error_of("y,a\n1,2\n1.0,3\n", {}), "f: y: one class only: there is nothing to tell apart (got '1')");
}
TEST(CsvBadInput, QuoteNotClosed) {
  EXPECT_EQ(error_of("y,a\n1,2\n2,\"3\n4,5\n"), "f:3: a: a quote is not closed (got '3?4,5?')");
}
TEST(CsvBadInput, TextAfterQuote) {
  EXPECT_EQ(error_of("y,a\n1,2\n2,\"3\"4\n"), "f:3: a: text follows a closing quote (got '3')");
}
TEST(CsvBadInput, TooManyLevelsToGuess) {
  std::string text = "y,name\n";
  for (int i = 0; i < 1001; ++i) text += "1,n" + std::to_string(i) + "\n";
  EXPECT_THAT(error_of(text), StartsWith("f: name: has more than 1000 different values"));
}
TEST(CsvBadInput, ColumnNotInSchema) {
  const std::string schema = column("y", "type = 'label'") + column("age", "type = 'number'");
  EXPECT_EQ(read_with("y,agee\n1,2\n", schema).error().message,
            "f:1: header: the schema does not have this column (type = \"ignore\" leaves one out); did you mean 'age'? "
            "(got 'agee')");
  EXPECT_EQ(read_with("y\n1\n", schema).error().message,
            "f:1: header: a column of the schema is not in the file (got 'age')");
  EXPECT_EQ(read_with("1,2,3\n", schema).error().message, "f:1: the schema has 2 columns, the file has 3");
}
TEST(CsvBadInput, NoFeatures) {
  EXPECT_EQ(error_of("y\n1\n2\n"), "f: has no column that is a feature");
}
TEST(CsvBadInput, EveryRowDropped) {
  EXPECT_THAT(
      read_with("y,a\n1,\n", column("y", "type = 'label'") + column("a", "type = 'number'\nmissing = 'drop-row'"))
          .error()
          .message,
      HasSubstr("every row was dropped"));
}
TEST(CsvBadInput, ErrorsCountLinesInsideQuotes) {
  EXPECT_THAT(error_of("y,s,a\n1,\"p\nq\",1\n2,\"r\",1\n3,\"p\n\n\",x\n"), StartsWith("f:7: a: must be"));
}
