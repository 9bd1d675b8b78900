// Message -> bytes (layout: fields.h). Appends to a buffer that is made large enough once.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "parley/wire/fields.h"

namespace parley::wire {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

class Sizer {
 public:
  template <class... Field>
  void operator()(const Field&... field) {
    (add(field), ...);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  template <class T>
  void add(const T& field) {
    if constexpr (std::same_as<T, bool>) {
      size_ += 1;
    } else if constexpr (Number<T>) {
      size_ += sizeof(T);
    } else if constexpr (std::same_as<T, std::string>) {
      size_ += 4 + field.size();
    } else if constexpr (std::same_as<T, linalg::SparseVector>) {
      size_ += 8 + field.positions.size() * 12;
    } else if constexpr (IsVector<T>::value) {
      size_ += 4;
      if constexpr (Number<typename T::value_type>)
        size_ += field.size() * sizeof(typename T::value_type);
      else
        for (const auto& element : field) add(element);
    } else {
      static_assert(Message<T>, "a field of a kind that cannot travel; see wire/fields.h");
      T::fields(field, *this);
    }
  }
  std::size_t size_ = 0;
};

template <Message T>
std::size_t encoded_size(const T& message) {
  Sizer sizer;
  T::fields(message, sizer);
  return sizer.size();
}

class Encoder {
 public:
  explicit Encoder(Bytes& out) : out_(out) {}
  template <class... Field>
  void operator()(const Field&... field) {
    (add(field), ...);
  }

 private:
  // In pieces: a large copy is made with a string instruction where the processor has a fast one, and that is
  // slow where source and target are not aligned alike, as numbers and their place in a frame are not.
  void bulk(const void* from, std::size_t size) {
    constexpr std::size_t kPiece = 2048;
    const auto* bytes = static_cast<const char*>(from);
    for (std::size_t done = 0; done < size; done += kPiece) {
      std::size_t piece = std::min(kPiece, size - done);
      asm("" : "+r"(piece));  // a compiler that knows how small it is would write that same instruction here itself
      out_.append(bytes + done, piece);
    }
  }
  void count(std::size_t elements) {
    const auto narrow = static_cast<std::uint32_t>(elements);
    bulk(&narrow, sizeof narrow);
  }
  template <class T>
  void add(const T& field) {
    if constexpr (std::same_as<T, bool>) {
      out_.push_back(field ? '\1' : '\0');
    } else if constexpr (Number<T>) {
      bulk(&field, sizeof field);
    } else if constexpr (std::same_as<T, std::string>) {
      count(field.size());
      bulk(field.data(), field.size());
    } else if constexpr (std::same_as<T, linalg::SparseVector>) {
      bulk(&field.size, sizeof field.size);
      count(field.positions.size());
      bulk(field.positions.data(), field.positions.size() * sizeof(linalg::Index));
      bulk(field.values.data(), field.positions.size() * sizeof(double));
    } else {
      add_many(field);
    }
  }
  template <class T>
  void add_many(const T& field) {
    if constexpr (IsVector<T>::value) {
      count(field.size());
      if constexpr (Number<typename T::value_type>)
        bulk(field.data(), field.size() * sizeof(typename T::value_type));
      else
        for (const auto& element : field) add(element);
    } else {
      T::fields(field, *this);
    }
  }
  Bytes& out_;
};

// Appends the message to `out`.
template <Message T>
void encode_to(const T& message, Bytes& out) {
  out.reserve(out.size() + encoded_size(message));
  Encoder encoder(out);
  T::fields(message, encoder);
}

template <Message T>
Bytes encode(const T& message) {
  Bytes out;
  encode_to(message, out);
  return out;
}

}  // namespace parley::wire
