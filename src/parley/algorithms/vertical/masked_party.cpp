// What a party of a masked descent answers: masked_descent.h.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "parley/algorithms/parts/ring_products.h"
#include "parley/algorithms/vertical/masked_descent.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::algorithms {

using privacy::Dealt;
using privacy::DealtMask;
using privacy::Private;
using privacy::Released;

namespace {

using Step = MaskedDescent::Step;
using Sent = Released<MaskedDescent::Reply>;

constexpr std::size_t kShapeBytes = 3 * sizeof(std::int64_t) + sizeof(double);

std::string bytes_of(const MaskedShape& shape) {
  const std::int64_t numbers[] = {shape.columns, shape.squares, shape.largest};
  std::string bytes(reinterpret_cast<const char*>(numbers), sizeof numbers);
  bytes.append(reinterpret_cast<const char*>(&shape.label_bound), sizeof shape.label_bound);
  return bytes;
}

Error out_of_place(const char* what) {
  return bad_input({.field = "task"}, what);
}

// Of a site that has an identity: its own, and those that it pins where it pins all.
KnownPeers peers_known_to(const ColumnShare& share) {
  KnownPeers known;
  if (share.peers == nullptr) return known;
  known.own = &share.peers->own;
  if (!share.peers->pinned()) return known;
  for (const secure::Pin& pin : share.peers->parties) known.pinned.push_back(pin.key);
  return known;
}

Sent nothing() {
  return privacy::derive([](const int&) { return MaskedDescent::Reply{}; }, privacy::Public{0});
}

// One more message; the party's own place stays empty.
template <class Text>
Sent with(const Sent& reply, const Text& sealed) {
  return privacy::derive(
      [](const MaskedDescent::Reply& before, const std::string& next) {
        MaskedDescent::Reply after = before;
        after.sealed.push_back(next);
        return after;
      },
      reply, sealed);
}

Sent with_opened(const Released<privacy::MaskedVector>& sum) {
  return privacy::derive(
      [](const privacy::MaskedVector& opened) {
        MaskedDescent::Reply reply;
        reply.opened = opened.words;
        return reply;
      },
      sum);
}

}  // namespace

// One answer; `memory` is what it leaves behind.
class MaskedParty {
 public:
  using Task = MaskedDescent::Task;
  using Memory = MaskedDescent::Memory;
  MaskedParty(const MaskedDescent& algorithm, const Task& task, const ColumnShare& share, Memory& memory,
              privacy::Gate& gate)
      : terms_(algorithm.terms_),
        settings_(algorithm.settings_),
        task_(task),
        share_(share),
        memory_(memory),
        gate_(gate) {}

  // Before anything is charged.
  [[nodiscard]] Result<void> may_be_answered() const {
    // Between machines somebody hands the keys on: a private run needs to know whose they are.
    if (share_.privacy != nullptr && !terms_.run.empty() && known().pinned.empty())
      return fail(out_of_place("is of a private masked-descent, and this site pins no peers: nothing is sent"));
    if (share_.peers != nullptr && task_.party != share_.peers->number)
      return fail(out_of_place("names another party"));
    return in_order();
  }

  Result<Sent> answer() {
    memory_.party = task_.party;
    memory_.step = task_.step;
    memory_.index = task_.index;
    if (task_.step == Step::kKeys) return keys();
    if (task_.step == Step::kMatrix) PARLEY_CHECK(take_keys());
    PARLEY_CHECK(prepare());
    return numbers().ring_bits == 32 ? step<std::uint32_t>() : step<std::uint64_t>();
  }

 private:
  // ---- what came before ----

  // Every party sees every step of an index, but for the opener's share and the others' opening; indices rise by one.
  [[nodiscard]] Result<void> in_order() const {
    const bool first = memory_.step < 0;
    if (task_.party < 0 || task_.party >= terms_.parties || (!first && task_.party != memory_.party))
      return fail(out_of_place("names another party"));
    int step = memory_.step + 1;
    std::int64_t index = memory_.index;
    const int own_last = task_.party == 0 ? Step::kOpen : Step::kShare;
    if (memory_.step == Step::kProducts || (memory_.step == Step::kMargins && is_direct())) step = Step::kAgree;
    if (memory_.step == Step::kAgree) step = own_last;
    if (memory_.step == own_last) {
      step = Step::kMargins;
      ++index;
    }
    const bool ends = task_.step == Step::kEnd && memory_.step == own_last && task_.index == index;
    if (memory_.step == Step::kEnd || (!ends && (task_.step != step || task_.index != index)))
      return fail(out_of_place("is of another index or step than the next; what was masked once is not masked again"));
    if (!ends && memory_.indices > 0 && (task_.index >= memory_.indices || task_.indices != memory_.indices))
      return fail(out_of_place("is of an index beyond those that were dealt"));
    return {};
  }

  [[nodiscard]] KnownPeers known() const { return peers_known_to(share_); }
  [[nodiscard]] std::string run() const { return terms_.run + " masked-descent"; }
  [[nodiscard]] secure::SealAt at(Step step, std::int64_t index) const { return {.round = index + 1, .step = step}; }
  [[nodiscard]] const MaskedNumbers& numbers() const { return *memory_.numbers; }
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(memory_.party); }
  [[nodiscard]] int parties() const { return terms_.parties; }
  [[nodiscard]] bool is_direct() const { return terms_.objective.task == glm::Task::kLinear; }
  [[nodiscard]] bool is_last() const { return memory_.party + 1 == parties(); }

  [[nodiscard]] MaskedRows rows(std::vector<double>& bounds) const {
    double row_norm = 0;
    if (share_.privacy != nullptr) {
      for (std::size_t j = 0; j < share_.privacy->features->columns(); ++j)
        bounds.push_back(share_.privacy->features->bound(j));
      row_norm = share_.privacy->row_bound;
    } else {
      for (const double squares : share_.features.row_squared_norms())
        row_norm = std::max(row_norm, std::sqrt(squares));
    }
    return masked_rows(settings_, share_.privacy != nullptr,
                       {.party = task_.party, .row_norm = row_norm, .columns = bounds, .constant = share_.constant});
  }

  Result<MaskedShape> own_shape() const {
    std::vector<double> bounds;
    PARLEY_TRY(MaskedShape shape, rows(bounds).shape(static_cast<std::size_t>(share_.features.cols())));
    if (!is_direct() || share_.labels.empty()) return shape;
    if (share_.privacy != nullptr)
      shape.label_bound = share_.privacy->label_bound;
    else
      for (const double label : share_.labels) shape.label_bound = std::max(shape.label_bound, std::abs(label));
    return shape;
  }

  Result<std::vector<double>> noise() const {
    if (share_.privacy == nullptr) return std::vector<double>{};
    const privacy::Target& target = share_.privacy->target;
    const std::int64_t steps =
        settings_.iterations > 0 ? settings_.iterations : default_steps(target, share_.privacy->records());
    return masked_noise(settings_, target, steps);
  }

  // Caches, from what is kept.
  Result<void> prepare() {
    if (!memory_.columns) {
      std::vector<double> bounds;
      const MaskedRows rows = this->rows(bounds);
      PARLEY_TRY(auto columns,
                 privacy::WholeColumns::make(
                     share_.features,
                     {.bits = rows.bits, .row_bound = rows.row_bound, .bounds = bounds, .constant = rows.constant}));
      memory_.columns = std::make_shared<const privacy::WholeColumns>(std::move(columns));
    }
    if (!memory_.numbers) {
      PARLEY_TRY(const std::vector<double> noise, this->noise());
      PARLEY_TRY(auto numbers, MaskedNumbers::make(settings_, terms_, memory_.shapes,
                                                   static_cast<std::size_t>(share_.features.rows()), noise));
      if (!noise.empty()) {
        numbers.labels.unit = numbers.gradient.unit = share_.privacy->unit;
        numbers.labels.neighbours = numbers.gradient.neighbours = share_.privacy->target.neighbours;
      }
      memory_.numbers = std::make_shared<const MaskedNumbers>(std::move(numbers));
    }
    return memory_.peers.take_up(known(), memory_.party, run());
  }

  Result<privacy::DealtMasks> masks() const {
    PARLEY_TRY(privacy::DealtMasks masks, privacy::DealtMasks::make(memory_.seed));
    masks.skip_to(memory_.marks);
    return masks;
  }

  // ---- between parties ----

  template <class Word>
  Result<Sent> to_all_others(const privacy::UnderMask<Word>& value, int bits, std::string_view head, Step step) {
    Sent reply = nothing();
    for (int to = 0; to < parties(); ++to) {
      if (to == memory_.party) {
        reply = with(reply, privacy::Public{std::string()});
        continue;
      }
      SealToPeer seal(memory_.peers, to, at(step, task_.index));
      PARLEY_TRY(const Released<std::string> sealed, privacy::Gate::sealed(value, bits, head, seal));
      reply = with(reply, sealed);
    }
    return reply;
  }

  // What the others sent in that step of the index, by sender.
  Result<std::vector<std::string>> from_others(const std::vector<std::string>& sealed, Step step, std::int64_t index) {
    if (sealed.size() != static_cast<std::size_t>(parties()))
      return fail(out_of_place("must bring one message from each party"));
    std::vector<std::string> opened(sealed.size());
    for (int from = 0; from < parties(); ++from) {
      if (from == memory_.party) continue;
      const auto place = static_cast<std::size_t>(from);
      PARLEY_TRY(opened[place], memory_.peers.open(from, sealed[place], at(step, index)));
    }
    return opened;
  }

  // ---- once ----

  Result<Sent> keys() {
    PARLEY_TRY(const std::string hello, memory_.peers.hello(known(), run()));
    PARLEY_TRY(const MaskedShape shape, own_shape());
    return privacy::derive(
        [](const std::string& made, const MaskedShape& of) {
          MaskedDescent::Reply reply;
          reply.hello = made;
          reply.shape = of;
          return reply;
        },
        privacy::Public{hello}, privacy::Public{shape});
  }

  Result<void> take_keys() {
    if (task_.shapes.size() != static_cast<std::size_t>(parties()) ||
        task_.hellos.size() != static_cast<std::size_t>(parties()) || task_.indices < 1)
      return fail(out_of_place("must bring keys and columns of every party"));
    PARLEY_TRY(const MaskedShape shape, own_shape());
    if (task_.shapes[own()] != shape) return fail(out_of_place("says something else of this party's own columns"));
    memory_.shapes = task_.shapes;
    memory_.seed = task_.seed;
    memory_.indices = task_.indices;
    return memory_.peers.agree(known(), memory_.party, task_.hellos, run());
  }

  template <class Word>
  Result<Sent> step() {
    switch (task_.step) {
      case Step::kMatrix:
        return matrix<Word>();
      case Step::kProducts:
        return products<Word>();
      case Step::kMargins:
        return is_direct() ? direct<Word>() : margins();
      case Step::kResidual:
        return residual<Word>();
      case Step::kAgree:
        return agree<Word>();
      case Step::kShare:
      case Step::kOpen:
        return share_of_sum<Word>();
      case Step::kEnd:
        return end();
      default:
        return fail(out_of_place("asks for something else than a masked descent does"));
    }
  }

  // E_k = X_k + A_k
  template <class Word>
  Result<Sent> matrix() {
    PARLEY_TRY(privacy::DealtMasks masks, this->masks());
    const std::size_t n = numbers().records, columns = memory_.columns->columns();
    std::vector<privacy::UnderMask<Word>> masked;
    for (std::size_t c = 0; c < columns; ++c) {
      PARLEY_TRY(DealtMask<Word> mask, masks.column<Word>(static_cast<std::int64_t>(c), n));
      PARLEY_TRY(auto one, gate_.under(Private(memory_.columns->column<Word>(c)), std::move(mask)));
      masked.push_back(std::move(one));
    }
    memory_.marks = masks.marks();
    privacy::UnderMask<Word> all = privacy::Gate::joined(std::move(masked));
    memory_.matrices = privacy::Gate::digest(all, numbers().ring_bits);
    return to_all_others(all, numbers().ring_bits, bytes_of(memory_.shapes[own()]), Step::kMatrix);
  }

  // -E_j' b_k^t for all t; then f of the labels.
  template <class Word>
  Result<Sent> products() {
    PARLEY_TRY(const auto opened, from_others(task_.sealed, Step::kMatrix, 0));
    const std::size_t n = numbers().records, vectors = static_cast<std::size_t>(memory_.indices);
    const auto width = static_cast<std::size_t>(numbers().ring_bits / 8);
    std::string digests;
    for (std::size_t j = 0; j < opened.size(); ++j) {
      if (j == own()) {
        digests += memory_.matrices;
        continue;
      }
      const std::string_view matrix = std::string_view(opened[j]).substr(std::min(kShapeBytes, opened[j].size()));
      const auto columns = static_cast<std::size_t>(memory_.shapes[j].columns);
      if (opened[j].size() < kShapeBytes || opened[j].substr(0, kShapeBytes) != bytes_of(memory_.shapes[j]) ||
          matrix.size() != n * columns * width)
        return fail(out_of_place("brings another matrix than its party has, or another bound of its rows"));
      digests += privacy::digest_of(matrix);
      std::vector<privacy::DealtStream> streams;
      for (std::size_t t = 0; t < vectors; ++t)
        streams.emplace_back(memory_.seed, Dealt::kResidual, static_cast<std::int64_t>(t));
      std::vector<Word> made = ring_products<Word>(
          {.rows = n,
           .columns = columns,
           .vectors = vectors,
           .column =
               [&](std::size_t c, std::size_t first, std::span<Word> out) {
                 const char* at = matrix.data() + (c * n + first) * width;
                 for (Word& word : out) {
                   word = 0;
                   std::memcpy(&word, at, width);  // little endian, as words travel
                   at += width;
                 }
               },
           .vector = [&](std::size_t t, std::size_t, std::span<Word> out) { streams[t].fill(out); }});
      for (Word& word : made) word = Word{0} - word;
      memory_.products += privacy::packed<Word>(made, numbers().ring_bits);
    }
    memory_.matrices = privacy::digest_of(digests);
    // y - 1/2, or y where it is a number, at the party that holds the labels.
    std::vector<Word> r(n);
    if (share_.labels.size() == n)
      for (std::size_t i = 0; i < n; ++i) {
        const double most = numbers().labels.factor, label = share_.labels[i];
        const double whole = is_direct() ? std::ldexp(label, numbers().fraction_bits) : std::copysign(most, label);
        r[i] = static_cast<Word>(label == 0 ? 0 : std::llround(std::clamp(whole, -most, most)));
      }
    return masked_residual(std::move(r));
  }

  // ---- of an index ----

  // The party's part of w.
  Result<std::span<const double>> own_weights() {
    if (task_.weights.size() != numbers().columns) return fail(out_of_place("must bring a weight for every column"));
    memory_.asked = task_.weights;
    return std::span(task_.weights).subspan(numbers().first[own()], memory_.columns->columns());
  }

  // r_k = m_k
  template <class Word>
  Result<Sent> direct() {
    PARLEY_TRY(const std::span<const double> weights, own_weights());
    const auto counts =
        memory_.columns->margin_counts(weights, std::ldexp(1.0, numbers().fraction_bits), numbers().most_margin);
    memory_.margins.clear();
    return masked_residual(std::vector<Word>(counts.begin(), counts.end()));
  }

  // u_k = m_k + delta_k
  Result<Sent> margins() {
    PARLEY_TRY(const std::span<const double> weights, own_weights());
    PARLEY_TRY(privacy::DealtMasks masks, this->masks());
    PARLEY_TRY(auto mask, masks.mask<std::uint32_t>(Dealt::kMargin, task_.index, numbers().records, 32));
    memory_.marks = masks.marks();
    PARLEY_TRY(const auto u,
               gate_.under(Private(memory_.columns->margin_words(weights, numbers().margins)), std::move(mask)));
    memory_.own_margins = privacy::Gate::kept(u, numbers().margin_width());
    return to_all_others(u, numbers().margin_width(), {}, Step::kMargins);
  }

  // r_k: shares of the series at u - delta.
  template <class Word>
  Result<Sent> residual() {
    const std::size_t n = numbers().records;
    const int p = numbers().margin_width(), q = numbers().ring_bits;
    PARLEY_TRY(auto others, from_others(task_.sealed, Step::kMargins, task_.index));
    others[own()] = memory_.own_margins;
    std::vector<std::uint32_t> u(n);
    for (const std::string& each : others) {
      PARLEY_TRY(const auto words, privacy::unpacked<std::uint32_t>(each, n, p));
      for (std::size_t i = 0; i < n; ++i) u[i] += words[i];
    }
    memory_.margins = privacy::packed<std::uint32_t>(u, p);
    memory_.own_margins.clear();
    const privacy::OddSeries& series = *numbers().series;
    const std::size_t bytes = n * static_cast<std::size_t>(q / 8);
    if (is_last() && task_.dealt.size() != 2 * bytes * static_cast<std::size_t>(series.harmonics()))
      return fail(out_of_place("must deal cosines and sines for every record"));
    PARLEY_TRY(const privacy::DealtMasks masks, this->masks());
    std::vector<Word> r(n);
    for (int k = 0; k < series.harmonics(); ++k) {
      std::vector<Word> of[2];
      for (const int sine : {0, 1}) {
        const int part = 2 * k + sine;
        if (is_last()) {
          PARLEY_TRY(of[sine],
                     privacy::unpacked<Word>(
                         std::string_view(task_.dealt).substr(static_cast<std::size_t>(part) * bytes, bytes), n, q));
        } else {
          PARLEY_TRY(of[sine], masks.known<Word>(Dealt::kCosines, task_.index, n, part));
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        const auto [of_cosine, of_sine] = series.brackets(k, u[i]);
        r[i] += static_cast<Word>(of_cosine) * of[0][i] + static_cast<Word>(of_sine) * of[1][i];
      }
    }
    return masked_residual(std::move(r));
  }

  // f_k = r_k + b_k
  template <class Word>
  Result<Sent> masked_residual(std::vector<Word> r) {
    PARLEY_TRY(privacy::DealtMasks masks, this->masks());
    PARLEY_TRY(auto mask, masks.mask<Word>(Dealt::kResidual, task_.index, r.size(), 8 * sizeof(Word)));
    memory_.marks = masks.marks();
    PARLEY_TRY(const auto f, gate_.under(Private(std::move(r)), std::move(mask)));
    memory_.own_residuals = privacy::Gate::kept(f, numbers().ring_bits);
    return to_all_others(f, numbers().ring_bits, {}, Step::kResidual);
  }

  // Everything that the parties computed with so far, as a digest that must be the same at all of them.
  template <class Word>
  Result<Sent> agree() {
    const std::size_t n = numbers().records;
    PARLEY_TRY(auto others, from_others(task_.sealed, Step::kResidual, task_.index));
    others[own()] = memory_.own_residuals;
    std::vector<Word> f(n);
    std::string all = run() + " " + numbers().text() + " " + std::to_string(task_.index) + " " + memory_.matrices + " ";
    all.append(reinterpret_cast<const char*>(memory_.asked.data()), memory_.asked.size() * sizeof(double));
    all += privacy::digest_of(memory_.margins);
    for (const std::string& each : others) {
      PARLEY_TRY(const auto words, privacy::unpacked<Word>(each, n, numbers().ring_bits));
      for (std::size_t i = 0; i < n; ++i) f[i] += words[i];
      all += privacy::digest_of(each);
    }
    memory_.residuals = privacy::packed<Word>(f, numbers().ring_bits);
    memory_.own_residuals.clear();
    memory_.margins.clear();
    memory_.digest = privacy::digest_of(all);
    Sent reply = nothing();
    for (int to = 0; to < parties(); ++to) {
      std::string sealed;
      if (to != memory_.party) {
        PARLEY_TRY(sealed, memory_.peers.seal(to, memory_.digest, at(Step::kAgree, task_.index)));
      }
      reply = with(reply, privacy::Public{sealed});  // a digest of what all parties know
    }
    return reply;
  }

  // X_k'(f - b_k) for its own columns, -E_j'b_k for the others'; to the party that opens, or opened there.
  template <class Word>
  Result<Sent> share_of_sum() {
    const std::size_t n = numbers().records, d = numbers().columns;
    const int q = numbers().ring_bits;
    PARLEY_TRY(const auto digests, from_others(task_.agreed, Step::kAgree, task_.index));
    for (std::size_t j = 0; j < digests.size(); ++j)
      if (j != own() && digests[j] != memory_.digest)
        return fail(
            out_of_place("comes from a run in which the parties do not compute with the same; nothing was sent"));
    PARLEY_TRY(privacy::DealtMasks masks, this->masks());
    PARLEY_TRY(std::vector<Word> f, privacy::unpacked<Word>(memory_.residuals, n, q));
    PARLEY_TRY(const std::vector<Word> b, masks.known<Word>(Dealt::kResidual, task_.index, n));
    for (std::size_t i = 0; i < n; ++i) f[i] -= b[i];
    std::vector<Word> of_own(memory_.columns->columns());
    memory_.columns->multiply_transposed<Word>(f, of_own);
    std::vector<std::int64_t> words(d);
    PARLEY_TRY(
        const auto of_others,
        privacy::unpacked<Word>(memory_.products, (d - of_own.size()) * static_cast<std::size_t>(memory_.indices), q));
    std::size_t other = 0;
    for (std::size_t j = 0; j < memory_.shapes.size(); ++j)
      for (std::size_t c = 0; c < static_cast<std::size_t>(memory_.shapes[j].columns); ++c)
        words[numbers().first[j] + c] =
            static_cast<std::int64_t>(j == own() ? of_own[c]
                                                 : of_others[other++ * static_cast<std::size_t>(memory_.indices) +
                                                             static_cast<std::size_t>(task_.index)]);
    PARLEY_TRY(DealtMask<std::uint64_t> mask, mask_of_share(masks));
    memory_.marks = masks.marks();
    memory_.residuals.clear();
    PARLEY_TRY(const std::vector<double> noise, this->noise());
    const privacy::JointSum& sum = task_.index == 0 ? numbers().labels : numbers().gradient;
    const privacy::SharedNoise part{noise.empty() ? 0 : noise[task_.index == 0 ? 0 : 1], parties() + 1};
    const bool opens = task_.step == Step::kOpen;
    std::vector<std::vector<std::uint64_t>> others;
    if (opens) {
      PARLEY_TRY(const auto shares, from_others(task_.sealed, Step::kShare, task_.index));
      for (std::size_t j = 0; j < shares.size(); ++j)
        if (j != own()) {
          PARLEY_TRY(others.emplace_back(), privacy::unpacked<std::uint64_t>(shares[j], d, q));
        }
    }
    if (share_.privacy != nullptr) {
      const auto value = privacy::WholeColumns::share(std::move(words), sum);
      if (!opens) {
        PARLEY_TRY(const auto share, gate_.share(value, part, std::move(mask)));
        return to_opener(share);
      }
      PARLEY_TRY(const auto opened, gate_.open_sum(value, part, std::move(mask), others));
      return with_opened(opened);
    }
    const Private<std::vector<std::uint64_t>> value(std::vector<std::uint64_t>(words.begin(), words.end()));
    if (!opens) {
      PARLEY_TRY(const auto share, gate_.under(value, std::move(mask)));
      return to_opener(share);
    }
    PARLEY_TRY(const auto opened, gate_.open_sum(value, std::move(mask), others));
    return with_opened(opened);
  }

  Result<DealtMask<std::uint64_t>> mask_of_share(privacy::DealtMasks& masks) const {
    const std::size_t d = numbers().columns;
    if (!is_last()) return masks.mask<std::uint64_t>(Dealt::kProducts, task_.index, d, 64);
    PARLEY_TRY(auto dealt, privacy::unpacked<std::uint64_t>(task_.dealt, d, numbers().ring_bits));
    return masks.share<std::uint64_t>(task_.index, std::move(dealt));
  }

  Result<Sent> to_opener(const privacy::UnderMask<std::uint64_t>& share) {
    SealToPeer seal(memory_.peers, 0, at(Step::kShare, task_.index));
    PARLEY_TRY(const Released<std::string> sealed, privacy::Gate::sealed(share, numbers().ring_bits, {}, seal));
    Sent reply = with(nothing(), sealed);
    for (int to = 1; to < parties(); ++to) reply = with(reply, privacy::Public{std::string()});
    return reply;
  }

  Result<Sent> end() {
    if (task_.weights.size() != numbers().columns) return fail(out_of_place("must bring a weight for every column"));
    const auto begin = task_.weights.begin() + static_cast<std::ptrdiff_t>(numbers().first[own()]);
    memory_.weights.assign(begin, begin + static_cast<std::ptrdiff_t>(memory_.columns->columns()));
    memory_.released = true;
    memory_.seed.clear();
    memory_.products.clear();
    return nothing();
  }

  const RunTerms& terms_;
  const MaskedSettings& settings_;
  const Task& task_;
  const ColumnShare& share_;
  Memory& memory_;
  privacy::Gate& gate_;
};

Result<Released<MaskedDescent::Reply>> MaskedDescent::answer(const Task& task, const ColumnShare& share, Memory& memory,
                                                             privacy::Gate& gate) const {
  Memory next = memory;
  MaskedParty party(*this, task, share, next, gate);
  PARLEY_CHECK(party.may_be_answered());
  PARLEY_CHECK(reserve(share, next, gate));
  PARLEY_TRY(auto reply, party.answer());
  memory = std::move(next);
  return reply;
}

}  // namespace parley::algorithms
