// One way in: the same rows give the same model, whether they come from a file, a stream or arrays.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "parley/catalog/read_job.h"
#include "parley/core/files.h"
#include "parley/data/source.h"
#include "parley/runs/run.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using parley::data::Arrays;
using parley::data::Source;

namespace {

constexpr std::size_t kRows = 60, kColumns = 3;

// A few hundred numbers without any pattern that a solver could like.
struct Table {
  std::vector<double> by_rows, by_columns, labels;
  std::string libsvm;

  Table() : by_columns(kRows * kColumns) {
    for (std::size_t i = 0; i < kRows; ++i) {
      double margin = 0;
      std::string line;
      for (std::size_t j = 0; j < kColumns; ++j) {
        const double value = std::round(1000 * std::sin(7.0 * static_cast<double>(i * kColumns + j + 1))) / 1000;
        by_rows.push_back(value);
        by_columns[j * kRows + i] = value;
        margin += (j == 1 ? -1 : 1) * value;
        line += fmt::format(" {}:{}", j + 1, value);
      }
      labels.push_back(margin + 0.3 * std::cos(3.0 * static_cast<double>(i)) > 0 ? 1 : -1);
      libsvm += fmt::format("{}{}\n", labels.back(), line);
    }
  }
  [[nodiscard]] Arrays arrays() const { return {.columns = kColumns, .values = by_rows, .labels = labels}; }
};

jobs::Job job(const std::string& more = "", const std::string& algorithm = "name = \"exact\"") {
  const std::string text = "[job]\nname = \"memory\"\ntask = \"logistic\"\n[model]\nl2 = 0.1\n[algorithm]\n" +
                           algorithm + "\n" + more + "[[party]]\nname = \"here\"\n";
  auto toml = Toml::parse(text, "memory");
  EXPECT_TRUE(toml) << toml.error().message;
  auto read = catalog::parse_job(std::move(*toml), "memory", jobs::Paths::kAtSites);
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

std::vector<double> weights(const Source& source, const jobs::Job& of = job()) {
  const auto outcome = runs::run(of, {{source}}, {});
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? outcome->fit.weights : std::vector<double>{};
}

std::string refusal(const Arrays& arrays, const jobs::Job& of = job()) {
  const auto outcome = runs::run(of, {{Source::arrays("memory", arrays)}}, {});
  return outcome ? "accepted" : outcome.error().message;
}

}  // namespace

TEST(Sources, GiveOneModelWhereverTheRowsComeFrom) {
  const Table table;
  const TemporaryFolder folder;
  const std::string path = (folder / "table.libsvm").string();
  std::ofstream(path) << table.libsvm;
  const std::vector<double> expected = weights(Source::file(path));
  ASSERT_EQ(expected.size(), kColumns);
  EXPECT_EQ(weights(Source::stream("a pipe", [&] { return data::open_bytes(table.libsvm, "a pipe"); })), expected);
  EXPECT_EQ(weights(Source::arrays("rows", table.arrays())), expected);
  Arrays by_columns = table.arrays();
  by_columns.values = table.by_columns;
  by_columns.order = Arrays::Order::kByColumns;
  EXPECT_EQ(weights(Source::arrays("columns", by_columns)), expected);
  std::vector<std::size_t> offsets{0};
  std::vector<linalg::Index> indices;
  std::vector<double> entries;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j)
      if (table.by_rows[i * kColumns + j] != 0) {
        indices.push_back(static_cast<linalg::Index>(j));
        entries.push_back(table.by_rows[i * kColumns + j]);
      }
    offsets.push_back(entries.size());
  }
  Arrays sparse = table.arrays();
  sparse.values = entries;
  sparse.offsets = offsets;
  sparse.indices = indices;
  EXPECT_EQ(weights(Source::arrays("sparse", sparse)), expected);
}

TEST(Sources, NameTheColumnsOfAModelMadeFromArrays) {
  const Table table;
  Arrays named = table.arrays();
  named.names = {"age", "dose", "stay"};
  named.bounds = {0.5, 1, 1};
  const auto outcome = runs::run(job(), {{Source::arrays("memory", named)}}, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->trained.model.columns, named.names);
  EXPECT_EQ(outcome->trained.model.bounds, named.bounds);
  ASSERT_FALSE(outcome->notes.empty());
  EXPECT_NE(outcome->notes.front().find("beyond their bound"), std::string::npos) << "ages beyond 0.5 were clipped";
}

TEST(Sources, TrainPrivatelyFromArraysWithStatedBounds) {
  const Table table;
  const TemporaryFolder folder;
  const std::string privacy =
      "[privacy]\nepsilon = 1.0\ndelta = 1e-5\nledger = \"" + (folder / "ledger").string() + "\"\n";
  Arrays named = table.arrays();
  named.names = {"age", "dose", "stay"};
  const jobs::Job of = job(privacy, "name = \"sgd\"\nseed = 3");
  EXPECT_NE(refusal(named, of).find("has no public bound"), std::string::npos);
  named.bounds = {1, 1, 1};
  const auto outcome = runs::run(of, {{Source::arrays("memory", named)}}, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->privacy.has_value());
}

TEST(Sources, RefuseArraysThatAreNoTable) {
  const Table table;
  Arrays arrays = table.arrays();
  arrays.labels = arrays.labels.first(10);
  EXPECT_NE(refusal(arrays).find("labels: must be one for each row"), std::string::npos);
  arrays = table.arrays();
  arrays.values = arrays.values.first(kRows * kColumns - 1);
  EXPECT_NE(refusal(arrays).find("values: must have one number for each row and column"), std::string::npos);
  std::vector<double> broken = table.by_rows;
  broken[5] = std::numeric_limits<double>::quiet_NaN();
  arrays = table.arrays();
  arrays.values = broken;
  EXPECT_NE(refusal(arrays).find("values: must be finite"), std::string::npos);
  arrays = table.arrays();
  arrays.names = {"a", "a", "b"};
  EXPECT_NE(refusal(arrays).find("names: must differ"), std::string::npos);
  arrays = table.arrays();
  arrays.columns = 0;
  EXPECT_NE(refusal(arrays).find("columns: must be at least 1"), std::string::npos);
  const std::vector<std::size_t> offsets{0, 2, 1};
  const std::vector<linalg::Index> indices{0};
  arrays = {.columns = kColumns, .values = std::span(table.by_rows).first(1), .offsets = offsets, .indices = indices};
  EXPECT_NE(refusal(arrays).find("offsets: must ascend"), std::string::npos);
  const std::vector<std::size_t> one_entry{0, 1, 1};
  const std::vector<linalg::Index> far{99};
  arrays.offsets = one_entry;
  arrays.indices = far;
  EXPECT_NE(refusal(arrays).find("indices: must ascend"), std::string::npos);
}
