// The kernels of linalg beside the limit of the machine or beside a peer, in one run.
//
// Ours and the other alternate; the ratio is the median over the pairs of the pair's ratio. Results are in
// docs/performance/linalg.md. An argument runs one part: dense, sparse, gram, thresholds, building.
#include <fmt/core.h>

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/threads.h"
#include "parley/linalg/builder.h"
#include "parley/linalg/cpu.h"
#include "parley/linalg/gram.h"
#include "parley/linalg/matrix.h"

namespace {

using namespace parley::linalg;

constexpr int kPairs = 9;

// CPU time of one thread, which neighbours on the machine disturb least; wall-clock time of several.
double now() {
  timespec time{};
  clock_gettime(parley::thread_count() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class F>
double seconds(const F& f) {
  const double start = now();
  f();
  return now() - start;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct Pair {
  double ours = 0, other = 0, ratio = 0;  // seconds; other / ours
};

// Repeats short kernels so that a measurement lasts some milliseconds.
template <class Ours, class Other>
Pair compare(const Ours& ours, const Other& other) {
  const auto repeats = [](const auto& f) {
    f();
    return std::max(1, static_cast<int>(0.01 / (seconds(f) + 1e-9)));
  };
  const int our_repeats = repeats(ours), other_repeats = repeats(other);
  std::vector<double> a, b, ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    a.push_back(seconds([&] {
                  for (int k = 0; k < our_repeats; ++k) ours();
                }) /
                our_repeats);
    b.push_back(seconds([&] {
                  for (int k = 0; k < other_repeats; ++k) other();
                }) /
                other_repeats);
    ratios.push_back(b.back() / a.back());
  }
  return {median(a), median(b), median(ratios)};
}

// A line of the table for one thread and one for two.
template <class Ours, class Other>
void compare(std::string_view what, std::string_view peer, const Ours& ours, const Other& other) {
  for (const int threads : {1, 2}) {
    parley::set_thread_count(threads);
    Eigen::setNbThreads(threads);
    const Pair pair = compare(ours, other);
    fmt::print("| {} | {} | {:.3f} | {} {:.3f} | {:.2f} |\n", what, threads, 1e3 * pair.ours, peer, 1e3 * pair.other,
               pair.ratio);
    std::fflush(stdout);
  }
}

// Compressed rows of a random matrix with `per_row` entries in each row; columns by Zipf's law when asked.
struct Entries {
  Index rows = 0, cols = 0;
  std::vector<std::size_t> offsets{0};
  std::vector<Index> columns;
  std::vector<double> values;

  [[nodiscard]] Matrix matrix() const { return Matrix::from_rows(cols, offsets, columns, values); }
  [[nodiscard]] Eigen::SparseMatrix<double> eigen() const {
    std::vector<Eigen::Triplet<double>> triplets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      for (std::size_t k = offsets[i]; k < offsets[i + 1]; ++k)
        triplets.emplace_back(static_cast<int>(i), columns[k], values[k]);
    Eigen::SparseMatrix<double> a(rows, cols);
    a.setFromTriplets(triplets.begin(), triplets.end());
    a.makeCompressed();
    return a;
  }
};

Entries sparse(Index rows, Index cols, int per_row, bool binary) {
  Entries entries{rows, cols};
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (Index i = 0; i < rows; ++i) {
    std::vector<Index> row;
    // Frequent columns first, as in text: the density of column j falls about as 1/j.
    while (static_cast<int>(row.size()) < per_row)
      row.push_back(static_cast<Index>(std::pow(static_cast<double>(cols), uniform(random))) - 1);
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (const Index j : row) {
      entries.columns.push_back(j);
      entries.values.push_back(binary ? 1.0 : normal(random));
    }
    entries.offsets.push_back(entries.columns.size());
  }
  return entries;
}

// a9a: 14 categories one-hot in 123 columns, so 14 ones in a row, some levels in most rows.
Entries census() {
  Entries entries{32561, 123};
  const int levels[] = {5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41};
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform;
  for (Index i = 0; i < entries.rows; ++i) {
    Index first = 0;
    for (const int count : levels) {
      entries.columns.push_back(first + static_cast<Index>(std::pow(static_cast<double>(count), uniform(random))) - 1);
      entries.values.push_back(1.0);
      first += count;
    }
    entries.offsets.push_back(entries.columns.size());
  }
  return entries;
}

std::vector<double> normal_vector(std::size_t size) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x(size);
  for (double& v : x) v = normal(random);
  return x;
}

volatile double sink;

// The read-only sum of an array, in the number of threads in use: the limit of the machine. Four places are
// read at once, as in A'r, because one alone does not keep the memory busy.
double read_only_sum(std::span<const double> x) {
  constexpr std::size_t kStretch = 6000;
  const std::size_t stretches = x.size() / kStretch;
  return parley::parallel_sum(stretches / 4, 4, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t four = begin; four < end; ++four) {
      const double* at = x.data() + four * 4 * kStretch;
      Eigen::Array<double, 8, 1> sums[4] = {Eigen::Array<double, 8, 1>::Zero(), Eigen::Array<double, 8, 1>::Zero(),
                                            Eigen::Array<double, 8, 1>::Zero(), Eigen::Array<double, 8, 1>::Zero()};
      for (std::size_t i = 0; i < kStretch; i += 8)
        for (std::size_t s = 0; s < 4; ++s)
          sums[s] += Eigen::Map<const Eigen::Array<double, 8, 1>>(at + s * kStretch + i);
      for (const auto& part : sums) sum += part.sum();
    }
    return sum;
  });
}

void dense() {
  const Index rows = 6000, cols = 5000;
  const std::vector<double> values = normal_vector(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  const Matrix a = Matrix::from_dense(rows, cols, values);
  const std::vector<double> r = normal_vector(static_cast<std::size_t>(rows)),
                            w = normal_vector(static_cast<std::size_t>(cols));
  std::vector<double> gradient(w.size()), margins(r.size());
  const auto read = [&] { sink = read_only_sum(values); };
  compare(
      "dense A'r, 6000 x 5000 doubles", "read-only sum of as many bytes", [&] { a.multiply_transposed(r, gradient); },
      read);
  compare(
      "dense A w, 6000 x 5000 doubles", "read-only sum of as many bytes", [&] { a.multiply(w, margins); }, read);
  const Eigen::Map<const Eigen::MatrixXd> peer(values.data(), rows, cols);
  const Eigen::Map<const Eigen::VectorXd> right(r.data(), rows);
  Eigen::VectorXd result(cols);
  compare(
      "dense A'r, 6000 x 5000 doubles", "Eigen", [&] { a.multiply_transposed(r, gradient); },
      [&] { result.noalias() = peer.transpose() * right; });
}

void sparse_products(std::string_view name, const Entries& entries) {
  const Matrix a = entries.matrix();
  const Eigen::SparseMatrix<double> peer = entries.eigen();
  const Eigen::SparseMatrix<double, Eigen::RowMajor> peer_rows = peer;
  const std::vector<double> r = normal_vector(static_cast<std::size_t>(a.rows())),
                            w = normal_vector(static_cast<std::size_t>(a.cols()));
  std::vector<double> gradient(w.size()), margins(r.size());
  const Eigen::Map<const Eigen::VectorXd> right(r.data(), a.rows()), left(w.data(), a.cols());
  Eigen::VectorXd result(a.cols()), products(a.rows());
  compare(
      fmt::format("A'r, {}", name), "Eigen CSC", [&] { a.multiply_transposed(r, gradient); },
      [&] { result.noalias() = peer.transpose() * right; });
  compare(
      fmt::format("A w, {}", name), "Eigen CSR", [&] { a.multiply(w, margins); },
      [&] { products.noalias() = peer_rows * left; });
}

void grams() {
  const Entries entries = census();
  const Matrix a = entries.matrix();
  const Eigen::SparseMatrix<double> peer = entries.eigen();
  std::vector<double> weights = normal_vector(static_cast<std::size_t>(a.rows()));
  for (double& h : weights) h = std::abs(h);
  std::vector<double> gram(123 * 123);
  const Eigen::Map<const Eigen::VectorXd> h(weights.data(), a.rows());
  Eigen::SparseMatrix<double> product;
  compare(
      "A'HA, a9a's shape", "Eigen sparse", [&] { weighted_gram(a, weights, gram); },
      [&] { product = peer.transpose() * (h.asDiagonal() * peer); });
  const Index n = 6000, d = 1000;
  const std::vector<double> values = normal_vector(static_cast<std::size_t>(n) * static_cast<std::size_t>(d));
  const Matrix b = Matrix::from_dense(n, d, values);
  std::vector<double> big(static_cast<std::size_t>(d) * static_cast<std::size_t>(d));
  const Eigen::Map<const Eigen::MatrixXd> peer_dense(values.data(), n, d);
  Eigen::MatrixXd result(d, d);
  const std::span<const double> head = std::span(weights).first(static_cast<std::size_t>(n));
  compare(
      "A'HA, 6000 x 1000 dense", "Eigen syrk", [&] { weighted_gram(b, head, big); },
      [&] {
        const Eigen::MatrixXd scaled = h.head(n).cwiseSqrt().asDiagonal() * peer_dense;
        result.setZero();
        result.selfadjointView<Eigen::Upper>().rankUpdate(scaled.transpose());
      });
}

// Share of nonzeros at which a dense column is as fast as a sparse one, by type.
void thresholds() {
  const Index n = 30000, d = 200;
  fmt::print("\n| type | share | sparse ns/row | dense ns/row |\n|---|---|---|---|\n");
  const std::vector<double> r = normal_vector(static_cast<std::size_t>(n));
  std::vector<double> out(static_cast<std::size_t>(d));
  const double kinds[] = {1, 3, 1000, 0.5, 0.1};
  const char* names[] = {"0/1", "int8", "int16", "float32", "float64"};
  for (std::size_t kind = 0; kind < 5; ++kind)
    for (const double share : {0.05, 0.1, 0.15, 0.19}) {
      // The same column values; one more entry beyond the threshold would store it dense.
      std::vector<double> sparse_values(static_cast<std::size_t>(n) * static_cast<std::size_t>(d)),
          dense_values(sparse_values.size());
      std::mt19937_64 random(4);
      std::uniform_real_distribution<double> uniform;
      for (std::size_t k = 0; k < sparse_values.size(); ++k) {
        sparse_values[k] = uniform(random) < share ? kinds[kind] : 0.0;
        dense_values[k] = kinds[kind];
      }
      const Matrix a = Matrix::from_dense(n, d, sparse_values), b = Matrix::from_dense(n, d, dense_values);
      const Pair pair = compare([&] { a.multiply_transposed(r, out); }, [&] { b.multiply_transposed(r, out); });
      const double cells = static_cast<double>(n) * d;
      fmt::print("| {} | {} | {:.4f} | {:.4f} |\n", names[kind], share, 1e9 * pair.ours / cells,
                 1e9 * pair.other / cells);
    }
}

void building() {
  const Entries entries = sparse(200'000, 50'000, 75, false);
  fmt::print("\n| step, {} nonzeros | ms | ns per nonzero |\n|---|---|---|\n", entries.values.size());
  const auto line = [&](const char* name, double time) {
    fmt::print("| {} | {:.0f} | {:.1f} |\n", name, 1e3 * time, 1e9 * time / static_cast<double>(entries.values.size()));
  };
  RowsBuilder rows;
  std::size_t packed = 0;
  line("pack rows", seconds([&] {
         for (Index begin = 0; begin < entries.rows; begin += 10'000) {
           RowBlock block;
           for (Index i = begin; i < begin + 10'000; ++i) {
             for (std::size_t k = entries.offsets[static_cast<std::size_t>(i)];
                  k < entries.offsets[static_cast<std::size_t>(i) + 1]; ++k)
               block.push(entries.columns[k], entries.values[k]);
             block.end_row();
           }
           packed += block.bytes();
           rows.append(std::move(block));
         }
       }));
  Matrix a;
  line("build columns", seconds([&] { a = std::move(rows).build({.cols = entries.cols}); }));
  line("make row form", seconds([&] { (void)a.row_form(); }));
  fmt::print("\npacked {} MB, stored {} MB\n", packed / 1'000'000, a.bytes() / 1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "all";
  fmt::print("CPU level {}\n\n", name(cpu_level()));
  if (part == "thresholds") {
    parley::set_thread_count(1);
    thresholds();
    return 0;
  }
  if (part == "building") {
    building();
    return 0;
  }
  fmt::print("| kernel | threads | ours ms | beside ms | ratio |\n|---|---|---|---|---|\n");
  const auto wanted = [&](const char* name) { return part == "all" || part == name; };
  if (wanted("dense")) dense();
  if (wanted("sparse")) {
    sparse_products("0/1, 32561 x 123 (a9a's shape)", census());
    sparse_products("0/1, 100000 x 50000, about 58 per row", sparse(100'000, 50'000, 75, true));
    sparse_products("doubles, 20242 x 47236, about 68 per row (rcv1's shape)", sparse(20'242, 47'236, 90, false));
  }
  if (wanted("gram")) grams();
  return 0;
}
