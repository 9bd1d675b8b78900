// Result<T>: a value or an Error. PARLEY_TRY unwraps one or returns its error to the caller.
#pragma once
#include <tl/expected.hpp>
#include <utility>

#include "parley/core/error.h"

namespace parley {

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace parley

#define PARLEY_CONCAT_(a, b) a##b
#define PARLEY_CONCAT(a, b) PARLEY_CONCAT_(a, b)

// PARLEY_TRY(auto x, read(file));
#define PARLEY_TRY(declaration, ...)                                                   \
  auto PARLEY_CONCAT(parley_result_, __LINE__) = (__VA_ARGS__);                        \
  if (!PARLEY_CONCAT(parley_result_, __LINE__))                                        \
    return ::parley::fail(std::move(PARLEY_CONCAT(parley_result_, __LINE__)).error()); \
  declaration = std::move(*PARLEY_CONCAT(parley_result_, __LINE__))

// PARLEY_CHECK(write(file)); for Result<void>
#define PARLEY_CHECK(...) PARLEY_CHECK_NAMED_(PARLEY_CONCAT(parley_status_, __COUNTER__), __VA_ARGS__)
#define PARLEY_CHECK_NAMED_(status, ...) \
  if (auto status = (__VA_ARGS__); !status) return ::parley::fail(std::move(status).error())
