// The map of a join from its keys, against the plain way: a hash map from the text of a key to the tuples that have it,
// and rows that grow as they are found. One line for each shape; CPU seconds of all threads, so that other work on the
// machine counts little.
//   join_bench [SCALE]      1: MovieLens-1M (850,177 ratings, 6,040 users, 6,408 tuples of 3,706 films) and 10^7 rows
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

#include "parley/data/join.h"
#include "parley/data/key_digest.h"
#include "parley/data/random.h"

using namespace parley;
using namespace parley::data;

namespace {

double cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Star {
  std::string name;
  std::vector<KeyText> of_facts;       // a key for each dimension
  std::vector<KeyText> of_dimensions;  // its only key
};

struct Dimension {
  std::size_t keys;
  std::size_t tuples;  // at least as many: keys beyond repeat
};

Star make(const std::string& name, std::size_t facts, const std::vector<Dimension>& dimensions) {
  Star star{.name = name, .of_facts = {}, .of_dimensions = {}};
  Random random(3, 0);
  for (const Dimension& dimension : dimensions) {
    KeyText& keys = star.of_facts.emplace_back("key");
    for (std::size_t t = 0; t < facts; ++t)
      keys.append(std::to_string(static_cast<std::size_t>(random.uniform() * static_cast<double>(dimension.keys))));
    KeyText& own = star.of_dimensions.emplace_back("key");
    for (std::size_t t = 0; t < dimension.tuples; ++t) own.append(std::to_string(t % dimension.keys));
  }
  return star;
}

std::size_t plain_join(const Star& star) {
  std::vector<std::unordered_map<std::string, std::vector<std::int32_t>>> tuples(star.of_dimensions.size());
  for (std::size_t i = 0; i < tuples.size(); ++i)
    for (std::size_t t = 0; t < star.of_dimensions[i].size(); ++t)
      tuples[i][std::string(star.of_dimensions[i][t])].push_back(static_cast<std::int32_t>(t));
  std::vector<std::vector<std::int32_t>> rows(tuples.size() + 1);
  for (std::size_t t = 0; t < star.of_facts.front().size(); ++t) {
    std::vector<std::vector<std::int32_t>> partial(1, {static_cast<std::int32_t>(t)});
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto found = tuples[i].find(std::string(star.of_facts[i][t]));
      std::vector<std::vector<std::int32_t>> longer;
      if (found != tuples[i].end())
        for (const auto& row : partial)
          for (const std::int32_t other : found->second) {
            longer.push_back(row);
            longer.back().push_back(other);
          }
      partial = std::move(longer);
    }
    for (const auto& row : partial)
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(row[i]);
  }
  return rows.front().size();
}

int measure(const Star& star) {
  JoinSpec spec{.tables = {"facts"}, .edges = {}};
  JoinKeys keys(1);
  std::size_t hashed = 0;
  double start = cpu();
  for (std::size_t i = 0; i < star.of_dimensions.size(); ++i) {
    const KeyText *const fact[] = {&star.of_facts[i]}, *const own[] = {&star.of_dimensions[i]};
    keys[0].push_back(digests_within(fact));
    keys.push_back({digests_within(own)});
    hashed += star.of_facts[i].size() + star.of_dimensions[i].size();
    const int number = static_cast<int>(i);
    spec.tables.push_back(fmt::format("table {}", number));
    spec.edges.push_back({.left = 0, .right = number + 1, .left_key = number, .right_key = 0});
  }
  const double hashing = cpu() - start;
  start = cpu();
  const auto map = join(spec, keys);
  const double joining = cpu() - start;
  if (!map) {
    fmt::print(stderr, "error: {}\n", map.error().message);
    return 1;
  }
  start = cpu();
  const std::size_t rows = plain_join(star);
  const double plain = cpu() - start;
  if (rows != map->rows()) {
    fmt::print(stderr, "error: {} rows, and {} by the plain way\n", map->rows(), rows);
    return 1;
  }
  const double n = static_cast<double>(rows);
  fmt::print(
      "{}: {} rows of {} tables, keys {:.0f} ns each, join {:.1f} ns a row, {:.3f} s in all; plain way {:.3f} s, "
      "{:.1f} times as long\n",
      star.name, rows, spec.tables.size(), 1e9 * hashing / static_cast<double>(hashed), 1e9 * joining / n,
      hashing + joining, plain, plain / (hashing + joining));
  return 0;
}

// Keys as they leave a site.
int measure_secret(std::size_t count) {
  const std::string file = fmt::format("/tmp/parley-join-bench-{}", ::clock());
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return 1;
  std::fputs("a secret of the bench alone\n", out);
  std::fclose(out);
  const auto secret = FederationSecret::read(file);
  std::remove(file.c_str());
  if (!secret) return 1;
  KeyText text("key");
  for (std::size_t t = 0; t < count; ++t) text.append(std::to_string(t));
  const KeyText* const parts[] = {&text};
  const double start = cpu();
  const auto keys = digests_between(parts, *secret);
  if (!keys) return 1;
  fmt::print("keys under the federation's secret: {:.0f} ns each\n",
             1e9 * (cpu() - start) / static_cast<double>(count));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const double scale = argc > 1 ? std::atof(argv[1]) : 1;
  const auto sized = [&](double count) { return static_cast<std::size_t>(std::max(10.0, count * scale)); };
  int failed = measure(make("ratings", sized(850177), {{sized(6040), sized(6040)}, {sized(3706), sized(6408)}}));
  failed += measure(make("ten million", sized(1e7), {{sized(1e6), sized(1e6)}, {sized(1e4), sized(1e4)}}));
  return failed + measure_secret(sized(1e6));
}
