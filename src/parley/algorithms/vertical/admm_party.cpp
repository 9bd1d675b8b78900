// What a party of ADMM sharing answers (admm_sharing.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "parley/algorithms/vertical/admm_sharing.h"
#include "parley/algorithms/vertical/block_descent.h"
#include "parley/algorithms/vertical/private_sharing.h"
#include "parley/algorithms/vertical/ridge_factor.h"
#include "parley/algorithms/vertical/ridge_gradients.h"

namespace parley::algorithms {

namespace {

// The one that the penalty and the shape of D ask for. Fails where nothing can solve it.
Result<std::unique_ptr<BlockSolver>> make_block_solver(const ColumnShare& share, const BlockPenalty& penalty,
                                                       double rho) {
  std::unique_ptr<BlockSolver> made;
  if (penalty.l1 > 0 || std::isfinite(penalty.box))
    made = std::make_unique<BlockDescent>(penalty);
  else if (RidgeFactor::fits(share))
    made = std::make_unique<FactoredRidge>(penalty.l2);
  else
    made = std::make_unique<RidgeGradients>(penalty.l2);
  PARLEY_CHECK(made->set_rho(share, rho));
  return made;
}

}  // namespace

BlockPenalty AdmmSharing::penalty(const ColumnShare& share) const {
  const auto records = static_cast<double>(share.features.rows());
  BlockPenalty penalty{objective_.l1 * records, objective_.l2 * records};
  if (objective_.box) penalty.box = *objective_.box;
  return penalty;
}

Result<void> AdmmSharing::reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const {
  if (share.privacy == nullptr) return reserve_labels(share, memory.asked_for_labels, gate);
  if (memory.paid) return {};
  if (share.holds_labels()) PARLEY_CHECK(labels_may_leave(settings_.public_labels));
  if (!(settings_.rho > 0)) return fail(failed("a private run has no rho"));
  if (!RidgeFactor::fits(share))  // the theorem's error is that of a factor
    return fail(
        bad_input({.field = "algorithm.name"},
                  "a private run factors the smaller of records x records and columns x columns: 12,000 is the limit"));
  const double ridge = penalty(share).l2 / settings_.rho;
  PARLEY_TRY(memory.paid, PrivateSharing::reserve(share, {settings_, objective_.task, ridge, parties_}, gate));
  return {};
}

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::answer(const Task& task, const ColumnShare& share,
                                                                  Memory& memory, privacy::Gate& gate) const {
  if (memory.released) return fail(bad_input({.field = "task"}, "comes after the part was released"));
  switch (task.phase) {
    case kLabels:
      return tell_labels(share, memory, gate);
    case kTarget:
      return share.privacy == nullptr ? values(task, share, memory, gate) : noisy_values(task, share, memory, gate);
    case kPart:
      return part(share, memory, gate);
    default:
      return fail(bad_input({.field = "task"}, "is of an unknown kind"));
  }
}

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::tell_labels(const ColumnShare& share, Memory& memory,
                                                                       privacy::Gate& gate) const {
  if (memory.targets > 0 || !memory.weights.empty())
    return fail(bad_input({.field = "task"}, "asks for labels after the first round"));
  PARLEY_CHECK(largest_square(share));  // columns that nothing can be solved for are found before anything leaves
  if (masked() && memory.key.empty()) {
    PARLEY_TRY(const auto key, make_mask_key(memory.masks, gate, {share.peers.get(), run_}));
    memory.key = key.value();
  }
  if (share.noisy_labels) PARLEY_CHECK(reserve(share, memory, gate));
  PARLEY_TRY(const auto labels, send_labels(share, settings_.public_labels, memory.asked_for_labels, gate));
  return privacy::derive(
      [](const std::vector<double>& known, const std::string& made) {
        Reply reply{known};
        reply.key = made;
        return reply;
      },
      labels, privacy::Public{memory.key});
}

// The weights of all classes; memory's own are where the search begins.
Result<std::vector<double>> AdmmSharing::solved(const Task& task, const ColumnShare& share, Memory& memory) const {
  const auto records = static_cast<std::size_t>(share.features.rows());
  const std::size_t classes = task.target.size() / records, width = columns_of(share);
  if (memory.solver == nullptr) {
    PARLEY_TRY(memory.solver, make_block_solver(share, penalty(share), task.rho));
  } else if (memory.rho != task.rho) {
    PARLEY_CHECK(memory.solver->set_rho(share, task.rho));
  }
  memory.rho = task.rho;
  std::vector<double> weights = memory.weights;
  weights.resize(classes * width, 0.0);
  for (std::size_t k = 0; k < classes; ++k)
    PARLEY_CHECK(memory.solver->solve(share, std::span(task.target).subspan(k * records, records),
                                      std::span(weights).subspan(k * width, width)));
  return weights;
}

namespace {

Result<void> check_size(const std::vector<double>& target, const ColumnShare& share) {
  const auto records = static_cast<std::size_t>(share.features.rows());
  if (records > 0 && !target.empty() && target.size() % records == 0) return {};
  return fail(bad_input({.field = "task"}, "must have one value per record, or one per record and class"));
}

}  // namespace

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::values(const Task& task, const ColumnShare& share,
                                                                  Memory& memory, privacy::Gate& gate) const {
  PARLEY_CHECK(check_size(task.target, share));
  const auto records = static_cast<std::size_t>(share.features.rows());
  const std::size_t width = columns_of(share), classes = task.target.size() / records;
  if (objective_.task != glm::Task::kSoftmax && classes != 1)
    return fail(bad_input({.field = "task"}, "must have one value per record"));
  if (!memory.weights.empty() && memory.weights.size() != classes * width)
    return fail(bad_input({.field = "task"}, "has another number of classes than the task before"));
  if (!(task.rho > 0) || !std::isfinite(task.rho)) return fail(bad_input({.field = "task"}, "must have a rho above 0"));
  // Every answer is n equations in the party's columns.
  if (memory.targets >= settings_.rounds)
    return fail(bad_input({.field = "task"}, "is one more than the job's iterations"));
  double residual = 0;
  if (!task.pull.empty()) {
    if (task.pull.size() != task.target.size())
      return fail(bad_input({.field = "task"}, "must have as many values for V as it has for the target"));
    for (std::size_t k = 0; k < classes && !memory.weights.empty(); ++k)
      residual += block_residual(share, penalty(share), std::span(task.pull).subspan(k * records, records),
                                 std::span(memory.weights).subspan(k * width, width));
  }
  PARLEY_TRY(std::vector<double> weights, solved(task, share, memory));
  memory.weights = std::move(weights);
  ++memory.targets;
  return gate.unprotected(privacy::Private(Reply{class_margins_of(share, memory.weights), residual}));
}

Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::noisy_values(const Task& task, const ColumnShare& share,
                                                                        Memory& memory, privacy::Gate& gate) const {
  if (task.target.size() != static_cast<std::size_t>(share.features.rows()))
    return fail(bad_input({.field = "task"}, "must have one value per record"));
  PARLEY_CHECK(reserve(share, memory, gate));
  Task clipped{.phase = kTarget, .rho = settings_.rho};
  clipped.target = task.target;
  MaskKeys keys = memory.masks;  // an answer that fails leaves memory as it was
  std::optional<privacy::OneTimeMask> mask;
  if (masked()) {
    PARLEY_TRY(mask, mask_of(task, share, memory, keys));
    for (std::size_t i = 0; i < clipped.target.size(); ++i)
      clipped.target[i] = (memory.shared.empty() ? 0.0 : memory.shared[i]) - task.target[i];
  }
  clipped.target = memory.paid->clipped_target(clipped.target);
  PARLEY_TRY(std::vector<double> weights, solved(clipped, share, memory));
  PARLEY_TRY(const auto values, memory.paid->release(privacy::Private(margins_of(share, weights)), gate));
  if (!mask) {
    memory.weights = std::move(weights);
    return privacy::derive([](const std::vector<double>& noisy) { return Reply{noisy}; }, values);
  }
  const privacy::Grain grain = memory.paid->grain();
  PARLEY_TRY(const auto sent, privacy::Gate::under_mask(values, grain, std::move(*mask)));
  memory.weights = std::move(weights);
  memory.masks = std::move(keys);
  memory.shared = values.value();
  return privacy::derive(
      [](const privacy::MaskedVector& words, const int& exponent) {
        Reply reply;
        reply.grain = exponent;
        reply.words = words.words;
        return reply;
      },
      sent, privacy::Public{grain.exponent});
}

// Of this round and of this correction: what a party's values follow from besides its data, the job and the keys.
Result<privacy::OneTimeMask> AdmmSharing::mask_of(const Task& task, const ColumnShare& share, const Memory& memory,
                                                  MaskKeys& keys) const {
  const std::vector<std::string>& all = keys.keys.empty() ? task.keys : keys.keys;
  const auto own = std::find(all.begin(), all.end(), memory.key);
  if (own == all.end()) return fail(bad_input({.field = "task"}, "does not bring this party's key"));
  const std::string told = std::to_string(task.target.size()) + " values, run " + run_;
  PARLEY_CHECK(agree_on_masks(
      keys, {static_cast<int>(own - all.begin()), parties_, task.keys, told, {share.peers.get(), run_}}));
  std::string asked(task.target.size() * sizeof(double), '\0');
  std::memcpy(asked.data(), task.target.data(), asked.size());
  return next_mask(keys, task.round, task.target.size(), asked);
}

namespace {

// FNV-1a of the numbers' bytes. A site notices by it when one round would release twice (ledger/resuming.md).
double digest(const std::vector<double>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const double number : numbers)
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(number), byte = 0; byte < 8; ++byte, bits >>= 8)
      hash = (hash ^ (bits & 0xff)) * 0x100000001b3;
  return static_cast<double>(hash >> 12);
}

}  // namespace

// The weights of the last answer. Their target was clipped by a public bound, so the theorem holds for them.
Result<privacy::Released<AdmmSharing::Reply>> AdmmSharing::part(const ColumnShare& share, Memory& memory,
                                                                privacy::Gate& gate) const {
  if (share.privacy == nullptr || !settings_.release_parts || memory.weights.empty())
    return fail(bad_input({.field = "task"}, "asks for a part that this run does not release"));
  PARLEY_CHECK(reserve(share, memory, gate));
  PARLEY_TRY(const auto released, memory.paid->release_part(privacy::Private(memory.weights), gate));
  memory.weights = released.value();
  memory.released = true;
  return privacy::derive([](const std::vector<double>& weights) { return Reply{{digest(weights)}}; }, released);
}

}  // namespace parley::algorithms
