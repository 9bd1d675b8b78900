#include "parley/audits/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parley/core/text.h"
#include "parley/core/version.h"

namespace parley::audits {

namespace {

using Json = nlohmann::ordered_json;

double shown(const Audited& audited, const Finding& finding) {
  return audited.claim.gaussian ? std::max(finding.epsilon, finding.epsilon_gaussian) : finding.epsilon;
}

std::string conclusion(const Audited& audited) {
  switch (audited.verdict) {
    case Verdict::kConsistent:
      return "consistent: no attack of this audit showed more than is claimed, which proves nothing about others";
    case Verdict::kViolated:
      return "violated: an attack showed more than is claimed";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive: " + audited.why;
}

}  // namespace

std::string audit_table(const jobs::Job& job, const Audited& audited) {
  const Claim& claim = audited.claim;
  std::string text = fmt::format("{}: {}\n", printable(job.name), conclusion(audited));
  text += fmt::format("  claim        epsilon {:.4g}, delta {:.3g}, for one {}, {} neighbours, against {}\n",
                      audited.claim.epsilon, audited.claim.delta, privacy::name(claim.unit),
                      privacy::name(claim.neighbours), claim.against);
  text += fmt::format("  worlds       {}\n", audited.pair);
  text += fmt::format("  runs         {}, {} of them counted, in {:.1f} s\n", with_commas(audited.runs),
                      with_commas(audited.tested), audited.seconds);
  if (audited.findings.empty()) return text;
  std::size_t width = 8;
  for (const Finding& finding : audited.findings) width = std::max(width, finding.observer.size());
  text += fmt::format("  {:<{}}  {:>11}  {:>10}  attack\n", "observer", width, "lower bound", "claimed");
  for (const Finding& finding : audited.findings)
    text +=
        fmt::format("  {:<{}}  {:>11.4f}  {:>10}  {}{}\n", printable(finding.observer), width, shown(audited, finding),
                    finding.covered ? fmt::format("{:.4f}", audited.claim.epsilon) : "no claim", finding.attack,
                    finding.violated ? "  VIOLATED" : "");
  text += fmt::format("  confidence   {:.6g} %, for all bounds together{}\n", 100 * audited.confidence,
                      audited.claim.gaussian ? "; all noise is Gaussian, so bounds by its trade-off count" : "");
  if (audited.power > 0)
    text += std::isfinite(audited.power)
                ? fmt::format(
                      "  power        would have found an epsilon above {:.4g} with chance 0.9, by an attack as "
                      "good as any\n",
                      audited.power)
                : "  power        too few runs to find any epsilon\n";
  return text;
}

std::string audit_json(const jobs::Job& job, const Audited& audited) {
  const Claim& claim = audited.claim;
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json document = {{"job", job.name}, {"verdict", name(audited.verdict)}};
  if (!audited.why.empty()) document["why"] = audited.why;
  document["claim"] = {{"epsilon", number(audited.claim.epsilon)},
                       {"delta", audited.claim.delta},
                       {"unit", privacy::name(claim.unit)},
                       {"neighbours", privacy::name(claim.neighbours)},
                       {"against", claim.against}};
  document["worlds"] = audited.pair;
  document["runs"] = {{"all", audited.runs}, {"counted", audited.tested}};
  document["confidence"] = audited.confidence;
  document["power"] = audited.power > 0 ? number(audited.power) : Json(nullptr);
  document["observers"] = Json::array();
  for (const Finding& finding : audited.findings) {
    Json one = {{"observer", finding.observer},
                {"covered", finding.covered},
                {"lower_bound", shown(audited, finding)},
                {"violated", finding.violated},
                {"attack", finding.attack}};
    if (const auto& guesses = finding.guesses) {
      one["one_run"] = finding.epsilon;
      one["guesses"] = {{"canaries", guesses->canaries}, {"guessed", guesses->guessed}, {"right", guesses->right}};
    } else {
      one["clopper_pearson"] = finding.epsilon;
      one["gaussian"] = audited.claim.gaussian ? Json(finding.epsilon_gaussian) : Json(nullptr);
      one["counts"] = {{"in", finding.counts.in},
                       {"true_positives", finding.counts.true_positives},
                       {"out", finding.counts.out},
                       {"false_positives", finding.counts.false_positives}};
    }
    document["observers"].push_back(std::move(one));
  }
  document["seconds"] = audited.seconds;
  document["version"] = kVersion;
  return document.dump(2);
}

}  // namespace parley::audits
