#include "parley/core/party_name.h"

#include <algorithm>

namespace parley {

bool may_be_in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

std::string_view flaw_of_member_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;  // of a common name in a certificate
  const bool good = !name.empty() && name.size() <= kLongest && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), may_be_in_a_name);
  return good ? "" : "must be 1 to 64 letters a-z, digits, '-', '_' or '.', not beginning with '.'";
}

std::string_view flaw_of_party_name(std::string_view name) {
  if (name == kCoordinatorName) return "is the coordinator's name: its certificate is for being dialled";
  if (name == kAuthorityName) return "is the authority's own name: ca.pem and ca.key are its files";
  return flaw_of_member_name(name);
}

}  // namespace parley
