#include "parley/privacy/masking/dealt_masks.h"

#include <gtest/gtest.h>

#include "parley/privacy/gate.h"

using namespace parley;
using namespace parley::privacy;

namespace {

using Words = std::vector<std::uint64_t>;

DealtMasks masks() {
  return *DealtMasks::make(std::string(kDealtSeedBytes, 's'));
}

}  // namespace

TEST(DealtMasks, AMaskIsMadeOnceAlsoAfterARestart) {
  DealtMasks made = masks();
  EXPECT_TRUE(made.mask<std::uint64_t>(Dealt::kMargin, 3, 4, 16));
  EXPECT_FALSE(made.mask<std::uint64_t>(Dealt::kMargin, 3, 4, 16)) << "the same index again";
  EXPECT_FALSE(made.mask<std::uint64_t>(Dealt::kMargin, 2, 4, 16)) << "an earlier one";
  EXPECT_TRUE(made.mask<std::uint64_t>(Dealt::kResidual, 3, 4, 64)) << "another purpose";
  EXPECT_TRUE(made.column<std::uint32_t>(0, 4));
  EXPECT_FALSE(made.column<std::uint32_t>(0, 4));
  DealtMasks back = masks();
  back.skip_to(made.marks());
  EXPECT_FALSE(back.mask<std::uint64_t>(Dealt::kMargin, 3, 4, 16));
  EXPECT_FALSE(back.mask<std::uint64_t>(Dealt::kResidual, 0, 4, 64));
  EXPECT_TRUE(back.mask<std::uint64_t>(Dealt::kMargin, 4, 4, 16));
  back.skip_to(std::vector<std::int64_t>(8));
  EXPECT_FALSE(back.mask<std::uint64_t>(Dealt::kMargin, 4, 4, 16)) << "counters never go back";
  EXPECT_FALSE(DealtMasks::make("short"));
}

TEST(DealtMasks, StreamsDifferBySeedPurposeIndexAndPart) {
  const std::string one(kDealtSeedBytes, 'a'), other(kDealtSeedBytes, 'b');
  std::vector<Words> all;
  const auto add = [&](DealtStream stream) {
    Words words(64);
    stream.fill(words);
    for (const Words& before : all) EXPECT_NE(words, before);
    all.push_back(words);
  };
  add(DealtStream(one, Dealt::kMargin, 0));
  add(DealtStream(other, Dealt::kMargin, 0));
  add(DealtStream(one, Dealt::kResidual, 0));
  add(DealtStream(one, Dealt::kMargin, 1));
  add(DealtStream(one, Dealt::kMargin, 0, 1));
  EXPECT_NE(dealt_seed(one, 0), dealt_seed(one, 1));
  // In pieces it is the same stream.
  DealtStream pieces(one, Dealt::kMargin, 0);
  Words words(64);
  for (std::size_t i = 0; i < 64; i += 8) pieces.fill(std::span(words).subspan(i, 8));
  EXPECT_EQ(words, all.front());
}

TEST(DealtMasks, WordsTravelInWholeBytesAndComeBack) {
  const Words words = {0, 1, 0xffffffffff, 0x123456789a, 0x8000000000};
  const std::string bytes = packed<std::uint64_t>(words, 40);
  EXPECT_EQ(bytes.size(), 25u);
  EXPECT_EQ(*unpacked<std::uint64_t>(bytes, 5, 40), words);
  EXPECT_FALSE(unpacked<std::uint64_t>(bytes, 4, 40));
  EXPECT_FALSE(unpacked<std::uint64_t>(bytes.substr(1), 5, 40));
  for (const int bits : {8, 16, 24, 32, 40, 48, 56, 64})
    for (std::size_t count = 0; count < 12; ++count) {
      Words some;
      for (std::size_t i = 0; i < count; ++i) some.push_back((0x9e3779b97f4a7c15 * (i + 1)) >> (64 - bits));
      const std::string wide = packed<std::uint64_t>(some, bits);
      ASSERT_EQ(wide.size(), count * static_cast<std::size_t>(bits / 8));
      EXPECT_EQ(*unpacked<std::uint64_t>(wide, count, bits), some);
    }
  EXPECT_EQ(centred<std::uint64_t>(0xffffffffff, 40), -1);
  EXPECT_EQ(centred<std::uint64_t>(0x7fffffffff, 40), 0x7fffffffff);
  EXPECT_EQ(centred<std::uint32_t>(0xffff, 16), -1);
}

TEST(DealtMasks, AValueUnderItsMaskIsTheirSum) {
  DealtMasks made = masks();
  const Words value = {7, ~std::uint64_t{0}, 0};
  const auto gate = Gate::without_privacy(Unprotected{});
  const auto under = gate.under(Private(value), *made.mask<std::uint64_t>(Dealt::kResidual, 5, 3, 64));
  ASSERT_TRUE(under);
  const auto words = *unpacked<std::uint64_t>(Gate::kept(*under, 64), 3, 64);
  const auto mask = *made.known<std::uint64_t>(Dealt::kResidual, 5, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(words[i] - mask[i], value[i]);
  EXPECT_FALSE(gate.under(Private(value), *made.mask<std::uint64_t>(Dealt::kResidual, 6, 2, 64))) << "another size";
}

TEST(DealtMasks, APrivateRunLetsNoShareOutWithoutNoise) {
  DealtMasks made = masks();
  const Gate charging = Gate::rehearsal({"patients", Unit::kRecord, Neighbours::kReplaceOne});
  ASSERT_TRUE(charging.charges());
  EXPECT_TRUE(charging.under(Private(Words{1}), *made.mask<std::uint64_t>(Dealt::kResidual, 1, 1, 64)));
  EXPECT_FALSE(charging.under(Private(Words{1}), *made.mask<std::uint64_t>(Dealt::kProducts, 1, 1, 64)));
  EXPECT_FALSE(charging.under(Private(Words{1}), *made.share<std::uint64_t>(2, {1})));
}

// Whoever knows one contribution faces the others: at least multiplier times sensitivity.
TEST(DealtMasks, TheDeviationOfAContributorLeavesTheOthersEnough) {
  for (const int contributors : {3, 4, 9})
    for (const double multiplier : {0.7, 25.0}) {
      const double sensitivity = 1e5;
      const double deviation = *Gate::shared_deviation(sensitivity, {multiplier, contributors});
      const double others = std::sqrt((contributors - 1) * deviation * deviation - 16);
      EXPECT_GE(others, multiplier * sensitivity);
      EXPECT_LE(others, multiplier * sensitivity * (1 + 1e-9));
    }
  EXPECT_FALSE(Gate::shared_deviation(1, {1, 3})) << "too few grains for the proof";
  EXPECT_FALSE(Gate::shared_event({1, 1}));
}
