#include "parley/algorithms/parts/mask_keys.h"

#include <algorithm>
#include <cstring>

namespace parley::algorithms {

namespace {

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// The pinned parties that none of the keys is signed by.
std::string without_key(const secure::Peers& peers, const std::vector<std::string>& signers) {
  std::string names;
  for (const secure::Pin& pin : peers.parties)
    if (!contains(signers, pin.key)) names += (names.empty() ? "'" : ", '") + pin.name + "'";
  return names;
}

// The keys themselves. Where this party pins the others, every key is signed for this run by one of them, and no two by
// the same.
Result<std::vector<std::string>> vouched_for(const std::vector<std::string>& keys, const Vouching& by) {
  const bool pinned = by.peers != nullptr && by.peers->pinned();
  std::vector<std::string> bare, signers;
  bool strange = false;
  for (const std::string& key : keys) {
    if (key.size() != secure::kHelloBytes) {
      strange = strange || pinned;
      bare.push_back(key);
      continue;
    }
    const auto hello = secure::read_hello(key, {}, by.run);
    const bool known =
        !pinned || (hello && std::any_of(by.peers->parties.begin(), by.peers->parties.end(),
                                         [&](const secure::Pin& pin) { return pin.key == hello->identity; }));
    strange = strange || !hello || !known || contains(signers, hello->identity);
    if (!hello) continue;
    bare.push_back(hello->key);
    if (!strange) signers.push_back(hello->identity);
  }
  if (!strange) return bare;
  if (!pinned)
    return fail(bad_input({.field = "keys"}, "a key that was handed on is not signed by whom it names for this run"));
  const std::string names = without_key(*by.peers, signers);
  return fail(bad_input({.field = "keys"},
                        "a key was handed on that no [[peer]] of this site signed for this run; the key of " +
                            (names.empty() ? "nobody" : names) +
                            " is missing. Whoever handed it on may stand between the sites: nothing was sent"));
}

}  // namespace

bool is_mask_key(const std::string& key) {
  return key.size() == privacy::kMaskKeyBytes || key.size() == secure::kHelloBytes;
}

Result<privacy::Released<std::string>> make_mask_key(MaskKeys& own, privacy::Gate& gate, const Vouching& by) {
  if (!own.secret.empty()) return fail(bad_input({.field = "task"}, "a party makes one key in a run"));
  PARLEY_TRY(const privacy::MaskSecret secret, gate.mask_secret());
  PARLEY_TRY(std::string key, privacy::mask_public_key(secret));
  own.secret.assign(reinterpret_cast<const char*>(secret.data()), sizeof secret);
  if (by.peers != nullptr) {
    PARLEY_TRY(const secure::RunKey of_run, secure::RunKey::of(own.secret));
    PARLEY_TRY(key, secure::hello_of(by.peers->own, of_run, by.run));
  }
  return privacy::derive([](const std::string& made) { return made; }, privacy::Public{key});
}

Result<void> agree_on_masks(MaskKeys& own, const MaskAgreement& agreement) {
  if (own.masks && agreement.told.empty()) return {};
  const std::vector<std::string>& keys = own.keys.empty() ? agreement.told : own.keys;
  if (keys.size() != static_cast<std::size_t>(agreement.parties) || own.secret.size() != sizeof(privacy::MaskSecret) ||
      (!agreement.told.empty() && agreement.told != keys))
    return fail(bad_input({.field = "task"},
                          "must bring the keys of all parties in the first round of learning, and no others later"));
  privacy::MaskSecret secret{};
  std::memcpy(secret.data(), own.secret.data(), sizeof secret);
  PARLEY_TRY(const std::vector<std::string> bare, vouched_for(keys, agreement.by));
  PARLEY_TRY(own.masks, privacy::PairwiseMasks::agree(secret, agreement.party, bare, agreement.terms));
  own.masks->skip_to(own.first_unused);
  own.keys = std::vector<std::string>(keys);
  return {};
}

Result<privacy::OneTimeMask> next_mask(MaskKeys& own, std::int64_t round, std::size_t size, std::string_view task) {
  if (round != own.first_unused)
    return fail(
        bad_input({.field = "task"},
                  "must be of the round after the one that was answered last; what was kept of this run is older",
                  std::to_string(round)));
  PARLEY_TRY(auto mask, own.masks->mask(round, size, task));
  own.first_unused = own.masks->first_unused();
  return mask;
}

}  // namespace parley::algorithms
