// The columns of a chunk of rows in few bytes until the whole file is read: each column in the smallest type
// that loses nothing in this chunk, dense or as (row, value) pairs by density. Columns are taken out in
// ascending order and their pages go back to the system on the way, so that a table in this form and
// the matrix made of it are never both whole in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
  // values[i * columns + j] is column j of row i.
  PackedColumns(std::span<const double> row_major, std::size_t columns);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  // Column j into out[0 .. rows); columns before j are gone afterwards.
  void take(std::size_t j, double* out);

 private:
  enum class Form : std::uint8_t { kZero, kInt8, kInt16, kFloat32, kFloat64, kSparse };

  std::size_t rows_ = 0;
  std::vector<std::uint32_t> offsets_;
  std::vector<Form> forms_;
  Pages pages_;
};

}  // namespace parley::data
