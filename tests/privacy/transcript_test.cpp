#include "parley/privacy/transcript.h"

#include <gtest/gtest.h>

#include <limits>

using namespace parley::privacy;

// Words of 64 bits do not fit a double: each is two numbers.
TEST(Transcript, GivesBackWhatWasWrittenDown) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
  const MaskedVector masked{{0, -1, 1, kLeast, kMost, (std::int64_t{1} << 53) + 1}};
  const std::vector<double> values{0.5, -3};
  const std::vector<std::size_t> indices{7, 0};
  Transcript transcript;
  write_down(0.25, transcript);
  write_down(std::size_t{9}, transcript);
  write_down(values, transcript);
  write_down(indices, transcript);
  write_down(masked, transcript);
  ASSERT_EQ(transcript.size(), 1U + 1 + 2 + 2 + 12);
  const std::span<const double> told(transcript);
  double number = 0;
  std::size_t index = 0;
  std::vector<double> numbers;
  std::vector<std::size_t> picks;
  MaskedVector words;
  read_back(told.subspan(0, 1), number);
  read_back(told.subspan(1, 1), index);
  read_back(told.subspan(2, 2), numbers);
  read_back(told.subspan(4, 2), picks);
  read_back(told.subspan(6), words);
  EXPECT_EQ(number, 0.25);
  EXPECT_EQ(index, 9U);
  EXPECT_EQ(numbers, values);
  EXPECT_EQ(picks, indices);
  EXPECT_EQ(words.words, masked.words);
}
