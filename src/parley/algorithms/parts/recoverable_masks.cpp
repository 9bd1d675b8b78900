#include "parley/algorithms/parts/recoverable_masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "parley/privacy/masking/secret_sharing.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::algorithms {

namespace {

using privacy::kMaskKeyBytes;
using privacy::MaskSecret;

constexpr std::size_t kSignatureBytes = 64, kCommitmentBytes = 32;
constexpr std::size_t kRoundKeyBytes = kMaskKeyBytes + kCommitmentBytes + kSignatureBytes;

Error wrong(const char* rule) {
  return bad_input({.field = "task"}, rule);
}

std::string bytes_of(const MaskSecret& secret) {
  return {reinterpret_cast<const char*>(secret.data()), sizeof secret};
}
MaskSecret secret_of(const std::string& bytes) {
  MaskSecret secret{};
  std::memcpy(secret.data(), bytes.data(), std::min(bytes.size(), sizeof secret));
  return secret;
}

void append(std::string& to, std::int64_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void append(std::string& to, std::string_view text) {
  append(to, static_cast<std::int64_t>(text.size()));
  to += text;
}

// What the signature of a round's key covers.
std::string of_key(std::string_view run, std::int64_t round, std::string_view key) {
  std::string text = "parley mask key of a round 1";
  append(text, run);
  append(text, round);
  append(text, key.substr(0, kMaskKeyBytes + kCommitmentBytes));
  return text;
}

// What a signature of survivors covers.
std::string of_survivors(const RecoverableKeys& own, const OwnPlace& place, const std::vector<int>& survivors) {
  std::string text = "parley mask survivors 1";
  append(text, place.by.run);
  append(text, own.round);
  append(text, std::int64_t{place.quorum});
  for (const std::string& key : own.keys) append(text, key);
  for (const int party : survivors) append(text, std::int64_t{party});
  return text;
}

Result<std::string> signed_text(const RecoverableKeys& own, const OwnPlace& place, std::string_view text) {
  if (place.by.peers != nullptr) return place.by.peers->own.sign(text);
  PARLEY_TRY(const secure::Identity identity, secure::Identity::read(own.identity));
  return identity.sign(text);
}

std::string_view pin_of(const OwnPlace& place, std::size_t party) {
  const secure::Peers* peers = place.by.peers;
  return peers == nullptr || party >= peers->parties.size() ? std::string_view() : peers->parties[party].key;
}
std::string name_of(const OwnPlace& place, std::size_t party) {
  const secure::Peers* peers = place.by.peers;
  return peers == nullptr || party >= peers->parties.size() ? fmt::format("number {}", party + 1)
                                                            : "'" + peers->parties[party].name + "'";
}

Result<secure::Hello> hello_from(const RecoverableKeys& own, const OwnPlace& place, std::size_t party) {
  auto hello = secure::read_hello(own.hellos[party], pin_of(place, party), place.by.run);
  if (!hello)
    return fail(
        bad_input({.field = "keys"},
                  fmt::format("the key that was handed on for party {} is not one that it signed for this run{}. "
                              "Whoever handed it on may stand between the sites: nothing was sent",
                              name_of(place, party),
                              pin_of(place, party).empty() ? "" : " with the identity that [[peer]] pins")));
  return hello;
}

Result<secure::Seal> seal_with(const RecoverableKeys& own, const OwnPlace& place, std::size_t party) {
  PARLEY_TRY(const secure::RunKey key, secure::RunKey::of(own.seal));
  const secure::Peer peer{.pinned = pin_of(place, party), .hello = own.hellos[party]};
  if (place.by.peers != nullptr)
    return secure::Seal::agree({.own = place.by.peers->own, .key = key, .run = place.by.run}, peer);
  PARLEY_TRY(const secure::Identity identity, secure::Identity::read(own.identity));
  return secure::Seal::agree({.own = identity, .key = key, .run = place.by.run}, peer);
}

std::vector<int> participants(const ByParty& keys) {
  std::vector<int> there;
  for (std::size_t p = 0; p < keys.size(); ++p)
    if (!keys[p].empty()) there.push_back(static_cast<int>(p));
  return there;
}
std::vector<std::string> bare_keys(const ByParty& keys) {
  std::vector<std::string> bare;
  for (const std::string& key : keys)
    if (!key.empty()) bare.push_back(key.substr(0, kMaskKeyBytes));
  return bare;
}
int place_among(const std::vector<int>& parties, int party) {
  const auto found = std::find(parties.begin(), parties.end(), party);
  return found == parties.end() ? -1 : static_cast<int>(found - parties.begin());
}

// Ascending, of those who have a key of the round, and enough.
Result<void> check_survivors(const RecoverableKeys& own, const OwnPlace& place, const std::vector<int>& survivors) {
  const std::vector<int> there = participants(own.keys);
  const bool fine = std::adjacent_find(survivors.begin(), survivors.end(), std::greater_equal<>()) == survivors.end() &&
                    std::includes(there.begin(), there.end(), survivors.begin(), survivors.end()) &&
                    static_cast<int>(survivors.size()) >= place.quorum;
  if (!fine) return fail(wrong("must list, in their order, at least a quorum of those who have a key of the round"));
  return {};
}

}  // namespace

bool is_round_key(const std::string& key) {
  return key.size() == kRoundKeyBytes;
}

Result<std::string> greet(RecoverableKeys& own, const OwnPlace& place, privacy::Gate& gate) {
  if (!own.hello.empty()) return fail(wrong("asks for a key that a party makes once in a run"));
  if (place.by.peers == nullptr) {
    PARLEY_TRY(const secure::Identity identity, secure::Identity::make());
    PARLEY_TRY(own.identity, identity.pem());
  }
  PARLEY_TRY(const MaskSecret secret, gate.mask_secret());
  own.seal = bytes_of(secret);
  PARLEY_TRY(const secure::RunKey key, secure::RunKey::of(own.seal));
  if (place.by.peers != nullptr) {
    PARLEY_TRY(own.hello, secure::hello_of(place.by.peers->own, key, place.by.run));
    return own.hello;
  }
  PARLEY_TRY(const secure::Identity identity, secure::Identity::read(own.identity));
  PARLEY_TRY(own.hello, secure::hello_of(identity, key, place.by.run));
  return own.hello;
}

Result<Dealt> deal(RecoverableKeys& own, const OwnPlace& place, const ByParty& hellos, privacy::Gate& gate) {
  const auto self = static_cast<std::size_t>(place.number);
  if (own.stage != RecoverableKeys::kGreeted || own.hello.empty() || own.hellos.empty() == hellos.empty())
    return fail(wrong("comes at another time, or brings other parties than the first one did"));
  if (own.hellos.empty()) {
    if (hellos.size() != static_cast<std::size_t>(place.parties) || hellos[self] != own.hello)
      return fail(wrong("must bring the hello of every party in its place"));
    own.hellos = hellos;
    for (std::size_t p = 0; p < hellos.size(); ++p)
      if (!hellos[p].empty()) PARLEY_CHECK(hello_from(own, place, p));
  }
  PARLEY_TRY(const MaskSecret pair, gate.mask_secret());
  PARLEY_TRY(const MaskSecret alone, gate.mask_secret());
  own.pair = bytes_of(pair);
  own.self = bytes_of(alone);
  PARLEY_TRY(own.key, privacy::mask_public_key(pair));
  own.key += privacy::self_commitment(own.self);
  PARLEY_TRY(const std::string signature, signed_text(own, place, of_key(place.by.run, own.round, own.key)));
  own.key += signature;
  PARLEY_TRY(const auto bits, privacy::SecureGenerator::from_system());
  PARLEY_TRY(const auto of_pair, privacy::share_secret(own.pair, place.quorum - 1, place.parties, *bits));
  PARLEY_TRY(const auto of_self, privacy::share_secret(own.self, place.quorum - 1, place.parties, *bits));
  Dealt dealt{own.key, ByParty(own.hellos.size())};
  for (std::size_t p = 0; p < own.hellos.size(); ++p) {
    if (p == self || own.hellos[p].empty()) continue;
    // A seal of its own each round: every message has a fresh key, and rounds are in what it is bound to.
    PARLEY_TRY(secure::Seal seal, seal_with(own, place, p));
    PARLEY_TRY(dealt.sealed[p], seal.seal(of_pair[p] + of_self[p], {.round = own.round, .step = 0}));
  }
  own.stage = RecoverableKeys::kDealt;
  return dealt;
}

Result<privacy::OneTimeMask> recoverable_mask(RecoverableKeys& own, const OwnPlace& place, const MaskedRound& asked) {
  if (own.stage != RecoverableKeys::kDealt || asked.round != own.round)
    return fail(wrong("must be of the round that this party has keys for, and that was not answered"));
  const std::vector<int> there = participants(asked.keys);
  if (asked.keys.size() != own.hellos.size() || static_cast<int>(there.size()) < place.quorum ||
      asked.keys[static_cast<std::size_t>(place.number)] != own.key)
    return fail(wrong("must bring the keys of at least a quorum of parties, this party's own in its place"));
  for (const int party : there) {
    const auto p = static_cast<std::size_t>(party);
    const std::string& key = asked.keys[p];
    if (own.hellos[p].empty() || !is_round_key(key)) return fail(wrong("brings a key of a party that made none"));
    PARLEY_TRY(const secure::Hello hello, hello_from(own, place, p));
    if (!secure::signed_by(hello.identity, of_key(place.by.run, own.round, key),
                           std::string_view(key).substr(kMaskKeyBytes + kCommitmentBytes)))
      return fail(bad_input({.field = "keys"}, "the key of the round that was handed on for party " +
                                                   name_of(place, p) + " is not one that it signed; nothing was sent"));
  }
  PARLEY_TRY(auto masks, privacy::PairwiseMasks::agree(secret_of(own.pair), place_among(there, place.number),
                                                       bare_keys(asked.keys), asked.terms));
  PARLEY_TRY(auto mask, masks.mask(asked.round, asked.size, asked.task, own.self));
  own.keys = asked.keys;
  own.stage = RecoverableKeys::kMasked;
  return mask;
}

Result<std::string> agree_on_survivors(RecoverableKeys& own, const OwnPlace& place, const std::vector<int>& survivors) {
  if (own.stage != RecoverableKeys::kMasked) return fail(wrong("asks for a second signature of a round, or too early"));
  PARLEY_CHECK(check_survivors(own, place, survivors));
  if (place_among(survivors, place.number) < 0) return fail(wrong("leaves out this party, whose words arrived"));
  own.stage = RecoverableKeys::kSigned;
  return signed_text(own, place, of_survivors(own, place, survivors));
}

Result<ByParty> reveal(RecoverableKeys& own, const OwnPlace& place, const AskedToReveal& asked) {
  if (own.stage != RecoverableKeys::kMasked && own.stage != RecoverableKeys::kSigned)
    return fail(wrong("asks for shares of a round that this party did not answer, or a second time"));
  PARLEY_CHECK(check_survivors(own, place, asked.survivors));
  const std::size_t all = own.hellos.size();
  if (asked.signatures.size() != all || asked.sealed.size() != all)
    return fail(wrong("must bring one signature and one sealed share for each party"));
  const std::string text = of_survivors(own, place, asked.survivors);
  int agreed = 0;
  for (const int party : asked.survivors) {
    const auto p = static_cast<std::size_t>(party);
    if (asked.signatures[p].empty()) continue;
    PARLEY_TRY(const secure::Hello hello, hello_from(own, place, p));
    if (!secure::signed_by(hello.identity, text, asked.signatures[p]))
      return fail(wrong("brings a signature of another list of survivors"));
    ++agreed;
  }
  if (agreed < place.quorum) return fail(wrong("brings fewer signatures of the list than the quorum"));
  ByParty shares(all);
  for (const int party : participants(own.keys)) {
    const auto p = static_cast<std::size_t>(party);
    if (party == place.number) continue;
    PARLEY_TRY(secure::Seal seal, seal_with(own, place, p));
    PARLEY_TRY(const std::string both, seal.open(asked.sealed[p], {.round = own.round, .step = 0}));
    if (both.size() != 2 * sizeof(MaskSecret)) return fail(wrong("brings shares of another size"));
    const bool survived = place_among(asked.survivors, party) >= 0;
    shares[p] = both.substr(survived ? sizeof(MaskSecret) : 0, sizeof(MaskSecret));
  }
  own.stage = RecoverableKeys::kGreeted;
  own.keys.clear();
  own.pair.clear();
  own.self.clear();
  ++own.round;
  return shares;
}

namespace {

// The secret of one party, from the first shares that are enough.
Result<std::string> recovered(const RoundToOpen& opened, int party) {
  std::vector<std::pair<int, std::string>> shares;
  const auto p = static_cast<std::size_t>(party);
  for (std::size_t holder = 0; holder < opened.revealed.size(); ++holder) {
    if (static_cast<int>(shares.size()) == opened.quorum - 1) break;
    if (holder != p && p < opened.revealed[holder].size() && !opened.revealed[holder][p].empty())
      shares.emplace_back(static_cast<int>(holder) + 1, opened.revealed[holder][p]);
  }
  if (static_cast<int>(shares.size()) < opened.quorum - 1)
    return fail(failed("fewer parties than the quorum revealed their shares: the round cannot be opened"));
  return privacy::recover_secret(shares);
}

Error does_not_fit() {
  return failed(
      "the shares that the parties revealed do not fit the keys that they were dealt for: a party sent "
      "something else, and nobody can tell which");
}

}  // namespace

Result<void> unmask(const RoundToOpen& opened, std::vector<std::int64_t>& sum) {
  const std::vector<int> there = participants(opened.keys);
  std::vector<int> survivors;  // by their place among those with keys
  for (const int party : opened.survivors) survivors.push_back(place_among(there, party));
  for (const int party : there) {
    const std::string& key = opened.keys[static_cast<std::size_t>(party)];
    PARLEY_TRY(const std::string secret, recovered(opened, party));
    std::vector<std::uint64_t> words;
    if (place_among(opened.survivors, party) >= 0) {
      if (privacy::self_commitment(secret) != key.substr(kMaskKeyBytes, kCommitmentBytes)) return fail(does_not_fit());
      PARLEY_TRY(words, privacy::self_words(secret, opened.round, sum.size(), opened.task));
      for (std::uint64_t& word : words) word = 0 - word;
    } else {
      const auto public_key = privacy::mask_public_key(secret_of(secret));
      if (!public_key || *public_key != key.substr(0, kMaskKeyBytes)) return fail(does_not_fit());
      PARLEY_TRY(const auto masks, privacy::PairwiseMasks::agree(secret_of(secret), place_among(there, party),
                                                                 bare_keys(opened.keys), opened.terms));
      PARLEY_TRY(words, masks.shared_with(survivors, opened.round, sum.size(), opened.task));
    }
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[k]) + words[k]);
  }
  return {};
}

}  // namespace parley::algorithms
