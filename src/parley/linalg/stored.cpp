#include "parley/linalg/stored.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace parley::linalg {

namespace {

// Blocks of a matrix that grows by columns: a small first one, then such as have large pages.
constexpr std::size_t kFirstBlock = std::size_t{4} << 20;
constexpr std::size_t kBlock = std::size_t{16} << 20;

// A range of columns worth handing to a thread: about 20 microseconds of gathering.
constexpr std::size_t kRangeWork = std::size_t{1} << 15;

std::size_t row_form_bytes(const StoredMatrix& stored) {
  std::size_t ones = 0, valued = 0;
  Storage storage = Storage::kInt8;
  for (const StoredColumn& column : stored.columns) {
    if (column.dense || column.count == 0) continue;
    (column.storage == Storage::kBinary ? ones : valued) += column.count;
    storage = std::max(storage, column.storage);
  }
  return 2 * (static_cast<std::size_t>(stored.rows) + 1) * sizeof(std::size_t) + (ones + valued) * sizeof(Index) +
         valued * width(storage);
}

}  // namespace

bool better_dense(Storage storage, std::size_t count, Index rows) {
  // Shares of nonzeros at which a dense pass is as fast as a sparse one.
  constexpr double kShare[] = {0.2, 0.2, 0.2, 0.25, 0.3};
  return static_cast<double>(count) > kShare[static_cast<std::size_t>(storage)] * rows;
}

const std::byte* no_entries() {
  alignas(64) static const std::byte nothing{};
  return &nothing;
}

void store(std::byte* values, Storage storage, std::size_t k, double value) {
  const auto put = [&](auto typed) { std::memcpy(values + k * sizeof typed, &typed, sizeof typed); };
  switch (storage) {
    case Storage::kBinary:
      return;
    case Storage::kInt8:
      return put(static_cast<std::int8_t>(value));
    case Storage::kInt16:
      return put(static_cast<std::int16_t>(value));
    case Storage::kFloat32:
      return put(static_cast<float>(value));
    case Storage::kFloat64:
      return put(value);
  }
}

std::shared_ptr<const StoredMatrix> finished(std::shared_ptr<StoredMatrix> stored) {
  stored->cols = static_cast<Index>(stored->columns.size());
  std::size_t work = 0;
  for (std::size_t j = 0; j < stored->columns.size(); ++j) {
    const StoredColumn& column = stored->columns[j];
    stored->nonzeros += column.count;
    if (column.dense) stored->dense.push_back({static_cast<Index>(j), column.storage, column.at});
    work += column.dense ? 1 : 1 + std::size_t{column.count};
    if (work >= kRangeWork) {
      stored->borders.push_back(static_cast<Index>(j + 1));
      work = 0;
    }
  }
  if (stored->borders.empty() || stored->borders.back() != stored->cols) stored->borders.push_back(stored->cols);
  stored->dense_by_number = stored->dense;
  std::stable_sort(stored->dense.begin(), stored->dense.end(),
                   [](const DenseColumn& a, const DenseColumn& b) { return a.storage < b.storage; });
  stored->row_form_bytes = row_form_bytes(*stored);
  return stored;
}

ColumnStore::ColumnStore(Index rows) : stored_(std::make_shared<StoredMatrix>()) {
  stored_->rows = rows;
}

std::byte* ColumnStore::reserve(std::size_t bytes, std::size_t alignment) {
  auto& memory = stored_->memory;
  used_ = aligned(used_, alignment);
  if (memory.empty() || used_ + bytes > memory.back()->size()) {
    memory.push_back(memory.empty() ? std::make_shared<Memory>(std::max(kFirstBlock, bytes))
                                    : std::make_shared<Memory>(std::max(kBlock, bytes), PageSize::kLarge));
    used_ = 0;
  }
  std::byte* at = memory.back()->data() + used_;
  used_ += bytes;
  return at;
}

std::byte* ColumnStore::add_dense(Storage storage, std::size_t count) {
  if (!better_dense(storage, count, stored_->rows)) return nullptr;
  storage = std::max(storage, Storage::kInt8);
  std::byte* at = reserve(static_cast<std::size_t>(stored_->rows) * width(storage), 64);
  stored_->columns.push_back({at, static_cast<std::uint32_t>(count), storage, true});
  return at;
}

bool ColumnStore::add_dense_at(const double* values, std::size_t count) {
  if (!better_dense(Storage::kFloat64, count, stored_->rows)) return false;
  stored_->columns.push_back(
      {reinterpret_cast<const std::byte*>(values), static_cast<std::uint32_t>(count), Storage::kFloat64, true});
  return true;
}

void ColumnStore::add(std::span<const double> dense) {
  assert(dense.size() == static_cast<std::size_t>(stored_->rows));
  std::size_t count = 0;
  Storage storage = Storage::kBinary;
  for (const double v : dense) {
    if (v == 0.0) continue;
    ++count;
    if (storage != Storage::kFloat64) storage = std::max(storage, smallest_storage(v));
  }
  if (std::byte* at = add_dense(storage, count); at != nullptr) {
    storage = std::max(storage, Storage::kInt8);
    for (std::size_t i = 0; i < dense.size(); ++i) store(at, storage, i, dense[i]);
    return;
  }
  StoredColumn column{reserve(sparse_bytes(storage, count), 8), static_cast<std::uint32_t>(count), storage, false};
  auto* rows = const_cast<Index*>(column.rows());
  auto* values = static_cast<std::byte*>(const_cast<void*>(column.values()));
  for (std::size_t i = 0, k = 0; i < dense.size(); ++i) {
    if (dense[i] == 0.0) continue;
    rows[k] = static_cast<Index>(i);
    store(values, storage, k++, dense[i]);
  }
  stored_->columns.push_back(column);
}

void ColumnStore::add(std::span<const Index> rows, std::span<const double> values) {
  assert(rows.size() == values.size());
  std::size_t count = 0;
  Storage storage = Storage::kBinary;
  for (const double v : values) {
    if (v == 0.0) continue;
    ++count;
    storage = std::max(storage, smallest_storage(v));
  }
  StoredColumn column{nullptr, static_cast<std::uint32_t>(count), storage, better_dense(storage, count, stored_->rows)};
  if (column.dense) {
    column.storage = storage = std::max(storage, Storage::kInt8);
    column.at = reserve(static_cast<std::size_t>(stored_->rows) * width(storage), 64);
  } else {
    column.at = reserve(sparse_bytes(storage, count), 8);
  }
  auto* at = static_cast<std::byte*>(const_cast<void*>(column.values()));
  auto* numbers = const_cast<Index*>(column.rows());
  for (std::size_t k = 0, slot = 0; k < rows.size(); ++k) {
    if (values[k] == 0.0) continue;
    if (column.dense) {
      store(at, storage, static_cast<std::size_t>(rows[k]), values[k]);
    } else {
      numbers[slot] = rows[k];
      store(at, storage, slot++, values[k]);
    }
  }
  stored_->columns.push_back(column);
}

void ColumnStore::add_binary(std::span<const Index> ones) {
  if (better_dense(Storage::kBinary, ones.size(), stored_->rows)) {
    std::byte* at = reserve(static_cast<std::size_t>(stored_->rows), 64);
    for (const Index i : ones) at[i] = std::byte{1};
    stored_->columns.push_back({at, static_cast<std::uint32_t>(ones.size()), Storage::kInt8, true});
    return;
  }
  std::byte* at = reserve(ones.size_bytes(), 8);
  if (!ones.empty()) std::memcpy(at, ones.data(), ones.size_bytes());
  stored_->columns.push_back({at, static_cast<std::uint32_t>(ones.size()), Storage::kBinary, false});
}

std::shared_ptr<const StoredMatrix> ColumnStore::build() && {
  stored_->memory.insert(stored_->memory.end(), kept_.begin(), kept_.end());
  return finished(std::move(stored_));
}

}  // namespace parley::linalg
