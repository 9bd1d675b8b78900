// How large the numbers of a message are. What a peer sends is finite (decode.h) and may still be absurd: one number of
// 1e300 is more than any sum survives.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

#include "parley/wire/encode.h"

namespace parley::wire {

class Largest {
 public:
  template <class... Field>
  void operator()(const Field&... field) {
    (look(field), ...);
  }
  [[nodiscard]] double magnitude() const { return magnitude_; }

 private:
  template <class T>
  void look_at_all(std::span<const T> numbers) {
    for (const T number : numbers) magnitude_ = std::max(magnitude_, std::abs(static_cast<double>(number)));
  }
  template <class T>
  void look(const T& field) {
    if constexpr (std::is_floating_point_v<T>) {
      look_at_all(std::span(&field, 1));
    } else if constexpr (std::same_as<T, linalg::SparseVector>) {
      look_at_all(std::span<const double>(field.values));
    } else if constexpr (IsVector<T>::value) {
      if constexpr (std::is_floating_point_v<typename T::value_type>)
        look_at_all(std::span<const typename T::value_type>(field));
      else
        for (const auto& element : field) look(element);
    } else if constexpr (Message<T>) {
      T::fields(field, *this);
    }
  }
  double magnitude_ = 0;
};

// The largest magnitude of its numbers that are not whole; 0 where it has none.
template <Message T>
double largest_number(const T& message) {
  Largest largest;
  T::fields(message, largest);
  return largest.magnitude();
}

}  // namespace parley::wire
