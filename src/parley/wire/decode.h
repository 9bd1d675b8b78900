// Bytes -> message, or a refusal. The bytes may come from anyone: no length is believed before the bytes
// behind it were seen, every byte must be used, and whatever is accepted encodes to the same bytes again.
#pragma once
#include <cstring>
#include <string_view>
#include <type_traits>

#include "parley/core/result.h"
#include "parley/wire/encode.h"
#include "parley/wire/finite.h"

namespace parley::wire {

// Peers may send finite numbers only; a checkpoint brings back what was there.
enum class Numbers { kFinite, kAny };

// Of a list of texts or of messages. One of nothing but empty texts takes eight times its bytes in memory, and more
// while it grows.
inline constexpr std::size_t kMostElements = std::size_t{1} << 24;

class Decoder {
 public:
  Decoder(std::string_view bytes, Numbers numbers) : rest_(bytes), numbers_(numbers) {}
  template <class... Field>
  void operator()(Field&... field) {
    (take(field), ...);
  }
  // The rule that was broken first, or null.
  [[nodiscard]] const char* broken() const {
    return broken_ != nullptr || rest_.empty() ? broken_ : "bytes are left over";
  }

 private:
  void refuse(const char* rule) {
    if (broken_ == nullptr) broken_ = rule;
    rest_ = {};
  }
  bool bulk(void* to, std::size_t size) {
    if (rest_.size() < size) {
      refuse("the message is cut off");
      return false;
    }
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  // The number of elements that follow, each of at least `least` bytes.
  std::size_t count(std::size_t least) {
    std::uint32_t elements = 0;
    if (!bulk(&elements, sizeof elements)) return 0;
    if (elements <= rest_.size() / least) return elements;
    refuse("a count promises more than the message holds");
    return 0;
  }
  template <class T>
  void numbers(T* to, std::size_t size) {
    if constexpr (std::is_floating_point_v<T>) {
      if (numbers_ == Numbers::kFinite && rest_.size() / sizeof(T) >= size) {
        const char* from = rest_.data();
        rest_.remove_prefix(size * sizeof(T));
        if (!copy_finite(from, size, to)) refuse("a number is not finite");
        return;
      }
    }
    bulk(to, size * sizeof(T));
  }
  template <class T>
  void take(T& field) {
    if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      if (!bulk(&byte, 1)) return;
      if (byte > 1) return refuse("a truth value is neither 0 nor 1");
      field = byte == 1;
    } else if constexpr (Number<T>) {
      numbers(&field, 1);
    } else if constexpr (std::same_as<T, std::string>) {
      field.resize(count(1));
      bulk(field.data(), field.size());
    } else if constexpr (std::same_as<T, linalg::SparseVector>) {
      take_sparse(field);
    } else if constexpr (IsVector<T>::value) {
      take_vector(field);
    } else {
      static_assert(Message<T>, "a field of a kind that cannot travel; see wire/fields.h");
      T::fields(field, *this);
    }
  }
  template <class T>
  void take_vector(std::vector<T>& field) {
    if constexpr (Number<T>) {
      field.resize(count(sizeof(T)));
      numbers(field.data(), field.size());
    } else {
      const std::size_t elements = count(1);
      if (elements > kMostElements) return refuse("a list has more elements than any message needs");
      field.clear();
      for (std::size_t e = 0; e < elements && broken_ == nullptr; ++e) take(field.emplace_back());
    }
  }
  void take_sparse(linalg::SparseVector& field) {
    if (!bulk(&field.size, sizeof field.size)) return;
    const std::size_t elements = count(12);
    field.positions.resize(elements);
    field.values.resize(elements);
    bulk(field.positions.data(), elements * sizeof(linalg::Index));
    linalg::Index least = 0;
    for (const linalg::Index position : field.positions) {
      if (position < least || position >= field.size)
        return refuse("positions of a sparse vector must ascend and lie below its size");
      least = position + 1;
    }
    if (field.size < 0) return refuse("a vector cannot have a negative size");
    numbers(field.values.data(), elements);
  }

  std::string_view rest_;
  Numbers numbers_;
  const char* broken_ = nullptr;
};

// Into an existing message, whose memory is reused.
template <Message T>
Result<void> decode_to(T& message, std::string_view bytes, Numbers numbers = Numbers::kFinite) {
  Decoder decoder(bytes, numbers);
  T::fields(message, decoder);
  if (decoder.broken() != nullptr)
    return fail(Error{Fault::kBadInput, std::string("message refused: ") + decoder.broken()});
  return {};
}

template <Message T>
Result<T> decode(std::string_view bytes, Numbers numbers = Numbers::kFinite) {
  T message;
  PARLEY_CHECK(decode_to(message, bytes, numbers));
  return message;
}

}  // namespace parley::wire
