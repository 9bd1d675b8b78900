#include "parley/runs/same_table.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "parley/core/files.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using runs::SameTable;

namespace {

class SameTableTest : public testing::Test {
 protected:
  [[nodiscard]] std::string digest() const { return SameTable::of(data_, schema_).value().digest(); }
  void write(const std::string& file, const std::string& content) const {
    ASSERT_TRUE(write_atomically(file, content));
  }
  TemporaryFolder folder_;
  std::string data_ = folder_ / "data.csv";
  std::string schema_ = folder_ / "schema.toml";
};

}  // namespace

TEST_F(SameTableTest, EveryByteOfBothFilesCounts) {
  const std::size_t piece = std::size_t{4} << 20;
  for (const std::size_t size : {std::size_t{10}, piece - 1, piece, piece + 1, 2 * piece}) {
    std::string content(size, 'x');
    write(data_, content);
    write(schema_, "one");
    const std::string first = digest();
    EXPECT_EQ(digest(), first);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      std::string other = content;
      other[at] = 'y';
      write(data_, other);
      EXPECT_NE(digest(), first) << size << " " << at;
    }
    write(data_, content.substr(0, size / 8));
    EXPECT_NE(digest(), first);
    write(data_, content);
    EXPECT_EQ(digest(), first) << "also when it was written anew";
    write(schema_, "two");
    EXPECT_NE(digest(), first);
  }
}

TEST_F(SameTableTest, ATableOfADatabaseIsItsRowsAndTheColumnsThatAreRead) {
  const std::string file = folder_ / "shop.db";
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
  const auto change = [&](const char* sql) {
    EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
  };
  change("CREATE TABLE t (x REAL, y REAL); INSERT INTO t VALUES (1, 2), (3, 4); CREATE TABLE other (z REAL)");
  write(schema_, "[[column]]\nname = 'x'\ntype = 'number'\n");
  data_ = "sqlite:" + file + "?table=t";
  const SameTable before = SameTable::of(data_, schema_).value();
  EXPECT_TRUE(before.still());
  change("INSERT INTO other VALUES (1)");
  EXPECT_EQ(digest(), before.digest()) << "another table";
  EXPECT_TRUE(before.still());
  change("UPDATE t SET y = 5 WHERE x = 1");
  EXPECT_EQ(digest(), before.digest()) << "a column that the schema does not name";
  change("UPDATE t SET x = 5 WHERE x = 1");
  EXPECT_NE(digest(), before.digest());
  EXPECT_FALSE(before.still());
  const SameTable after = SameTable::of(data_, schema_).value();
  const auto other = after.as_in({.resumed = true, .data = before.digest()});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().cause, Cause::kPast);
  sqlite3_close(connection);
}

TEST_F(SameTableTest, ARunThatIsTakenUpMustFindTheSame) {
  write(data_, "rows");
  const SameTable table = SameTable::of(data_, "").value();
  EXPECT_TRUE(table.as_in({}));
  EXPECT_TRUE(table.as_in({.resumed = true, .data = table.digest()}));
  const auto other = table.as_in({.resumed = true, .data = ""});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().cause, Cause::kPast);
}

TEST_F(SameTableTest, ARunThatIsTakenUpTakesItsRowsInTheSameOrder) {
  const std::string order = folder_ / "order";
  write(data_, "rows");
  write(schema_, "one");
  write(order, "3 1 2");
  const SameTable before = SameTable::of(data_, schema_, order).value();
  EXPECT_TRUE(before.as_in({.resumed = true, .data = before.digest()}));
  write(order, "1 2 3");
  EXPECT_FALSE(before.still());
  const auto other = SameTable::of(data_, schema_, order).value().as_in({.resumed = true, .data = before.digest()});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("is not the order of rows"), std::string::npos);
  EXPECT_FALSE(SameTable::of(data_, schema_).value().as_in({.resumed = true, .data = before.digest()}));
}

TEST_F(SameTableTest, AFileThatChangesWhileItIsReadIsNoticed) {
  write(data_, "rows");
  write(schema_, "one");
  for (const std::string& file : {data_, schema_}) {
    const SameTable table = SameTable::of(data_, schema_).value();
    EXPECT_TRUE(table.still());
    write(file, "rows");
    EXPECT_FALSE(table.still());
  }
}

TEST_F(SameTableTest, WhatCannotBeReadTwiceIsRefused) {
  EXPECT_FALSE(SameTable::of("/dev/zero", ""));
  EXPECT_FALSE(SameTable::of(folder_ / "absent", ""));
}
