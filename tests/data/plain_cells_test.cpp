#include "parley/data/plain_cells.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "parley/linalg/cpu.h"

using namespace parley;
using namespace parley::data;

namespace {

class PlainCellsAtLevel : public ::testing::TestWithParam<linalg::CpuLevel> {
 protected:
  PlainCellsAtLevel() : before_(linalg::cpu_level()) { linalg::set_cpu_level(GetParam()); }
  ~PlainCellsAtLevel() override { linalg::set_cpu_level(before_); }

 private:
  linalg::CpuLevel before_;
};

struct Table {
  explicit Table(std::size_t columns) : values(columns, -7.5) {
    for (double& value : values) places.push_back(&value);
  }
  std::vector<double> values;
  std::vector<double*> places;
};

std::string number_of_some_shape(std::mt19937_64& random) {
  const double value =
      std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -static_cast<int>(random() % 70));
  switch (random() % 8) {
    case 0:
      return fmt::format("{}", static_cast<int>(random() % 100000) - 50000);
    case 1:
      return fmt::format("{:.4f}", value);
    case 2:
      return fmt::format("{:.17f}", std::ldexp(value, -40));
    case 3:
      return fmt::format("{:+.2f}", value);
    case 4:
      return fmt::format("{}.", random() % 1000);
    case 5:
      return fmt::format(".{:06}", random() % 1000000);
    case 6:
      return fmt::format("{}", random() >> random() % 64);
    default:
      return fmt::format("{}", value);
  }
}

}  // namespace

TEST_P(PlainCellsAtLevel, ReadTheBitsThatStrtodReads) {
  std::mt19937_64 random(11);
  for (int k = 0; k < 20000; ++k) {
    const std::size_t count = 1 + random() % 40;
    std::vector<std::string> cells;
    std::string text;
    for (std::size_t c = 0; c < count; ++c) {
      cells.push_back(number_of_some_shape(random));
      text += cells.back() + ";";
    }
    text += "3\n";
    // Cells that only the careful way reads are passed over here, as a caller does.
    Table table(count);
    const char* p = text.data();
    for (std::size_t c = 0; c < count; ++c) {
      const PlainCells read = read_plain_cells(text.data(), p, text.data() + text.size(), ';',
                                               std::span<double* const>(table.places).subspan(c), 0);
      p = read.next;
      for (std::size_t j = c; j < c + read.count; ++j) {
        const double expected = std::strtod(cells[j].c_str(), nullptr);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(expected), std::bit_cast<std::uint64_t>(table.values[j])) << cells[j];
      }
      c += read.count;
      if (c < count) {
        ASSERT_EQ(text.compare(static_cast<std::size_t>(p - text.data()), cells[c].size(), cells[c]), 0);
        p += cells[c].size() + 1;
      }
    }
    ASSERT_EQ(std::string(p), "3\n");
  }
}

TEST_P(PlainCellsAtLevel, StopBeforeWhateverIsNoNumberAndDelimiter) {
  for (const char* odd : {"",    " 1",  "1 ",   "\"1\"", "-", "+",    ".",      "-.",   "1.2.3", "1-2", "--1",
                          "nan", "inf", "0x10", "1e",    "x", "1\n2", "1\r\n2", "\xff", "1\xff", "é"}) {
    const std::string before = "1.5,-2,";
    const std::string text = before + odd + ",4,5,6,7,8,9,10.25,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26\n";
    Table table(12);
    const PlainCells read = read_plain_cells(text.data(), text.data(), text.data() + text.size(), ',', table.places, 0);
    EXPECT_EQ(read.count, 2U) << odd;
    EXPECT_EQ(read.next - text.data(), static_cast<std::ptrdiff_t>(before.size())) << odd;
    EXPECT_EQ(table.values[0], 1.5);
    EXPECT_EQ(table.values[1], -2.0);
    EXPECT_EQ(table.values[2], -7.5) << odd;
  }
}

TEST_P(PlainCellsAtLevel, StopBeforeColumnsThatTakeNone) {
  const std::string text = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32\n";
  Table table(6);
  table.places[4] = nullptr;
  const PlainCells read = read_plain_cells(text.data(), text.data(), text.data() + text.size(), ',', table.places, 0);
  EXPECT_EQ(read.count, 4U);
  EXPECT_EQ(*read.next, '5');
}

// A row of more cells than are looked for at a time, and the end of the text at every place.
TEST_P(PlainCellsAtLevel, ReadLongRowsAndStopAtTheEnd) {
  std::string text;
  for (int k = 0; k < 700; ++k) text += fmt::format("{:.3f},", 0.125 * k);
  Table table(700);
  EXPECT_EQ(read_plain_cells(text.data(), text.data(), text.data() + text.size(), ',', table.places, 0).count, 700U);
  for (int k = 0; k < 700; ++k) ASSERT_EQ(table.values[static_cast<std::size_t>(k)], 0.125 * k);
  for (std::size_t length = 0; length < 300; ++length) {
    const std::vector<char> exact(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
    const auto whole = static_cast<std::size_t>(std::count(exact.begin(), exact.end(), ','));
    EXPECT_EQ(read_plain_cells(exact.data(), exact.data(), exact.data() + length, ',', table.places, 0).count, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, PlainCellsAtLevel,
                         ::testing::Values(linalg::CpuLevel::kBaseline, linalg::CpuLevel::kAvx2),
                         [](const auto& about) { return std::string(linalg::name(about.param)); });
