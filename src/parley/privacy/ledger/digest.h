// SHA-256 in hexadecimal digits: names for entries of a ledger, jobs, tables and models.
#pragma once
#include <string>
#include <string_view>

namespace parley::privacy {

std::string digest_of(std::string_view bytes);

}  // namespace parley::privacy
