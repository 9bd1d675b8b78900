// Masks of a round that cancel although some parties dropped out of it. Bonawitz et al. 2017, Section 4.2 with the
// consistency check of Section 6.2; keys are fresh in every round. Why that hides what it should: dropouts.md in
// privacy/masking. M parties, of which at least q stay in every round, 2q > M + 1.
//
//   once      greet     each party i: a key for seals, signed (secure/seal.h); everybody gets all hellos
//   round t   deal      i: secrets a_i and b_i of this round; its key A_i | SHA-256(b_i), signed for run and round;
//                       shares of both, q - 1 of which give them back, sealed for each other party
//             mask      i: its value + b_i's words + pairwise masks with all who have a key of this round (P)
//             agree     each of U, whose words arrived: signs U, P's keys and the round; |U| >= q
//             reveal    with q such signatures on one list: of each party of P the share of b_i if it is in U, of a_i
//                       if not; never both
//   coordinator         takes off b_i's words (i in U) and what dropped parties' masks share with U: the sum over U
//
// A party that missed a round has no key of the next and takes no part any more.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parley/algorithms/parts/mask_keys.h"
#include "parley/core/result.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/masking/pairwise_masks.h"

namespace parley::algorithms {

// The fewest of so many parties that may be left in a round: any two groups of so many have two parties in common, so
// one that signs whatever it is asked to does not let two lists of one round be signed.
constexpr int fewest_left(int parties) {
  return (parties + 1) / 2 + 1;
}

// Who a party is in a run, and what it was told.
struct OwnPlace {
  int number = 0;
  int parties = 0;
  int quorum = 0;  // q
  Vouching by = {};
};

// By party number; empty where there is nothing of a party.
using ByParty = std::vector<std::string>;

struct RecoverableKeys {
  enum Stage { kGreeted, kDealt, kMasked, kSigned };
  std::string identity;  // PEM, where the party has none of its own
  std::string seal;
  std::string hello;
  ByParty hellos;
  std::int64_t round = 0;  // t
  int stage = kGreeted;
  std::string pair, self;  // a_i, b_i
  std::string key;         // of this round, own
  ByParty keys;            // of this round
  static void fields(auto& self_, auto&& visit) {
    visit(self_.identity, self_.seal, self_.hello, self_.hellos, self_.round, self_.stage, self_.pair, self_.self,
          self_.key, self_.keys);
  }
};

// ---- at a party ----

Result<std::string> greet(RecoverableKeys& own, const OwnPlace& place, privacy::Gate& gate);

struct Dealt {
  std::string key;
  ByParty sealed;
};
// `hellos`: in the first round.
Result<Dealt> deal(RecoverableKeys& own, const OwnPlace& place, const ByParty& hellos, privacy::Gate& gate);

struct MaskedRound {
  std::int64_t round = 0;
  const ByParty& keys;
  std::string_view terms, task;  // as for PairwiseMasks
  std::size_t size = 0;
};
Result<privacy::OneTimeMask> recoverable_mask(RecoverableKeys& own, const OwnPlace& place, const MaskedRound& asked);

// A signature of the list of those whose words arrived, once in a round.
Result<std::string> agree_on_survivors(RecoverableKeys& own, const OwnPlace& place, const std::vector<int>& survivors);

struct AskedToReveal {
  const std::vector<int>& survivors;
  const ByParty& signatures;
  const ByParty& sealed;  // for this party, by each other
};
// A share of one secret of every party that has a key of the round. Ends the round.
Result<ByParty> reveal(RecoverableKeys& own, const OwnPlace& place, const AskedToReveal& asked);

// ---- at the coordinator ----

bool is_round_key(const std::string& key);

struct RoundToOpen {
  int quorum = 0;
  const ByParty& keys;
  const std::vector<int>& survivors;
  std::span<const ByParty> revealed;  // by party; empty where a party revealed nothing
  std::int64_t round = 0;
  std::string_view terms, task;
};
// Takes the masks off the sum of the survivors' words.
Result<void> unmask(const RoundToOpen& opened, std::vector<std::int64_t>& sum);

}  // namespace parley::algorithms
