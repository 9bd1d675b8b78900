#include "parley/audits/game.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "parley/audits/attack.h"
#include "parley/core/text.h"

namespace parley::audits {

namespace {

constexpr std::int64_t kSeeds = 3;
constexpr std::int64_t kFewest = 30;  // runs of a world to calibrate with, and as many to test with
constexpr double kCalibration = 0.35;
constexpr std::int64_t kMostCalibration = 700;  // of each world: an attack gets no better
constexpr std::array kLooks = {0.25, 0.5, 1.0};
constexpr double kChance = 0.9;  // of the power that is told

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The runs of both worlds as one observer sees them.
struct Seen {
  std::vector<View> in, out;
};

std::vector<Features> read(const Layout& layout, std::span<const View> views) {
  std::vector<Features> all;
  for (const View& view : views) all.push_back(layout.read(view));
  return all;
}

Layout layout_of(const Seen& seen) {
  std::vector<View> views(seen.in);
  views.insert(views.end(), seen.out.begin(), seen.out.end());
  return Layout::found_in(views);
}

class Game {
 public:
  Game(Stage& stage, const std::vector<Pair>& pairs, const GameSettings& settings)
      : stage_(stage), pairs_(pairs), settings_(settings), start_(Clock::now()) {}

  Result<Audited> play() {
    PARLEY_CHECK(compare_pairs());
    if (audited_.why.empty()) PARLEY_CHECK(calibrate());
    if (audited_.why.empty()) PARLEY_CHECK(test());
    audited_.seconds = seconds_since(start_);
    audited_.confidence = settings_.confidence;
    return audited_;
  }

 private:
  [[nodiscard]] bool stopped() {
    if (settings_.stop && settings_.stop() && audited_.why.empty()) audited_.why = "it was stopped";
    return !audited_.why.empty();
  }

  Result<void> watch(const World& world, std::optional<std::int64_t> seed, std::vector<Seen>& seen, bool is_in) {
    PARLEY_TRY(Played played, stage_.play(world, seed));
    ++audited_.runs;
    if (!seed) {
      const double epsilon = std::max(audited_.claim.epsilon, played.claim.epsilon);
      const double delta = std::max(audited_.claim.delta, played.claim.delta);
      audited_.claim = std::move(played.claim);
      audited_.claim.epsilon = epsilon;
      audited_.claim.delta = delta;
    }
    for (std::size_t o = 0; o < seen.size(); ++o)
      (is_in ? seen[o].in : seen[o].out).push_back(std::move(played.views[o]));
    return {};
  }

  // What an attacker can try at home: it needs no budget, and nothing that is concluded rests on it.
  Result<void> compare_pairs() {
    const std::size_t observers = stage_.observers().size();
    std::vector<std::vector<Seen>> tried;
    std::vector<std::size_t> playable;
    std::optional<Error> broken;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      std::vector<Seen> seen(observers);
      bool all = true;
      for (std::int64_t s = 1; s <= kSeeds && all; ++s) {
        if (stopped()) return {};
        for (const bool is_in : {true, false}) {
          auto watched = watch(is_in ? pairs_[p].in : pairs_[p].out, s, seen, is_in);
          if (watched) continue;
          if (!broken) broken = std::move(watched).error();
          all = false;
          break;
        }
      }
      if (!all) continue;
      tried.push_back(std::move(seen));
      playable.push_back(p);
      if (seconds_since(start_) > 0.2 * settings_.seconds) break;  // large jobs: the worst cases come first
    }
    if (tried.empty()) return fail(broken ? *broken : failed("there is no pair of worlds to play"));
    // The furthest of any observer that the claim is about.
    std::vector<double> apart(tried.size(), 0.0);
    for (std::size_t o = 0; o < observers; ++o) {
      if (!stage_.observers()[o].covered) continue;  // what is not claimed needs no attack that is made for it
      Seen every;
      for (std::vector<Seen>& seen : tried) {
        every.in.insert(every.in.end(), seen[o].in.begin(), seen[o].in.end());
        every.out.insert(every.out.end(), seen[o].out.begin(), seen[o].out.end());
      }
      const Layout layout = layout_of(every);
      const std::vector<double> deviations = deviations_within(read(layout, every.in), read(layout, every.out));
      for (std::size_t t = 0; t < tried.size(); ++t)
        apart[t] =
            std::max(apart[t], separation(read(layout, tried[t][o].in), read(layout, tried[t][o].out), deviations));
    }
    std::vector<std::size_t> order(tried.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return apart[a] > apart[b]; });
    for (const std::size_t t : order) candidates_.push_back({playable[t], std::move(tried[t]), {}});
    return {};
  }

  // Of the noise alone: what a pair's runs of one world differ by.
  static std::vector<double> deviations_within(std::vector<Features> in, std::vector<Features> out) {
    for (std::vector<Features>* runs : {&in, &out})
      for (std::size_t first = 0; first + kSeeds <= runs->size(); first += kSeeds)
        for (std::size_t j = 0; j < runs->front().numbers.size(); ++j) {
          double mean = 0;
          for (std::size_t k = 0; k < kSeeds; ++k) mean += (*runs)[first + k].numbers[j] / static_cast<double>(kSeeds);
          for (std::size_t k = 0; k < kSeeds; ++k) (*runs)[first + k].numbers[j] -= mean;
        }
    in.insert(in.end(), out.begin(), out.end());
    return deviations_of(in);
  }

  Result<void> calibrate() {
    const double each = seconds_since(start_) / static_cast<double>(audited_.runs);
    const double left = settings_.seconds - seconds_since(start_);
    const auto fit = static_cast<std::int64_t>(std::max(0.0, left / each));
    const std::int64_t affordable = std::min(settings_.runs - audited_.runs, fit) / 2;  // of each world
    if (affordable < 2 * kFewest) {
      audited_.why = fmt::format(
          "{} would fit into {:.4g} s and the number of runs that was set, at {:.2g} s for each, and at least {} are "
          "needed: give it more time, or fewer records or iterations",
          counted(2 * affordable, "run"), settings_.seconds, each, 4 * kFewest);
      return {};
    }
    const auto share = static_cast<std::int64_t>(kCalibration * static_cast<double>(affordable));
    const std::int64_t calibration = std::clamp(share, kFewest, kMostCalibration);
    planned_ = affordable - calibration;
    // A part of the calibration is a heat of several pairs: some differences show in no mean.
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, calibration / (2 * kFewest)));
    if (candidates_.size() > most) candidates_.resize(most);
    const std::int64_t of_a_heat = std::max(kFewest, calibration / (2 * static_cast<std::int64_t>(candidates_.size())));
    std::int64_t left_over = calibration;
    if (candidates_.size() > 1) {
      double best = -1;
      std::size_t winner = 0;
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        PARLEY_CHECK(calibrate(candidates_[c], of_a_heat));
        if (!audited_.why.empty()) return {};
        left_over -= of_a_heat;
        const double shown = heat(candidates_[c]);
        if (shown > best + 0.1) best = shown, winner = c;
      }
      std::swap(candidates_.front(), candidates_[winner]);
      candidates_.resize(1);
      left_over += of_a_heat;
    }
    Candidate& chosen = candidates_.front();
    audited_.pair = pairs_[chosen.pair].name;
    PARLEY_CHECK(
        calibrate(chosen, left_over - static_cast<std::int64_t>(chosen.own.empty() ? 0 : chosen.own[0].in.size())));
    if (!audited_.why.empty()) return {};
    significance_ = {(1 - settings_.confidence) / static_cast<double>(kLooks.size() * stage_.observers().size() *
                                                                      (audited_.claim.gaussian ? 2 : 1))};
    for (std::size_t o = 0; o < chosen.own.size(); ++o) {
      layouts_.push_back(layout_of(chosen.own[o]));
      attacks_.push_back(learn_on(chosen, o, layouts_.back(), {planned_, audited_.claim.delta, significance_}));
    }
    return {};
  }

  struct Candidate {
    std::size_t pair = 0;
    std::vector<Seen> shared;  // under shared noise
    std::vector<Seen> own;     // of each observer
  };

  Result<void> calibrate(Candidate& candidate, std::int64_t runs) {
    candidate.own.resize(stage_.observers().size());
    for (std::int64_t r = 0; r < runs; ++r)
      for (const bool is_in : {true, false}) {
        if (stopped()) return {};
        const Pair& pair = pairs_[candidate.pair];
        PARLEY_CHECK(watch(is_in ? pair.in : pair.out, std::nullopt, candidate.own, is_in));
      }
    return {};
  }

  static Attack learn_on(const Candidate& candidate, std::size_t observer, const Layout& layout, const Aim& aim) {
    const Seen &own = candidate.own[observer], &shared = candidate.shared[observer];
    const auto in = read(layout, own.in), out = read(layout, own.out);
    const std::size_t first = 3 * in.size() / 5;
    return learn({std::span(in).first(first), std::span(out).first(first)},
                 {std::span(in).subspan(first), std::span(out).subspan(first)},
                 shift_of(read(layout, shared.in), read(layout, shared.out)), aim);
  }

  // What a heat seems to show, to any observer that the claim is about.
  [[nodiscard]] double heat(const Candidate& candidate) const {
    double most = 0;
    for (std::size_t o = 0; o < candidate.own.size(); ++o) {
      if (!stage_.observers()[o].covered) continue;
      const Layout layout = layout_of(candidate.own[o]);
      most = std::max(most, learn_on(candidate, o, layout, {kFewest, audited_.claim.delta, {0.2}}).hoped);
    }
    return most;
  }

  Result<void> test() {
    const std::vector<Observer>& observers = stage_.observers();
    const Pair& pair = pairs_[candidates_.front().pair];
    std::vector<Scores> scores(observers.size());
    for (std::size_t o = 0; o < observers.size(); ++o)
      audited_.findings.push_back(
          {.observer = observers[o].name, .covered = observers[o].covered, .attack = attacks_[o].name});
    std::size_t look = 0;
    for (std::int64_t r = 1; r <= planned_; ++r) {
      for (const bool is_in : {true, false}) {
        std::vector<Seen> seen(observers.size());
        PARLEY_CHECK(watch(is_in ? pair.in : pair.out, std::nullopt, seen, is_in));
        ++audited_.tested;
        for (std::size_t o = 0; o < observers.size(); ++o) {
          const double score = attacks_[o].score(layouts_[o].read(is_in ? seen[o].in.front() : seen[o].out.front()));
          (is_in ? scores[o].in : scores[o].out).push_back(score);
        }
      }
      const bool last = stopped() || r == planned_ || seconds_since(start_) > settings_.seconds;
      const bool due = static_cast<double>(r) >= kLooks[look] * static_cast<double>(planned_);
      if (!last && !due) continue;
      this->look(scores);
      if (audited_.verdict == Verdict::kViolated || last) break;
      ++look;
    }
    return {};
  }

  void look(const std::vector<Scores>& scores) {
    bool violated = false;
    for (std::size_t o = 0; o < scores.size(); ++o) {
      Finding& finding = audited_.findings[o];
      const Counts counts = counts_of(scores[o], attacks_[o].by_counts);
      const double epsilon = clopper_pearson_epsilon(counts, audited_.claim.delta, significance_);
      if (epsilon >= finding.epsilon) finding.epsilon = epsilon, finding.counts = counts;
      finding.epsilon_gaussian = std::max(
          finding.epsilon_gaussian,
          gaussian_epsilon(counts_of(scores[o], attacks_[o].by_gaussian), audited_.claim.delta, significance_));
      finding.violated =
          finding.covered && (finding.epsilon > audited_.claim.epsilon ||
                              (audited_.claim.gaussian && finding.epsilon_gaussian > audited_.claim.epsilon));
      violated = violated || finding.violated;
    }
    const auto runs = static_cast<std::int64_t>(scores.front().in.size());
    if (violated) {
      audited_.verdict = Verdict::kViolated;
      return;
    }
    if (!audited_.why.empty()) return;
    if (!std::isfinite(audited_.claim.epsilon)) {
      audited_.why = "no finite epsilon is claimed";
      return;
    }
    audited_.power = power(runs);
    const double most = shown_by({runs, runs, runs, 0});
    audited_.verdict = most > audited_.claim.epsilon ? Verdict::kConsistent : Verdict::kInconclusive;
    audited_.why =
        audited_.verdict == Verdict::kConsistent || runs < planned_
            ? ""
            : fmt::format("{} cannot show more than epsilon {:.4g}, whatever the attack: more runs are needed",
                          counted(2 * runs, "test run"), most);
  }

  // The bound that the verdict goes by.
  [[nodiscard]] double shown_by(const Counts& counts) const {
    const double any = clopper_pearson_epsilon(counts, audited_.claim.delta, significance_);
    return audited_.claim.gaussian ? std::max(any, gaussian_epsilon(counts, audited_.claim.delta, significance_)) : any;
  }

  [[nodiscard]] double power(std::int64_t runs) const {
    const auto n = static_cast<double>(runs);
    const double unlucky = -normal_quantile((1 - kChance) / 2);  // of both counts at once, by Bonferroni
    const auto shows = [&](double mu) {
      for (double cut = 0.5 * mu; cut <= mu + 4; cut += 0.5) {
        const double hits = normal_below(mu - cut), alarms = normal_below(-cut);
        const auto few = static_cast<std::int64_t>(n * hits - unlucky * std::sqrt(n * hits * (1 - hits)));
        const auto many =
            static_cast<std::int64_t>(std::ceil(n * alarms + unlucky * std::sqrt(n * alarms * (1 - alarms))));
        if (shown_by({runs, std::max<std::int64_t>(0, few), runs, std::min(runs, many)}) > audited_.claim.epsilon)
          return true;
      }
      return false;
    };
    double low = 0, high = 16;
    if (!shows(high)) return std::numeric_limits<double>::infinity();
    for (int k = 0; k < 12; ++k) {
      const double middle = 0.5 * (low + high);
      (shows(middle) ? high : low) = middle;
    }
    return epsilon_of_mu(high, std::max(audited_.claim.delta, 1e-12));
  }

  Stage& stage_;
  const std::vector<Pair>& pairs_;
  const GameSettings& settings_;
  Clock::time_point start_;
  Audited audited_;
  std::vector<Candidate> candidates_;  // the best first
  std::vector<Layout> layouts_;
  std::vector<Attack> attacks_;
  std::int64_t planned_ = 0;
  Significance significance_;
};

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConsistent:
      return "consistent";
    case Verdict::kViolated:
      return "violated";
    case Verdict::kInconclusive:
      return "inconclusive";
  }
  return "";
}

Result<Audited> play(Stage& stage, const std::vector<Pair>& pairs, const GameSettings& settings) {
  return Game(stage, pairs, settings).play();
}

}  // namespace parley::audits
