#include "parley/data/plain_entries.h"

namespace parley::data {

#if defined(__x86_64__)

std::size_t PlainEntries::read_wide(const char*& p, const char* const end, std::span<PlainEntry> out) {
  constexpr std::size_t kLookedFor = 128;
  std::size_t count = 0;
  while (count < out.size() && end - p > wide::kReach) {
    while (next_ < borders_.count && base_ + borders_.at[next_] < p) ++next_;
    if (next_ == borders_.count) {
      borders_.find(p, end - wide::kReach, ' ', '\n', kLookedFor);
      base_ = p;
      next_ = 0;
      if (borders_.count == 0) return count;
    }
    const char* const stop = base_ + borders_.at[next_];
    if (stop == p) {
      if (*p == '\n') return count;
      ++p;
      continue;
    }
    const std::uint64_t word = detail::load_digits(p);
    const int digits = detail::leading_digits(word);
    if (digits == 0 || digits == 8 || p[digits] != ':') return count;
    PlainEntry& entry = out[count];
    const char* const value = p + digits + 1;
    // Most values of binary data are one character.
    if (stop - value == 1 && *value == '1')
      entry.value = 1;
    else if (stop - text_ < wide::kReachBack || !wide::plain_decimal(value, stop, entry.value))
      return count;
    entry.text = p;
    entry.index = static_cast<std::uint32_t>(detail::value_of_first(word, digits));
    ++count;
    p = stop;
  }
  return count;
}

std::size_t PlainEntries::read(const char*& p, const char* end, std::span<PlainEntry> out) {
  return is_wide_ ? read_wide(p, end, out) : 0;
}

#else

std::size_t PlainEntries::read(const char*&, const char*, std::span<PlainEntry>) {
  return 0;
}

#endif

}  // namespace parley::data
