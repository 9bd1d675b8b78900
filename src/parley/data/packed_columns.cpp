#include "parley/data/packed_columns.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace parley::data {

namespace {

std::size_t page_size() {
  static const auto kSize = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kSize;
}

// A sparse column is a count and so many of these.
struct Entry {
  std::uint32_t row;
  float value;
};

template <class To, class From>
void convert(const From* from, std::size_t rows, To* to) {
  if constexpr (std::is_same_v<From, To>)
    std::memcpy(to, from, rows * sizeof(To));
  else
    for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<To>(from[i]);
}

// The smallest type for all values that are not zero; the same as the largest of smallest_storage, without
// its branches.
linalg::Storage smallest_for(const double* values, std::size_t rows) {
  using linalg::Storage;
  constexpr std::size_t kBlock = 32;
  constexpr double kLargestFloat = std::numeric_limits<float>::max();
  double largest = 0;
  unsigned no_one = 0, no_short = 0, no_float = 0;
  for (std::size_t begin = 0; begin < rows; begin += kBlock) {
    const std::size_t end = std::min(rows, begin + kBlock);
    for (std::size_t i = begin; i < end; ++i) {
      const double v = values[i];
      no_one |= static_cast<unsigned>(v != 1.0) & static_cast<unsigned>(v != 0.0);
      // Values beyond a type's range are brought into it first: outside the conversion is undefined.
      no_short |= static_cast<unsigned>(static_cast<double>(static_cast<int>(std::clamp(v, -32768.0, 32768.0))) != v);
      no_float |= static_cast<unsigned>(
          static_cast<double>(static_cast<float>(std::clamp(v, -kLargestFloat, kLargestFloat))) != v);
      largest = std::max(largest, std::abs(v));
    }
    if (no_float != 0 && no_short != 0) return Storage::kFloat64;
  }
  if (no_one == 0) return Storage::kBinary;
  if (no_short == 0 && largest <= 32767) return largest <= 127 ? Storage::kInt8 : Storage::kInt16;
  return no_float == 0 ? Storage::kFloat32 : Storage::kFloat64;
}

}  // namespace

Pages::Pages(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(mapped);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void Pages::release_before(std::size_t offset) {
  const std::size_t whole = offset / page_size() * page_size();
  if (whole <= released_) return;
  ::madvise(data_ + released_, whole - released_, MADV_DONTNEED);
  released_ = whole;
}

PackedColumns::PackedColumns(std::span<const Column> columns, std::size_t rows)
    : rows_(columns.empty() ? 0 : rows),
      offsets_(columns.size() + 1),
      forms_(columns.size()),
      summaries_(columns.size()) {
  if (rows_ == 0) return;
  using linalg::Storage;
  std::vector<std::uint32_t> entries(columns.size());  // of sparse columns
  std::size_t bytes = 0;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double* const column = columns[j].values;
    Summary& summary = summaries_[j];
    for (std::size_t i = 0; i < rows_; ++i) summary.nonzeros += static_cast<std::uint32_t>(column[i] != 0.0);
    summary.storage = smallest_for(column, rows_);
    offsets_[j] = static_cast<std::uint32_t>(bytes);
    if (columns[j].stays) continue;
    // A zero with a sign is an entry here, though it needs no place in a sparse column of the matrix.
    entries[j] = summary.nonzeros;
    if (summary.nonzeros != rows_)
      for (std::size_t i = 0; i < rows_; ++i)
        entries[j] += static_cast<std::uint32_t>(column[i] == 0.0 && std::bit_cast<std::uint64_t>(column[i]) != 0);
    std::size_t width = 8;
    forms_[j] = Form::kFloat64;
    if (summary.storage <= Storage::kInt8) {
      forms_[j] = Form::kInt8;
      width = 1;
    } else if (summary.storage == Storage::kInt16) {
      forms_[j] = Form::kInt16;
      width = 2;
    } else if (summary.storage == Storage::kFloat32) {
      forms_[j] = Form::kFloat32;
      width = 4;
    }
    std::size_t size = width * rows_;
    if (entries[j] == 0) {
      forms_[j] = Form::kZero;
      size = 0;
    } else if (summary.storage <= Storage::kFloat32 && sizeof(std::uint32_t) + entries[j] * sizeof(Entry) < size) {
      forms_[j] = Form::kSparse;
      size = sizeof(std::uint32_t) + entries[j] * sizeof(Entry);
    }
    assert(bytes + size <= std::numeric_limits<std::uint32_t>::max() - 8);
    bytes += (size + 7) / 8 * 8;
  }
  offsets_.back() = static_cast<std::uint32_t>(bytes);
  pages_ = Pages(bytes);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double* const column = columns[j].values;
    std::byte* const out = pages_.data() + offsets_[j];
    switch (forms_[j]) {
      case Form::kZero:
        break;
      case Form::kInt8:
        convert(column, rows_, reinterpret_cast<std::int8_t*>(out));
        break;
      case Form::kInt16:
        convert(column, rows_, reinterpret_cast<std::int16_t*>(out));
        break;
      case Form::kFloat32:
        convert(column, rows_, reinterpret_cast<float*>(out));
        break;
      case Form::kFloat64:
        convert(column, rows_, reinterpret_cast<double*>(out));
        break;
      case Form::kSparse: {
        std::memcpy(out, &entries[j], sizeof(std::uint32_t));
        auto* entry = reinterpret_cast<Entry*>(out + sizeof(std::uint32_t));
        for (std::size_t i = 0; i < rows_; ++i)
          if (std::bit_cast<std::uint64_t>(column[i]) != 0)
            *entry++ = {static_cast<std::uint32_t>(i), static_cast<float>(column[i])};
        break;
      }
    }
  }
}

template <class T>
void PackedColumns::copy_as(std::size_t j, T* out) const {
  const std::byte* const in = pages_.data() + offsets_[j];
  switch (forms_[j]) {
    case Form::kZero:
      std::fill_n(out, rows_, T{0});
      break;
    case Form::kInt8:
      convert(reinterpret_cast<const std::int8_t*>(in), rows_, out);
      break;
    case Form::kInt16:
      convert(reinterpret_cast<const std::int16_t*>(in), rows_, out);
      break;
    case Form::kFloat32:
      convert(reinterpret_cast<const float*>(in), rows_, out);
      break;
    case Form::kFloat64:
      convert(reinterpret_cast<const double*>(in), rows_, out);
      break;
    case Form::kSparse: {
      std::fill_n(out, rows_, T{0});
      std::uint32_t count = 0;
      std::memcpy(&count, in, sizeof count);
      const auto* entry = reinterpret_cast<const Entry*>(in + sizeof count);
      for (; count > 0; --count, ++entry) out[entry->row] = static_cast<T>(entry->value);
      break;
    }
  }
}

void PackedColumns::copy(std::size_t j, double* out) const {
  if (rows_ > 0) copy_as(j, out);
}

void PackedColumns::copy(std::size_t j, linalg::Storage storage, std::byte* out) const {
  if (rows_ == 0) return;
  switch (storage) {
    case linalg::Storage::kBinary:
    case linalg::Storage::kInt8:
      return copy_as(j, reinterpret_cast<std::int8_t*>(out));
    case linalg::Storage::kInt16:
      return copy_as(j, reinterpret_cast<std::int16_t*>(out));
    case linalg::Storage::kFloat32:
      return copy_as(j, reinterpret_cast<float*>(out));
    case linalg::Storage::kFloat64:
      return copy_as(j, reinterpret_cast<double*>(out));
  }
}

void PackedColumns::release_before(std::size_t j) {
  if (rows_ > 0) pages_.release_before(offsets_[j]);
}

}  // namespace parley::data
