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

#include "parley/linalg/matrix.h"

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

template <class T>
void narrow(const double* values, std::size_t stride, std::size_t rows, std::byte* out) {
  for (std::size_t i = 0; i < rows; ++i) {
    const auto value = static_cast<T>(values[i * stride]);
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

template <class T>
void widen(const std::byte* in, std::size_t rows, double* out) {
  for (std::size_t i = 0; i < rows; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    out[i] = static_cast<double>(value);
  }
}

}  // namespace

Pages::Pages(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

PackedColumns::PackedColumns(std::span<const double> row_major, std::size_t columns)
    : rows_(columns == 0 ? 0 : row_major.size() / columns), offsets_(columns), forms_(columns) {
  if (rows_ == 0) return;
  std::vector<std::uint32_t> nonzeros(columns);
  std::size_t bytes = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    linalg::Storage widest = linalg::Storage::kBinary;
    for (std::size_t i = 0; i < rows_; ++i) {
      const double value = row_major[i * columns + j];
      if (std::bit_cast<std::uint64_t>(value) == 0) continue;
      ++nonzeros[j];
      if (widest != linalg::Storage::kFloat64) widest = std::max(widest, linalg::smallest_storage(value));
    }
    std::size_t width = 8;
    forms_[j] = Form::kFloat64;
    if (widest <= linalg::Storage::kInt8) {
      forms_[j] = Form::kInt8;
      width = 1;
    } else if (widest == linalg::Storage::kInt16) {
      forms_[j] = Form::kInt16;
      width = 2;
    } else if (widest == linalg::Storage::kFloat32) {
      forms_[j] = Form::kFloat32;
      width = 4;
    }
    std::size_t size = width * rows_;
    if (nonzeros[j] == 0) {
      forms_[j] = Form::kZero;
      size = 0;
    } else if (widest <= linalg::Storage::kFloat32 && sizeof(std::uint32_t) + nonzeros[j] * sizeof(Entry) < size) {
      forms_[j] = Form::kSparse;
      size = sizeof(std::uint32_t) + nonzeros[j] * sizeof(Entry);
    }
    assert(bytes <= std::numeric_limits<std::uint32_t>::max());
    offsets_[j] = static_cast<std::uint32_t>(bytes);
    bytes += size;
  }
  pages_ = Pages(bytes);
  for (std::size_t j = 0; j < columns; ++j) {
    const double* const values = row_major.data() + j;
    std::byte* out = pages_.data() + offsets_[j];
    switch (forms_[j]) {
      case Form::kZero: break;
      case Form::kInt8: narrow<std::int8_t>(values, columns, rows_, out); break;
      case Form::kInt16: narrow<std::int16_t>(values, columns, rows_, out); break;
      case Form::kFloat32: narrow<float>(values, columns, rows_, out); break;
      case Form::kFloat64: narrow<double>(values, columns, rows_, out); break;
      case Form::kSparse:
        std::memcpy(out, &nonzeros[j], sizeof(std::uint32_t));
        out += sizeof(std::uint32_t);
        for (std::size_t i = 0; i < rows_; ++i) {
          const double value = values[i * columns];
          if (std::bit_cast<std::uint64_t>(value) == 0) continue;
          const Entry entry{static_cast<std::uint32_t>(i), static_cast<float>(value)};
          std::memcpy(out, &entry, sizeof entry);
          out += sizeof entry;
        }
        break;
    }
  }
}

void PackedColumns::take(std::size_t j, double* out) {
  if (rows_ == 0) return;
  pages_.release_before(offsets_[j]);
  const std::byte* in = pages_.data() + offsets_[j];
  switch (forms_[j]) {
    case Form::kZero: std::fill_n(out, rows_, 0.0); break;
    case Form::kInt8: widen<std::int8_t>(in, rows_, out); break;
    case Form::kInt16: widen<std::int16_t>(in, rows_, out); break;
    case Form::kFloat32: widen<float>(in, rows_, out); break;
    case Form::kFloat64: widen<double>(in, rows_, out); break;
    case Form::kSparse: {
      std::fill_n(out, rows_, 0.0);
      std::uint32_t count = 0;
      std::memcpy(&count, in, sizeof count);
      in += sizeof count;
      for (; count > 0; --count, in += sizeof(Entry)) {
        Entry entry;
        std::memcpy(&entry, in, sizeof entry);
        out[entry.row] = entry.value;
      }
      break;
    }
  }
}

}  // namespace parley::data
