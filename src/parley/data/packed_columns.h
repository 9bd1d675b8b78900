// The columns of a chunk of rows in few bytes until the whole file is read: each column in the smallest type
// that loses nothing in this chunk, dense or as (row, value) pairs by density. Columns are copied out in
// ascending order and their pages go back to the system on the way, so that a table in this form and
// the matrix made of it are never both whole in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "parley/linalg/matrix.h"

namespace parley::data {

// Memory straight from the system.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        released_(std::exchange(other.released_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(released_, other.released_);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  [[nodiscard]] std::byte* data() const { return data_; }
  void release_before(std::size_t offset);  // gives back whole pages before the offset

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t released_ = 0;
};

class PackedColumns {
 public:
  PackedColumns() = default;
  struct Column {
    const double* values = nullptr;
    bool stays = false;  // where it is: it is summed up only, and cannot be copied from here
  };
  PackedColumns(std::span<const Column> columns, std::size_t rows);

  // What the nonzero values of a column need.
  struct Summary {
    std::uint32_t nonzeros = 0;
    linalg::Storage storage = linalg::Storage::kBinary;
  };

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return forms_.size(); }
  [[nodiscard]] const Summary& summary(std::size_t j) const { return summaries_[j]; }
  // Column j into out[0 .. rows), as doubles or as a type that loses nothing.
  void copy(std::size_t j, double* out) const;
  void copy(std::size_t j, linalg::Storage storage, std::byte* out) const;
  // Columns before j are gone afterwards.
  void release_before(std::size_t j);

 private:
  enum class Form : std::uint8_t { kZero, kInt8, kInt16, kFloat32, kFloat64, kSparse };

  template <class T>
  void copy_as(std::size_t j, T* out) const;

  std::size_t rows_ = 0;
  std::vector<std::uint32_t> offsets_;
  std::vector<Form> forms_;
  std::vector<Summary> summaries_;
  Pages pages_;
};

}  // namespace parley::data
