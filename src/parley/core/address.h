// Network addresses as people write them: host:port, [2001:db8::1]:port.
#pragma once
#include <string_view>

#include "parley/core/result.h"

namespace parley {

enum class PortZero { kRefused, kSystemChooses };

// Whether the address has a host and a port that exists; `place` is where it was written. Does not look the host up.
Result<void> check_address(std::string_view address, const Place& place, PortZero zero);

}  // namespace parley
