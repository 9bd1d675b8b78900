#include "parley/data/row_order.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "parley/data/load.h"

using namespace parley;
using namespace parley::data;

namespace {

Dataset table(const std::string& text, std::vector<std::string> keys = {}) {
  LoadOptions options;
  options.label_use = LabelUse::kNone;
  options.keys = std::move(keys);
  auto read = load_text(text, "t.csv", options);
  EXPECT_TRUE(read) << read.error().message;
  return std::move(*read);
}

class Orders : public ::testing::Test {
 protected:
  std::string path_ = (std::filesystem::temp_directory_path() / "parley_row_order_test").string();
  Result<RowOrder> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_order(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
};

}  // namespace

TEST(RecordIds, FollowTheRuleAndCountWhatItChanged) {
  const Dataset given = table("id,x\n Ab ,1\nab,2\nCD,3\n\xc3\xa9,5\n");
  const auto kept = record_ids(given, {}, "t.csv");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->ids, (std::vector<std::string>{"Ab", "ab", "CD", "\xc3\xa9"}));
  EXPECT_EQ(kept->beyond_ascii, 1u);
  const auto refused = record_ids(given, {.fold_case = true}, "t.csv");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("1 record whose id an earlier one has"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("ab"), std::string::npos) << "an error names no id";
  const auto first = record_ids(given, {true, IdRule::Duplicates::kFirst}, "t.csv");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ids, (std::vector<std::string>{"ab", "cd", "\xc3\xa9"}));
  EXPECT_EQ(first->rows, (std::vector<linalg::Index>{0, 2, 3}));
  EXPECT_EQ(first->repeated, 1u);
}

TEST(RecordIds, OfSeveralColumnsAreListsAndNotOneText) {
  const auto one = record_ids(table("k,l,x\nab,c,1\na,bc,2\n,c,3\n", {"k", "l"}), {}, "t.csv");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->ids.size(), 2u);
  EXPECT_NE(one->ids[0], one->ids[1]);
  EXPECT_EQ(one->missing, 1u);
}

TEST(RecordIds, ATableWithoutIdsIsRefused) {
  EXPECT_FALSE(record_ids(table("x\n1\n2\n"), {}, "t.csv"));
}

TEST_F(Orders, AreReadAsTheyWereWritten) {
  const RowOrder order{42, 5, "abc", {4, 0, kNoPartner, 2}};
  const auto again = read(to_text(order));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->alignment, 42);
  EXPECT_EQ(again->records, 5u);
  EXPECT_EQ(again->ids, "abc");
  EXPECT_EQ(again->rows, order.rows);
}

TEST_F(Orders, ThatWereChangedAreRefused) {
  const std::string head = "parley order 1\nalignment 42\nrecords 5\nids abc\nrows 2\n";
  EXPECT_TRUE(read(head + "1\n5\n"));
  for (const std::string& text :
       {std::string(), std::string("x"), head, head + "1\n", head + "1\n6\n", head + "1\n1\n", head + "0\n1\n",
        head + "1\n2\n3\n", head + "1\nx\n", head + "1\n 2\n", head + "1\n-2\n",
        std::string("parley order 2\nalignment 42\nrecords 5\nids abc\nrows 0\n"),
        std::string("parley order 1\nalignment 0\nrecords 5\nids abc\nrows 0\n"),
        std::string("parley order 1\nalignment 1\nrecords 99999999999999999999\nids abc\nrows 0\n"),
        std::string("parley order 1\nalignment 1\nrecords 18446744073709551615\nids abc\nrows 1\n99\n"),
        std::string("parley order 1\nalignment 1\nrecords 5\nids abc\nrows 18446744073709551615\n1\n")})
    EXPECT_FALSE(read(text)) << text;
}

TEST_F(Orders, BringTheRecordsOfTheirTableIntoOrderAndOfNoOther) {
  const Dataset given = table("id,x\na,1\nb,2\nc,3\n");
  const auto ids = record_ids(given, {}, "t.csv");
  const RowOrder order{42, 3, digest_of_ids(*ids), {2, 0}};
  const auto ordered = in_order(given, order, {}, "t.csv");
  ASSERT_TRUE(ordered) << ordered.error().message;
  EXPECT_EQ(ordered->ids, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(ordered->features.at(0, 0), 3);
  EXPECT_FALSE(in_order(table("id,x\na,1\nc,2\nb,3\n"), order, {}, "t.csv")) << "other ids";
  RowOrder gaps = order;
  gaps.rows = {kNoPartner, 1};
  EXPECT_FALSE(in_order(given, gaps, {}, "t.csv")) << "a record with no part here";
  gaps.rows = {};
  EXPECT_FALSE(in_order(given, gaps, {}, "t.csv")) << "nothing in common";
}
