// What a gate is for (gate.h), and what it needs for that alone. A gate is in one mode for all its life.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "parley/privacy/accounting/event.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/privacy/randomness/generator.h"
#include "parley/privacy/transcript.h"

namespace parley::privacy {

// How far a run has used its plan: kept at the site with every answer, so that a restart goes on from there.
struct Progress {
  std::int64_t plans = 0;          // reserved
  std::vector<std::int64_t> left;  // what the last of them still allows, mechanism by mechanism
  std::int64_t releases = 0;
  static void fields(auto& self, auto&& visit) { visit(self.plans, self.left, self.releases); }
};

namespace gate_mode {

// The bits of a gate that draws.
struct Stream {
  Bits* now;
  Bits* all_rounds = nullptr;  // what rounds are forked from, once one was begun
  std::unique_ptr<Bits> of_round{};
  std::unique_ptr<Bits> sampling{};  // a stream of its own: noise does not decide who joins a seeded run
};

struct Charging {
  Ledger* ledger;
  std::string run;
  Stream stream;
  std::optional<Progress> kept{};  // of a run that was here before
  std::optional<Budget> budget_if_none{};
  bool set_budget = false;
  bool covers_cost = false;
};

struct Granted {
  Plan plan;  // until it is reserved
  Stream stream;
};

struct Replaying {
  Transcript told;
  std::size_t next = 0;
};

struct Rehearsing {};

struct WithoutPrivacy {};

}  // namespace gate_mode

using GateMode = std::variant<gate_mode::Charging, gate_mode::Granted, gate_mode::Replaying, gate_mode::Rehearsing,
                              gate_mode::WithoutPrivacy>;

}  // namespace parley::privacy
