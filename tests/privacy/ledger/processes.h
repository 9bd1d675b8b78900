// Other processes at a ledger: several at once, one that is killed, one whose disk is full.
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <vector>

#include "parley/privacy/ledger/ledger.h"

namespace parley::privacy {

// Exit statuses of `processes` children that run at once, added up; -1 when one did not end by itself.
inline int added_up(int processes, const std::function<int(int)>& child) {
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(child(p));
  }
  int sum = 0;
  for (const pid_t each : children) {
    int status = 0;
    ::waitpid(each, &status, 0);
    sum = sum < 0 || !WIFEXITED(status) ? -1 : sum + WEXITSTATUS(status);
  }
  return sum;
}

// A child charges again and again and says each receipt over a pipe. It is killed after it said `receipts` of them, at
// whatever instruction it then is. How many it said in all.
inline std::int64_t said_until_killed(const std::filesystem::path& folder, int receipts,
                                      const std::function<bool(Ledger&, int)>& charge) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    auto ledger = Ledger::open(folder);
    const char byte = 1;
    for (int i = 0; ledger && charge(*ledger, i); ++i)
      if (::write(ends[1], &byte, 1) != 1) break;
    ::_exit(0);
  }
  ::close(ends[1]);
  std::int64_t said = 0;
  char byte = 0;
  while (said < receipts && ::read(ends[0], &byte, 1) == 1) ++said;
  ::kill(child, SIGKILL);
  while (::read(ends[0], &byte, 1) == 1) ++said;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

// How often a child could charge before its files could not grow: a file-size limit is what a full disk looks like from
// inside a process. At least 99 when the limit never struck.
inline int charged_until_full(const std::filesystem::path& folder, const std::function<bool(Ledger&, int)>& charge) {
  return added_up(1, [&](int) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 64 * 1024;
    auto ledger = Ledger::open(folder);
    if (!ledger || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
    int paid = 0;
    while (paid < 99 && charge(*ledger, paid)) ++paid;
    return paid;
  });
}

}  // namespace parley::privacy
