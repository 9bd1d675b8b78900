// labels: threads
#include "parley/data/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "parley/core/threads.h"
#include "parley/core/version.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::data;

namespace {

// FNV-1a over names and contents of the tables and the truth in a folder, in order of name.
std::string hash_of(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename() != "job.toml") names.insert(entry.path().filename());
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](const std::string& bytes) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  };
  for (const auto& name : names) {
    add(name.string());
    std::string text = contents(folder / name);
    // A new version of the program does not make new data.
    for (std::size_t at = text.find(kVersion); name.extension() != ".csv" && at != std::string::npos;
         at = text.find(kVersion, at))
      text.replace(at, std::strlen(kVersion), "V");
    add(text);
  }
  std::ostringstream hex;
  hex << std::hex << hash;
  return hex.str();
}

std::string made_hash(const Recipe& recipe, std::uint64_t seed, Destination destination = {}) {
  TemporaryFolder folder;
  destination.folder = folder / "out";
  const auto made = generate(recipe, seed, destination);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return hash_of(destination.folder);
}

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;

  double at(std::size_t row, const std::string& name) const {
    for (std::size_t j = 0; j < names.size(); ++j)
      if (names[j] == name) return rows[row][j];
    ADD_FAILURE() << "no column " << name;
    return 0;
  }
};

Table read_table(const std::filesystem::path& path) {
  Table table;
  std::istringstream text(contents(path));
  std::string line;
  std::string cell;
  for (bool header = true; std::getline(text, line); header = false) {
    std::istringstream cells(line);
    if (!header) table.rows.emplace_back();
    while (std::getline(cells, cell, ',')) {
      if (header)
        table.names.push_back(cell);
      else
        table.rows.back().push_back(std::stod(cell));
    }
  }
  return table;
}

struct Made {
  TemporaryFolder folder;
  Generated files;
  nlohmann::json truth;
  std::string job;
};

std::unique_ptr<Made> make(const Recipe& recipe, Destination destination = {}) {
  auto made = std::make_unique<Made>();
  destination.folder = made->folder.path();
  auto result = generate(recipe, 11, destination);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  if (!result) return made;
  made->files = *result;
  made->truth = nlohmann::json::parse(contents(result->truth));
  made->job = contents(result->job);
  return made;
}

double margin(const Table& table, std::size_t row, const nlohmann::json& coefficients) {
  double sum = 0;
  for (const auto& [name, value] : coefficients.items()) sum += value.get<double>() * table.at(row, name);
  return sum;
}

const SparseRegression kSmallSparse{.rows = 40, .columns = 60, .feature_density = 0.2, .model_density = 0.1};
const LogNormal kSmallLogNormal{.rows = 30, .columns = 8, .sigma = 2};
const Square kSmallSquare{.rows = 12, .columns = 12, .nonzeros = 3};
const NonIid kSmallClients{.clients = 3, .rows = 9, .columns = 7, .nonzeros = 4};
const NonIid kSmallClasses{
    .task = NonIid::Task::kClassification, .clients = 2, .rows = 20, .columns = 6, .nonzeros = 3, .positives = 5};
const Star kSmallStar{.rows = 50, .columns = 2, .dimensions = {{10, 3}, {4, 2}}, .fact_parts = 2};

}  // namespace

TEST(Generate, GivesTheSameBytesForEver) {
  EXPECT_EQ(made_hash(kSmallSparse, 1), "7cba00659d3683ca");
  EXPECT_EQ(made_hash(kSmallSparse, 1, {.format = TableFormat::kCsv, .decimals = 3}), "7175556392621702");
  EXPECT_EQ(made_hash(kSmallLogNormal, 2), "ebdb06d78904f44");
  EXPECT_EQ(made_hash(kSmallSquare, 3), "87dba230ca9134d9");
  EXPECT_EQ(made_hash(kSmallClients, 4), "55738764cb7ce93f");
  EXPECT_EQ(made_hash(kSmallClasses, 5), "340e08ed48660ec6");
  EXPECT_EQ(made_hash(kSmallStar, 6), "f8ea8499f764694f");
}

TEST(Generate, DependsOnTheSeedAndNotOnTheThreads) {
  const SparseRegression sparse{.rows = 3000, .columns = 500};
  const NonIid clients{.task = NonIid::Task::kClassification, .clients = 2, .rows = 300, .columns = 30, .nonzeros = 10};
  for (const Recipe& recipe : {Recipe(sparse), Recipe(clients), Recipe(Star{.rows = 3000})}) {
    set_thread_count(1);
    const std::string one = made_hash(recipe, 1);
    set_thread_count(2);
    EXPECT_EQ(made_hash(recipe, 1), one);
    set_thread_count(0);
    EXPECT_NE(made_hash(recipe, 2), one);
  }
}

TEST(SparseRegression, LabelsAreTheModelPlusItsNoise) {
  const SparseRegression recipe{.rows = 500, .columns = 200, .feature_density = 0.1, .model_density = 0.05};
  const auto made = make(recipe, {.format = TableFormat::kCsv});
  EXPECT_EQ(made->truth["coefficients"].size(), 10u);
  const Table table = read_table(made->files.tables.at(0).path);
  ASSERT_EQ(table.rows.size(), 500u);
  ASSERT_EQ(table.names.size(), 201u);
  double square = 0;
  double present = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    const double residual = table.at(i, "y") - margin(table, i, made->truth["coefficients"]);
    square += residual * residual / 500;
    for (std::size_t j = 1; j < table.names.size(); ++j) present += table.rows[i][j] != 0;
  }
  EXPECT_NEAR(std::sqrt(square), 0.001, 0.001 * 5 / std::sqrt(2 * 500.0));
  EXPECT_NEAR(present / (500 * 200), 0.1, 5 * 0.3 / std::sqrt(500 * 200.0));
}

TEST(SparseRegression, WritesTheSameNumbersAsLibsvm) {
  const auto csv = make(kSmallSparse, {.format = TableFormat::kCsv});
  const auto libsvm = make(kSmallSparse);
  EXPECT_EQ(csv->truth["coefficients"], libsvm->truth["coefficients"]);
  const Table table = read_table(csv->files.tables.at(0).path);
  std::istringstream lines(contents(libsvm->files.tables.at(0).path));
  std::string line;
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    std::vector<double> row(table.names.size());
    row[0] = std::stod(word);
    while (words >> word) row.at(std::stoul(word)) = std::stod(word.substr(word.find(':') + 1));
    EXPECT_EQ(row, table.rows.at(i));
  }
}

TEST(LogNormal, HasPositiveWeightsAndLogisticLabels) {
  const auto made = make(LogNormal{.rows = 4000, .columns = 10, .sigma = 1});
  const Table table = read_table(made->files.tables.at(0).path);
  for (const auto& [name, value] : made->truth["coefficients"].items()) EXPECT_GT(value.get<double>(), 0) << name;
  // Sum of label - expectation has variance sum p (1 - p) under the logistic law.
  double difference = 0;
  double variance = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const double p = 1 / (1 + std::exp(-margin(table, i, made->truth["coefficients"])));
    ASSERT_TRUE(table.at(i, "y") == 1 || table.at(i, "y") == -1);
    difference += (table.at(i, "y") == 1) - p;
    variance += p * (1 - p);
  }
  EXPECT_LT(std::abs(difference), 5 * std::sqrt(variance));
  EXPECT_GT(variance, 10);  // labels are drawn, not thresholded
}

TEST(LogNormal, NoisySignWithoutNoiseIsTheSign) {
  const auto made = make(LogNormal{.rows = 200, .columns = 10, .labels = LabelDraw::kNoisySign, .noise = 0});
  const Table table = read_table(made->files.tables.at(0).path);
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    EXPECT_EQ(table.at(i, "y"), margin(table, i, made->truth["coefficients"]) > 0 ? 1 : -1);
}

TEST(Square, HasTheNonzerosAskedFor) {
  const auto made = make(Square{.rows = 100, .columns = 100, .noise = 0});
  EXPECT_EQ(made->truth["coefficients"].size(), 10u);
  const Table table = read_table(made->files.tables.at(0).path);
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    EXPECT_NEAR(table.at(i, "y"), margin(table, i, made->truth["coefficients"]), 1e-12 * 100);
}

TEST(NonIid, FeaturesHaveTheStatedCovarianceAndLabelsTheClientsModel) {
  const NonIid recipe{.clients = 2, .rows = 2000, .columns = 20, .nonzeros = 10};
  const auto made = make(recipe);
  ASSERT_EQ(made->files.tables.size(), 2u);
  for (std::size_t client = 0; client < 2; ++client) {
    const Table table = read_table(made->files.tables[client].path);
    const auto& truth = made->truth["parties"][client];
    EXPECT_EQ(truth["coefficients"].size(), 10u);
    EXPECT_TRUE(truth["coefficients"].contains("x10"));
    for (const std::size_t k : {1u, 5u, 20u}) {
      double mean = 0;
      double square = 0;
      for (const auto& row : table.rows) mean += row[k] / 2000;
      for (const auto& row : table.rows) square += (row[k] - mean) * (row[k] - mean) / 2000;
      EXPECT_NEAR(square * std::pow(static_cast<double>(k), 1.2), 1, 5 * std::sqrt(2.0 / 2000)) << k;
    }
    double residual = 0;
    double square = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
      const double b = table.at(i, "y") - margin(table, i, truth["coefficients"]) - truth["u"].get<double>();
      residual += b / 2000;
      square += b * b / 2000;
    }
    EXPECT_NEAR(residual, 0, 5 / std::sqrt(2000.0));
    EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / 2000));
  }
}

TEST(NonIid, ClientsSpreadByAlphaAndBeta) {
  const NonIid recipe{.clients = 400, .rows = 1, .columns = 1, .nonzeros = 1, .alpha = 4, .beta = 0.25};
  const auto made = make(recipe);
  double u_mean = 0;
  double u_square = 0;
  double b_square = 0;
  for (const auto& party : made->truth["parties"]) {
    u_mean += party["u"].get<double>() / 400;
    u_square += std::pow(party["u"].get<double>() - 0.1, 2) / 400;
    b_square += std::pow(party["B"].get<double>(), 2) / 400;
  }
  EXPECT_NEAR(u_mean, 0.1, 5 * 2 / std::sqrt(400.0));
  EXPECT_NEAR(u_square / 4, 1, 5 * std::sqrt(2.0 / 400));
  EXPECT_NEAR(b_square / 0.25, 1, 5 * std::sqrt(2.0 / 400));
}

TEST(NonIid, LabelsTheTopRecordsOfEachClient) {
  const auto made = make(NonIid{.task = NonIid::Task::kClassification,
                                .clients = 2,
                                .rows = 500,
                                .columns = 40,
                                .nonzeros = 40,
                                .positives = 100});
  for (std::size_t client = 0; client < 2; ++client) {
    const Table table = read_table(made->files.tables[client].path);
    const auto& coefficients = made->truth["parties"][client]["coefficients"];
    int positives = 0;
    double highest_negative = -1e300;
    double lowest_positive = 1e300;
    for (std::size_t i = 0; i < 500; ++i) {
      const double m = margin(table, i, coefficients);
      positives += table.at(i, "y") == 1;
      if (table.at(i, "y") == 1)
        lowest_positive = std::min(lowest_positive, m);
      else
        highest_negative = std::max(highest_negative, m);
    }
    EXPECT_EQ(positives, 100);
    // The order is that of m + N(u, 1): of 500 draws none is 5 away from its mean but one run in 3000.
    EXPECT_LT(highest_negative - lowest_positive, 10);
  }
}

TEST(Star, EveryKeyFindsItsRowAndTheModelGivesTheLabel) {
  const auto made = make(Star{.rows = 400, .columns = 3, .dimensions = {{30, 4}, {5, 2}}, .noise = 0.1});
  std::map<std::string, Table> tables;
  for (const auto& table : made->files.tables) tables[table.path.stem().string()] = read_table(table.path);
  const Table& fact = tables["fact"];
  ASSERT_EQ(fact.rows.size(), 400u);
  std::map<double, int> uses;
  double square = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    double m = 0;
    for (const auto& [name, value] : made->truth["coefficients"].items()) {
      const std::string table = name.substr(0, name.find('_'));
      const std::size_t row = table == "fact" ? i : static_cast<std::size_t>(fact.at(i, table + "_key")) - 1;
      m += value.get<double>() * tables[table].at(row, name);
    }
    square += std::pow(fact.at(i, "y") - m, 2) / 400;
    ++uses[fact.at(i, "dim1_key")];
  }
  EXPECT_NEAR(std::sqrt(square), 0.1, 0.1 * 5 / std::sqrt(800.0));
  int most = 0;
  for (const auto& [key, count] : uses) most = std::max(most, count);
  EXPECT_EQ(made->truth["tables"][0]["most_uses"], most);
  EXPECT_EQ(made->truth["tables"][0]["unused_keys"], 30 - static_cast<int>(uses.size()));
}

TEST(Star, PartsOfTheFactTableAreTheWholeInOrder) {
  const auto whole = make(Star{.rows = 101, .columns = 2});
  const auto parts = make(Star{.rows = 101, .columns = 2, .fact_parts = 3});
  std::string joined;
  for (const char* name : {"fact-1.csv", "fact-2.csv", "fact-3.csv"}) {
    const std::string text = contents(parts->folder / name);
    joined += joined.empty() ? text : text.substr(text.find('\n') + 1);
  }
  EXPECT_EQ(joined, contents(whole->folder / "fact.csv"));
  const std::string clause = "[[join]]\nleft = [\"fact.dim1_key\"]\nright = [\"dim1.dim1_key\"]\n";
  EXPECT_NE(whole->job.find(clause), std::string::npos) << whole->job;
  EXPECT_NE(parts->job.find(clause), std::string::npos) << "the table of a clause is the union";
  EXPECT_NE(parts->job.find("[[union]]\ntable = \"fact\"\nparties = [\"fact-1\", \"fact-2\", \"fact-3\"]\n"),
            std::string::npos);
}

TEST(Generate, WritesAJobThatNamesItsFiles) {
  const auto single = make(kSmallSparse);
  EXPECT_NE(single->job.find("partition = \"single\""), std::string::npos);
  EXPECT_NE(single->job.find("data = \"data.libsvm\""), std::string::npos);
  EXPECT_EQ(single->job.find("[labels]"), std::string::npos);
  const auto clients = make(kSmallClients);
  EXPECT_NE(clients->job.find("partition = \"horizontal\""), std::string::npos);
  for (const char* name : {"client-1", "client-2", "client-3"})
    EXPECT_NE(clients->job.find(std::string("name = \"") + name + "\"\ndata = \"" + name + ".csv\""),
              std::string::npos);
}

TEST(Generate, RefusesAbsurdSettingsAndLeavesNothingBehind) {
  const std::vector<std::pair<Recipe, std::string>> cases = {
      {SparseRegression{.rows = 0}, "rows: must be at least 1 (got '0')"},
      {SparseRegression{.columns = 3000000000}, "columns: must be at most 2147483647 (got '3000000000')"},
      {SparseRegression{.feature_density = 2}, "density: must be above 0 and at most 1 (got '2')"},
      {SparseRegression{.model_density = std::nan("")}, "model-density: must be above 0 and at most 1 (got 'nan')"},
      {SparseRegression{.noise = -1}, "noise: must be a finite number of at least 0 (got '-1')"},
      {LogNormal{.sigma = -1}, "sigma: must be a finite number of at least 0 (got '-1')"},
      {LogNormal{.sigma = 5000}, "sigma: makes weights too large for a double"},
      {Square{.nonzeros = 1001}, "nonzeros: must be at most 1000 (got '1001')"},
      {NonIid{.clients = 0}, "clients: must be at least 1 (got '0')"},
      {NonIid{.task = NonIid::Task::kClassification, .rows = 100}, "positives: must be at most 99 (got '100')"},
      {Star{.dimensions = {}}, "dimension: between 1 and 100 dimension tables are needed"},
      {Star{.fact_parts = 20000}, "fact-parts: must be at most 10000 (got '20000')"},
      {Star{.skew = -1}, "skew: must lie between 0 and 20 (got '-1')"},
      {LogNormal{.rows = 2000000000, .columns = 2000000000}, "rows x columns: would write about 88000 PB"},
  };
  for (const auto& [recipe, message] : cases) {
    TemporaryFolder folder;
    const auto refused = generate(recipe, 1, {.folder = folder / "out"});
    ASSERT_FALSE(refused) << message;
    EXPECT_EQ(refused.error().exit_code(), 2);
    EXPECT_EQ(refused.error().message.substr(0, message.size()), message);
    EXPECT_EQ(files_in(folder.path()), 0u);
  }
}

TEST(Generate, RefusesToOverwriteUnlessTold) {
  TemporaryFolder folder;
  Destination destination{.folder = folder.path()};
  ASSERT_TRUE(generate(kSmallSquare, 1, destination));
  const std::string before = hash_of(folder.path());
  ASSERT_FALSE(generate(kSmallSquare, 2, destination));
  EXPECT_EQ(hash_of(folder.path()), before);
  destination.existing = Existing::kReplace;
  ASSERT_TRUE(generate(kSmallSquare, 2, destination));
  EXPECT_NE(hash_of(folder.path()), before);
}
