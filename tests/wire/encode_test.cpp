#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "parley/wire/decode.h"
#include "parley/wire/largest.h"

using namespace parley;
using namespace parley::wire;

namespace {

struct Block {
  std::string name;
  std::vector<double> weights;
  bool operator==(const Block&) const = default;
  static void fields(auto& self, auto&& visit) { visit(self.name, self.weights); }
};

struct Everything {
  bool last = false;
  int classes = 0;
  std::int64_t records = 0;
  double step = 0;
  linalg::SparseVector kept;
  std::vector<linalg::SparseVector> per_class;
  std::vector<std::int64_t> counts;
  std::vector<float> coarse;
  std::vector<linalg::Index> order;
  Block block;
  std::vector<Block> blocks;
  bool operator==(const Everything&) const = default;
  static void fields(auto& self, auto&& visit) {
    visit(self.last, self.classes, self.records, self.step, self.kept, self.per_class, self.counts, self.coarse,
          self.order, self.block, self.blocks);
  }
};

Everything example() {
  return {true,    3,      -7,        0.25,          {9, {1, 4, 8}, {0.5, -1, 2}}, {{4, {0}, {1}}, {4, {}, {}}},
          {1, -2}, {0.5F}, {2, 0, 1}, {"b", {1, 2}}, {{"", {}}, {"c", {3}}}};
}

struct Nothing {
  static void fields(auto&, auto&& visit) { visit(); }
};
struct Dense {
  std::vector<double> values;
  static void fields(auto& self, auto&& visit) { visit(self.values); }
};
struct Names {
  std::vector<std::string> names;
  static void fields(auto& self, auto&& visit) { visit(self.names); }
};
struct Kept {
  linalg::SparseVector values;
  static void fields(auto& self, auto&& visit) { visit(self.values); }
};

}  // namespace

TEST(Encoding, EveryKindOfFieldComesBack) {
  const Bytes bytes = encode(example());
  EXPECT_EQ(bytes.size(), encoded_size(example()));
  const auto back = decode<Everything>(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, example());
}

TEST(Encoding, ALongVectorIsItsCountAndItsBytes) {
  for (const std::size_t size : {255, 256, 257, 1000, 10007}) {
    Block block{"", std::vector<double>(size)};
    for (std::size_t j = 0; j < size; ++j) block.weights[j] = static_cast<double>(j) / 3;
    const auto numbers = std::string(reinterpret_cast<const char*>(block.weights.data()), 8 * size);
    const auto count = static_cast<std::uint32_t>(size);
    const Bytes head(reinterpret_cast<const char*>(&count), sizeof count);
    EXPECT_EQ(encode(block), Bytes(4, '\0') + head + numbers) << size;
  }
}

TEST(Encoding, AMessageWithoutFieldsIsNoBytes) {
  EXPECT_TRUE(encode(Nothing{}).empty());
  EXPECT_TRUE(decode<Nothing>(""));
  EXPECT_FALSE(decode<Nothing>("x"));
}

TEST(Encoding, ASparseEntryTakesTwelveBytes) {
  Kept few{{1000, {}, {}}};
  const std::size_t empty = encode(few).size();
  few.values = {1000, {3, 5}, {1, 2}};
  EXPECT_EQ(encode(few).size(), empty + 2 * 12);
  EXPECT_EQ(empty, 8U);
}

TEST(Encoding, EveryPrefixIsRefused) {
  const Bytes bytes = encode(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode<Everything>(std::string_view(bytes).substr(0, size)));
  EXPECT_FALSE(decode<Everything>(bytes + '\0'));
}

TEST(Encoding, ACountIsNotBelievedBeforeItsBytesAreSeen) {
  const Bytes bytes("\xff\xff\xff\xff", 4);  // four thousand million numbers, and none follows
  EXPECT_FALSE(decode<Dense>(bytes));
  EXPECT_FALSE(decode<Block>(bytes));
}

TEST(Encoding, PeersSendFiniteNumbersOnly) {
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    const Bytes bytes = encode(Dense{{1, bad, std::numeric_limits<double>::max(), 2}});
    EXPECT_FALSE(decode<Dense>(bytes));
    EXPECT_TRUE(decode<Dense>(bytes, Numbers::kAny));
    EXPECT_FALSE(decode<Kept>(encode(Kept{{5, {2}, {bad}}})));
  }
  EXPECT_TRUE(decode<Dense>(encode(Dense{{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}})));
}

TEST(Encoding, PositionsOfASparseVectorAscendBelowItsSize) {
  EXPECT_FALSE(decode<Kept>(encode(Kept{{5, {2, 2}, {1, 1}}})));
  EXPECT_FALSE(decode<Kept>(encode(Kept{{5, {3, 2}, {1, 1}}})));
  EXPECT_FALSE(decode<Kept>(encode(Kept{{5, {5}, {1}}})));
  EXPECT_FALSE(decode<Kept>(encode(Kept{{5, {-1}, {1}}})));
  EXPECT_FALSE(decode<Kept>(encode(Kept{{-5, {}, {}}})));
}

// Whatever is accepted is the one encoding of its value.
TEST(Encoding, DamagedBytesAreRefusedOrEncodeBackToThemselves) {
  std::mt19937_64 random(7);
  const Bytes good = encode(example());
  for (int trial = 0; trial < 20000; ++trial) {
    Bytes bytes = good;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (const auto read = decode<Everything>(bytes)) {
      EXPECT_EQ(encode(*read), bytes);
    }
  }
}

TEST(Decoding, AListOfNothingIsRefusedBeforeItTakesManyTimesItsBytes) {
  Bytes empty_texts(4 + 4 * (kMostElements + 1), '\0');
  const auto promised = static_cast<std::uint32_t>(kMostElements + 1);
  std::memcpy(empty_texts.data(), &promised, sizeof promised);
  const auto read = decode<Names>(empty_texts);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "message refused: a list has more elements than any message needs");
}

TEST(LargestNumber, LooksAtEveryNumberThatIsNotWhole) {
  Everything message = example();
  EXPECT_EQ(largest_number(message), 3);
  message.step = -1e101;
  EXPECT_EQ(largest_number(message), 1e101);
  message = example();
  message.kept.values[1] = -4;
  EXPECT_EQ(largest_number(message), 4);
  message.per_class[0].values[0] = 5;
  EXPECT_EQ(largest_number(message), 5);
  message.coarse[0] = -6;
  EXPECT_EQ(largest_number(message), 6);
  message.blocks[1].weights[0] = 1e300;
  EXPECT_EQ(largest_number(message), 1e300);
  EXPECT_EQ(largest_number(Nothing{}), 0);
}
