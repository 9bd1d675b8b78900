// Cases that are long loops over numbers take minutes without optimisation and under sanitizers, and tell nothing
// there that they do not tell in a release build. They begin with
//   PARLEY_SKIP_WHEN_SANITIZED();
// and run in release builds, or everywhere with PARLEY_SLOW=1.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>

namespace parley::test {

#ifdef PARLEY_SANITIZED
inline bool skipped_when_sanitized() {
  return std::getenv("PARLEY_SLOW") == nullptr;
}
#else
inline bool skipped_when_sanitized() {
  return false;
}
#endif

}  // namespace parley::test

#define PARLEY_SKIP_WHEN_SANITIZED() \
  if (::parley::test::skipped_when_sanitized()) GTEST_SKIP() << "a long loop over numbers; PARLEY_SLOW=1 runs it"
