// A draw whose generator may fail.
#pragma once
#include "parley/core/result.h"
#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

inline Error no_randomness() {
  return failed("the source of randomness failed; the release was charged and did not happen");
}

// draw(), a Result; or an error when the generator fails: there is no weaker source to fall back to,
// and nothing is released.
template <class Draw>
auto drawn(const Draw& draw) -> decltype(draw()) {
  try {
    return draw();
  } catch (const RandomnessFailure&) {
    return fail(no_randomness());
  }
}

}  // namespace parley::privacy
