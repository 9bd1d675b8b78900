// labels: threads
#include "parley/data/packed_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

using namespace parley;
using namespace parley::data;
using linalg::Storage;

namespace {

double some_value(std::mt19937_64& random, int kind) {
  switch (kind) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(random() % 2);
    case 2:
      return static_cast<double>(random() % 200) - 100;
    case 3:
      return random() % 50 == 0 ? 32767 : 3;
    case 4:
      return random() % 50 == 0 ? -32768 : 3;
    case 5:
      return static_cast<double>(random() % 1000) / 8;
    case 6:
      return random() % 30 == 0 ? 0.1 : 0;
    case 7:
      return random() % 30 == 0 ? 1e300 : 1;
    case 8:
      return random() % 40 == 0 ? 2.5 : 0;
    case 9:
      return random() % 3 == 0 ? -0.0 : 0.5;
    default:
      return random() % 30 == 0 ? 3e9 : 1;
  }
}

std::vector<PackedColumns::Column> columns_of(const std::vector<double>& values, std::size_t stride) {
  std::vector<PackedColumns::Column> columns;
  for (std::size_t at = 0; at < values.size(); at += stride) columns.push_back({values.data() + at});
  return columns;
}

}  // namespace

TEST(PackedColumns, KeepEveryValueAndSayWhatItNeeds) {
  std::mt19937_64 random(5);
  constexpr std::size_t kColumns = 11;
  for (const std::size_t rows : {1, 31, 32, 33, 1000}) {
    const std::size_t stride = rows + 3;
    std::vector<double> values(kColumns * stride, 99.0);
    for (std::size_t j = 0; j < kColumns; ++j)
      for (std::size_t i = 0; i < rows; ++i) values[j * stride + i] = some_value(random, static_cast<int>(j));
    const PackedColumns packed(columns_of(values, stride), rows);
    for (std::size_t j = 0; j < kColumns; ++j) {
      const std::span<const double> column(values.data() + j * stride, rows);
      Storage needed = Storage::kBinary;
      for (const double v : column)
        if (v != 0) needed = std::max(needed, linalg::smallest_storage(v));
      EXPECT_EQ(packed.summary(j).storage, needed) << j;
      EXPECT_EQ(packed.summary(j).nonzeros,
                std::count_if(column.begin(), column.end(), [](double v) { return v != 0; }));
      std::vector<double> out(rows, -1.0);
      packed.copy(j, out.data());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), column.begin())) << j;
      std::vector<double> wide(rows, -1.0);
      packed.copy(j, Storage::kFloat64, reinterpret_cast<std::byte*>(wide.data()));
      EXPECT_TRUE(std::equal(wide.begin(), wide.end(), column.begin())) << j;
      if (needed > Storage::kInt8) continue;
      std::vector<std::int8_t> narrow(rows, -1);
      packed.copy(j, needed, reinterpret_cast<std::byte*>(narrow.data()));
      EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), column.begin())) << j;
    }
  }
}

TEST(PackedColumns, ColumnsBehindThoseGivenBackStay) {
  constexpr std::size_t kRows = 5000;
  std::vector<double> values(3 * kRows);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 0.1 * static_cast<double>(k);
  PackedColumns packed(columns_of(values, kRows), kRows);
  packed.release_before(2);
  std::vector<double> out(kRows);
  packed.copy(2, out.data());
  EXPECT_TRUE(std::equal(out.begin(), out.end(), values.begin() + 2 * kRows));
  packed.release_before(3);
}

TEST(PackedColumns, AColumnThatStaysIsSummedUpAndTakesNoPlace) {
  const std::vector<double> first = {0.1, 0, 0.3}, second = {1, 2, 300}, third = {1, 1, 0};
  const PackedColumns packed(std::vector<PackedColumns::Column>{{first.data()}, {second.data(), true}, {third.data()}},
                             3);
  EXPECT_EQ(packed.summary(1).storage, Storage::kInt16);
  EXPECT_EQ(packed.summary(1).nonzeros, 3U);
  std::vector<double> out(3);
  packed.copy(0, out.data());
  EXPECT_EQ(out, first);
  packed.copy(2, out.data());
  EXPECT_EQ(out, third);
}
