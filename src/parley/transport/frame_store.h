// Memory for frames. A frame that nobody holds any more leaves its memory here for the next one: rounds ask
// and answer with frames of one size, and fresh memory costs more (page by page) than filling it.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "parley/transport/channel.h"

namespace parley::transport {

class FrameStore {
 public:
  // Room for a frame. Its size and content are left over from an earlier one.
  [[nodiscard]] wire::Bytes room() {
    const std::lock_guard lock(shelf_->mutex);
    if (shelf_->spare.empty()) return {};
    wire::Bytes frame = std::move(shelf_->spare.back());
    shelf_->spare.pop_back();
    shelf_->bytes -= frame.capacity();
    return frame;
  }
  // Its memory comes back when the last holder lets it go, in whatever thread.
  [[nodiscard]] SharedFrame share(wire::Bytes frame) const {
    auto lent = std::make_shared<Lent>(std::move(frame), shelf_);
    const wire::Bytes* bytes = &lent->frame;
    return {std::move(lent), bytes};
  }

 private:
  static constexpr std::size_t kSpareBytes = std::size_t{64} << 20;  // kept for later, in all
  struct Shelf {
    std::mutex mutex;
    std::vector<wire::Bytes> spare;
    std::size_t bytes = 0;
  };
  struct Lent {
    Lent(wire::Bytes lent, std::shared_ptr<Shelf> from) : frame(std::move(lent)), shelf(std::move(from)) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() {
      const std::lock_guard lock(shelf->mutex);
      if (shelf->bytes + frame.capacity() > kSpareBytes) return;
      shelf->bytes += frame.capacity();
      shelf->spare.push_back(std::move(frame));
    }
    wire::Bytes frame;
    std::shared_ptr<Shelf> shelf;
  };
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace parley::transport
