#include "parley/linalg/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace parley::linalg {

namespace {

constexpr std::align_val_t kLine{64};

// Under the address sanitizer everything comes from the checked heap.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMapFrom = static_cast<std::size_t>(-1);
#else
constexpr std::size_t kMapFrom = std::size_t{1} << 16;
#endif

}  // namespace

Memory::Memory(std::size_t bytes, PageSize page_size) : size_(bytes), mapped_(bytes >= kMapFrom) {
  if (bytes == 0) return;
  if (mapped_) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(pages);
    if (page_size == PageSize::kLarge) madvise(pages, bytes, MADV_HUGEPAGE);  // a wish: nothing depends on it
  } else {
    data_ = static_cast<std::byte*>(::operator new(bytes, kLine));
    std::memset(data_, 0, bytes);
  }
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (mapped_)
    munmap(data_, size_);
  else
    ::operator delete(data_, kLine);
}

}  // namespace parley::linalg
