// What synthetic data is made of: the recipes of the source papers, where the tables go, and what was made.
//
//   sparse-regression       y = A x + e; each entry of A is there with probability `feature_density`, values N(0, 1);
//                           x has `model_density` d entries N(0, 1); e ~ N(0, noise^2)
//                               Lou & Cheung, Section V
//   log-normal              x_ij ~ N(0, 1), w_j = exp(sigma z_j); labels -1/+1
//                               Mangold et al., Section 5 (log1, log2)
//   square                  as log-normal with `nonzeros` entries in w; y = X w + e
//                               Mangold et al., Section 5 (square)
//   non-iid-regression      client i: u_i ~ N(0.1, alpha), B_i ~ N(0, beta), v_ik ~ N(B_i, 1),
//                           first entries of x_i ~ N(u_i, 1), others 0;
//                           z ~ N(v_i, diag(k^-1.2)), b ~ N(u_i, 1), y = <z, x_i> + b
//                               Tong et al., Section 5.1, I
//   non-iid-classification  the same; a client's `positives` largest <z, x_i> + b get label 1, the others 0
//                               Tong et al., Section 5.1, II
//   star                    fact rows refer to rows of dimension tables by key; y = sum over tables <x, w> + e
//
// Second arguments of Tong et al.'s N(., .) are variances, as in their N(v, Sigma). In the two places where a paper
// leaves something open: `square` draws its nonzeros from the same log-normal law; the labels of `log-normal` are
// Bernoulli with the logistic probability of <x, w>, or on request the sign of <x, w> + e.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "parley/data/write.h"

namespace parley::data {

struct SparseRegression {
  std::int64_t rows = 800;  // Section V-E
  std::int64_t columns = 8000;
  double feature_density = 0.01;
  double model_density = 0.01;
  double noise = 0.001;  // standard deviation
};

enum class LabelDraw { kLogistic, kNoisySign };

struct LogNormal {
  std::int64_t rows = 1000;
  std::int64_t columns = 100;
  double sigma = 1;  // log1; 2 gives log2
  LabelDraw labels = LabelDraw::kLogistic;
  double noise = 1;  // standard deviation, for kNoisySign
};

struct Square {
  std::int64_t rows = 1000;
  std::int64_t columns = 1000;
  std::int64_t nonzeros = 10;
  double sigma = 1;
  double noise = 1;
};

struct NonIid {
  enum class Task { kRegression, kClassification };
  static NonIid regression() { return {}; }
  static NonIid classification() { return {.task = Task::kClassification, .rows = 1000}; }

  Task task = Task::kRegression;
  std::int64_t clients = 100;
  std::int64_t rows = 100;  // of each client
  std::int64_t columns = 1000;
  std::int64_t nonzeros = 100;   // leading entries of each client's model
  std::int64_t positives = 100;  // of each client, for classification
  double alpha = 0.5;
  double beta = 0.5;
};

struct Star {
  enum class Task { kLinear, kLogistic };
  struct Dimension {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
  };

  Task task = Task::kLinear;
  std::int64_t rows = 10000;  // of the fact table
  std::int64_t columns = 5;
  std::vector<Dimension> dimensions = {{1000, 10}, {100, 5}};
  std::int64_t fact_parts = 1;  // the fact table as a union of this many files
  double skew = 1;              // the r-th most used key has weight r^-skew; 0: all keys alike
  double noise = 0.1;
};

using Recipe = std::variant<SparseRegression, LogNormal, Square, NonIid, Star>;

struct Destination {
  std::filesystem::path folder;
  std::optional<TableFormat> format;  // absent: LIBSVM for sparse data, else CSV
  Packing packing = Packing::kNone;
  std::optional<int> decimals;  // round features to this many decimals before anything is computed from them
  Existing existing = Existing::kRefuse;
};

struct Generated {
  std::string kind;
  std::vector<WrittenTable> tables;
  std::filesystem::path truth;
  std::filesystem::path job;
};

}  // namespace parley::data
