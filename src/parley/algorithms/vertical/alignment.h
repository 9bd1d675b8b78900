// Private set intersection by Diffie-Hellman (Meadows 1986; Huberman, Franklin and Hogg 1999) over ristretto255: which
// records the parties have in common, and in which order they stand beside each other, without showing an id.
//
// The first party compares; its secret is a, that of party k is b_k. What is sent goes through the coordinator.
//
//   1. every party     sends H(id)^s for each of its ids, s its own secret, sorted as bytes: 32 bytes an id
//   2. party k         raises the first's list, H(x)^(a b_k), and sends 16 bytes of each, in the list's order
//      the first       raises the lists of the others, H(y)^(b_k a), and keeps them
//   3. the first       compares, and sends party k the places in k's list of the records that are kept, in one order
//   4. party k         looks up its own records at those places
//
// Points are pseudorandom, so sorted lists tell nothing of the order of a table, and the common order is a random one.
//
//   kCommon   kept is what all parties have
//   kLeft     kept is every record of the first; where party k lacks it, its place is none
//   kCount    step 2 is answered sorted, so the first learns how many are in common and not which; there is no step 3
//
// Who learns what, and what is not defended: alignment.md beside this file. Nothing of it is in a claim of differential
// privacy: whether a record is in the common part is released as it is.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/record_ids.h"
#include "parley/data/row_order.h"
#include "parley/rounds/algorithm.h"

namespace parley::algorithms {

class Alignment {
 public:
  enum class Mode { kCommon, kLeft, kCount };
  enum Phase { kBlind, kRaise, kCompare, kTell, kDone };

  // Of one party beside the first.
  struct Beside {
    std::int64_t common = 0;            // records that it has in common with the first
    std::vector<linalg::Index> places;  // in its list, of the records that are kept; data::kNoPartner: none
    static void fields(auto& self, auto&& visit) { visit(self.common, self.places); }
  };
  struct Iterate {
    int phase = kBlind;
    std::vector<std::string> lists;   // of each party
    std::vector<std::string> tokens;  // of the first's list, by each other party
    std::vector<Beside> beside;       // of each other party
    std::int64_t alignment = 0;       // names it
    std::int64_t kept = 0;
    static void fields(auto& self, auto&& visit) {
      visit(self.phase, self.lists, self.tokens, self.beside, self.alignment, self.kept);
    }
  };
  struct Task {
    int phase = kBlind;
    std::vector<std::string> lists;  // kRaise; kCompare: tokens
    std::vector<linalg::Index> places;
    std::int64_t alignment = 0;
    static void fields(auto& self, auto&& visit) { visit(self.phase, self.lists, self.places, self.alignment); }
  };
  struct Reply {
    std::string list;  // kBlind: points; kRaise: tokens
    std::vector<Beside> beside;
    std::int64_t alignment = 0;
    std::int64_t kept = 0;
    static void fields(auto& self, auto&& visit) { visit(self.list, self.beside, self.alignment, self.kept); }
  };
  struct Memory {
    int next = kBlind;                  // the phase that is answered next
    std::string secret;                 // gone when it is used up
    std::vector<linalg::Index> sorted;  // place in the list -> place in RecordIds
    std::vector<std::string> tokens;    // of the first: of each other party's list
    std::int64_t alignment = 0;         // 0: not known
    std::vector<linalg::Index> rows;    // of the table, in the common order
    static void fields(auto& self, auto&& visit) {
      visit(self.next, self.secret, self.sorted, self.tokens, self.alignment, self.rows);
    }
  };
  struct Data {
    const data::RecordIds* ids = nullptr;
    int party = 0;  // its number
  };

  Alignment(int parties, Mode mode) : parties_(parties), mode_(mode) {}

  [[nodiscard]] Iterate start() const;
  [[nodiscard]] std::optional<Task> ask(const Iterate& iterate, int party) const;
  Result<privacy::Released<Reply>> answer(const Task& task, const Data& ids, Memory& memory, privacy::Gate& gate) const;
  [[nodiscard]] Result<void> check(const Iterate& iterate, int party, const Reply& reply) const;
  [[nodiscard]] Result<Iterate> absorb(Iterate iterate, const rounds::Answers<Reply>& answers) const;
  [[nodiscard]] bool done(const Iterate& iterate) const { return iterate.phase == kDone; }

 private:
  Result<Reply> blind(const data::RecordIds& ids, Memory& memory) const;
  Result<Reply> raise(const Task& task, int party, Memory& memory) const;
  Result<Reply> compare(const Task& task, const data::RecordIds& ids, Memory& memory) const;
  Result<Reply> look_up(const Task& task, const data::RecordIds& ids, Memory& memory) const;

  int parties_;
  Mode mode_;
};
static_assert(rounds::Algorithm<Alignment>);

// What a party ends with; none where records were counted only.
std::optional<data::RowOrder> order_of(const Alignment::Memory& memory, const data::RecordIds& ids);

}  // namespace parley::algorithms
