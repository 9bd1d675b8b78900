#include "parley/algorithms/parts/mask_keys.h"

#include <cstring>

namespace parley::algorithms {

Result<privacy::Released<std::string>> make_mask_key(MaskKeys& own, privacy::Gate& gate) {
  if (!own.secret.empty()) return fail(bad_input({.field = "task"}, "a party makes one key in a run"));
  PARLEY_TRY(const privacy::MaskSecret secret, gate.mask_secret());
  PARLEY_TRY(const std::string key, privacy::mask_public_key(secret));
  own.secret.assign(reinterpret_cast<const char*>(secret.data()), sizeof secret);
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
  PARLEY_TRY(own.masks, privacy::PairwiseMasks::agree(secret, agreement.party, keys, agreement.terms));
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
