#include "parley/audits/many_canaries.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "parley/audits/features.h"

namespace parley::audits {

namespace {

constexpr double kCalibration = 0.4;
constexpr std::int64_t kFewest = 20;  // runs to learn from, and as many to test with

struct Watched {
  std::vector<bool> coins;
  std::vector<View> views;
};

// The log-likelihood ratio of one label by one number or category of a view.
class LabelScore {
 public:
  LabelScore(const std::vector<Features>& runs, const std::vector<Watched>& watched, std::size_t label) {
    const auto coin = [&](std::size_t r) { return static_cast<std::size_t>(watched[r].coins[label]); };
    double most = 0;
    for (std::size_t j = 0; j < runs.front().numbers.size(); ++j) {
      std::array<double, 2> mean{}, square{}, count{};
      for (std::size_t r = 0; r < runs.size(); ++r) {
        mean[coin(r)] += runs[r].numbers[j];
        square[coin(r)] += runs[r].numbers[j] * runs[r].numbers[j];
        ++count[coin(r)];
      }
      if (count[0] < 2 || count[1] < 2) return;
      for (const std::size_t c : {0, 1}) mean[c] /= count[c], square[c] = square[c] / count[c] - mean[c] * mean[c];
      const double variance = std::max(0.0, 0.5 * (square[0] + square[1])) + 1e-12 * (mean[0] * mean[0] + 1e-300);
      const double told = std::abs(mean[1] - mean[0]) / std::sqrt(variance);
      if (told <= most) continue;
      most = told;
      number_ = j;
      slope_ = (mean[1] - mean[0]) / variance;
      middle_ = 0.5 * (mean[0] + mean[1]);
      by_number_ = true;
    }
    for (std::size_t j = 0; j < runs.front().categories.size(); ++j) {
      std::map<std::uint16_t, std::array<double, 2>> counted;
      std::array<double, 2> all{};
      for (std::size_t r = 0; r < runs.size(); ++r) ++counted[runs[r].categories[j]][coin(r)], ++all[coin(r)];
      if (counted.size() > 8) continue;
      // In the measure of the numbers: the distance of two Gaussians that are told apart as well.
      double information = 0;
      std::map<std::uint16_t, double> ratios;
      for (const auto& [value, count] : counted) {
        const double p = (count[1] + 0.5) / (all[1] + 1), q = (count[0] + 0.5) / (all[0] + 1);
        ratios[value] = std::log(p / q);
        information += (p - q) * ratios[value];
      }
      if (std::sqrt(information) <= most) continue;
      most = std::sqrt(information);
      number_ = j;
      ratios_ = std::move(ratios);
      by_number_ = false;
    }
  }

  [[nodiscard]] double of(const Features& run) const {
    if (by_number_) return slope_ * (run.numbers[number_] - middle_);
    const auto at = ratios_.empty() ? ratios_.end() : ratios_.find(run.categories[number_]);
    return at == ratios_.end() ? 0 : at->second;
  }

 private:
  bool by_number_ = false;
  std::size_t number_ = 0;
  double slope_ = 0, middle_ = 0;
  std::map<std::uint16_t, double> ratios_;
};

}  // namespace

Result<void> play_many(Stage& stage, const ManyCanaries& many, const GameSettings& settings, Audited& audited) {
  const std::int64_t learning = std::max(kFewest, static_cast<std::int64_t>(kCalibration * settings.runs));
  const std::int64_t testing = settings.runs - learning;
  if (testing < kFewest || !audited.why.empty() || audited.verdict == Verdict::kViolated) return {};
  std::mt19937_64 coins{std::random_device{}()};
  const auto watch = [&]() -> Result<Watched> {
    Watched watched;
    for (std::size_t i = 0; i < many.canaries; ++i) watched.coins.push_back((coins() >> 63) != 0);
    PARLEY_TRY(Played played, stage.play(many.world(watched.coins), std::nullopt));
    ++audited.runs;
    watched.views = std::move(played.views);
    return watched;
  };
  std::vector<Watched> learnt;
  for (std::int64_t r = 0; r < learning; ++r) {
    if (settings.stop && settings.stop()) return {};
    PARLEY_TRY(learnt.emplace_back(), watch());
  }
  const std::size_t observers = stage.observers().size();
  std::vector<Layout> layouts;
  std::vector<std::vector<LabelScore>> scores(observers);
  for (std::size_t o = 0; o < observers; ++o) {
    std::vector<View> views;
    for (const Watched& one : learnt) views.push_back(one.views[o]);
    layouts.push_back(Layout::found_in(views));
    std::vector<Features> runs;
    for (const View& view : views) runs.push_back(layouts[o].read(view));
    for (std::size_t i = 0; i < many.canaries; ++i) scores[o].emplace_back(runs, learnt, i);
  }
  learnt.clear();
  std::vector<Guesses> guesses(observers);
  for (std::int64_t r = 0; r < testing; ++r) {
    if (settings.stop && settings.stop()) break;
    PARLEY_TRY(const Watched watched, watch());
    ++audited.tested;
    for (std::size_t o = 0; o < observers; ++o) {
      const Features features = layouts[o].read(watched.views[o]);
      for (std::size_t i = 0; i < many.canaries; ++i) {
        const double score = scores[o][i].of(features);
        ++guesses[o].canaries;
        if (score == 0) continue;  // nothing is known of it
        ++guesses[o].guessed;
        guesses[o].right += (score > 0) == watched.coins[i];
      }
    }
  }
  // With m canaries a failure of chance delta is one of m delta: what holds at delta 0 is what can be tested.
  const bool pure = std::isfinite(audited.claim.pure_epsilon);
  const double claimed = pure ? audited.claim.pure_epsilon : audited.claim.epsilon;
  const double delta = pure ? 0 : audited.claim.delta;
  const Significance each{(1 - settings.confidence) / static_cast<double>(observers)};
  for (std::size_t o = 0; o < observers; ++o) {
    Finding finding{.observer = stage.observers()[o].name,
                    .covered = stage.observers()[o].covered,
                    .attack = "all labels at once",
                    .counts = {},
                    .epsilon = one_run_epsilon(guesses[o], delta, each)};
    finding.guesses = guesses[o];
    finding.violated = finding.covered && finding.epsilon > claimed;
    if (finding.violated) audited.verdict = Verdict::kViolated;
    audited.findings.push_back(std::move(finding));
  }
  return {};
}

}  // namespace parley::audits
