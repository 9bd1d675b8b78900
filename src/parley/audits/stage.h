// Where the game is played: the real run of the job - runs::run(), with all parties in this process and the messages
// that they would send elsewhere - on a world's tables, and what each kind of observer sees of it.
//
// Nothing of the job's data is read, no budget of a site is charged and nothing is written beside the job: runs charge
// a ledger of the audit's own, in a folder that is removed.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parley/audits/worlds.h"
#include "parley/core/result.h"
#include "parley/jobs/job.h"
#include "parley/privacy/units.h"

namespace parley::audits {

// Messages as bytes, in lists that do not depend on how a run goes: the model, or what one party sends or is sent.
using View = std::vector<std::vector<std::string>>;

struct Observer {
  std::string name;
  bool covered = true;  // the claim is about what it sees
};

// What the run says about itself.
struct Claim {
  double epsilon = 0;
  double delta = 0;
  privacy::Unit unit = privacy::Unit::kRecord;
  privacy::Neighbours neighbours = privacy::Neighbours::kReplaceOne;
  std::string against;
  bool gaussian = false;  // whatever was drawn was Gaussian noise
  // Where labels alone are protected: what holds at delta 0; infinity where nothing does.
  double pure_epsilon = std::numeric_limits<double>::infinity();
};

struct Played {
  std::vector<View> views;  // of each observer
  Claim claim;
};

// Plays on behalf of the game; a test has stages of its own.
class Stage {
 public:
  virtual ~Stage() = default;
  [[nodiscard]] virtual const std::vector<Observer>& observers() const = 0;
  // With a seed the noise of two worlds is the same wherever it is drawn in the same order: for learning how worlds
  // differ, and never for what is concluded.
  virtual Result<Played> play(const World& world, std::optional<std::int64_t> seed) = 0;
};

Result<std::unique_ptr<Stage>> stage_of(jobs::Job job);

}  // namespace parley::audits
