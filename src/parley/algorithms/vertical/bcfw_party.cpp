// Block-coordinate Frank-Wolfe at a party: what it answers (bcfw.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parley/algorithms/vertical/bcfw.h"
#include "parley/algorithms/vertical/private_selection.h"
#include "parley/glm/unbiased.h"
#include "parley/linalg/matrix.h"
#include "parley/linalg/vectors.h"

namespace parley::algorithms {

using linalg::Index;

namespace {

bool holds(const std::vector<Index>& ascending, Index j) {
  return std::binary_search(ascending.begin(), ascending.end(), j);
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Result<void> Bcfw::reserve(const ColumnShare& share, Memory& memory, privacy::Gate& gate) const {
  if (share.privacy == nullptr) return reserve_labels(share, memory.asked_for_labels, gate);
  if (memory.paid) return {};
  PARLEY_CHECK(check_sketch(static_cast<std::size_t>(share.features.rows())));
  if (share.holds_labels()) PARLEY_CHECK(labels_may_leave(terms_.public_labels));
  const bool paper = settings_.radius == BcfwSettings::Radius::kPaper;
  const PrivateSelection::Run run{.settings = settings_,
                                  .task = terms_.objective.task,
                                  .parties = terms_.parties,
                                  .radius = *terms_.objective.l1_radius / (paper ? 1 : terms_.parties),
                                  .space = space_at(share, memory),
                                  .base_rate = releases_base_rate()};
  PARLEY_TRY(memory.paid, PrivateSelection::reserve(share, run, gate));
  return {};
}

Result<privacy::Released<Bcfw::Reply>> Bcfw::tell_labels(const ColumnShare& share, Memory& memory,
                                                         privacy::Gate& gate) const {
  if (memory.answered > 0) return fail(bad_input({.field = "task"}, "asks for labels after the first step"));
  PARLEY_CHECK(reserve(share, memory, gate));
  const bool releases = share.privacy != nullptr && !share.labels.empty() && releases_base_rate();
  if (!releases) {
    PARLEY_TRY(const auto labels, send_labels(share, terms_.public_labels, memory.asked_for_labels, gate));
    if (share.noisy_labels && share.privacy != nullptr) memory.labels = labels.value();
    return privacy::derive([](const std::vector<double>& known) { return Reply{.labels = known}; }, labels);
  }
  bool asked = memory.asked_for_labels;
  PARLEY_TRY(const auto labels, send_labels(share, terms_.public_labels, asked, gate));
  PARLEY_TRY(const auto rate, memory.paid->base_rate(share.labels, gate));
  memory.asked_for_labels = asked;
  return privacy::derive(
      [](const std::vector<double>& known, const double& mean) {
        return Reply{.labels = known, .picks = {}, .numbers = {mean}, .features = {}};
      },
      labels, rate);
}

// j = argmax |g_j| over the sampled columns of each ball, or every one of a box.
Result<privacy::Released<Bcfw::Reply>> Bcfw::pick(const Task& task, const ColumnShare& share, Memory& memory,
                                                  privacy::Gate& gate) const {
  const auto records = static_cast<std::size_t>(share.features.rows());
  const std::size_t columns = columns_of(share);
  if (task.derivative.size() != records) return fail(bad_input({.field = "task"}, "must have one value per record"));
  const bool some = !task.columns.empty();
  const std::size_t count = some ? task.columns.size() : columns;
  const auto column_at = [&](std::size_t c) { return some ? task.columns[c] : static_cast<Index>(c); };
  for (std::size_t c = 0; some && c < count; ++c)
    if (task.columns[c] < 0 || static_cast<std::size_t>(task.columns[c]) >= columns ||
        (c > 0 && task.columns[c] <= task.columns[c - 1]))
      return fail(bad_input({.field = "task"}, "must name columns of the party in their order"));
  std::vector<double> gradient;
  if (some) {
    for (const Index j : task.columns)
      gradient.push_back(j == share.features.cols() ? sum_of(task.derivative)
                                                    : share.features.column_dot(j, task.derivative));
  } else {
    gradient.resize(static_cast<std::size_t>(share.features.cols()));
    share.features.multiply_transposed(task.derivative, gradient);
    if (share.constant) gradient.push_back(sum_of(task.derivative));
  }

  Reply reply;
  const auto take = [&](std::size_t c) {
    reply.picks.push_back(gradient[c] > 0 ? -(column_at(c) + 1) : column_at(c) + 1);
    if (global()) reply.numbers.push_back(gradient[c]);
  };
  std::size_t c = 0;
  for (std::size_t border = 0; c < count; ++border) {
    const auto end = border < task.borders.size() ? task.borders[border] : std::numeric_limits<Index>::max();
    std::size_t best = count;
    for (; c < count && column_at(c) < end; ++c) {
      if (gradient[c] == 0) continue;
      if (box())
        take(c);
      else if (best == count || std::abs(gradient[c]) > std::abs(gradient[best]))
        best = c;
    }
    if (best != count) take(best);
  }
  // The coordinator asks for the one column that it takes of all parties'.
  if (!global() && settings_.sharing == BcfwSettings::Sharing::kAtNeed) {
    const FeatureSpace& space = space_at(share, memory);
    std::vector<Index> sent = memory.sent;
    for (const Index each : reply.picks) {
      const Index j = std::abs(each) - 1;
      if (holds(sent, j)) continue;
      sent.insert(std::lower_bound(sent.begin(), sent.end(), j), j);
      reply.features.push_back(space.feature_of(share, static_cast<std::size_t>(j)));
    }
    memory.sent = std::move(sent);
  }
  ++memory.answered;
  return gate.unprotected(privacy::Private(std::move(reply)));
}

Result<privacy::Released<Bcfw::Reply>> Bcfw::pick_privately(const Task& task, const ColumnShare& share, Memory& memory,
                                                            privacy::Gate& gate) const {
  const auto records = static_cast<std::size_t>(share.features.rows());
  PARLEY_CHECK(reserve(share, memory, gate));
  PrivateSelection& paid = *memory.paid;
  if (memory.answered >= paid.steps())
    return fail(bad_input({.field = "task"}, "asks for more indices than were paid for"));
  std::vector<double> derivatives, labels = memory.labels;
  if (!own_exact()) {  // of the mean loss, as it was made of what was sent
    if (task.derivative.size() != records) return fail(bad_input({.field = "task"}, "must have one value per record"));
    derivatives = task.derivative;
    linalg::scale(static_cast<double>(records), derivatives);
  } else {
    const FeatureSpace& space = space_at(share, memory);
    if (labels.empty()) labels = share.labels.empty() ? task.labels : share.labels;
    if (labels.size() != records) return fail(bad_input({.field = "task"}, "must have one label per record"));
    if (static_cast<std::size_t>(task.weights.size) != columns_of(share))
      return fail(bad_input({.field = "task"}, "must have one weight per column"));
    if (task.offset.size() > 1 || (!task.others.empty() && task.others.size() != space.length()))
      return fail(bad_input({.field = "task"}, "must have one value for each that a column has"));
    std::vector<double> margins = paid.own_margins(share, linalg::dense(task.weights));
    if (!task.others.empty()) {
      std::vector<double> theirs(records);
      space.margins(task.others, theirs);
      linalg::axpy(1.0, theirs, margins);
    }
    for (double& margin : margins) margin += task.offset.empty() ? 0.0 : task.offset.front();
    derivatives.resize(records);
    glm::unbiased::loss_derivatives(terms_.objective.task, margins, labels, derivatives);
  }
  PARLEY_TRY(const auto chosen, paid.select(derivatives, gate));
  const Index j = std::abs(chosen.value()) - 1;
  if (global()) {  // the coordinator asks for the one column that it takes of all parties'
    PARLEY_TRY(const auto about, paid.gradient(j, gate));
    memory.labels = std::move(labels);
    ++memory.answered;
    return privacy::derive(
        [](const Index& index, const double& slope) {
          return Reply{.labels = {}, .picks = {index}, .numbers = {slope}, .features = {}};
        },
        chosen, about);
  }
  const bool last = memory.answered + 1 == paid.steps();
  const bool sends = paid.sends_columns() && settings_.sharing == BcfwSettings::Sharing::kAtNeed;
  if (!sends || last || holds(memory.sent, j)) {
    memory.labels = std::move(labels);
    ++memory.answered;
    return privacy::derive([](const Index& index) { return Reply{.labels = {}, .picks = {index}}; }, chosen);
  }
  const FeatureSpace& space = space_at(share, memory);
  PARLEY_TRY(const auto column, paid.column(space.numbers_of(share, static_cast<std::size_t>(j)), j, gate));
  memory.sent.insert(std::lower_bound(memory.sent.begin(), memory.sent.end(), j), j);
  memory.labels = std::move(labels);
  ++memory.answered;
  return privacy::derive(
      [](const Index& index, const SharedFeature& feature) {
        return Reply{.labels = {}, .picks = {index}, .numbers = {}, .features = {feature}};
      },
      chosen, column);
}

// Columns that are asked for: the one of the global ball, or all of them before the first step.
Result<privacy::Released<Bcfw::Reply>> Bcfw::send(const Task& task, const ColumnShare& share, Memory& memory,
                                                  privacy::Gate& gate) const {
  const FeatureSpace& space = space_at(share, memory);
  if (task.phase == kColumns) {
    if (settings_.sharing != BcfwSettings::Sharing::kAtStart || !memory.sent.empty() || memory.answered > 0)
      return fail(bad_input({.field = "task"}, "asks for columns that this run does not send"));
    std::vector<Index> all(columns_of(share));
    std::iota(all.begin(), all.end(), 0);
    if (share.privacy == nullptr) {
      Reply reply;
      for (const Index j : all) reply.features.push_back(space.feature_of(share, static_cast<std::size_t>(j)));
      memory.sent = std::move(all);
      return gate.unprotected(privacy::Private(std::move(reply)));
    }
    PARLEY_CHECK(reserve(share, memory, gate));
    auto reply = privacy::derive([](const int&) { return Reply{}; }, privacy::Public{0});
    for (const Index j : all) {
      PARLEY_TRY(const auto column, memory.paid->column(space.numbers_of(share, static_cast<std::size_t>(j)), j, gate));
      reply = privacy::derive(
          [](const Reply& before, const SharedFeature& feature) {
            Reply with = before;
            with.features.push_back(feature);
            return with;
          },
          reply, column);
    }
    memory.sent = std::move(all);
    return reply;
  }
  if (!global() || task.columns.size() != 1)
    return fail(bad_input({.field = "task"}, "asks for columns that this run does not send"));
  const Index j = task.columns.front();
  if (j < 0 || static_cast<std::size_t>(j) >= columns_of(share))
    return fail(bad_input({.field = "task"}, "must name a column of the party"));
  if (holds(memory.sent, j)) return fail(bad_input({.field = "task"}, "asks for a column that was sent"));
  if (memory.sent.size() >= static_cast<std::size_t>(memory.answered))
    return fail(bad_input({.field = "task"}, "asks for more columns than the party picked"));
  const auto remember = [&] { memory.sent.insert(std::lower_bound(memory.sent.begin(), memory.sent.end(), j), j); };
  if (share.privacy == nullptr) {
    auto reply =
        gate.unprotected(privacy::Private(Reply{.features = {space.feature_of(share, static_cast<std::size_t>(j))}}));
    if (reply) remember();
    return reply;
  }
  PARLEY_CHECK(reserve(share, memory, gate));
  if (!memory.paid->sends_columns())
    return fail(bad_input({.field = "task"}, "asks for columns that this run does not send"));
  PARLEY_TRY(const auto column, memory.paid->column(space.numbers_of(share, static_cast<std::size_t>(j)), j, gate));
  remember();
  return privacy::derive([](const SharedFeature& feature) { return Reply{.features = {feature}}; }, column);
}

Result<privacy::Released<Bcfw::Reply>> Bcfw::end(const Task& task, const ColumnShare& share, Memory& memory,
                                                 privacy::Gate& gate) const {
  if (static_cast<std::size_t>(task.weights.size) != columns_of(share) || task.offset.size() > 1)
    return fail(bad_input({.field = "task"}, "must have one weight per column"));
  memory.weights = linalg::dense(task.weights);
  if (share.holds_labels() && !task.offset.empty()) {
    if (share.constant)
      memory.weights.back() += task.offset.front();
    else
      memory.weights.push_back(task.offset.front());
  }
  if (share.privacy == nullptr) return gate.unprotected(privacy::Private(Reply{}));
  memory.released = true;
  return privacy::derive([](const int&) { return Reply{}; }, privacy::Public{0});
}

Result<privacy::Released<Bcfw::Reply>> Bcfw::answer(const Task& task, const ColumnShare& share, Memory& memory,
                                                    privacy::Gate& gate) const {
  if (!memory.weights.empty()) return fail(bad_input({.field = "task"}, "comes after the part was told"));
  switch (task.phase) {
    case kLabels:
      return tell_labels(share, memory, gate);
    case kPick:
      if (memory.answered >= most_rounds())
        return fail(bad_input({.field = "task"}, "is one more than the job's iterations"));
      return share.privacy != nullptr ? pick_privately(task, share, memory, gate) : pick(task, share, memory, gate);
    case kColumns:
    case kFetch:
      return send(task, share, memory, gate);
    case kFinish:
      return end(task, share, memory, gate);
    default:
      return fail(bad_input({.field = "task"}, "asks for nothing that this algorithm does"));
  }
}

}  // namespace parley::algorithms
