// What can go wrong, in three forms: bad settings or data, a run that failed, a budget that ended.
// Broken invariants are assertions, not errors.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace parley {

enum class Fault {
  kFailed = 1,       // exit 1: peers, disks, a solver that could not finish
  kBadInput = 2,     // exit 2: bad usage, settings or data
  kBudgetEnded = 3,  // exit 3: a privacy budget refused a release; what was learned is kept
};

// What a peer may be told of the reason, as a code: nothing in it is computed from data.
enum class Cause {
  kItsOwn,   // whatever the fault says
  kMachine,  // a disk or a lock here: full, broken, or held by another process. Later it may work
  kPast,     // what is here is not what the run began with
};

struct Error {
  Fault fault = Fault::kFailed;
  std::string message;  // one line, for the person who holds the data; never sent to a peer
  Cause cause = Cause::kItsOwn;

  [[nodiscard]] int exit_code() const { return static_cast<int>(fault); }
};

// Where bad input was found. Line and column count from 1; 0 means "not applicable".
struct Place {
  std::string file;
  std::size_t line = 0;
  std::string field;  // column name or setting key
};

// "FILE:LINE: FIELD: RULE (got 'VALUE')"; parts that are empty are left out, long values are cut.
Error bad_input(const Place& place, std::string_view rule, std::string_view value = {});
Error failed(std::string message);
Error unavailable(std::string message);  // of Cause::kMachine

}  // namespace parley
