#include "parley/data/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <limits>

#include "parley/data/describe.h"
#include "parley/data/load.h"
#include "parley/data/raw_table.h"
#include "parley/data/table_text.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

class Sqlite : public testing::Test {
 protected:
  void make(const std::string& sql) {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
    sqlite3_close(connection);
  }
  [[nodiscard]] std::string table(const std::string& name) const { return "sqlite:" + file + "?table=" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    const auto raw = RawTable::read(table(name));
    return raw ? std::string(raw->text()) : raw.error().message;
  }

  TemporaryFolder folder;
  const std::string file = (folder.path() / "shop.db").string();
};

std::string error_of(const std::string& address, const LoadOptions& options = {.labels = LabelKind::kReal}) {
  const auto data = load(address, options);
  return data ? "" : data.error().message;
}

}  // namespace

TEST(DatabaseAddress, KnowsItsForms) {
  const auto shop = parse_database("sqlite:data/shop.db?table=ratings");
  ASSERT_TRUE(shop);
  EXPECT_EQ(shop->kind, DatabaseKind::kSqlite);
  EXPECT_EQ(shop->place, "data/shop.db");
  EXPECT_EQ(shop->table, "ratings");
  EXPECT_EQ(parse_database("sqlite:///srv/shop.db?table=t")->place, "/srv/shop.db");
  EXPECT_EQ(parse_database("sqlite:a?b.db?table=x%3Fy%20z")->table, "x?y z");
  const auto lab =
      parse_database("postgresql://ann@db.example:5433/x?sslmode=verify-full&table=lab.a%2Eb&connect_timeout=3");
  ASSERT_TRUE(lab);
  EXPECT_EQ(lab->kind, DatabaseKind::kPostgres);
  EXPECT_EQ(lab->place, "postgresql://ann@db.example:5433/x?sslmode=verify-full&connect_timeout=3");
  EXPECT_EQ(lab->schema, "lab");
  EXPECT_EQ(lab->table, "a.b");
  EXPECT_EQ(parse_database("postgres://[::1]:5433/x?table=t")->table, "t");
  EXPECT_FALSE(is_database("shop.db?table=t"));
  EXPECT_EQ(file_of("sqlite:a/shop.db?table=t"), "a/shop.db");
  EXPECT_EQ(file_of("postgresql://h/x?table=t"), "");
  EXPECT_EQ(file_of("a.csv"), "a.csv");
  EXPECT_EQ(with_file("sqlite:shop.db?table=t", "jobs/shop.db"), "sqlite:jobs/shop.db?table=t");
}

TEST(DatabaseAddress, RefusesPasswordsWithoutRepeatingThem) {
  for (const char* address : {"postgresql://ann:pa55@h/x?table=t", "postgres://:pa55@h/x?table=t",
                              "postgresql://ann:pa/55@h/x?table=t", "postgresql://h/x?table=t&password=pa55",
                              "postgresql://h/x?password=pa55&table=t", "postgresql://h/x?table=t&%70assword=pa55",
                              "postgresql://h/x?table=t&sslpassword=pa55", "postgresql://ann%3Apa55@h/x?table=t"}) {
    EXPECT_THAT(flaw_of_database(address), HasSubstr("holds a password")) << address;
    const auto parsed = parse_database(address);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, Not(HasSubstr("55")));
  }
  EXPECT_EQ(flaw_of_database("postgresql://ann@h:5432/x?table=t"), "");
}

TEST(DatabaseAddress, RefusesWhatNamesNoTable) {
  for (const char* address : {"sqlite:shop.db", "sqlite:shop.db?table=", "sqlite:?table=t", "postgresql://h/x",
                              "postgresql://h/x?table", "postgresql://h/x?table=a.", "sqlite:shop.db?table=%4",
                              "sqlite:shop.db?table=a%00b", "postgresql://h/x?table=a&table=b"})
    EXPECT_NE(flaw_of_database(address), "") << address;
}

TEST_F(Sqlite, WritesEveryKindOfValue) {
  make(
      "CREATE TABLE t (a INTEGER PRIMARY KEY, b REAL, c TEXT);"
      "INSERT INTO t VALUES (2, 0.1, 'x, \"y\"'), (-9223372036854775808, 1e300, NULL), (1, NULL, 'two\nlines');");
  EXPECT_EQ(text("t"), "a,b,c\n-9223372036854775808,1e+300,\n1,,\"two\nlines\"\n2,0.1,\"x, \"\"y\"\"\"\n");
}

TEST_F(Sqlite, KeepsTheOrderOfTheTableWhateverIndexThereIs) {
  make(
      "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT); CREATE INDEX i ON t (b); INSERT INTO t VALUES (1, 3), (2, 2), "
      "(3, 1);");
  const Schema schema = parse_schema("[[column]]\nname = 'b'\ntype = 'number'\n", "s").value();
  const Dataset data = load(table("t"), {.schema = schema, .label_use = LabelUse::kNone}).value();
  EXPECT_EQ(data.features.at(0, 0), 3);
  EXPECT_EQ(data.features.at(2, 0), 1);
}

TEST_F(Sqlite, ANullAloneIsARow) {
  make("CREATE TABLE t (c TEXT); INSERT INTO t VALUES ('a'), (NULL), ('c')");
  EXPECT_EQ(text("t"), "c\na\n\"\"\nc\n");
  EXPECT_EQ(RawTable::read(table("t"))->rows(), 3U);
}

TEST_F(Sqlite, ReadsDeclaredColumnsAndNoOthers) {
  make("CREATE TABLE t (a INT, b BLOB, y REAL); INSERT INTO t VALUES (1, x'00ff', 2), (3, x'01', 4);");
  const std::string columns = "[[column]]\nname = 'a'\ntype = 'number'\n[[column]]\nname = 'y'\ntype = 'label'\n";
  const Schema schema = parse_schema(columns, "s").value();
  const auto data = load(table("t"), {.schema = schema, .labels = LabelKind::kReal});
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->labels.values, ElementsAre(2, 4));
  Schema expected = schema;
  expected.format = Format::kCsv;
  EXPECT_TRUE(data->schema == expected) << "how the database writes its text is not the next file's concern";
  EXPECT_THAT(error_of(table("t")), HasSubstr("b: holds bytes that are no text (a BLOB)"));
}

TEST_F(Sqlite, KeysOfTheCatalogueAreNoFeatures) {
  make(
      "CREATE TABLE u (k INTEGER PRIMARY KEY); CREATE TABLE t (n INTEGER PRIMARY KEY, k INT REFERENCES u (k), x REAL, "
      "y REAL, "
      "ok BOOLEAN, word TEXT); INSERT INTO t VALUES (1, 7, 0.5, 1, 1, '3'), (2, NULL, 1.5, 2, 0, '4');");
  const Dataset data = load(table("t"), {.labels = LabelKind::kReal, .keys = {"k"}}).value();
  EXPECT_THAT(data.columns.list(), ElementsAre("x", "ok", "word=3", "word=4"));
  ASSERT_EQ(data.keys.size(), 1U);
  EXPECT_EQ(data.keys[0][0], "7");
  EXPECT_TRUE(data.keys[0].missing(1));
  const Description about = describe(table("t"), "y").value();
  EXPECT_EQ(about.draft.find("n")->type, ColumnType::kKey);
  EXPECT_EQ(about.draft.find("x")->type, ColumnType::kNumber);
  EXPECT_EQ(about.draft.find("ok")->type, ColumnType::kBoolean);
  EXPECT_EQ(about.draft.find("word")->type, ColumnType::kCategory);
  EXPECT_EQ(about.columns[1].missing, 1U);
  EXPECT_EQ(parse_schema(to_toml(about.draft), "s").value(), about.draft);
}

TEST_F(Sqlite, NullIsMissingWhateverTheMarkersAre) {
  make("CREATE TABLE t (x REAL, y REAL); INSERT INTO t VALUES (NULL, 1), (2, 2);");
  const Schema schema = parse_schema(
                            "[table]\nmissing = ['-9']\n[[column]]\nname = 'x'\ntype = 'number'\nmissing = 5\n"
                            "[[column]]\nname = 'y'\ntype = 'label'\n",
                            "s")
                            .value();
  EXPECT_EQ(load(table("t"), {.schema = schema, .labels = LabelKind::kReal})->features.at(0, 0), 5);
}

TEST_F(Sqlite, NamesAreQuotedAndNeverExecuted) {
  make(
      "CREATE TABLE t (x REAL, y REAL); INSERT INTO t VALUES (1, 1), (2, 2);"
      "CREATE TABLE \"a\"\"; DROP TABLE t; --\" (x REAL, \"y\"\"); DROP TABLE t; --\" REAL); "
      "INSERT INTO \"a\"\"; DROP TABLE t; --\" VALUES (1, 2);");
  EXPECT_EQ(text("a\"; DROP TABLE t; --"), "x,\"y\"\"); DROP TABLE t; --\"\n1,2\n");
  EXPECT_THAT(text("x\"; DROP TABLE t; --"), HasSubstr("table: the database has no such table"));
  EXPECT_THAT(text("x' OR '1'='1"), HasSubstr("table: the database has no such table"));
  EXPECT_EQ(text("t"), "x,y\n1,1\n2,2\n");
}

TEST_F(Sqlite, SaysWhatIsNotThere) {
  EXPECT_THAT(text("t"), HasSubstr("cannot be read: unable to open database file"));
  EXPECT_FALSE(std::filesystem::exists(file)) << "reading makes no file";
  make("CREATE TABLE ratings (x REAL, y REAL)");
  EXPECT_THAT(text("rating"), HasSubstr("did you mean 'ratings'?"));
  EXPECT_THAT(text("ratings"), HasSubstr("is empty"));
  EXPECT_THAT(error_of(file), HasSubstr("is a database of SQLite: name one of its tables"));
  const Schema schema = parse_schema("[[column]]\nname = 'z'\ntype = 'number'\n", "s").value();
  EXPECT_THAT(error_of(table("ratings"), {.schema = schema}), HasSubstr("has no column that the schema names"));
  EXPECT_THAT(error_of(table("ratings"), {.format = Format::kLibsvm}), HasSubstr("is a table with named columns"));
}

TEST_F(Sqlite, AFileThatIsNoDatabaseIsOneError) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  std::fputs("x,y\n1,2\n", out);
  std::fclose(out);
  EXPECT_THAT(text("t"), HasSubstr("cannot be read: file is not a database"));
}
