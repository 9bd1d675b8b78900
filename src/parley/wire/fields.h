// A message is a plain struct that lists its fields once:
//
//   struct Task {
//     std::int64_t step = 0;
//     linalg::SparseVector weights;
//     static void fields(auto& self, auto&& visit) { visit(self.step, self.weights); }
//   };
//
// Encoder, decoder and size are visitors of that list, so they cannot drift apart. A field is one of
//   bool, int, std::int64_t, double, std::string, linalg::SparseVector, another message,
//   or a std::vector of these;
//   std::vector<float> and std::vector<linalg::Index>, for bulk.
// An empty list is `visit()`.
//
// On the wire (little endian, in the order of the list, nothing between):
//   bool 1 byte; int 4; int64 and double 8; text and vectors a 4-byte count, then the elements;
//   a sparse vector 4-byte size, 4-byte count, the positions (4 each), the values (8 each).
// One value has one encoding: equal messages are equal bytes.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "parley/linalg/sparse_vector.h"

namespace parley::wire {

using Bytes = std::string;

template <class T>
concept Message = requires(T& message) {
  T::fields(message, [](auto&...) {});
};

template <class T>
concept Number =
    std::same_as<T, int> || std::same_as<T, std::int64_t> || std::same_as<T, double> || std::same_as<T, float>;

}  // namespace parley::wire
