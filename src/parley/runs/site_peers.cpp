#include "parley/runs/site_peers.h"

#include <algorithm>
#include <filesystem>

#include "parley/secure/identity_file.h"

namespace parley::runs {

Result<std::shared_ptr<const secure::Peers>> peers_of(const jobs::Site& site, const jobs::Job& job, int number) {
  const std::string file = secure::identity_file(site.tls, site.name);
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) {
    if (site.peers.empty()) return std::shared_ptr<const secure::Peers>();
    return fail(bad_input({file, 0, ""}, "does not exist, and [[peer]] needs it; parley keys identity makes it"));
  }
  PARLEY_TRY(secure::Identity own, secure::read_identity(file));
  std::vector<secure::Pin> parties;
  for (const jobs::PartySection& party : job.parties) {
    const bool self = static_cast<int>(parties.size()) == number;
    const auto pin = std::find_if(site.peers.begin(), site.peers.end(),
                                  [&](const secure::Pin& each) { return each.name == party.name; });
    const bool known = pin != site.peers.end();
    if (!self && !known && !site.peers.empty())
      return fail(bad_input({site.file, 0, "peer"}, "does not name a party of the job", party.name));
    if (known && pin->key == own.public_key())
      return fail(bad_input({site.file, 0, "peer." + party.name + ".key"}, "is this site's own"));
    parties.push_back({party.name, self ? own.public_key() : known ? pin->key : std::string()});
  }
  return std::make_shared<const secure::Peers>(secure::Peers{std::move(own), number, std::move(parties)});
}

}  // namespace parley::runs
