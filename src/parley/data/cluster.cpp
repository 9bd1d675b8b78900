#include "parley/data/cluster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "parley/core/threads.h"
#include "parley/data/number.h"
#include "parley/data/random.h"

namespace parley::data {

namespace {

constexpr std::size_t kDimensions = 32;
constexpr std::size_t kRowGrain = 256;
constexpr int kMostSteps = 50;

using Point = std::array<double, kDimensions>;

// FNV-1a: a text as the number of its stream of signs.
std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

void add_feature(Point& point, std::uint64_t feature, double value, std::uint64_t seed) {
  const std::uint64_t signs = Random(seed, 7, feature).bits();
  for (std::size_t k = 0; k < kDimensions; ++k) point[k] += (signs >> k & 1) != 0 ? value : -value;
}

bool number_of(std::string_view cell, double& value) {
  const ParsedNumber parsed = parse_number(cell.data(), cell.data() + cell.size());
  value = parsed.value;
  return parsed.error == NumberError::kNone && parsed.end == cell.data() + cell.size();
}

struct ColumnScale {
  bool numeric = true;
  double mean = 0;
  double factor = 0;  // 1 / standard deviation; 0 for a constant column
};

// A column counts as numbers when all but its empty cells and question marks are.
std::vector<ColumnScale> find_scales(const RawTable& table, const std::vector<bool>& leave_out) {
  std::vector<ColumnScale> scales(table.names().size());
  std::vector<double> counts(scales.size());
  std::vector<double> squares(scales.size());
  std::vector<std::string_view> raw;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    table.cells(i, raw);
    for (std::size_t j = 0; j < raw.size(); ++j) {
      if (leave_out[j] || !scales[j].numeric) continue;
      const std::string cell = table.content(raw[j]);
      if (cell.empty() || cell == "?" || cell == "NA") continue;
      double value = 0;
      if (!number_of(cell, value)) {
        scales[j].numeric = false;
        continue;
      }
      // Welford: one pass, no cancellation.
      ++counts[j];
      const double step = value - scales[j].mean;
      scales[j].mean += step / counts[j];
      squares[j] += step * (value - scales[j].mean);
    }
  }
  for (std::size_t j = 0; j < scales.size(); ++j)
    if (squares[j] > 0) scales[j].factor = 1 / std::sqrt(squares[j] / counts[j]);
  return scales;
}

std::vector<Point> project(const RawTable& table, const std::vector<bool>& leave_out, std::uint64_t seed) {
  std::vector<Point> points(table.rows(), Point{});
  if (table.is_libsvm()) {
    parallel_chunks(points.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<RawEntry> entries;
      for (std::size_t i = begin; i < end; ++i) {
        table.entries(i, entries);
        double square = 0;
        for (const auto& entry : entries) {
          double value = 0;
          number_of(entry.value, value);
          square += value * value;
          add_feature(points[i], entry.index, value, seed);
        }
        if (square > 0)
          for (double& z : points[i]) z /= std::sqrt(square);
      }
    });
    return points;
  }
  const auto scales = find_scales(table, leave_out);
  parallel_chunks(points.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<std::string_view> raw;
    for (std::size_t i = begin; i < end; ++i) {
      table.cells(i, raw);
      for (std::size_t j = 0; j < raw.size(); ++j) {
        if (leave_out[j]) continue;
        const std::string cell = table.content(raw[j]);
        double value = 0;
        if (!scales[j].numeric)
          add_feature(points[i], hash_of(cell, j + 1), 1, seed);
        else if (number_of(cell, value))
          add_feature(points[i], j, (value - scales[j].mean) * scales[j].factor, seed);
      }
    }
  });
  return points;
}

double squared_distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t k = 0; k < kDimensions; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

std::vector<Point> first_centres(const std::vector<Point>& points, std::size_t clusters, Random& random) {
  std::vector<Point> centres = {points[random.below(points.size())]};
  std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());
  while (centres.size() < clusters) {
    double total = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      total += nearest[i] = std::min(nearest[i], squared_distance(points[i], centres.back()));
    double at = random.uniform() * total;
    std::size_t chosen = 0;
    while (chosen + 1 < points.size() && (at -= nearest[chosen]) > 0) ++chosen;
    centres.push_back(points[chosen]);
  }
  return centres;
}

}  // namespace

Result<std::vector<std::uint32_t>> cluster_rows(const RawTable& table, const std::vector<bool>& leave_out,
                                                std::size_t clusters, std::uint64_t seed) {
  if (table.rows() < clusters)
    return fail(
        bad_input({table.file(), 0, "--parts"}, "there are fewer records than parties", std::to_string(clusters)));
  const std::vector<Point> points = project(table, leave_out, seed);
  Random random(seed, 8);
  std::vector<Point> centres = first_centres(points, clusters, random);
  std::vector<std::uint32_t> cluster(points.size());
  std::vector<double> distance(points.size());
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<std::uint32_t> next(points.size());
    parallel_chunks(points.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        distance[i] = std::numeric_limits<double>::infinity();
        for (std::uint32_t c = 0; c < clusters; ++c)
          if (const double d = squared_distance(points[i], centres[c]); d < distance[i]) {
            distance[i] = d;
            next[i] = c;
          }
      }
    });
    std::vector<std::size_t> sizes(clusters);
    for (const std::uint32_t c : next) ++sizes[c];
    // A cluster that lost its last record takes the one farthest from its centre.
    for (std::uint32_t c = 0; c < clusters; ++c) {
      if (sizes[c] > 0) continue;
      std::size_t farthest = points.size();
      for (std::size_t i = 0; i < points.size(); ++i)
        if (sizes[next[i]] > 1 && (farthest == points.size() || distance[i] > distance[farthest])) farthest = i;
      --sizes[next[farthest]];
      next[farthest] = c;
      distance[farthest] = 0;
      sizes[c] = 1;
    }
    const bool settled = step > 0 && next == cluster;
    cluster = std::move(next);
    if (settled) break;
    std::fill(centres.begin(), centres.end(), Point{});
    for (std::size_t i = 0; i < points.size(); ++i)
      for (std::size_t k = 0; k < kDimensions; ++k) centres[cluster[i]][k] += points[i][k];
    for (std::size_t c = 0; c < clusters; ++c)
      for (double& z : centres[c]) z /= static_cast<double>(sizes[c]);
  }
  return cluster;
}

}  // namespace parley::data
