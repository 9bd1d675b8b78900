#include "parley/audits/attack.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace parley::audits {

namespace {

constexpr std::size_t kStrongest = 12;  // numbers of the linear and the quadratic score
constexpr std::size_t kManyCategories = 8;
constexpr std::size_t kThresholds = 24;
constexpr double kSmallest = 1e-12;  // of a variance, against the square of what varies

struct Moments {
  std::vector<double> mean, variance;
};

Moments moments_of(std::span<const Features> runs) {
  const std::size_t d = runs.front().numbers.size();
  Moments moments{std::vector<double>(d), std::vector<double>(d)};
  const auto n = static_cast<double>(runs.size());
  for (const Features& run : runs)
    for (std::size_t j = 0; j < d; ++j) moments.mean[j] += run.numbers[j] / n;
  for (const Features& run : runs)
    for (std::size_t j = 0; j < d; ++j) {
      const double off = run.numbers[j] - moments.mean[j];
      moments.variance[j] += off * off / std::max(1.0, n - 1);
    }
  return moments;
}

double floor_of(double in, double out) {
  return kSmallest * (in * in + out * out) + 1e-200;
}

Score linear(std::vector<double> weights) {
  return [weights = std::move(weights)](const Features& run) {
    double score = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) score += weights[j] * run.numbers[j];
    return score;
  };
}

class Teacher {
 public:
  Teacher(const Examples& examples, std::span<const double> shift)
      : examples_(examples), shift_(shift), in_(moments_of(examples.in)), out_(moments_of(examples.out)) {
    const std::size_t d = in_.mean.size();
    pooled_.resize(d);
    strength_.resize(d);
    for (std::size_t j = 0; j < d; ++j) {
      pooled_[j] = 0.5 * (in_.variance[j] + out_.variance[j]) + floor_of(in_.mean[j], out_.mean[j]);
      strength_[j] = std::abs(in_.mean[j] - out_.mean[j]) / std::sqrt(pooled_[j]);
    }
  }

  std::vector<std::pair<std::string, Score>> scores() {
    std::vector<std::pair<std::string, Score>> all;
    const std::size_t d = in_.mean.size();
    if (d > 0) {
      std::vector<double> difference(d), shared(d), total(d), plain(d, 1.0), strongest(d, 0.0);
      for (std::size_t j = 0; j < d; ++j) {
        difference[j] = (in_.mean[j] - out_.mean[j]) / pooled_[j];
        total[j] = 1 / std::sqrt(pooled_[j]);
        if (!shift_.empty()) shared[j] = shift_[j] / pooled_[j];
      }
      const std::size_t best = static_cast<std::size_t>(
          std::distance(strength_.begin(), std::max_element(strength_.begin(), strength_.end())));
      strongest[best] = in_.mean[best] > out_.mean[best] ? 1 : -1;
      all.emplace_back("difference", linear(difference));
      if (!shift_.empty()) all.emplace_back("shared noise", linear(shared));
      for (auto& [name, weights] : {std::pair{"total", &total}, std::pair{"plain total", &plain}}) {
        double apart = 0;
        for (std::size_t j = 0; j < d; ++j) apart += (*weights)[j] * (in_.mean[j] - out_.mean[j]);
        if (apart < 0)
          for (double& weight : *weights) weight = -weight;
        all.emplace_back(name, linear(*weights));
      }
      all.emplace_back("strongest", linear(strongest));
      add_discriminants(all);
    }
    add_categories(all);
    return all;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> strongest_numbers() const {
    // Of a number whose size differs between the worlds, that counts too.
    std::vector<double> interest(strength_);
    for (std::size_t j = 0; j < interest.size(); ++j) {
      const double least = floor_of(in_.mean[j], out_.mean[j]);
      interest[j] += std::abs(std::log((in_.variance[j] + least) / (out_.variance[j] + least)));
      if (!shift_.empty()) interest[j] += std::abs(shift_[j]) / std::sqrt(pooled_[j]);
    }
    std::vector<std::size_t> order(interest.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t kept = std::min(kStrongest, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](std::size_t a, std::size_t b) { return interest[a] > interest[b]; });
    order.resize(kept);
    return order;
  }

  struct Bell {
    Eigen::VectorXd mean;
    Eigen::MatrixXd inverse;
    double log_determinant = 0;

    [[nodiscard]] double log_density(const Eigen::VectorXd& x) const {
      const Eigen::VectorXd off = x - mean;
      return -0.5 * (off.dot(inverse * off) + log_determinant);
    }
  };

  static Bell bell_of(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
    const double least = kSmallest * std::max(solver.eigenvalues().maxCoeff(), 1e-200);
    const Eigen::VectorXd values = solver.eigenvalues().cwiseMax(least);
    return {mean, solver.eigenvectors() * values.cwiseInverse().asDiagonal() * solver.eigenvectors().transpose(),
            values.array().log().sum()};
  }

  void add_discriminants(std::vector<std::pair<std::string, Score>>& all) const {
    const std::vector<std::size_t> chosen = strongest_numbers();
    const auto k = static_cast<Eigen::Index>(chosen.size());
    // In deviations, so that one ridge fits all.
    const auto picked = [chosen, scale = pooled_](const Features& run) {
      Eigen::VectorXd x(static_cast<Eigen::Index>(chosen.size()));
      for (std::size_t c = 0; c < chosen.size(); ++c)
        x[static_cast<Eigen::Index>(c)] = run.numbers[chosen[c]] / std::sqrt(scale[chosen[c]]);
      return x;
    };
    const auto spread = [&](std::span<const Features> runs, Eigen::VectorXd& mean) {
      mean = Eigen::VectorXd::Zero(k);
      for (const Features& run : runs) mean += picked(run) / static_cast<double>(runs.size());
      Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(k, k);
      for (const Features& run : runs) {
        const Eigen::VectorXd off = picked(run) - mean;
        covariance += off * off.transpose() / std::max(1.0, static_cast<double>(runs.size()) - 1);
      }
      return covariance;
    };
    Eigen::VectorXd mean_in, mean_out;
    const Eigen::MatrixXd of_in = spread(examples_.in, mean_in), of_out = spread(examples_.out, mean_out);
    const Bell pooled = bell_of(mean_in, 0.5 * (of_in + of_out));
    const Eigen::VectorXd direction = pooled.inverse * (mean_in - mean_out);
    all.emplace_back("linear", [picked, direction](const Features& run) { return direction.dot(picked(run)); });
    const Bell in = bell_of(mean_in, of_in), out = bell_of(mean_out, of_out);
    all.emplace_back("quadratic", [picked, in, out](const Features& run) {
      const Eigen::VectorXd x = picked(run);
      return in.log_density(x) - out.log_density(x);
    });
  }

  using Ratios = std::map<std::uint16_t, double>;
  struct Category {
    std::size_t index = 0;
    Ratios ratios;
    double told = 0;  // information

    [[nodiscard]] double log_ratio(const Features& run) const {
      const auto at = ratios.find(run.categories[index]);
      return at == ratios.end() ? 0 : at->second;
    }
  };

  [[nodiscard]] Category category(std::size_t index) const {
    std::map<std::uint16_t, std::pair<double, double>> counted;
    for (const Features& run : examples_.in) ++counted[run.categories[index]].first;
    for (const Features& run : examples_.out) ++counted[run.categories[index]].second;
    Category category{.index = index};
    const auto kinds = static_cast<double>(counted.size());
    const double in = static_cast<double>(examples_.in.size()) + kinds,
                 out = static_cast<double>(examples_.out.size()) + kinds;
    for (const auto& [value, count] : counted) {
      const double p = (count.first + 1) / in, q = (count.second + 1) / out, ratio = std::log(p / q);
      category.ratios[value] = ratio;
      category.told += (p - q) * ratio;
    }
    // What chance alone would tell.
    category.told -= (kinds - 1) * (1 / in + 1 / out);
    return category;
  }

  void add_categories(std::vector<std::pair<std::string, Score>>& all) const {
    std::vector<Category> told;
    for (std::size_t c = 0; c < examples_.in.front().categories.size(); ++c) told.push_back(category(c));
    std::erase_if(told, [](const Category& one) { return !(one.told > 0); });
    if (told.empty()) return;
    std::sort(told.begin(), told.end(), [](const Category& a, const Category& b) { return a.told > b.told; });
    if (told.size() > kManyCategories) told.resize(kManyCategories);
    all.emplace_back("category", [one = told.front()](const Features& run) { return one.log_ratio(run); });
    const auto several = [told](const Features& run) {
      double sum = 0;
      for (const Category& one : told) sum += one.log_ratio(run);
      return sum;
    };
    all.emplace_back("categories", several);
    if (in_.mean.empty()) return;
    std::vector<double> weights(in_.mean.size());
    double middle = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      weights[j] = (shift_.empty() ? in_.mean[j] - out_.mean[j] : shift_[j]) / pooled_[j];
      middle += weights[j] * 0.5 * (in_.mean[j] + out_.mean[j]);
    }
    all.emplace_back("both", [difference = linear(weights), middle, several](const Features& run) {
      return difference(run) - middle + several(run);
    });
  }

  Examples examples_;
  std::span<const double> shift_;
  Moments in_, out_;
  std::vector<double> pooled_, strength_;
};

Scores scores_of(const Score& score, const Examples& examples) {
  Scores scores;
  for (const Features& run : examples.in) scores.in.push_back(score(run));
  for (const Features& run : examples.out) scores.out.push_back(score(run));
  return scores;
}

std::vector<double> thresholds_of(const Scores& scores) {
  std::vector<double> all(scores.in);
  all.insert(all.end(), scores.out.begin(), scores.out.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<double> thresholds;
  const std::size_t step = std::max<std::size_t>(1, all.size() / kThresholds);
  for (std::size_t k = 1; k < all.size(); k += step) thresholds.push_back(0.5 * (all[k - 1] + all[k]));
  if (thresholds.empty()) thresholds.push_back(all.empty() ? 0 : all.front());
  return thresholds;
}

// As if there were as many runs as there will be.
Counts scaled(const Counts& counts, std::int64_t runs) {
  // Half a run more on either side: what never happened in few runs may happen in many.
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return (static_cast<double>(part) + 0.5) / (static_cast<double>(whole) + 1);
  };
  const auto many = static_cast<double>(runs);
  return {runs, static_cast<std::int64_t>(many * share(counts.true_positives, counts.in)), runs,
          static_cast<std::int64_t>(std::ceil(many * share(counts.false_positives, counts.out)))};
}

}  // namespace

Counts counts_of(const Scores& scores, const Cut& cut) {
  const auto above = [&](const std::vector<double>& all) {
    return std::count_if(all.begin(), all.end(), [&](double score) { return score > cut.above; });
  };
  const auto in = static_cast<std::int64_t>(scores.in.size()), out = static_cast<std::int64_t>(scores.out.size());
  const std::int64_t tp = above(scores.in), fp = above(scores.out);
  if (cut.of_out) return {out, out - fp, in, in - tp};
  return {in, tp, out, fp};
}

Attack learn(const Examples& first, const Examples& second, std::span<const double> shift, const Aim& aim) {
  Attack best{.name = "none", .score = [](const Features&) { return 0.0; }};
  double most = -1, most_gaussian = -1;
  for (auto& [name, score] : Teacher(first, shift).scores()) {
    const Scores scores = scores_of(score, second);
    double epsilon = 0, gaussian = 0;
    Cut by_counts, by_gaussian;
    for (const double threshold : thresholds_of(scores)) {
      for (const bool of_out : {false, true}) {
        const Cut cut{threshold, of_out};
        const Counts counts = scaled(counts_of(scores, cut), aim.runs);
        if (const double here = clopper_pearson_epsilon(counts, aim.delta, aim.significance); here > epsilon)
          epsilon = here, by_counts = cut;
        if (of_out) continue;  // its Gaussian bound is the same
        if (const double here = gaussian_epsilon(counts, std::max(aim.delta, 1e-12), aim.significance); here > gaussian)
          gaussian = here, by_gaussian = cut;
      }
    }
    if (epsilon + gaussian <= most + most_gaussian) continue;
    most = epsilon, most_gaussian = gaussian;
    best = {name, std::move(score), by_counts, by_gaussian, epsilon};
  }
  return best;
}

std::vector<double> deviations_of(std::span<const Features> runs) {
  std::vector<double> deviations = moments_of(runs).variance;
  for (double& value : deviations) value = std::sqrt(value);
  return deviations;
}

std::vector<double> shift_of(std::span<const Features> in, std::span<const Features> out) {
  std::vector<double> shift(in.front().numbers.size());
  for (std::size_t r = 0; r < in.size(); ++r)
    for (std::size_t j = 0; j < shift.size(); ++j)
      shift[j] += (in[r].numbers[j] - out[r].numbers[j]) / static_cast<double>(in.size());
  return shift;
}

double separation(std::span<const Features> in, std::span<const Features> out, std::span<const double> deviations) {
  const std::vector<double> shift = shift_of(in, out);
  double squares = 0;
  for (std::size_t j = 0; j < shift.size(); ++j)
    if (deviations[j] > 0) squares += std::min(1e6, shift[j] * shift[j] / (deviations[j] * deviations[j]));
  return std::sqrt(squares);
}

}  // namespace parley::audits
