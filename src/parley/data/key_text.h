// A column of keys as text, one after another: a byte for each character and eight for each key.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parley::data {

class KeyText {
 public:
  KeyText() = default;
  explicit KeyText(std::string column) : column_(std::move(column)) {}

  [[nodiscard]] const std::string& column() const { return column_; }  // its name
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] bool missing(std::size_t row) const { return (ends_[row] & kMissing) != 0; }
  [[nodiscard]] std::string_view operator[](std::size_t row) const;  // empty where it is missing

  void append(std::string_view text);
  void append_missing();
  void append(const KeyText& others);
  void reserve(std::size_t keys, std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }  // of all texts
  [[nodiscard]] KeyText select(std::span<const std::int32_t> rows) const;
  void pop_back();  // the last one, where there is one

 private:
  static constexpr std::uint64_t kMissing = std::uint64_t{1} << 63;
  [[nodiscard]] std::uint64_t end(std::size_t row) const { return ends_[row] & ~kMissing; }

  std::string column_;
  std::string bytes_;
  std::vector<std::uint64_t> ends_;  // of each key in bytes_, and whether it is missing
};

}  // namespace parley::data
