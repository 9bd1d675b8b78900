#include "parley/data/key_text.h"

namespace parley::data {

std::string_view KeyText::operator[](std::size_t row) const {
  const std::uint64_t begin = row == 0 ? 0 : end(row - 1);
  return std::string_view(bytes_).substr(begin, end(row) - begin);
}

void KeyText::append(std::string_view text) {
  bytes_ += text;
  ends_.push_back(bytes_.size());
}

void KeyText::append_missing() {
  ends_.push_back(bytes_.size() | kMissing);
}

void KeyText::append(const KeyText& others) {
  const std::uint64_t before = bytes_.size();
  bytes_ += others.bytes_;
  for (const std::uint64_t end : others.ends_) ends_.push_back(end + before);  // the mark stays: sizes are below it
}

void KeyText::reserve(std::size_t keys, std::size_t bytes) {
  ends_.reserve(keys);
  bytes_.reserve(bytes);
}

KeyText KeyText::select(std::span<const std::int32_t> rows) const {
  KeyText chosen(column_);
  for (const std::int32_t at : rows) {
    const auto row = static_cast<std::size_t>(at);
    missing(row) ? chosen.append_missing() : chosen.append((*this)[row]);
  }
  return chosen;
}

void KeyText::pop_back() {
  ends_.pop_back();
  bytes_.resize(ends_.empty() ? 0 : end(ends_.size() - 1));
}

}  // namespace parley::data
