// Who a site is to the other sites of a run, and whom it takes them for.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "parley/secure/seal.h"

namespace parley::secure {

struct Pin {
  std::string name;
  std::string key;  // public identity, kKeyBytes; empty: this site does not say whose keys it expects
};

struct Peers {
  Identity own;
  int number = 0;            // of this site among the parties
  std::vector<Pin> parties;  // of the job, in its order; this site's own place holds its own key

  // Whether every other party of the job is pinned: then nobody who hands keys on can stand between the sites.
  [[nodiscard]] bool pinned() const {
    return std::none_of(parties.begin(), parties.end(), [](const Pin& pin) { return pin.key.empty(); });
  }
};

}  // namespace parley::secure
