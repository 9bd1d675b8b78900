// Real numbers as shrinking intervals of integers, so that a comparison with a random number can be decided exactly,
// however close the two are. Included by .cpp files of this folder only.
//
//   an Enclosure says  low <= x * 2^bits <= high  for the true real x
//
// Every operation rounds low down and high up; with more bits the interval shrinks to a point.
#pragma once
#include <gmpxx.h>

#include <cstdint>

#include "parley/privacy/randomness/generator.h"

namespace parley::privacy {

using Integer = mpz_class;
using Fraction = mpq_class;

struct Enclosure {
  Integer low, high;
};

Integer integer(std::uint64_t value);
Integer integer(std::int64_t value);
Integer integer(unsigned __int128 value);
std::uint64_t low_word(const Integer& value);  // value mod 2^64, value >= 0

// A double is a fraction with a power of two below the line: nothing is rounded.
Fraction exactly(double finite);

Enclosure enclose(const Fraction& value, unsigned bits);  // value >= 0
Enclosure multiply(const Enclosure& a, const Enclosure& b, unsigned bits);
Enclosure exp_minus(const Fraction& x, unsigned bits);                          // e^-x, x >= 0
Enclosure power(const Fraction& base, const Integer& exponent, unsigned bits);  // 0 <= base <= 1

// floor(2^bits_out * log2(1/x)) up to one unit below, for 0 < x <= 1.
Integer minus_log2_below(const Enclosure& x, unsigned bits, unsigned bits_out);

// The digits of a uniform real in [0, 1), drawn when they are asked for.
class LazyUniform {
 public:
  LazyUniform() = default;
  LazyUniform(const Integer& digits, unsigned bits) : digits_(digits), bits_(bits) {}

  // floor(u * 2^bits); bits never decreases from call to call.
  const Integer& digits(unsigned bits, Bits& source);

 private:
  Integer digits_ = 0;
  unsigned bits_ = 0;
};

// Is u * scale < x? `enclosure(bits)` encloses x. Terminates with probability 1, each doubling of the precision leaving
// a chance of about 2^-bits to go on.
template <class EncloseAt>
bool lies_below(LazyUniform u, const Integer& scale, const EncloseAt& enclosure, Bits& source) {
  for (unsigned bits = 128;; bits *= 2) {
    const Integer& digits = u.digits(bits, source);
    const Enclosure x = enclosure(bits);
    if ((digits + 1) * scale <= x.low) return true;
    if (digits * scale >= x.high) return false;
  }
}

}  // namespace parley::privacy
