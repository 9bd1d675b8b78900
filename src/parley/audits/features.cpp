#include "parley/audits/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace parley::audits {

namespace {

constexpr std::size_t kMostNumbers = 1500, kMostBytes = 1500, kFineness = 64;
constexpr std::size_t kMostOffsets = 20'000;  // of one message that are looked at
constexpr std::uint16_t kAbsent = 0xffff;

const std::string* message_at(const View& view, std::size_t list, std::size_t message) {
  return list < view.size() && message < view[list].size() ? &view[list][message] : nullptr;
}

double number_at(const std::string& message, std::size_t offset) {
  double value = 0;
  std::memcpy(&value, message.data() + offset, sizeof value);
  return value;
}

// Between 2^-60 and 2^60, or 0.
bool plausible(double value) {
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff) - 1023;
  return value == 0 || (exponent >= -60 && exponent <= 60);
}

std::uint16_t fineness_of(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::abs(fraction), 53));
  return static_cast<std::uint16_t>(std::clamp(exponent - 53 + std::countr_zero(mantissa) + 200, 1, 400));
}

}  // namespace

Layout Layout::found_in(std::span<const View> views) {
  Layout layout;
  const View& first = views.front();
  for (std::size_t list = 0; list < first.size(); ++list) {
    for (std::size_t m = 0; m < first[list].size(); ++m) {
      std::vector<const std::string*> seen;
      for (const View& view : views)
        if (const std::string* message = message_at(view, list, m)) seen.push_back(message);
      std::size_t shortest = seen.front()->size();
      bool sizes_vary = seen.size() < views.size();
      for (const std::string* message : seen) {
        sizes_vary = sizes_vary || message->size() != seen.front()->size();
        shortest = std::min(shortest, message->size());
      }
      if (sizes_vary) layout.sizes_.push_back({list, m, 0});
      shortest = std::min(shortest, kMostOffsets);
      std::vector<bool> within(shortest, false);
      for (std::size_t offset = 0; offset + 8 <= shortest && layout.numbers_.size() < kMostNumbers; ++offset) {
        const double one = number_at(*seen.front(), offset);
        bool is_number = plausible(one), varies = false;
        for (const std::string* message : seen) {
          const double value = number_at(*message, offset);
          is_number = is_number && plausible(value);
          varies = varies || value != one;
          if (!is_number) break;
        }
        if (!is_number || !varies) continue;
        layout.numbers_.push_back({list, m, offset});
        std::fill_n(within.begin() + static_cast<std::ptrdiff_t>(offset), 8, true);
      }
      for (std::size_t offset = 0; offset < shortest && layout.bytes_.size() < kMostBytes; ++offset) {
        if (within[offset]) continue;
        const bool varies = std::any_of(seen.begin(), seen.end(), [&](const std::string* message) {
          return (*message)[offset] != (*seen.front())[offset];
        });
        if (varies) layout.bytes_.push_back({list, m, offset});
      }
    }
  }
  return layout;
}

Features Layout::read(const View& view) const {
  Features features;
  features.numbers.reserve(numbers_.size());
  for (const Spot& spot : numbers_) {
    const std::string* message = message_at(view, spot.list, spot.message);
    double value = message != nullptr && spot.offset + 8 <= message->size() ? number_at(*message, spot.offset) : 0;
    if (!plausible(value)) value = 0;
    features.numbers.push_back(value);
  }
  for (const Spot& spot : bytes_) {
    const std::string* message = message_at(view, spot.list, spot.message);
    const bool there = message != nullptr && spot.offset < message->size();
    features.categories.push_back(there ? static_cast<unsigned char>((*message)[spot.offset]) : kAbsent);
  }
  for (const Spot& spot : sizes_) {
    const std::string* message = message_at(view, spot.list, spot.message);
    features.categories.push_back(message != nullptr ? static_cast<std::uint16_t>(message->size() % 60'000) : kAbsent);
  }
  for (std::size_t j = 0; j < std::min(kFineness, features.numbers.size()); ++j)
    features.categories.push_back(fineness_of(features.numbers[j]));
  return features;
}

}  // namespace parley::audits
