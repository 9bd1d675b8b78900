// The lines of a LIBSVM file, parsed chunk by chunk by several threads (chunks.h). Private to libsvm.cpp.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/chunks.h"
#include "parley/data/dataset.h"
#include "parley/data/libsvm_index.h"
#include "parley/data/number.h"
#include "parley/data/plain_entries.h"
#include "parley/data/schema.h"
#include "parley/linalg/builder.h"

namespace parley::data {

struct LineRules {
  bool labelled = true;
  std::int64_t smallest = 0;  // index
  std::string smallest_rule;
  std::int64_t largest = kLargestIndex;
  std::string largest_rule;
  double bound = kUnbounded;
  double label_bound = kUnbounded;  // beyond which a label is refused
  OutOfBounds out_of_bounds = OutOfBounds::kClip;
};

struct LibsvmChunk : ParsedChunk {
  linalg::RowBlock rows;
  std::vector<double> labels;
  linalg::Index smallest = std::numeric_limits<linalg::Index>::max();  // index that occurs, with a zero value too
  linalg::Index largest = -1;
  std::size_t largest_line = 0;
  std::size_t clipped = 0;
  std::size_t qids = 0;
  std::size_t left_out = 0;            // entries of columns that are not wanted
  std::vector<linalg::Index> indices;  // of a pass that only collects them
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Parses the lines of a chunk; keep(chunk, index, value) takes the entries.
template <class Keep>
class LineParser {
 public:
  LineParser(std::string_view text, const LineRules& rules, const Keep& keep, LibsvmChunk& out)
      : p_(text.data()), end_(text.data() + text.size()), rules_(rules), keep_(keep), out_(out), plain_(text.data()) {}

  void parse() {
    while (p_ != end_) {
      if (!parse_line()) return;
      ++out_.lines;
    }
  }

 private:
  bool at_line_end() const { return p_ == end_ || *p_ == '\n'; }
  void skip_blanks() {
    while (p_ != end_ && is_blank(*p_)) ++p_;
  }
  void finish_line() {
    const void* line_feed = p_ == end_ ? nullptr : std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
    p_ = line_feed == nullptr ? end_ : static_cast<const char*>(line_feed) + 1;
  }

  std::string_view token(const char* begin) const {
    const char* stop = begin;
    while (stop != end_ && !is_blank(*stop) && *stop != '\n' && stop - begin < 100) ++stop;
    return {begin, static_cast<std::size_t>(stop - begin)};
  }

  bool reject(std::string field, std::string rule, std::string_view value) {
    out_.error =
        std::make_unique<ChunkError>(ChunkError{out_.lines, std::move(field), std::move(rule), std::string(value)});
    return false;
  }

  bool parse_line() {
    skip_blanks();
    if (at_line_end() || *p_ == '#') {
      finish_line();
      return true;
    }
    if (rules_.labelled && !parse_label()) return false;
    if (!parse_entries()) return false;
    finish_line();
    out_.rows.end_row();
    return true;
  }

  // The hot loop: its state is local, because what `keep` writes may be anything to the compiler.
  bool parse_entries() {
    const char* p = p_;
    const char* const end = end_;
    std::int64_t first = -1;
    std::int64_t previous = -1;
    std::array<PlainEntry, 64> plain;
    while (true) {
      const std::size_t count = plain_.read(p, end, plain);
      for (std::size_t k = 0; k < count; ++k) {
        auto [text, number, value] = plain[k];
        const std::int64_t index = number;
        if (!check_index(index, previous, text)) [[unlikely]]
          return false;
        if (previous < 0) first = index;
        previous = index;
        if (std::abs(value) > rules_.bound && !clip(index, value)) [[unlikely]]
          return false;
        keep_(out_, static_cast<linalg::Index>(index), value);
      }
      if (count == plain.size()) continue;
      while (p != end && is_blank(*p)) ++p;
      if (p == end || *p == '\n' || *p == '#') break;
      const char* const begin = p;
      std::uint64_t number = 0;  // may wrap around; then it has too many digits
      while (p != end && detail::is_digit(*p)) number = number * 10 + static_cast<std::uint64_t>(*p++ - '0');
      const std::int64_t index = p - begin <= kIndexDigits ? static_cast<std::int64_t>(number) : long_index(begin, p);
      if (p == begin || p == end || *p != ':') [[unlikely]] {
        if (!parse_qid(begin)) return false;
        p = p_;
        continue;
      }
      if (!check_index(index, previous, begin)) [[unlikely]]
        return false;
      if (previous < 0) first = index;
      previous = index;
      ++p;
      const ParsedNumber parsed = parse_number(p, end);
      if (parsed.error != NumberError::kNone ||
          !(parsed.end == end || is_blank(*parsed.end) || *parsed.end == '\n' || *parsed.end == '#')) [[unlikely]]
        return reject_value(index, parsed, p);
      double value = parsed.value;
      p = parsed.end;
      if (std::abs(value) > rules_.bound && !clip(index, value)) [[unlikely]]
        return false;
      keep_(out_, static_cast<linalg::Index>(index), value);
    }
    p_ = p;
    if (previous < 0) return true;
    // Indices ascend: the first of a line is its smallest, the last its largest.
    out_.smallest = std::min(out_.smallest, static_cast<linalg::Index>(first));
    if (previous > out_.largest) {
      out_.largest = static_cast<linalg::Index>(previous);
      out_.largest_line = out_.lines;
    }
    return true;
  }

  // Of the entry at `begin`, after one with the index `previous` or none (-1).
  bool check_index(std::int64_t index, std::int64_t previous, const char* begin) {
    if (index < rules_.smallest || index > rules_.largest) [[unlikely]]
      return reject_index(index, token(begin));
    if (index <= previous) [[unlikely]]
      return reject("index", index == previous ? "occurs twice in a line" : "indices must ascend within a line",
                    token(begin));
    return true;
  }

  // More digits than a legal index has: leading zeros, or far too large.
  static constexpr std::ptrdiff_t kIndexDigits = 10;
  static std::int64_t long_index(const char* begin, const char* end) {
    std::int64_t index = 0;
    for (const char* p = begin; p != end; ++p) index = std::min(index * 10 + (*p - '0'), kLargestIndex + 1);
    return index;
  }

  bool reject_value(std::int64_t index, const ParsedNumber& parsed, const char* begin) {
    return reject(fmt::format("index {}", index),
                  parsed.error == NumberError::kNotFinite ? "is too large for a number" : "must be a finite number",
                  token(begin));
  }

  // Brings a value to its bound, or refuses it.
  bool clip(std::int64_t index, double& value) {
    if (rules_.out_of_bounds == OutOfBounds::kRefuse)
      return reject(fmt::format("index {}", index), fmt::format("must lie within the bound {}", rules_.bound),
                    fmt::format("{}", value));
    value = std::copysign(rules_.bound, value);
    ++out_.clipped;
    return true;
  }

  bool parse_label() {
    const char* const begin = p_;
    const ParsedNumber label = parse_number(p_, end_);
    p_ = label.end;
    if (label.error == NumberError::kNotFinite) return reject("label", "is too large for a number", token(begin));
    if (label.error == NumberError::kNotANumber || !(at_line_end() || is_blank(*p_) || *p_ == '#')) {
      if (token(begin).find(':') != std::string_view::npos)
        return reject("label", "label missing: the line begins with index:value", token(begin));
      if (token(begin).find(',') != std::string_view::npos)
        return reject("label", "must be one number: several labels for a record are not supported", token(begin));
      return reject("label", "must be a finite number", token(begin));
    }
    if (std::abs(label.value) > rules_.label_bound)
      return reject("label", fmt::format("must lie within the bound {}", rules_.label_bound),
                    fmt::format("{}", label.value));
    out_.labels.push_back(label.value);
    return true;
  }

  bool parse_qid(const char* begin) {
    const std::string_view text = token(begin);
    if (text.substr(0, 4) == "qid:") {
      ++out_.qids;
      p_ = begin + text.size();
      while (!at_line_end() && !is_blank(*p_)) ++p_;
      return true;
    }
    if (text[0] == '-' && text.size() > 1 && detail::is_digit(text[1]))
      return reject("index", "must not be negative", text);
    return reject("index", "must read index:value", text);
  }

  bool reject_index(std::int64_t index, std::string_view text) {
    if (index < rules_.smallest) return reject("index", rules_.smallest_rule, text);
    if (index > kLargestIndex) return reject("index", largest_index_rule(), text);
    return reject("index", rules_.largest_rule, text);
  }

  const char* p_;
  const char* end_;
  const LineRules& rules_;
  const Keep& keep_;
  LibsvmChunk& out_;
  PlainEntries plain_;
};

template <class Keep>
Result<std::vector<LibsvmChunk>> parse_file(ChunkReader& reader, const std::string& file_name, const LineRules& rules,
                                            const Keep& keep) {
  return parse_chunks<LibsvmChunk, linalg::RowBlock>(
      reader, {file_name, 1}, cut_at_line, [&](std::string_view text, LibsvmChunk& out, linalg::RowBlock& buffers) {
        out.rows = std::move(buffers);
        LineParser<Keep>(text, rules, keep, out).parse();
        buffers = out.rows.seal();
      });
}

}  // namespace parley::data
