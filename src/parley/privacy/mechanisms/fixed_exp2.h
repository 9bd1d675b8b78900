// 2^-y in integers alone, for 0 <= y < 64: the same bits on every machine, and an error that is proved.
//
//   y = n + i/256 + r,  0 <= r < 1/256:   2^-y = 2^-n * table[i] * e^-z,  z = r ln 2 < 2^-8.5
//   e^-z = 1 - z (1 - z (1/2 - z (1/6 - z (1/24 - z/120))))
//
// The error in units of 2^-63, before the shift by n:
//   6   the series leaves out less than z^6/720 < 2^-60.6
//   1   z is cut
//   1   the last of the five truncated products with z; the others are damped by further factors z < 2^-8.5
//   2   the product with the table
//   1   the table itself
#pragma once
#include <array>
#include <cstdint>

namespace parley::privacy {

class FixedExp2 {
 public:
  static constexpr int kArgumentBits = 58;    // y is given in units of 2^-58
  static constexpr int kResultBits = 63;      // and 2^-y in units of 2^-63
  static constexpr std::int64_t kError = 16;  // |result - 2^63 * 2^-y| <= kError

  static const FixedExp2& table();

  [[nodiscard]] std::uint64_t operator()(std::uint64_t y) const {
    const std::uint64_t r = (y << 14) >> 8;  // the last 50 bits, now in units of 2^-64
    const std::uint64_t z = high(r, kLn2);
    std::uint64_t t = kSixth / 4 - high(z, kSixth / 20);
    t = kSixth - high(z, t);
    t = kOne / 2 - high(z, t);
    t = kOne - high(z, t);
    t = kOne - high(z, t);
    return (high(powers_[(y >> 50) & 255], t) << 1) >> (y >> kArgumentBits);
  }

 private:
  static constexpr std::uint64_t kOne = 1ull << 63;
  static constexpr std::uint64_t kSixth = kOne / 6;
  static constexpr std::uint64_t kLn2 = 0xB17217F7D1CF79ABull;  // floor(2^64 ln 2)

  FixedExp2();
  static std::uint64_t high(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
  }
  std::array<std::uint64_t, 256> powers_;  // 2^63 * 2^(-i/256), rounded down
};

}  // namespace parley::privacy
