// Bytes of a file, unpacked on the way when its first bytes are those of gzip, xz or zstd. A packed
// file that ends early or does not decode is an error that names the file.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parley/core/result.h"

namespace parley::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` as far as it can; fewer bytes than asked for mean the end.
  virtual Result<std::size_t> read(std::span<char> out) = 0;
  // Unpacked on the way: damage may show only at the end.
  [[nodiscard]] virtual bool is_packed() const { return false; }
  // Bytes that are still to come, when that is known without reading; else 0.
  [[nodiscard]] virtual std::size_t size_hint() const { return 0; }
};

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
// `content` must outlive the source; `name` is what errors call it.
Result<std::unique_ptr<ByteSource>> open_bytes(std::string_view content, const std::string& name);

// Opens the same bytes from their beginning, as often as it is called: some readers look twice.
using OpenBytes = std::function<Result<std::unique_ptr<ByteSource>>()>;

}  // namespace parley::data
