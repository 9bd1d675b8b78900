#include "parley/algorithms/vertical/alignment.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "parley/secure/blinded_ids.h"

namespace parley::algorithms {

namespace {

using data::kNoPartner;
using linalg::Index;
using secure::kPointBytes;
using secure::kTokenBytes;

std::string_view item(std::string_view list, std::size_t width, std::size_t at) {
  return list.substr(at * width, width);
}

// The places of a list's items in ascending order of their bytes.
std::vector<Index> ascending(std::string_view list, std::size_t width) {
  std::vector<Index> places(list.size() / width);
  std::iota(places.begin(), places.end(), Index{0});
  std::sort(places.begin(), places.end(), [&](Index a, Index b) {
    return item(list, width, static_cast<std::size_t>(a)) < item(list, width, static_cast<std::size_t>(b));
  });
  return places;
}

std::string in_places(std::string_view list, std::size_t width, const std::vector<Index>& places) {
  std::string ordered;
  ordered.reserve(list.size());
  for (const Index place : places) ordered += item(list, width, static_cast<std::size_t>(place));
  return ordered;
}

// Place of each token; tokens are their own hashes.
struct FirstBytes {
  std::size_t operator()(std::string_view token) const {
    std::size_t hash = 0;
    std::memcpy(&hash, token.data(), sizeof hash);
    return hash;
  }
};
using Places = std::unordered_map<std::string_view, Index, FirstBytes>;

Places places_of(std::string_view tokens) {
  const std::size_t count = tokens.size() / kTokenBytes;
  Places places;
  places.reserve(count);
  for (std::size_t at = 0; at < count; ++at) places.emplace(item(tokens, kTokenBytes, at), static_cast<Index>(at));
  return places;
}

// Places of a list of so many, each at most once.
bool are_places(const std::vector<Index>& places, std::size_t count, bool may_lack) {
  std::vector<bool> taken(count, false);
  for (const Index place : places) {
    if (place == kNoPartner && may_lack) continue;
    if (place < 0 || static_cast<std::size_t>(place) >= count || taken[static_cast<std::size_t>(place)]) return false;
    taken[static_cast<std::size_t>(place)] = true;
  }
  return true;
}

}  // namespace

Alignment::Iterate Alignment::start() const {
  const auto others = static_cast<std::size_t>(parties_ - 1);
  Iterate iterate;
  iterate.lists.resize(others + 1);
  iterate.tokens.resize(others);
  return iterate;
}

std::optional<Alignment::Task> Alignment::ask(const Iterate& iterate, int party) const {
  const bool first = party == 0;
  const auto other = static_cast<std::size_t>(party - 1);
  Task task{.phase = iterate.phase};
  switch (iterate.phase) {
    case kRaise:
      if (first)
        task.lists.assign(iterate.lists.begin() + 1, iterate.lists.end());
      else
        task.lists = {iterate.lists.front()};
      return task;
    case kCompare:
      if (!first) return std::nullopt;
      task.lists = iterate.tokens;
      return task;
    case kTell:
      if (first) return std::nullopt;
      task.places = iterate.beside[other].places;
      task.alignment = iterate.alignment;
      return task;
    default:
      return task;
  }
}

// ---- at a party ----

Result<privacy::Released<Alignment::Reply>> Alignment::answer(const Task& task, const Data& data, Memory& memory,
                                                              privacy::Gate& gate) const {
  if (task.phase != memory.next) return fail(bad_input({.field = "task"}, "comes out of turn"));
  Memory next = memory;
  const auto made = [&]() -> Result<Reply> {
    switch (task.phase) {
      case kBlind:
        return blind(*data.ids, next);
      case kRaise:
        return raise(task, data.party, next);
      case kCompare:
        return compare(task, *data.ids, next);
      case kTell:
        return look_up(task, *data.ids, next);
      default:
        return fail(bad_input({.field = "task"}, "asks for nothing that an alignment does"));
    }
  };
  PARLEY_TRY(Reply reply, made());
  PARLEY_TRY(auto released, gate.unprotected(privacy::Private(std::move(reply))));
  memory = std::move(next);
  return released;
}

Result<Alignment::Reply> Alignment::blind(const data::RecordIds& ids, Memory& memory) const {
  PARLEY_TRY(memory.secret, secure::fresh_blinding_secret());
  PARLEY_TRY(const std::string points, secure::blinded(ids.ids, memory.secret));
  memory.sorted = ascending(points, kPointBytes);
  memory.next = kRaise;
  return Reply{.list = in_places(points, kPointBytes, memory.sorted)};
}

Result<Alignment::Reply> Alignment::raise(const Task& task, int party, Memory& memory) const {
  const bool first = party == 0;
  if (task.lists.size() != (first ? static_cast<std::size_t>(parties_ - 1) : 1))
    return fail(bad_input({.field = "task"}, "must have one list of each party"));
  std::vector<std::string> tokens;
  for (const std::string& list : task.lists) {
    PARLEY_TRY(tokens.emplace_back(), secure::raised(list, memory.secret));
  }
  memory.secret.clear();
  memory.next = first ? kCompare : mode_ == Mode::kCount ? kDone : kTell;
  if (first) {
    memory.tokens = std::move(tokens);
    return Reply{};
  }
  std::string& mine = tokens.front();
  if (mode_ == Mode::kCount) mine = in_places(mine, kTokenBytes, ascending(mine, kTokenBytes));
  return Reply{.list = std::move(mine)};
}

Result<Alignment::Reply> Alignment::compare(const Task& task, const data::RecordIds& ids, Memory& memory) const {
  const std::size_t records = ids.ids.size();
  if (task.lists.size() != memory.tokens.size())
    return fail(bad_input({.field = "task"}, "must have one list of each party"));
  Reply reply;
  std::vector<std::size_t> holders(records, 0);  // of each record of the first's list: how many others have it
  for (std::size_t k = 0; k < task.lists.size(); ++k) {
    const std::string& own = task.lists[k];  // the first's list, raised by party k
    if (own.size() != records * kTokenBytes)
      return fail(bad_input({.field = "task"}, "must have one token for each id"));
    const Places theirs = places_of(memory.tokens[k]);
    Beside& beside = reply.beside.emplace_back();
    beside.places.assign(records, kNoPartner);
    for (std::size_t at = 0; at < records; ++at) {
      const auto found = theirs.find(item(own, kTokenBytes, at));
      if (found == theirs.end()) continue;
      beside.places[at] = found->second;
      ++beside.common;
      ++holders[at];
    }
    if (!are_places(beside.places, memory.tokens[k].size() / kTokenBytes, true))
      return fail(bad_input({.field = "task"}, "holds one token twice"));
    if (mode_ == Mode::kCount) beside.places.clear();
  }
  memory.tokens.clear();
  memory.next = kDone;
  if (mode_ == Mode::kCount) return reply;
  reply.alignment = memory.alignment = secure::fresh_number();
  for (std::size_t at = 0; at < records; ++at) {
    if (mode_ == Mode::kCommon && holders[at] < reply.beside.size()) continue;
    for (Beside& beside : reply.beside) beside.places[static_cast<std::size_t>(reply.kept)] = beside.places[at];
    memory.rows.push_back(ids.rows[static_cast<std::size_t>(memory.sorted[at])]);
    ++reply.kept;
  }
  for (Beside& beside : reply.beside) beside.places.resize(static_cast<std::size_t>(reply.kept));
  memory.sorted.clear();
  return reply;
}

Result<Alignment::Reply> Alignment::look_up(const Task& task, const data::RecordIds& ids, Memory& memory) const {
  if (!are_places(task.places, memory.sorted.size(), mode_ == Mode::kLeft) || task.alignment == 0)
    return fail(bad_input({.field = "task"}, "must name places of the party's list, each once"));
  for (const Index place : task.places)
    memory.rows.push_back(place == kNoPartner
                              ? kNoPartner
                              : ids.rows[static_cast<std::size_t>(memory.sorted[static_cast<std::size_t>(place)])]);
  memory.alignment = task.alignment;
  memory.sorted.clear();
  memory.tokens.clear();
  memory.next = kDone;
  return Reply{};
}

std::optional<data::RowOrder> order_of(const Alignment::Memory& memory, const data::RecordIds& ids) {
  if (memory.next != Alignment::kDone || memory.alignment == 0) return std::nullopt;
  return data::RowOrder{memory.alignment, ids.records, data::digest_of_ids(ids), memory.rows};
}

// ---- at the coordinator ----

Result<void> Alignment::check(const Iterate& iterate, int party, const Reply& reply) const {
  const std::size_t size = reply.list.size(), records = iterate.lists.front().size() / kPointBytes;
  const bool compares = iterate.phase == kCompare;
  if (!compares && (!reply.beside.empty() || reply.alignment != 0 || reply.kept != 0))
    return fail(failed("it holds what was not asked for"));
  if (iterate.phase == kBlind)
    return size > 0 && size % kPointBytes == 0 ? Result<void>{} : fail(failed("it does not hold a list of points"));
  const bool tokens = iterate.phase == kRaise && party != 0;
  if (size != (tokens ? records * kTokenBytes : 0)) return fail(failed("it does not have one token for each point"));
  if (!compares) return {};
  const bool counts = mode_ == Mode::kCount;
  if (reply.beside.size() != iterate.tokens.size() || reply.kept < 0 ||
      static_cast<std::size_t>(reply.kept) > records || (reply.alignment == 0) != counts)
    return fail(failed("it does not say what the parties have in common"));
  for (std::size_t k = 0; k < reply.beside.size(); ++k) {
    const Beside& beside = reply.beside[k];
    if (beside.common < 0 || static_cast<std::size_t>(beside.common) > records ||
        beside.places.size() != static_cast<std::size_t>(reply.kept) ||
        !are_places(beside.places, iterate.lists[k + 1].size() / kPointBytes, mode_ == Mode::kLeft))
      return fail(failed("it names places that a party's list does not have"));
  }
  return {};
}

Result<Alignment::Iterate> Alignment::absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const {
  const std::size_t asked =
      iterate.phase == kCompare ? 1 : static_cast<std::size_t>(parties_) - (iterate.phase == kTell);
  if (answers.size() != asked) return fail(failed("a party is missing: every party is needed for what all have"));
  for (const auto& answer : answers) PARLEY_CHECK(check(iterate, answer.party, answer.reply));
  for (const auto& answer : answers) {
    const auto party = static_cast<std::size_t>(answer.party);
    if (iterate.phase == kBlind) iterate.lists[party] = answer.reply.list;
    if (iterate.phase == kRaise && party > 0) iterate.tokens[party - 1] = answer.reply.list;
    if (iterate.phase != kCompare) continue;
    iterate.beside = answer.reply.beside;
    iterate.alignment = answer.reply.alignment;
    iterate.kept = answer.reply.kept;
  }
  const bool last = iterate.phase == kTell || (iterate.phase == kCompare && mode_ == Mode::kCount);
  iterate.phase = last ? static_cast<int>(kDone) : iterate.phase + 1;
  return iterate;
}

}  // namespace parley::algorithms
