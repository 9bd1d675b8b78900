// What a party needs to send others what nobody between them can read (secure/seal.h), as a part of its memory.
//
//   first round    hello(): made for this run, signed by the site's identity or, without one, by one made on the spot
//   then           agree(): with the hellos of all parties, which no later task changes
//   each message   to(party, at) and open(party, sealed, at), `at` ascending for each pair and direction
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/privacy/masking/dealt_masks.h"
#include "parley/secure/seal.h"

namespace parley::algorithms {

// A site's own identity and the keys that it pins; neither where all parties are one program.
struct KnownPeers {
  const secure::Identity* own = nullptr;
  std::vector<std::string> pinned{};  // by party; empty: none
};

class PeerSeals {
 public:
  static void fields(auto& self, auto&& visit) { visit(self.identity_, self.key_, self.hellos_, self.marks_); }

  Result<std::string> hello(const KnownPeers& known, std::string_view run);
  Result<void> agree(const KnownPeers& known, int own, const std::vector<std::string>& hellos, std::string_view run);
  // After a restart, from what was kept.
  Result<void> take_up(const KnownPeers& known, int own, std::string_view run);
  [[nodiscard]] bool agreed() const { return seals_ != nullptr; }

  Result<std::string> seal(int party, std::string_view content, secure::SealAt at);
  Result<std::string> open(int party, std::string_view sealed, secure::SealAt at);

 private:
  Result<void> make(const KnownPeers& known, int own, std::string_view run);
  void keep_marks();
  std::string identity_, key_;
  std::vector<std::string> hellos_;
  std::vector<std::int64_t> marks_;
  std::shared_ptr<std::vector<std::unique_ptr<secure::Seal>>> seals_{};
};

// The seal of one message to one party.
class SealToPeer final : public privacy::PeerSeal {
 public:
  SealToPeer(PeerSeals& seals, int party, secure::SealAt at) : seals_(seals), party_(party), at_(at) {}
  Result<std::string> seal(std::string_view content) override { return seals_.seal(party_, content, at_); }

 private:
  PeerSeals& seals_;
  int party_;
  secure::SealAt at_;
};

}  // namespace parley::algorithms
