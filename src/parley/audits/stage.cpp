#include "parley/audits/stage.h"

#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/runs/run.h"
#include "parley/wire/frame.h"

namespace parley::audits {

namespace {

// In memory where the machine has a folder for that: a ledger that nobody needs afterwards need not reach a disk.
class PassingFolder {
 public:
  static Result<PassingFolder> make() {
    std::error_code ignored;
    for (const std::filesystem::path& place :
         {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path(ignored)}) {
      std::string name = (place / "parley-audit-XXXXXX").string();
      if (::mkdtemp(name.data()) != nullptr) return PassingFolder(name);
    }
    return fail(failed("an audit needs a temporary folder, and none can be made (TMPDIR)"));
  }
  PassingFolder(PassingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PassingFolder& operator=(PassingFolder&&) = delete;
  ~PassingFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string ledger() const { return path_ + "/ledger"; }

 private:
  explicit PassingFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string bytes_of(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(double), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string model_of(const runs::Outcome& outcome) {
  std::string bytes;
  const auto add = [&](const glm::Model& model) { bytes += bytes_of(model.weights) + bytes_of(model.intercepts); };
  if (outcome.parts.empty()) add(outcome.trained.model);
  for (const models::Trained& part : outcome.parts) add(part.model);
  return bytes;
}

constexpr int kRunsOfALedger = 16;  // whoever opens one reads all of it
constexpr double kFine = 1000;      // grains of a discrete Gaussian's deviation that make it as good as a Gaussian

bool is_gaussian(const privacy::Plan& plan) {
  return !plan.events.empty() && std::all_of(plan.events.begin(), plan.events.end(), [](const privacy::Event& event) {
    const auto* discrete = std::get_if<privacy::DiscreteGaussian>(&event.mechanism);
    const auto* sampled = std::get_if<privacy::SubsampledGaussian>(&event.mechanism);
    return std::holds_alternative<privacy::Gaussian>(event.mechanism) ||
           (discrete != nullptr && discrete->sigma >= kFine) || (sampled != nullptr && sampled->sampling_rate == 1);
  });
}

class RealRun final : public Stage {
 public:
  RealRun(jobs::Job job, PassingFolder folder) : job_(std::move(job)), folder_(std::move(folder)) {
    job_.privacy->ledger = folder_.ledger();
    const bool everyone = job_.privacy->against == privacy::Against::kEveryone;
    observers_.push_back({"outsider (the model)", runs::covered_by(job_) == runs::Covered::kModel});
    if (catalog::federation_of(job_) == nullptr) return;
    observers_.push_back({"coordinator (all messages)", everyone});
    if (job_.parties.size() > 1)
      observers_.push_back({"party " + job_.parties.back().name + " (its messages)", everyone});
  }

  [[nodiscard]] const std::vector<Observer>& observers() const override { return observers_; }

  Result<Played> play(const World& world, std::optional<std::int64_t> seed) override {
    PARLEY_CHECK(renew_ledger());
    job_.seed = seed;
    const std::size_t parties = job_.parties.size();
    View lists(2 * parties);
    runs::Watch watch;
    watch.tap = [&](int party, rounds::Way way, std::string_view frame) {
      if (frame.size() < wire::kHeaderBytes) return;
      const auto kind = static_cast<wire::Kind>(frame[6]);
      if (kind == wire::Kind::kOpen || kind == wire::Kind::kClose) return;
      std::string message(frame.substr(6, 2));
      message += frame.substr(wire::kHeaderBytes);
      lists[2 * static_cast<std::size_t>(party) + (way == rounds::Way::kUp ? 1 : 0)].push_back(std::move(message));
    };
    PARLEY_TRY(const runs::Outcome outcome, runs::run(job_, sources_of(world, job_), watch));
    if (!outcome.privacy) return fail(failed("the run made no claim"));
    const runs::PrivacyReport& report = *outcome.privacy;
    Played played;
    played.claim = {report.epsilon,    report.delta,         report.unit,
                    report.neighbours, against_whom(report), is_gaussian(report.plan) && !job_.labels.noise};
    if (!jobs::protects_records(job_)) {
      PARLEY_TRY(played.claim.pure_epsilon, privacy::pure_epsilon(report.plan));
    }
    const std::vector<std::string> model = {model_of(outcome)};
    played.views.push_back({model});
    if (observers_.size() > 1) {
      View all = lists;
      if (observers_.front().covered) all.push_back(model);
      played.views.push_back(std::move(all));
    }
    if (observers_.size() > 2)
      played.views.push_back({std::move(lists[2 * parties - 2]), std::move(lists[2 * parties - 1])});
    return played;
  }

 private:
  // A ledger serves several runs: making one takes longer than a small run. A reproduction of a paper sets its budget
  // by what it costs, and needs one that has none.
  Result<void> renew_ledger() {
    const jobs::PrivacySection& section = *job_.privacy;
    const double delta = section.delta.value_or(1e-3);
    const bool paper = section.calibration == privacy::Calibration::kPaper;
    const int most = paper ? 1 : std::clamp(static_cast<int>(0.4 / delta), 1, kRunsOfALedger);
    if (paid_ % most == 0) {
      std::error_code ignored;
      std::filesystem::remove_all(section.ledger, ignored);
      if (most > 1) {
        PARLEY_TRY(const privacy::Epsilon much, privacy::Epsilon::make(1e6));
        PARLEY_TRY(const privacy::Delta enough, privacy::Delta::make(0.9));
        PARLEY_TRY(privacy::Ledger ledger, privacy::Ledger::open(section.ledger));
        for (const jobs::PartySection& party : job_.parties)
          PARLEY_CHECK(ledger.set_budget({party.name, section.unit, section.neighbours},
                                         {much, enough, privacy::Composition::kPlans}));
      }
    }
    ++paid_;
    return {};
  }

  jobs::Job job_;
  PassingFolder folder_;
  int paid_ = 0;
  std::vector<Observer> observers_;
};

}  // namespace

Result<std::unique_ptr<Stage>> stage_of(jobs::Job job) {
  if (!job.privacy)
    return fail(bad_input({job.file, 0, "privacy"}, "is missing: a run that claims nothing has nothing to audit"));
  job.data.test_fraction.reset();
  PARLEY_TRY(PassingFolder folder, PassingFolder::make());
  return std::unique_ptr<Stage>(std::make_unique<RealRun>(std::move(job), std::move(folder)));
}

}  // namespace parley::audits
