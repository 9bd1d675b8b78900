// Certificates that an authority takes back before they end: the list that it signs (X.509 CRL, PEM).
#pragma once
#include <string>
#include <vector>

#include "parley/secure/certificates.h"

namespace parley::secure {

// The list with these certificates in it as well; `list` is empty where there is none yet. Refuses a list and
// certificates that are not the authority's.
Result<std::string> revoke(const KeyPair& authority, const std::string& list,
                           const std::vector<std::string>& certificates);

// Whether the list is one of an authority in `authority`. What nobody signed says nothing.
Result<void> check_list(const std::string& authority, const std::string& list);

// By a list that was checked. What cannot be read as a certificate is not believed, and counts as revoked.
bool is_revoked(const std::string& list, const std::string& certificate);

// All certificates of a text that holds several.
std::vector<std::string> each_certificate(const std::string& text);

}  // namespace parley::secure
