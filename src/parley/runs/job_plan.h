// What a job would do, before it is run (plan.h), in numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parley/algorithms/parts/forecast.h"
#include "parley/catalog/catalog.h"
#include "parley/runs/claim.h"
#include "parley/runs/join_plan.h"

namespace parley::runs {

struct PlannedRelease {
  privacy::Event event;
  double noise_to_signal = 0;
  double share = 0;  // of the run's zCDP cost; 0 when a release has none
};

// A party of a job of several.
struct PlannedParty {
  std::string name;
  std::size_t columns = 0;
  std::size_t memory_bytes = 0;
  double epsilon = 0, delta = 0;  // of what it would charge; 0: nothing
  std::int64_t steps = 0, fitting_steps = 0;
  std::vector<PlannedRelease> releases{};
  // What a drawn column's signal must be at least, as a share of the largest that any data could have.
  std::optional<double> floor{};
  algorithms::Traffic traffic{};  // with the frames' headers
};

// Noise in sensitivities, for people.
std::string noise_of(const privacy::Mechanism& mechanism);

struct JobPlan {
  std::size_t records = 0;
  std::size_t columns = 0;
  std::size_t memory_bytes = 0;                 // of the features and a trainer's vectors, about
  std::optional<PrivacyReport> privacy;         // as the run would claim it; absent: the run is not private
  std::int64_t steps = 0;                       // of the reservation
  std::int64_t fitting_steps = 0;               // those the budget of the site's ledger still holds
  std::optional<std::int64_t> quiet_steps;      // the most steps whose noise stays below a tenth of the largest signal
  std::optional<std::int64_t> suggested_steps;  // those an algorithm takes where the job states none
  std::vector<PlannedRelease> releases;
  // the least that a private estimate can say of a column, as a share of its bound's
  std::optional<double> smoothness_floor;
  std::optional<catalog::RiskOrder> risk;
  std::vector<std::string> warnings;
  // of a job of several parties
  std::vector<PlannedParty> parties{};
  algorithms::Forecast forecast{};
  std::optional<JoinPlan> join{};  // of a job over several tables, which has no more of a plan than that
};

}  // namespace parley::runs
