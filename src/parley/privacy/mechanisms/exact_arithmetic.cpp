#include "parley/privacy/mechanisms/exact_arithmetic.h"

#include <algorithm>
#include <cassert>

namespace parley::privacy {

namespace {

Integer shift_up(const Integer& value, unsigned bits) {
  return value << bits;
}

Integer shift_down(const Integer& value, unsigned bits) {
  Integer out;
  mpz_fdiv_q_2exp(out.get_mpz_t(), value.get_mpz_t(), bits);
  return out;
}

Integer shift_down_up(const Integer& value, unsigned bits) {
  Integer out;
  mpz_cdiv_q_2exp(out.get_mpz_t(), value.get_mpz_t(), bits);
  return out;
}

Integer divide_down(const Integer& a, const Integer& b) {
  Integer out;
  mpz_fdiv_q(out.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  return out;
}

Integer divide_up(const Integer& a, const Integer& b) {
  Integer out;
  mpz_cdiv_q(out.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  return out;
}

unsigned bit_length(const Integer& value) {
  return value == 0 ? 0 : static_cast<unsigned>(mpz_sizeinbase(value.get_mpz_t(), 2));
}

Enclosure narrow(const Enclosure& x, unsigned from, unsigned to) {
  return {shift_down(x.low, from - to), shift_down_up(x.high, from - to)};
}

// e^y for a small y >= 0 by its series; the rest after the last term is below that term when y <= 1/2.
Enclosure exp_small(const Enclosure& y, unsigned bits) {
  const Integer one = shift_up(1, bits);
  Enclosure sum{one, one};
  Enclosure term{one, one};
  for (unsigned long n = 1; term.high > 1; ++n) {
    term = multiply(term, y, bits);
    term = {divide_down(term.low, n), divide_up(term.high, n)};
    sum.low += term.low;
    sum.high += term.high;
  }
  sum.high += term.high;
  return sum;
}

}  // namespace

Integer integer(std::uint64_t value) {
  Integer out;
  mpz_import(out.get_mpz_t(), 1, 1, sizeof value, 0, 0, &value);
  return out;
}

Integer integer(std::int64_t value) {
  const Integer magnitude =
      integer(value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
  return value < 0 ? Integer(-magnitude) : magnitude;
}

Integer integer(unsigned __int128 value) {
  return shift_up(integer(static_cast<std::uint64_t>(value >> 64)), 64) + integer(static_cast<std::uint64_t>(value));
}

std::uint64_t low_word(const Integer& value) {
  assert(value >= 0);
  Integer low;
  mpz_fdiv_r_2exp(low.get_mpz_t(), value.get_mpz_t(), 64);
  std::uint64_t word = 0;
  mpz_export(&word, nullptr, 1, sizeof word, 0, 0, low.get_mpz_t());
  return word;
}

Fraction exactly(double finite) {
  return Fraction(finite);
}

Enclosure enclose(const Fraction& value, unsigned bits) {
  const Integer scaled = shift_up(value.get_num(), bits);
  return {divide_down(scaled, value.get_den()), divide_up(scaled, value.get_den())};
}

Enclosure multiply(const Enclosure& a, const Enclosure& b, unsigned bits) {
  return {shift_down(a.low * b.low, bits), shift_down_up(a.high * b.high, bits)};
}

Enclosure exp_minus(const Fraction& x, unsigned bits) {
  assert(x >= 0);
  const Integer one = shift_up(1, bits);
  if (x == 0) return {one, one};
  if (x > bits) return {0, 1};  // e^-bits < 2^-bits

  // e^-x = (1 / e^(x / 2^halvings))^(2^halvings) with x / 2^halvings <= 2^-8. Each squaring doubles the
  // relative error, so the work is done with that many more bits, and 32 for the roundings of the series.
  const Integer whole = divide_up(x.get_num(), x.get_den());
  const unsigned halvings = bit_length(whole) + 8;
  const unsigned work = bits + halvings + 32;
  const Enclosure y = enclose(Fraction(x / shift_up(1, halvings)), work);
  const Enclosure growth = exp_small(y, work);
  const Integer unit = shift_up(1, 2 * work);
  Enclosure decay{divide_down(unit, growth.high), divide_up(unit, growth.low)};
  for (unsigned i = 0; i < halvings; ++i) decay = multiply(decay, decay, work);
  return narrow(decay, work, bits);
}

Enclosure power(const Fraction& base, const Integer& exponent, unsigned bits) {
  assert(base >= 0 && base <= 1 && exponent >= 0);
  const unsigned work = bits + 2 * bit_length(exponent) + 16;
  Enclosure square = enclose(base, work);
  Enclosure product{shift_up(1, work), shift_up(1, work)};
  for (unsigned bit = 0; bit < bit_length(exponent); ++bit) {
    if (mpz_tstbit(exponent.get_mpz_t(), bit) != 0) product = multiply(product, square, work);
    square = multiply(square, square, work);
  }
  return narrow(product, work, bits);
}

Integer minus_log2_below(const Enclosure& x, unsigned bits, unsigned bits_out) {
  // Digit by digit: log2 doubles when its argument is squared. Starting from 1/x.high keeps the result below.
  assert(x.low > 0);
  const Integer one = shift_up(1, bits);
  const Integer two = shift_up(1, bits + 1);
  Integer y = divide_down(shift_up(1, 2 * bits), x.high);
  if (y < one) y = one;
  Integer digits = 0;
  while (y >= two) {
    y = shift_down(y, 1);
    ++digits;
  }
  for (unsigned i = 0; i < bits_out; ++i) {
    y = shift_down(y * y, bits);
    digits = shift_up(digits, 1);
    if (y >= two) {
      y = shift_down(y, 1);
      ++digits;
    }
  }
  return digits;
}

const Integer& LazyUniform::digits(unsigned bits, Bits& source) {
  while (bits_ < bits) {
    const unsigned take = std::min(64u, bits - bits_);
    digits_ = shift_up(digits_, take) + integer(source.next_u64() >> (64 - take));
    bits_ += take;
  }
  return digits_;
}

}  // namespace parley::privacy
