// Every case of the reference vectors, each by the accountant its method names. Below the tolerance means
// claiming more privacy than there is; above means loose.
// labels: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/calibration.h"
#include "parley/privacy/accounting/conversion.h"
#include "parley/privacy/accounting/profile.h"
#include "parley/privacy/accounting/renyi.h"
#include "parley/privacy/accounting/textbook.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared.h"

using namespace parley::privacy;
namespace accounting = parley::privacy::accounting;
namespace textbook = parley::privacy::accounting::textbook;

namespace {

using Json = nlohmann::json;

struct Case {
  Json json;
  std::vector<double> orders;

  [[nodiscard]] std::string text(const char* key) const { return json.at(key).get<std::string>(); }
  [[nodiscard]] double query(const char* key) const { return json.at("query").at(key).get<double>(); }
  [[nodiscard]] Neighbours neighbours() const {
    return text("neighbouring") == "replace_one" ? Neighbours::kReplaceOne : Neighbours::kAddRemove;
  }
  [[nodiscard]] const Json& first() const { return json.at("composition").at(0).at("mechanism"); }
  [[nodiscard]] std::int64_t count() const { return json.at("composition").at(0).at("count").get<std::int64_t>(); }
  [[nodiscard]] double step_epsilon() const {
    return first().contains("b") ? first().at("sensitivity").get<double>() / first().at("b").get<double>()
                                 : first().at("epsilon").get<double>();
  }
};

std::optional<Mechanism> mechanism_of(const Json& m) {
  const auto type = m.at("type").get<std::string>();
  const auto get = [&](const char* key) { return m.at(key).get<double>(); };
  if (type == "gaussian") return Gaussian{get("sigma"), get("sensitivity")};
  if (type == "laplace") return Laplace{get("b"), get("sensitivity")};
  if (type == "exponential_mechanism") return Exponential{get("epsilon")};
  if (type == "pure_dp") return Pure{get("epsilon")};
  if (type == "approx_dp") return ApproxDp{get("epsilon"), get("delta")};
  if (type == "zcdp") return Zcdp{get("rho")};
  if (type == "discrete_gaussian") return DiscreteGaussian{get("sigma"), get("sensitivity")};
  if (type == "poisson_sampled" && m.at("inner").at("type") == "gaussian") {
    const Json& inner = m.at("inner");
    return SubsampledGaussian{inner.at("sigma").get<double>() / inner.at("sensitivity").get<double>(), get("q")};
  }
  return std::nullopt;
}

Plan plan_of(const Case& c) {
  Plan plan{c.neighbours(), {}};
  for (const Json& entry : c.json.at("composition"))
    plan.events.push_back({mechanism_of(entry.at("mechanism")).value(), entry.at("count").get<std::int64_t>()});
  return plan;
}

double ask(const Case& c, const Plan& plan, Accountant accountant) {
  if (c.text("quantity") == "epsilon")
    return epsilon_at(plan, Delta::make(c.query("delta")).value(), accountant).value();
  return delta_at(plan, c.query("epsilon"), accountant).value();
}

// rho as Bun and Steinke charge it: Laplace as any pure step, e^2/2.
double classic_rho(const Plan& plan) {
  double rho = 0;
  for (const Event& event : plan.events) {
    const auto* laplace = std::get_if<Laplace>(&event.mechanism);
    const double e = laplace == nullptr ? 0 : laplace->sensitivity / laplace->scale;
    rho += static_cast<double>(event.count) *
           (laplace == nullptr ? accounting::zcdp(event.mechanism, plan.neighbours) : e * e / 2);
  }
  return rho;
}

double zcdp_by(const Case& c, double rho, bool classic) {
  const bool epsilon = c.text("quantity") == "epsilon";
  if (classic)
    return epsilon ? textbook::zcdp_epsilon(rho, c.query("delta")) : textbook::zcdp_delta(rho, c.query("epsilon"));
  return epsilon ? accounting::epsilon_from_zcdp(rho, c.query("delta"))
                 : accounting::delta_from_zcdp(rho, c.query("epsilon"));
}

std::optional<double> calibrated(const Case& c) {
  const auto method = c.text("method");
  const auto quantity = c.text("quantity");
  const double epsilon = c.query("epsilon"), delta = c.query("delta");
  const Target target{Epsilon::make(epsilon).value(), Delta::make(delta).value(), c.neighbours()};
  if (quantity == "rho")
    return method == "zcdp_cks" ? accounting::zcdp_within(epsilon, delta) : textbook::zcdp_rho(epsilon, delta);
  if (quantity == "sigma") {
    if (method == "balle_wang_analytic") return gaussian_noise(target, c.count()).value();
    if (method == "classic_sqrt2ln125") return textbook::gaussian_sigma(epsilon, delta);
    const double rate = c.first().at("q").get<double>();
    if (method == "pld_exact") return sampled_gaussian_noise(target, rate, c.count(), Accountant::kPld).value();
    // rdp_orders_G: the same search with that fixed set of orders.
    return largest_scale(
               [&](double scale) {
                 const Plan plan{target.neighbours, {{SubsampledGaussian{1 / scale, rate}, c.count()}}};
                 double best = 1;
                 for (const double order : c.orders)
                   best = std::min(best, accounting::delta_from_renyi(order, renyi_of(plan, order).value(), epsilon));
                 return best;
               },
               delta, 1.0)
        .transform([](double scale) { return 1 / scale; })
        .value();
  }
  const std::int64_t steps = c.count();
  if (method == "zcdp_cks") return std::sqrt(8 * accounting::zcdp_within(epsilon, delta) / static_cast<double>(steps));
  if (method == "zcdp_classic") return std::sqrt(8 * textbook::zcdp_rho(epsilon, delta) / static_cast<double>(steps));
  if (method == "dwork_roth_cor_3_21") return textbook::epsilon_per_step(epsilon, delta, steps);
  if (method == "rdp_bounded_range_tight") return selection_epsilon(target, steps, Accountant::kRdp).value();
  if (method == "kov_optimal") return selection_epsilon(target, steps, Accountant::kKov).value();
  return std::nullopt;
}

std::optional<double> answer(const Case& c) {
  const auto method = c.text("method");
  const auto quantity = c.text("quantity");
  const Json& query = c.json.at("query");
  if (query.contains("epsilon") && query.contains("delta")) return calibrated(c);
  if (method == "amplification")
    return textbook::amplified_epsilon(c.first().at("inner").at("epsilon").get<double>(),
                                       c.first().at("q").get<double>());

  const Plan plan = plan_of(c);
  const auto steps = plan.events.size() == 1 ? c.count() : 0;
  if (method == "exact" || method == "pld_exact" || method == "pld" || method == "pld_bounded_range_dominating")
    return ask(c, plan, Accountant::kPld);
  if (method == "bounded_range_profile") return ask(c, plan, Accountant::kPld);
  if (method == "pld_em_as_pure_dp") {
    Plan generic = plan;
    for (Event& event : generic.events)
      if (const auto* m = std::get_if<Exponential>(&event.mechanism)) event.mechanism = Pure{m->epsilon};
    return ask(c, generic, Accountant::kPld);
  }
  if (method == "rdp_all_orders" || method == "rdp_bounded_range_tight") return ask(c, plan, Accountant::kRdp);
  if (method == "rdp_orders_G") {
    double best = INFINITY;
    for (const double order : c.orders)
      best = std::min(best, accounting::epsilon_from_renyi(order, renyi_of(plan, order).value(), c.query("delta")));
    return best;
  }
  if (method == "rdp" || (method == "bounded_range_tight" && quantity == "rdp"))
    return accounting::renyi(plan.events.at(0).mechanism, plan.neighbours, c.query("alpha"));
  if (method == "cesar_rogers") return textbook::bounded_range_renyi(c.step_epsilon(), c.query("alpha"));
  if (method == "bounded_range_tight") {
    double worst = 0;
    for (double t = 1e-6; t < 1e6; t *= 1.01)
      worst = std::max(worst, accounting::renyi_bounded_range(c.step_epsilon(), 1 + t) / (1 + t));
    return worst;
  }
  if (method == "eps2_over_8" || method == "zcdp_laplace_tight")
    return accounting::zcdp(plan.events.at(0).mechanism, plan.neighbours);
  if (method == "zcdp_pure_dp") return classic_rho(plan);
  if (method == "zcdp_pure_dp_tight") return accounting::zcdp(Pure{c.step_epsilon()}, plan.neighbours);
  if (method == "zcdp_classic") return zcdp_by(c, classic_rho(plan), true);
  if (method == "zcdp_cks") return zcdp_by(c, classic_rho(plan), false);
  if (method == "zcdp_cks_tight_laplace") return ask(c, plan, Accountant::kZcdp);
  if (method == "basic") return pure_epsilon(plan).value();
  if (method == "kov_optimal") return ask(c, plan, Accountant::kKov);
  const double step_delta = c.first().contains("delta") ? c.first().at("delta").get<double>() : 0;
  if (method == "drv")
    return textbook::advanced_composition_epsilon(c.step_epsilon(), steps, c.query("delta"), step_delta);
  if (method == "kov_closed_form") return textbook::kov_closed_form_epsilon(c.step_epsilon(), steps, c.query("delta"));
  if (method == "kov_lattice") return textbook::kov_lattice_epsilon(c.step_epsilon(), steps, c.query("delta"));
  return std::nullopt;
}

// One test per family, so that a failure names the mathematics that broke and runs can be split.
class AccountingVectors : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(AccountingVectors, HoldWithinToleranceAndNeverOptimistic) {
  PARLEY_SKIP_WHEN_SANITIZED();
  const auto folder = parley::test::shared();
  if (!folder) GTEST_SKIP() << "needs shared/vectors/accounting.json beside the source tree (or PARLEY_SHARED)";
  std::ifstream file(*folder / "vectors" / "accounting.json");
  if (!file) GTEST_SKIP() << "needs " << (*folder / "vectors" / "accounting.json");
  const Json root = Json::parse(file);
  const auto orders = root.at("order_sets").at("G").get<std::vector<double>>();

  int seen = 0, wrong = 0;
  for (const Json& json : root.at("cases")) {
    if (json.at("group") != GetParam()) continue;
    const Case c{json, orders};
    ++seen;
    const std::optional<double> got = answer(c);
    ASSERT_TRUE(got.has_value()) << c.text("id") << ": no accountant for method " << c.text("method");
    const double value = json.at("value").get<double>();
    const double low = value * (1 - json.at("tol_below_rel").get<double>()) - json.at("tol_abs").get<double>();
    const double high = value * (1 + json.at("tol_above_rel").get<double>()) + json.at("tol_abs").get<double>();
    if (!(*got >= low && *got <= high)) {
      ++wrong;
      ADD_FAILURE() << c.text("id") << " " << c.text("method") << " " << c.text("quantity") << ": got " << *got
                    << ", want " << value << ", relative " << *got / value - 1 << (*got < low ? " BELOW" : " above")
                    << "\n  " << json.at("composition").dump() << " " << json.at("query").dump();
    }
    if (wrong > 20) break;
  }
  EXPECT_GT(seen, 0) << "no case of this family in the file";
}

INSTANTIATE_TEST_SUITE_P(Families, AccountingVectors,
                         testing::Values("gaussian_single", "gaussian_calibration", "amplification_poisson_pure",
                                         "discrete_gaussian_single", "gaussian_composed", "laplace_single",
                                         "laplace_rdp", "laplace_zcdp", "laplace_composed", "zcdp_to_dp",
                                         "zcdp_calibration", "advanced_composition", "em_rdp", "em_zcdp", "em_composed",
                                         "em_single", "rdp_subsampled_gaussian", "heterogeneous", "dpsgd_calibration",
                                         "dpfw_calibration", "poisson_subsampled_gaussian_replace_one",
                                         "poisson_subsampled_gaussian"),
                         [](const auto& family) { return std::string(family.param); });
