// The newest end of a ledger that was seen from a folder: how many entries there were, and the hash of the last one.
//
// A ledger alone cannot know that it is an older copy: its chain is whole, and what was spent since is not in it. So
// its end is written down apart, in `ledger.head` of the ledger's own folder and of a site's state folder.
//
//   order       a charge is committed to the ledger; then its head is written down; then noise may be drawn
//   invariant   the head that was written down is an entry of the ledger
//
// A kill between the two leaves a ledger that is ahead, by entries that follow the head: that is right, and the head is
// written down anew when the ledger is opened. The reverse cannot come about by a kill or a power cut, since a charge
// is synced before its head is written. A ledger without the entry was set back or is another one: it is refused.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "parley/core/result.h"

namespace parley::privacy {

struct SeenHead {
  std::int64_t entries = 0;
  std::string hash;
  bool operator==(const SeenHead&) const = default;
};

std::string head_file_in(const std::string& folder);

// Nothing where there is no such file; an error when it cannot be read as one.
Result<std::optional<SeenHead>> read_seen_head(const std::string& file);

// On disk when it returns. One that knows more entries stays: of several processes a late one does not set it back.
Result<void> write_seen_head(const std::string& file, const SeenHead& head);

}  // namespace parley::privacy
