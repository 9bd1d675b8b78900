#include "parley/core/address.h"

#include <charconv>
#include <string>

namespace parley {

Result<void> check_address(std::string_view address, const Place& place, PortZero zero) {
  const auto refuse = [&](const char* rule) { return fail(bad_input(place, rule, std::string(address))); };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return refuse("must be host:port; the port is missing");
  const std::string_view host = address.substr(0, colon), digits = address.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos)
    return refuse("must be host:port, an IPv6 host in brackets");
  if (host.empty() || host.find_first_of(" \t/") != std::string_view::npos) return refuse("must be host:port");
  if (digits.empty()) return refuse("must be host:port; the port is missing");
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port > 65535 ||
      (port == 0 && zero == PortZero::kRefused))
    return refuse(zero == PortZero::kRefused ? "must have a port from 1 to 65535"
                                             : "must have a port from 0 (the system chooses) to 65535");
  return {};
}

}  // namespace parley
