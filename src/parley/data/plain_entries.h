// The hot loop of LIBSVM text: entries "index:value" whose value is digits with at most a sign and a point.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "parley/data/wide_digits.h"

namespace parley::data {

struct PlainEntry {
  const char* text;
  std::uint32_t index;  // below 10^7
  double value;
};

// Reads ahead in one text; places only ever move on.
class PlainEntries {
 public:
  explicit PlainEntries(const char* text) : text_(text) {}

  // Entries from p on, each with a blank or a line feed right behind its value. Stops at a line feed, before
  // whatever is not such an entry, and near the ends of the text; on machines without wide registers at once. p
  // moves to where it stopped.
  std::size_t read(const char*& p, const char* end, std::span<PlainEntry> out);

 private:
  [[maybe_unused]] const char* text_;
#if defined(__x86_64__)
  PARLEY_WIDE_DIGITS std::size_t read_wide(const char*& p, const char* end, std::span<PlainEntry> out);

  bool is_wide_ = have_wide_digits();
  wide::Borders borders_;
  std::size_t next_ = 0;
  const char* base_ = nullptr;
#endif
};

}  // namespace parley::data
