// What members of a federation may be called. One name is a party in jobs and ledgers, a file and a folder, and what a
// certificate says; so it has nothing in it that means something else to any of them.
#pragma once
#include <string_view>

namespace parley {

inline constexpr std::string_view kCoordinatorName = "coordinator";
inline constexpr std::string_view kAuthorityName = "ca";

// ASCII letters and digits, '-', '_' and '.'.
bool may_be_in_a_name(char c);

// The rule that the name of a party, or of whoever else has a certificate, breaks; empty when it breaks none.
std::string_view flaw_of_member_name(std::string_view name);
// The same for a party, which may not be called what the coordinator or the authority is called.
std::string_view flaw_of_party_name(std::string_view name);

}  // namespace parley
