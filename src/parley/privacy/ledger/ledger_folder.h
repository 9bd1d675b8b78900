// The folder of a ledger: ledger.sqlite, the log that SQLite keeps beside it, ledger.made, which says that a ledger was
// made here, and ledger.head, which says how far it had got (seen_head.h).
//
// A ledger that was cut to nothing or taken away must not be mistaken for a folder that never had one: that would be
// a fresh budget. So
//   1. the database is made whole under another name and then linked into place: it is never empty, not for a moment
//      and not after a crash, and of several makers at once the first one wins;
//   2. the marker is on disk before a ledger that was opened can be written to.
// Hence beside a marker lies a database that is not empty, or something was lost; then nothing is opened. Nobody can
// notice here that the whole folder was removed or replaced by an older copy: a site's state folder does, which keeps
// the head too; where there is none, keep the head hash (ledger.h).
#pragma once
#include <functional>
#include <string>

#include "parley/core/result.h"

namespace parley::privacy {

std::string database_in(const std::string& folder);

// Whether there is a database; an error when there was one and it is gone, or when it is empty.
Result<bool> holds_database(const std::string& folder);

// make(file) writes a whole database to `file`, which is then put into place unless another process was first.
Result<void> make_database(const std::string& folder, const std::function<Result<void>(const std::string& file)>& make);

// Puts the marker on disk unless it is there.
Result<void> mark(const std::string& folder);

}  // namespace parley::privacy
