// labels: slow
#include "parley/data/number.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/support/sanitized.h"

using namespace parley::data;

namespace {

// The number at the beginning of `line` must parse to the same bits as strtod's, or both must overflow.
::testing::AssertionResult same_as_strtod(const std::string& text, const std::string& line) {
  const double expected = std::strtod(text.c_str(), nullptr);
  const ParsedNumber parsed = parse_number(line.data(), line.data() + line.size());
  if (std::isinf(expected)) {
    if (parsed.error == NumberError::kNotFinite) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << text << " should be too large";
  }
  if (parsed.error != NumberError::kNone || parsed.end != line.data() + text.size())
    return ::testing::AssertionFailure() << line << " was refused";
  if (std::bit_cast<std::uint64_t>(parsed.value) != std::bit_cast<std::uint64_t>(expected))
    return ::testing::AssertionFailure() << text << ": " << parsed.value << " is not " << expected;
  return ::testing::AssertionSuccess();
}

// Alone, and with as much text behind it that it is read a word at a time.
::testing::AssertionResult same_as_strtod(const std::string& text) {
  for (const char* behind : {"", ",1.25,-7,0.12345678901234567,88888888,99",
                             "\xff"
                             "9.9999999999999999999999999999999999999999"})
    if (const auto same = same_as_strtod(text, text + behind); !same) return same;
  return ::testing::AssertionSuccess();
}

std::string random_digits(std::mt19937_64& random, int count) {
  std::string digits;
  for (int k = 0; k < count; ++k) digits += static_cast<char>('0' + random() % 10);
  return digits;
}

}  // namespace

TEST(ParseNumber, ReadsTheShapesPeopleWrite) {
  for (const char* text :
       {"0", "-0", "+1", "1.", ".5", "-.5e3", "1e5", "1E+05", "1e-05", "007", "0.000", "3.14159", "-122.230000",
        "12345678", "123456789012345678", "1234567890123456789", "0.1234567890123456789012345"})
    EXPECT_TRUE(same_as_strtod(text));
}

TEST(ParseNumber, RoundsHardCasesLikeStrtod) {
  for (const char* text : {"9007199254740993",
                           "9007199254740992.5",
                           "9007199254740993.0000000000000000001",
                           "1e22",
                           "1e23",
                           "8.5e22",
                           "9.5e-22",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9999999999999999999",
                           "0.9999999999999999999",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "1e309",
                           "-1e309",
                           "2.2250738585072011e-308",
                           "2.2250738585072014e-308",
                           "4.9e-324",
                           "2.4e-324",
                           "2.5e-324",
                           "1e-400",
                           "-1e-400",
                           "0e400",
                           "0.0e-9999999999",
                           "1e99999999999",
                           "1e-99999999999",
                           "6.02214076e23",
                           "0.00000000000000000000000000000000000000000000000001e60",
                           "100000000000000000000000000000000000000000e-41",
                           "179769313486231580793728971405301e276",
                           "0.500000000000000166533453693773481063544750213623046875",
                           "3.518437208883201171875e13",
                           "62.5364939768271845828",
                           "8.10109172351e-10",
                           "1.50000000000000011102230246251565",
                           "9007199254740991.4999999999999999999999999999999995"})
    EXPECT_TRUE(same_as_strtod(text));
}

TEST(ParseNumber, AgreesWithStrtodOnRandomDecimals) {
  PARLEY_SKIP_WHEN_SANITIZED();
  std::mt19937_64 random(1);
  for (int k = 0; k < 1000000; ++k) {
    std::string text = random() % 2 == 0 ? "-" : "";
    text += random_digits(random, static_cast<int>(random() % 12));
    if (random() % 4 != 0) text += "." + random_digits(random, static_cast<int>(random() % 24));
    if (text.find_first_of("0123456789") == std::string::npos) text += "7";
    if (random() % 3 == 0) text += fmt::format("e{}", static_cast<int>(random() % 60) - 30);
    if (random() % 50 == 0) text += fmt::format("{}", random() % 400);
    ASSERT_TRUE(same_as_strtod(text));
  }
}

TEST(ParseNumber, ReadsBackEveryKindOfDouble) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 500000; ++k) {
    const auto any = std::bit_cast<double>(random());
    if (!std::isfinite(any)) continue;
    ASSERT_TRUE(same_as_strtod(fmt::format("{}", any)));
    ASSERT_TRUE(same_as_strtod(fmt::format("{:.17g}", any)));
    const double usual = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 90);
    ASSERT_TRUE(same_as_strtod(fmt::format("{}", usual)));
    ASSERT_TRUE(same_as_strtod(fmt::format("{:.6f}", usual)));
  }
}

// Midpoints between neighbouring doubles are where a single wrong rounding shows.
TEST(ParseNumber, RoundsMidpointsToEven) {
  PARLEY_SKIP_WHEN_SANITIZED();
  std::mt19937_64 random(3);
  for (int k = 0; k < 300000; ++k) {
    const std::uint64_t odd = (random() >> 10 | (std::uint64_t{1} << 53)) | 1;  // 54 bits: between two doubles
    const int power = static_cast<int>(random() % 10);
    unsigned __int128 scaled = odd;
    for (int t = 0; t < power; ++t) scaled *= 5;  // odd / 2^power = scaled / 10^power
    std::string digits;
    for (; scaled > 0; scaled /= 10)
      digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(scaled % 10)));
    ASSERT_TRUE(same_as_strtod(fmt::format("{}e-{}", digits, power)));
    ASSERT_TRUE(same_as_strtod(fmt::format("{}00001e-{}", digits, power + 5)));
    ASSERT_TRUE(same_as_strtod(fmt::format("{}e{}", odd, power)));
  }
}

TEST(ParseNumber, RefusesWordsAndHexadecimal) {
  for (const std::string text :
       {"", "-", "+", ".", "-.", "e5", ".e5", "nan", "NaN", "inf", "-inf", "Infinity", "abc", "--1", "+-1"})
    EXPECT_EQ(parse_number(text.data(), text.data() + text.size()).error, NumberError::kNotANumber) << text;
}

TEST(ParseNumber, StopsAtTheEndOfTheNumber) {
  for (const auto& [text, length] : std::vector<std::pair<std::string, int>>{
           {"1,2", 1}, {"0x10", 1}, {"1e", 1}, {"1e+", 1}, {"1.5.5", 3}, {"12 ", 2}, {"1e5e5", 3}, {"123456789,", 9}}) {
    const ParsedNumber parsed = parse_number(text.data(), text.data() + text.size());
    EXPECT_EQ(parsed.error, NumberError::kNone);
    EXPECT_EQ(parsed.end - text.data(), length) << text;
  }
}
