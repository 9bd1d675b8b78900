// What an attacker reads out of a view. It knows nothing of the messages' layout but what runs show: eight bytes that
// are a number of a plausible size in every run are a number; bytes that vary otherwise, the sizes of messages and how
// fine a number is (the exponent of its lowest bit) are categories.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "parley/audits/stage.h"

namespace parley::audits {

struct Features {
  std::vector<double> numbers;
  std::vector<std::uint16_t> categories;
};

class Layout {
 public:
  // From runs of both worlds.
  static Layout found_in(std::span<const View> views);
  [[nodiscard]] Features read(const View& view) const;
  [[nodiscard]] std::size_t numbers() const { return numbers_.size(); }

 private:
  struct Spot {
    std::size_t list = 0, message = 0, offset = 0;
  };
  std::vector<Spot> numbers_;
  std::vector<Spot> bytes_;
  std::vector<Spot> sizes_;
};

}  // namespace parley::audits
