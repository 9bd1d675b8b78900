// parley calibrate: how much noise a promise of (epsilon, delta) needs.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/parley/verbs.h"
#include "parley/core/text.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/accounting/statement.h"

namespace parley::app {
namespace {

using Json = nlohmann::ordered_json;
using namespace parley::privacy;

struct Options {
  double epsilon = 0;
  double delta = 0;
  std::int64_t steps = 1;
  std::optional<double> rate;
  std::string plan = "release";
  std::optional<double> share;
  std::string noise = "auto";
  std::string neighbours = "replace-one";
  bool json = false;
};

// The noise found, by the names it is published under, and the plan it makes.
struct Answer {
  std::vector<std::pair<std::string, double>> noise;
  Plan plan;
  Account account;
};

Result<Answer> sampled(const Target& target, const Options& options) {
  PARLEY_TRY(const double z, sampled_gaussian_noise(target, *options.rate, options.steps));
  Answer answer{
      {{"noise_multiplier", z}}, {target.neighbours, {{SubsampledGaussian{z, *options.rate}, options.steps}}}, {}};
  PARLEY_TRY(answer.account, account_at_delta(answer.plan, target.delta));
  return answer;
}

Result<Answer> select_and_release(const Target& target, const Options& options) {
  SelectAndRelease shape{.steps = options.steps};
  shape.share = options.plan == "release" ? 0 : options.plan == "select" ? 1 : options.share.value_or(0.5);
  if (options.plan == "select+release" && !(shape.share > 0 && shape.share < 1))
    return fail(bad_input({.field = "--share"}, "must lie strictly between 0 and 1", fmt::format("{}", shape.share)));
  shape.noise = options.noise == "gaussian"  ? ValueNoise::kGaussian
                : options.noise == "laplace" ? ValueNoise::kLaplace
                                             : ValueNoise::kAuto;
  PARLEY_TRY(const SelectAndReleaseNoise found, select_and_release_noise(target, shape));
  Answer answer{{}, found.plan, found.account};
  if (shape.share > 0) answer.noise.emplace_back("selection_epsilon", found.selection_epsilon);
  if (shape.share < 1) {
    const bool gaussian = found.noise == ValueNoise::kGaussian;
    answer.noise.emplace_back(gaussian ? "sigma_over_sensitivity" : "laplace_scale_over_sensitivity",
                              found.value_multiplier);
  }
  return answer;
}

std::string meaning(const std::string& noise) {
  if (noise == "noise_multiplier") return "standard deviation of the noise over the largest contribution of one record";
  if (noise == "selection_epsilon")
    return "epsilon of each exponential mechanism (Gumbel scale 2 x sensitivity / epsilon)";
  if (noise == "sigma_over_sensitivity") return "standard deviation of Gaussian noise over the l2-sensitivity";
  return "scale of Laplace noise over the l1-sensitivity";
}

Result<int> run(const Options& options) {
  PARLEY_TRY(const Epsilon epsilon, Epsilon::make(options.epsilon));
  PARLEY_TRY(const Delta delta, Delta::make(options.delta));
  const std::vector<std::string> plans{"release", "select", "select+release"}, noises{"auto", "gaussian", "laplace"},
      relations{"replace-one", "add-remove"};
  const auto one_of = [](const std::string& value, const std::vector<std::string>& legal,
                         const char* field) -> Result<void> {
    for (const std::string& word : legal)
      if (word == value) return {};
    return fail(bad_input({.field = field}, "unknown value" + suggestion(value, legal), value));
  };
  PARLEY_CHECK(one_of(options.plan, plans, "--plan"));
  PARLEY_CHECK(one_of(options.noise, noises, "--noise"));
  PARLEY_CHECK(one_of(options.neighbours, relations, "--neighbours"));
  const Target target{epsilon, delta,
                      options.neighbours == "add-remove" ? Neighbours::kAddRemove : Neighbours::kReplaceOne};
  const bool sampling = options.rate.has_value();
  if (sampling && options.plan != "release")
    return fail(bad_input({.field = "--sampling-rate"}, "goes with --plan release only", options.plan));
  if (sampling && options.noise == "laplace")
    return fail(bad_input({.field = "--noise"},
                          "sums over a sample get Gaussian noise; leave --sampling-rate or this out", options.noise));
  if (options.share && options.plan != "select+release")
    return fail(bad_input({.field = "--share"}, "goes with --plan select+release only", options.plan));
  PARLEY_TRY(const Answer answer, sampling ? sampled(target, options) : select_and_release(target, options));

  if (options.json) {
    Json root;
    root["epsilon"] = options.epsilon;
    root["delta"] = options.delta;
    root["neighbours"] = options.neighbours;
    root["steps"] = options.steps;
    for (const auto& [key, value] : answer.noise) root[key] = value;
    root["spent"] = {{"epsilon", answer.account.epsilon},
                     {"delta", answer.account.delta},
                     {"accountant", name(answer.account.chosen)}};
    root["events"] = Json::parse(to_json(answer.plan))["events"];
    root["statement"] = in_words(answer.account.epsilon, options.delta, target.neighbours);
    fmt::print("{}\n", root.dump(2));
    return 0;
  }
  for (const auto& [key, value] : answer.noise) {
    // Noise is shown rounded up and a selection's epsilon down: what is typed in again must still keep the promise.
    const bool down = key == "selection_epsilon";
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 5);
    fmt::print("{} {}\n    {}\n", key,
               down ? fmt::format("{:.6g}", std::floor(value / unit) * unit) : rounded_up(value, 6), meaning(key));
  }
  fmt::print("\n{} of it cost{} epsilon {} at delta {}, {} (accountant: {})\n\n{}\n", counted(options.steps, "step"),
             options.steps == 1 ? "s" : "", rounded_up(answer.account.epsilon, 6), rounded_up(options.delta, 6),
             options.neighbours, name(answer.account.chosen),
             in_words(answer.account.epsilon, options.delta, target.neighbours));
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("calibrate", "Compute the noise that a promise of (epsilon, delta) needs");
  verb->add_option("--epsilon", options->epsilon, "What the whole run may spend")->required();
  verb->add_option("--delta", options->delta, "Probability with which the bound may fail")->required();
  verb->add_option("--steps", options->steps, "How often the step is repeated (default: 1)");
  verb->add_option("--sampling-rate", options->rate, "Probability with which each record joins a step (DP-SGD)");
  verb->add_option("--plan", options->plan, "What a step does: release, select or select+release (default: release)");
  verb->add_option("--share", options->share, "The selection's share of the cost in select+release (default: 0.5)");
  verb->add_option("--noise", options->noise, "Noise of released values: auto, gaussian or laplace (default: auto)");
  verb->add_option("--neighbours", options->neighbours,
                   "The relation: replace-one or add-remove (default: replace-one)");
  verb->add_flag("--json", options->json, "Print JSON on stdout and nothing else");
  verb->footer(R"(Examples:
  parley calibrate --epsilon 1 --delta 1e-6 --steps 100
  parley calibrate --epsilon 3 --delta 1e-5 --steps 10000 --sampling-rate 0.01 \
    --neighbours add-remove
  parley calibrate --epsilon 1 --delta 1e-6 --steps 20 --plan select+release --share 0.5 --json)");
  verb->callback([options, &exit] { exit.finish(run(*options)); });
}

}  // namespace parley::app
