// How values lie in memory: the types that a column may be stored in, columns, and the row form of the sparse ones.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parley::linalg {

using Index = std::int32_t;  // rows and columns; counts of nonzeros are std::size_t

enum class Storage : std::uint8_t { kBinary, kInt8, kInt16, kFloat32, kFloat64 };

// Smallest type that holds the value without loss.
inline Storage smallest_storage(double value) {
  if (value == 1.0) return Storage::kBinary;
  const double magnitude = std::abs(value);
  if (magnitude <= 32767) {
    const int whole = static_cast<int>(value);
    if (static_cast<double>(whole) == value) return magnitude <= 127 ? Storage::kInt8 : Storage::kInt16;
  }
  // Beyond the range of float the conversion is undefined.
  if (magnitude > 3.4028234663852886e38) return Storage::kFloat64;
  return static_cast<double>(static_cast<float>(value)) == value ? Storage::kFloat32 : Storage::kFloat64;
}

// Bytes of one value.
constexpr std::size_t width(Storage storage) {
  constexpr std::uint8_t kWidths[] = {0, 1, 2, 4, 8};
  return kWidths[static_cast<std::size_t>(storage)];
}

// A column as it lies in memory: `count` ascending row numbers (none when dense), then the values.
struct StoredColumn {
  const std::byte* at = nullptr;
  std::uint32_t count = 0;  // nonzeros, also when dense
  Storage storage = Storage::kBinary;
  bool dense = false;

  [[nodiscard]] const Index* rows() const { return dense ? nullptr : reinterpret_cast<const Index*>(at); }
  [[nodiscard]] const void* values() const {
    if (dense) return at;
    const std::size_t indices = std::size_t{count} * sizeof(Index);
    return at + (storage == Storage::kFloat64 ? (indices + 7) / 8 * 8 : indices);
  }
};

struct DenseColumn {
  Index column;
  Storage storage;
  const void* values;
};

// The sparse columns by rows: 0/1 columns as positions alone, the others with values in the narrowest
// type that holds them all. Of row i: ones[ones_at[i], ones_at[i+1]) and likewise columns, values.
struct RowForm {
  const std::size_t* ones_at = nullptr;
  const Index* ones = nullptr;
  const std::size_t* values_at = nullptr;
  const Index* columns = nullptr;
  const void* values = nullptr;
  Storage storage = Storage::kInt8;
  // The columns kept out of the row form, ordered by type, then number; and by number alone.
  std::span<const DenseColumn> dense;
  std::span<const DenseColumn> dense_by_number;
  bool dense_ascends = true;  // the two orders are the same
};

}  // namespace parley::linalg
