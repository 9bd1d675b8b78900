// Text for people: safe quoting of foreign bytes, suggestions for mistyped names, counts with units.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parley {

// At most `limit` characters; control characters and invalid bytes become '?'.
std::string printable(std::string_view text, std::size_t limit = 200);

// The closest of `names` if it is close enough to be what was meant, else empty.
std::string closest(std::string_view word, std::span<const std::string> names);

// "; did you mean 'x'?" or, when nothing is close, "; known: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string> names);

// "1.5 kB", "12 MB": powers of 1000.
std::string human_bytes(double bytes);

// 1234567 -> "1,234,567"
std::string with_commas(long long count);

// "1 row", "1,234 rows"; `several` where it is more than an s: counted(n, "party", "parties").
std::string counted(long long count, std::string_view one, std::string_view several = {});

}  // namespace parley
