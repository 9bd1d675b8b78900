// What a party keeps of the masks of a run (privacy/masking/pairwise_masks.h): its secret, everybody's keys as they came
// first, and which round's mask is the next.
//
//   before the rounds    make_mask_key: the key that others may know; the coordinator hands all keys on. A site with
//                        an identity signs it for the run (secure/seal.h: the key is a hello)
//   first round          agree_on_masks: with those keys, which no later task changes. A site that pins the other
//                        parties goes on only with keys that they signed: whoever hands keys on cannot put in its own
//   each round           next_mask: of the round after the one before, for this task and no other
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/gate.h"
#include "parley/privacy/masking/pairwise_masks.h"
#include "parley/secure/peers.h"

namespace parley::algorithms {

struct MaskKeys {
  std::string secret;
  std::vector<std::string> keys;
  std::int64_t first_unused = 0;  // round whose mask was not used
  static void fields(auto& self, auto&& visit) { visit(self.secret, self.keys, self.first_unused); }
  std::optional<privacy::PairwiseMasks> masks;
};

// Who vouches for keys. By itself: nobody, and whoever hands them on is believed.
struct Vouching {
  const secure::Peers* peers = nullptr;  // null: this party has no identity
  std::string_view run;                  // and its job, as this party was told
};

// Whether it can be one, signed or not: all that who hands keys on can tell.
bool is_mask_key(const std::string& key);

// Once in a run.
Result<privacy::Released<std::string>> make_mask_key(MaskKeys& own, privacy::Gate& gate, const Vouching& by = {});

struct MaskAgreement {
  int party = 0;                         // whose masks these are
  int parties = 0;                       // whose masks cancel
  const std::vector<std::string>& told;  // the keys that the task brings: of all parties, or none
  std::string_view terms;                // everything that others told the party and that its answers follow from
  Vouching by = {};
};
Result<void> agree_on_masks(MaskKeys& own, const MaskAgreement& agreement);

// Every round needs every party, so none is skipped: a later one says that what was kept here was set back since.
Result<privacy::OneTimeMask> next_mask(MaskKeys& own, std::int64_t round, std::size_t size, std::string_view task);

}  // namespace parley::algorithms
