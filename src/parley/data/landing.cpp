#include "parley/data/landing.h"

#include <algorithm>

namespace parley::data {

namespace {
constexpr std::size_t kLeastRows = 4096;  // fewer, and what a column has to spare counts
}  // namespace

std::unique_ptr<Landing> Landing::make(const FirstChunk& seen, std::size_t file_bytes) {
  if (seen.rows == 0 || seen.columns->rows() == 0) return nullptr;
  const double rows =
      static_cast<double>(file_bytes) / static_cast<double>(seen.bytes) * static_cast<double>(seen.rows);
  if (!(rows >= static_cast<double>(kLeastRows)) || !(rows < 1e9)) return nullptr;
  auto landing = std::make_unique<Landing>();
  // An odd number of cache lines, so that a row does not lie in a few sets of the cache.
  landing->capacity_ = (static_cast<std::size_t>(rows * (1 + 1.0 / 32)) / 8 | 1) * 8;
  std::vector<std::size_t> slots;
  landing->columns_.resize(seen.columns->columns());
  for (std::size_t slot = 0; slot < landing->columns_.size(); ++slot) {
    const PackedColumns::Summary& summary = seen.columns->summary(slot);
    if (summary.storage == linalg::Storage::kFloat64 && summary.nonzeros > seen.rows / 2) slots.push_back(slot);
  }
  if (slots.empty()) return nullptr;
  const auto memory =
      std::make_shared<linalg::Memory>(slots.size() * landing->capacity_ * sizeof(double), linalg::PageSize::kLarge);
  auto* next = reinterpret_cast<double*>(memory->data());
  for (const std::size_t slot : slots) {
    landing->columns_[slot] = next;
    next += landing->capacity_;
  }
  landing->memory_ = memory;
  return landing;
}

}  // namespace parley::data
