// labels: threads
#include "parley/data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "parley/core/threads.h"
#include "parley/data/load.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::data;

namespace {

RawTable table_of(const std::string& text) {
  auto table = RawTable::from_text(text, "t.csv");
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? std::move(*table) : RawTable();
}

// 300 records, three classes of 150, 100 and 50; the features of class c lie around 10 c.
std::string three_classes() {
  std::string text = "id,y,a,b\n";
  for (int i = 0; i < 300; ++i) {
    const int label = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
    text += std::to_string(i) + ',' + std::to_string(label) + ',' + std::to_string(10 * label + i % 7 * 0.1) + ',' +
            std::to_string(-10 * label + i % 5 * 0.1) + '\n';
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Parts {
  TemporaryFolder folder;
  SplitResult result;
  std::vector<std::string> files;
  std::string job;
};

std::unique_ptr<Parts> split_of(const std::string& text, const SplitPlan& plan, std::vector<std::string> names = {},
                                std::uint64_t seed = 1) {
  auto parts = std::make_unique<Parts>();
  auto result = split(table_of(text), plan, seed, {.folder = parts->folder.path(), .names = std::move(names)});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  if (!result) return parts;
  parts->result = *result;
  for (const auto& table : result->tables) parts->files.push_back(contents(table.path));
  parts->job = contents(result->job);
  return parts;
}

std::string refusal(const std::string& text, const SplitPlan& plan, std::vector<std::string> names = {}) {
  TemporaryFolder folder;
  const auto result = split(table_of(text), plan, 1, {.folder = folder / "out", .names = std::move(names)});
  EXPECT_FALSE(result);
  EXPECT_EQ(files_in(folder.path()), 0u);
  if (result) return {};
  EXPECT_EQ(result.error().exit_code(), 2);
  return result.error().message;
}

std::vector<std::map<std::uint32_t, int>> classes_per_party(const SplitRows& plan, std::uint64_t seed = 3) {
  const RawTable table = table_of(three_classes());
  std::vector<std::string> notes;
  const auto party = assign_rows(table, plan, seed, notes);
  EXPECT_TRUE(party) << (party ? "" : party.error().message);
  std::vector<std::map<std::uint32_t, int>> counts(plan.parts);
  std::vector<std::string_view> cells;
  for (std::size_t i = 0; party && i < table.rows(); ++i) {
    table.cells(i, cells);
    ++counts[(*party)[i]][static_cast<std::uint32_t>(cells[1][0] - '0')];
  }
  return counts;
}

}  // namespace

TEST(SplitRows, DealsEveryRecordOnceWithItsBytesAndInOrder) {
  const std::string text = "id,y,name\r\n1,0,\"a,b\"\r\n2,1, x \r\n3,0,\"q\"\"q\"\r\n4,1,z\r\n5,0,w";
  const auto parts = split_of(text, SplitRows{.parts = 2});
  std::multiset<std::string> all;
  for (const std::string& file : parts->files) {
    auto lines = lines_of(file);
    EXPECT_EQ(lines[0], "id,y,name\r");
    for (std::size_t k = 1; k < lines.size(); ++k) {
      EXPECT_TRUE(k == 1 || lines[k - 1] < lines[k]);
      all.insert(lines[k]);
    }
  }
  EXPECT_EQ(all, (std::multiset<std::string>{"1,0,\"a,b\"\r", "2,1, x \r", "3,0,\"q\"\"q\"\r", "4,1,z\r", "5,0,w\r"}));
  EXPECT_NE(parts->job.find("partition = \"horizontal\""), std::string::npos);
  EXPECT_NE(parts->job.find("column = \"y\""), std::string::npos);
}

TEST(SplitRows, GivesTheSharesAskedFor) {
  const auto parts = split_of(three_classes(), SplitRows{.parts = 3, .shares = {5, 3, 2}});
  EXPECT_EQ(parts->result.tables[0].rows, 150);
  EXPECT_EQ(parts->result.tables[1].rows, 90);
  EXPECT_EQ(parts->result.tables[2].rows, 60);
}

TEST(SplitRows, DependsOnTheSeedAlone) {
  for (const RowSkew skew : {RowSkew::kIid, RowSkew::kDirichlet, RowSkew::kShards, RowSkew::kCluster}) {
    const SplitRows plan{.skew = skew, .parts = 3};
    set_thread_count(1);
    const auto one = split_of(three_classes(), plan);
    set_thread_count(2);
    const auto two = split_of(three_classes(), plan);
    set_thread_count(0);
    EXPECT_EQ(one->files, two->files);
    if (skew != RowSkew::kCluster) {
      const auto other = split_of(three_classes(), plan, {}, 2);
      EXPECT_NE(one->files, other->files);
    }
  }
}

TEST(SplitRows, SmallDirichletParametersSkewTheLabels) {
  // Largest share of a class that one party holds, averaged over classes and seeds: 1/3 is even, 1 is sorted.
  const auto concentration = [](double alpha) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto parties = classes_per_party({.skew = RowSkew::kDirichlet, .parts = 3, .alpha = alpha}, seed);
      for (const auto& [label, size] : std::map<std::uint32_t, int>{{0, 150}, {1, 100}, {2, 50}}) {
        int most = 0;
        for (const auto& counts : parties)
          if (const auto found = counts.find(label); found != counts.end()) most = std::max(most, found->second);
        sum += most / double(size) / 60;
      }
    }
    return sum;
  };
  EXPECT_GT(concentration(0.05), 0.8);
  EXPECT_LT(concentration(1e5), 0.36);
}

TEST(SplitRows, ShardsHoldFewClasses) {
  for (const auto& counts : classes_per_party({.skew = RowSkew::kShards, .parts = 6, .shards = 1})) {
    EXPECT_LE(counts.size(), 1u);  // classes are multiples of the shard size 50
    int total = 0;
    for (const auto& [label, count] : counts) total += count;
    EXPECT_EQ(total, 50);
  }
}

TEST(SplitRows, ClustersFindTheGroupsInTheFeatures) {
  for (const auto& counts : classes_per_party({.skew = RowSkew::kCluster, .parts = 3})) EXPECT_EQ(counts.size(), 1u);
}

TEST(SplitRows, ClustersOfTextAndLibsvmAreNeverEmpty) {
  std::string text = "id,y,colour\n";
  std::string libsvm;
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + ",0," + (i % 2 == 0 ? "red" : "blue") + '\n';
    libsvm += i % 2 == 0 ? "1 1:1 2:1\n" : "-1 5:1\n";
  }
  for (const std::string& content : {text, libsvm}) {
    const auto parts = split_of(content, SplitRows{.skew = RowSkew::kCluster, .parts = 2});
    EXPECT_EQ(parts->result.tables[0].rows, 20);
    EXPECT_EQ(parts->result.tables[1].rows, 20);
  }
  // More parties than different records.
  const auto many = split_of(libsvm, SplitRows{.skew = RowSkew::kCluster, .parts = 5});
  for (const auto& table : many->result.tables) EXPECT_GE(table.rows, 1);
}

TEST(SplitColumns, KeepsIdsEverywhereAndTheLabelAtOneParty) {
  const auto parts = split_of("y,id,a,b,c\n1,p1,0.10,\"x,y\",3\n0,p2,5,z,6\n",
                              SplitColumns{.groups = "b;a,c", .label_party = "insurer"}, {"clinic", "insurer"});
  EXPECT_EQ(parts->files[0], "id,b\np1,\"x,y\"\np2,z\n");
  EXPECT_EQ(parts->files[1], "id,y,a,c\np1,1,0.10,3\np2,0,5,6\n");
  EXPECT_NE(parts->job.find("[labels]\nparty = \"insurer\"\ncolumn = \"y\""), std::string::npos);
  EXPECT_NE(parts->job.find("partition = \"vertical\""), std::string::npos);
}

TEST(SplitColumns, AddsAnIdWhenThereIsNone) {
  const auto parts = split_of("y,a,b\n1,2,3\n0,5,6\n", SplitColumns{});
  EXPECT_EQ(parts->files[0], "id,y,a\n1,1,2\n2,0,5\n");
  EXPECT_EQ(parts->files[1], "id,b\n1,3\n2,6\n");
  EXPECT_NE(parts->result.notes.at(0).find("no id column"), std::string::npos);
}

TEST(SplitColumns, DeclaresTheIdThatItAdds) {
  TemporaryFolder folder;
  const auto schema = parse_schema(
      "[[column]]\nname = 'y'\ntype = 'label'\n[[column]]\nname = 'a'\ntype = 'number'\n[[column]]\nname = 'b'\ntype = "
      "'number'\n",
      "s");
  ASSERT_TRUE(schema) << schema.error().message;
  const auto result =
      split(table_of("y,a,b\n1,2,3\n0,4,5\n"), SplitColumns{}, 1, {.folder = folder.path(), .schema = *schema});
  ASSERT_TRUE(result) << result.error().message;
  for (const std::string party : {"party-1", "party-2"}) {
    LoadOptions options{.label_use = LabelUse::kOptional, .labels = LabelKind::kReal};
    options.schema = read_schema((folder / (party + ".schema.toml")).string()).value();
    const auto part = load((folder / (party + ".csv")).string(), options);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->ids, (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(part->columns.size(), 1u);
  }
}

TEST(SplitColumns, TakesCountsRangesAndTheRest) {
  const std::string text = "y,a,b,c,d\n1,2,3,4,5\n0,2,3,4,5\n";
  EXPECT_EQ(split_of(text, SplitColumns{.counts = {3, 1}})->files[1], "id,d\n1,5\n2,5\n");
  EXPECT_EQ(split_of(text, SplitColumns{.groups = "2-3;*"})->files[1], "id,a,d\n1,2,5\n2,2,5\n");
  const auto shuffled = split_of(text, SplitColumns{.shuffle = true});
  std::set<std::string> seen;
  const auto record = nlohmann::json::parse(contents(shuffled->result.record));
  for (const auto& party : record["parties"])
    for (const auto& column : party["columns"]) seen.insert(column);
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b", "c", "d"}));
}

TEST(SplitColumns, CutsLibsvmByNumbers) {
  const std::string text = "+1 1:0.50 3:2 4:1\n-1 2:7\n";
  const SplitColumns plan{.groups = "1-2;3-4"};
  const auto parts = split_of(text, plan);
  EXPECT_EQ(parts->files[0], "+1 1:0.50\n-1 2:7\n");
  EXPECT_EQ(parts->files[1], "0 1:2 2:1\n0\n");
  const auto record = nlohmann::json::parse(contents(parts->result.record));
  EXPECT_EQ(record["parties"][1]["columns"], nlohmann::json({"3-4"}));
  SplitColumns keeping = plan;
  keeping.keep_numbers = true;
  keeping.label_party = "2";
  const auto kept = split_of(text, keeping);
  EXPECT_EQ(kept->files[0], "0 1:0.50\n0 2:7\n");
  EXPECT_EQ(kept->files[1], "+1 3:2 4:1\n-1\n");
}

TEST(SplitTables, TakesAJoinApart) {
  const auto parts = split_of(
      "order,y,customer,city,product,price,amount\n"
      "1,1,ann,Rome,pen,2.0,5\n"
      "2,0,bob,Oslo,ink,3,1\n"
      "3,1,ann,Rome,ink,3,2\n"
      "4,0,cy,Rome,pen,2.0,2\n",
      SplitTables{.keys = {"customer", "product:price"}, .id = "order"});
  EXPECT_EQ(parts->result.parties, (std::vector<std::string>{"fact", "customer", "product"}));
  EXPECT_EQ(parts->files[0],
            "order,y,customer,product,amount\n1,1,ann,pen,5\n2,0,bob,ink,1\n3,1,ann,ink,2\n4,0,cy,pen,2\n");
  EXPECT_EQ(parts->files[1], "customer,city\nann,Rome\nbob,Oslo\ncy,Rome\n");
  EXPECT_EQ(parts->files[2], "product,price\npen,2.0\nink,3\n");
  EXPECT_NE(parts->job.find("partition = \"relational\""), std::string::npos);
  EXPECT_NE(parts->job.find("[[join]]\nleft = [\"fact.customer\"]\nright = [\"customer.customer\"]\n\n"
                            "[[join]]\nleft = [\"fact.product\"]\nright = [\"product.product\"]\n"),
            std::string::npos)
      << parts->job;
}

TEST(SplitTables, NamesTablesApartWhateverTheKeysAreCalled) {
  const std::string text =
      "\u5730\u57df,u,\u5e74\u9f62,v,table-3,w,y\n1,5,1,7,1,9,0\n1,5,2,8,1,9,1\n2,6,1,7,2,3,0\n2,6,2,8,2,3,1\n";
  const auto parts = split_of(text, SplitTables{.keys = {"\u5730\u57df:u", "\u5e74\u9f62:v", "table-3:w"}});
  EXPECT_EQ(parts->result.parties, (std::vector<std::string>{"fact", "______", "table-3", "table-4"}));
  ASSERT_EQ(parts->files.size(), 4u);
  EXPECT_EQ(parts->files[2], "\u5e74\u9f62,v\n1,7\n2,8\n");
}

TEST(SplitTables, RefusesColumnsThatTheKeyDoesNotDetermine) {
  const std::string text = "y,k,a,b\n1,u,1,1\n0,u,1,2\n1,v,3,3\n";
  EXPECT_EQ(refusal(text, SplitTables{.keys = {"k:a,b"}}),
            "t.csv:3: b: differs from line 2 with the same k: the key does not determine it (got '2')");
  EXPECT_NE(refusal(text, SplitTables{.keys = {"b"}}).find("every value occurs once"), std::string::npos);
  EXPECT_NE(refusal("y,k,a\n1,u,1\n0,u,2\n1,v,3\n", SplitTables{.keys = {"k"}}).find("determines no other column"),
            std::string::npos);
  EXPECT_NE(refusal(text, SplitTables{.keys = {"y"}}).find("is the label"), std::string::npos);
  EXPECT_NE(refusal("1 1:2\n", SplitTables{.keys = {"k"}}).find("LIBSVM has no key columns"), std::string::npos);
}

TEST(Split, RefusesWhatCannotBe) {
  const std::string text = "y,a,b\n1,2,3\n0,5,6\n";
  EXPECT_EQ(refusal(text, SplitRows{.parts = 3}), "--parts: must be at most the number of records, 2 (got '3')");
  // Too many to be named, let alone filled.
  EXPECT_NE(refusal(text, SplitRows{.parts = SIZE_MAX}).find("--parts: must be at most"), std::string::npos);
  EXPECT_NE(refusal(text, SplitColumns{.parts = SIZE_MAX}).find("--parts: must lie between"), std::string::npos);
  EXPECT_EQ(refusal(text, SplitRows{.parts = 2, .shares = {1, -1}}), "--shares: must be above 0 (got '-1')");
  EXPECT_EQ(refusal(text, SplitRows{.skew = RowSkew::kDirichlet, .alpha = 0}), "--alpha: must be above 0 (got '0')");
  EXPECT_EQ(refusal(text, SplitRows{.skew = RowSkew::kShards, .shards = 9}),
            "--shards: parts x shards must lie between 1 and the number of records, 2 (got '9')");
  EXPECT_EQ(refusal(text, SplitRows{}, {"a", "a"}), "--names: must be different (got 'a')");
  EXPECT_EQ(refusal(text, SplitRows{}, {"a", "../b"}),
            "--names: must be 1 to 64 letters a-z, digits, '-', '_' or '.', not beginning with '.' (got '../b')");
  EXPECT_EQ(refusal(text, SplitColumns{.parts = 3}),
            "--parts: must lie between 1 and the number of feature columns, 2 (got '3')");
  EXPECT_EQ(refusal(text, SplitColumns{.groups = "a;c"}),
            "--groups: is neither a feature column nor a range of numbers (got 'c')");
  EXPECT_EQ(refusal(text, SplitColumns{.groups = "a;a"}), "--groups: names a column twice (got 'a')");
  EXPECT_EQ(refusal(text, SplitColumns{.groups = "a"}),
            "--groups: every column needs a party; '*' stands for the rest (got 'b')");
  EXPECT_EQ(refusal(text, SplitColumns{.groups = "1-5;2"}), "--groups: columns are numbered 1 to 2 (got '1-5')");
  EXPECT_EQ(refusal(text, SplitColumns{.counts = {1, 2}}),
            "--counts: must be at least 1 each and 2 in all (got '1,2')");
  EXPECT_NE(refusal(text, SplitColumns{.label_party = "x"}).find("--label-party: must be a party's name or number"),
            std::string::npos);
  EXPECT_NE(refusal("u,a,b\n1,2,3\n", SplitColumns{}).find("--label: no column is called"), std::string::npos);
}

TEST(Split, PartsLoadAsTheTableTheyCameFrom) {
  const auto parts = split_of(three_classes(), SplitColumns{});
  LoadOptions labelled;
  labelled.labels = LabelKind::kClasses;
  const auto whole = load_text(three_classes(), "whole", labelled);
  const auto first = load_text(parts->files[0], "first", labelled);
  LoadOptions unlabelled;
  unlabelled.label_use = LabelUse::kNone;
  const auto second = load_text(parts->files[1], "second", unlabelled);
  ASSERT_TRUE(whole && first && second);
  EXPECT_EQ(first->ids, whole->ids);
  EXPECT_EQ(second->ids, whole->ids);
  EXPECT_EQ(first->labels.values, whole->labels.values);
  for (linalg::Index i = 0; i < 300; ++i) {
    EXPECT_EQ(first->features.at(i, 0), whole->features.at(i, 0));
    EXPECT_EQ(second->features.at(i, 0), whole->features.at(i, 1));
  }
}
