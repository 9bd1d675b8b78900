// Where columns of a table land at once.
//
// Most of what a large table of numbers becomes are columns of doubles. Kept in packed form until the whole file is
// read they would be copied twice, into fresh pages each time. So once a first chunk has shown which columns those are
// and how long a row is, the chunks after it write them straight to their place in the matrix. That place follows from
// the line feeds before a chunk, of which there are at least as many as records; where some were no records, the
// columns close up in the end. Whether a chunk lands or is packed changes no value.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "parley/data/packed_columns.h"
#include "parley/linalg/memory.h"

namespace parley::data {

class Landing {
 public:
  struct FirstChunk {
    const PackedColumns* columns = nullptr;
    std::size_t rows = 0;
    std::size_t bytes = 0;
  };

  // For a file of so many bytes; null when it is not worth it.
  static std::unique_ptr<Landing> make(const FirstChunk& seen, std::size_t file_bytes);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }  // rows
  // Where a column begins; null when it does not land.
  [[nodiscard]] double* column(std::size_t slot) const { return columns_[slot]; }
  [[nodiscard]] const std::shared_ptr<const linalg::Memory>& memory() const { return memory_; }

 private:
  std::size_t capacity_ = 0;
  std::vector<double*> columns_;  // by slot
  std::shared_ptr<const linalg::Memory> memory_;
};

}  // namespace parley::data
