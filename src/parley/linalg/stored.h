// What a Matrix holds, and the writer that makes it. Columns point into blocks of memory that several
// matrices may share.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "parley/linalg/memory.h"
#include "parley/linalg/storage.h"

namespace parley::linalg {

struct StoredMatrix {
  Index rows = 0;
  Index cols = 0;
  std::size_t nonzeros = 0;
  std::size_t row_form_bytes = 0;
  std::vector<StoredColumn> columns;
  std::vector<DenseColumn> dense;  // by type, then number
  std::vector<DenseColumn> dense_by_number;
  std::vector<std::shared_ptr<const Memory>> memory;
  // Ranges of columns whose sparse entries are about equal work; the last border is cols.
  std::vector<Index> borders;

  mutable std::once_flag once;
  mutable Memory row_memory;
  mutable RowForm form;
  mutable std::atomic<const RowForm*> row_form{nullptr};
};

// Fills in what follows from rows, columns and memory.
std::shared_ptr<const StoredMatrix> finished(std::shared_ptr<StoredMatrix> stored);

// Whether a column with `count` nonzeros of the type is better stored dense.
bool better_dense(Storage storage, std::size_t count, Index rows);

// Bytes of a sparse column.
inline std::size_t sparse_bytes(Storage storage, std::size_t count) {
  const std::size_t indices = count * sizeof(Index);
  return (storage == Storage::kFloat64 ? aligned(indices, 8) : indices) + count * width(storage);
}

// Where a sparse column without entries points: null row numbers mean dense.
const std::byte* no_entries();

// Writes a value that the type holds without loss.
void store(std::byte* values, Storage storage, std::size_t k, double value);

// Takes whole columns one after another and keeps each in its final form.
class ColumnStore {
 public:
  explicit ColumnStore(Index rows);

  void add(std::span<const double> dense);
  std::byte* add_dense(Storage storage,
                       std::size_t count);  // where the values go; null when sparse is better
  // A dense column whose values stay where they are, in memory that keep() was told of; false when sparse is better.
  bool add_dense_at(const double* values, std::size_t count);
  void keep(std::shared_ptr<const Memory> memory) { kept_.push_back(std::move(memory)); }
  void add(std::span<const Index> rows, std::span<const double> values);  // rows ascending; zeros are dropped
  void add_binary(std::span<const Index> ones);
  [[nodiscard]] Index rows() const { return stored_->rows; }
  [[nodiscard]] Index cols() const { return static_cast<Index>(stored_->columns.size()); }
  [[nodiscard]] std::shared_ptr<const StoredMatrix> build() &&;

 private:
  std::byte* reserve(std::size_t bytes, std::size_t alignment);

  std::shared_ptr<StoredMatrix> stored_;
  std::size_t used_ = 0;  // of the last block of memory
  std::vector<std::shared_ptr<const Memory>> kept_;
};

}  // namespace parley::linalg
