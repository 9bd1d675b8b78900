// A block of zeroed memory, aligned to cache lines. Large blocks are pages of the operating system:
// they cost nothing until written and are given back at once when freed, so the peak of a build
// that frees its sources as it goes is what it looks like.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>

namespace parley::linalg {

// Every first touch of a page costs about a microsecond, however large the page is, and what is read from end to end
// is read faster in large ones: they are for memory that is filled whole.
enum class PageSize { kUsual, kLarge };

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes, PageSize pages = PageSize::kUsual);
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapped_(std::exchange(other.mapped_, false)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

inline std::size_t aligned(std::size_t offset, std::size_t to) {
  return (offset + to - 1) / to * to;
}

}  // namespace parley::linalg
