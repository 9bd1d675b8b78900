#include "parley/data/row_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "parley/core/files.h"
#include "parley/core/text.h"

namespace parley::data {

namespace {

constexpr std::string_view kFormat = "parley order 1";

// Lines of a text, one after another.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::string_view next() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return line;
  }
  [[nodiscard]] bool ended() const { return rest_.empty(); }
  [[nodiscard]] long number() const { return number_; }

 private:
  std::string_view rest_;
  long number_ = 0;
};

template <class T>
bool whole_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string to_text(const RowOrder& order) {
  std::string text = fmt::format("{}\nalignment {}\nrecords {}\nids {}\nrows {}\n", kFormat, order.alignment,
                                 order.records, order.ids, order.rows.size());
  for (const linalg::Index row : order.rows) text += row == kNoPartner ? "-\n" : fmt::format("{}\n", row + 1);
  return text;
}

Result<RowOrder> read_order(const std::string& path) {
  PARLEY_TRY(const std::string text, read_whole(path));
  Lines lines(text);
  const auto wrong = [&](std::string_view rule, std::string_view value) {
    return fail(
        bad_input({path, static_cast<std::size_t>(lines.number()), ""}, std::string(rule), printable(value, 40)));
  };
  if (const std::string_view line = lines.next(); line != kFormat)
    return wrong("is not an order of rows as parley align writes it", line);
  RowOrder order;
  std::size_t count = 0;
  const auto header = [&](std::string_view name, auto& value) {
    std::string_view line = lines.next();
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') return false;
    line.remove_prefix(name.size() + 1);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      return value = line, true;
    else
      return whole_number(line, value);
  };
  if (!header("alignment", order.alignment) || order.alignment == 0) return wrong("must name the alignment", "");
  if (!header("records", order.records)) return wrong("must have the number of records of the table", "");
  if (!header("ids", order.ids)) return wrong("must have the digest of the table's ids", "");
  if (!header("rows", count) || count > text.size()) return wrong("must have the number of lines that follow", "");
  std::vector<bool> taken(std::min(order.records, text.size()), false);
  while (!lines.ended()) {
    const std::string_view line = lines.next();
    if (line == "-") {
      order.rows.push_back(kNoPartner);
      continue;
    }
    std::int64_t row = 0;
    if (!whole_number(line, row) || row < 1 || row > std::numeric_limits<linalg::Index>::max() ||
        static_cast<std::size_t>(row) > order.records || static_cast<std::size_t>(row) > taken.size())
      return wrong("must be the number of a record of the table, or -", line);
    if (taken[static_cast<std::size_t>(row) - 1]) return wrong("is a record that stands in the order before", line);
    taken[static_cast<std::size_t>(row) - 1] = true;
    order.rows.push_back(static_cast<linalg::Index>(row - 1));
  }
  if (order.rows.size() != count)
    return fail(bad_input({path, 0, ""}, fmt::format("says that it has {} rows, and has {}: it was cut off or changed",
                                                     count, order.rows.size())));
  return order;
}

Result<Dataset> in_order(const Dataset& table, const RowOrder& order, const IdRule& rule, const std::string& file) {
  PARLEY_TRY(const RecordIds ids, record_ids(table, rule, file));
  if (order.records != table.rows() || order.ids != digest_of_ids(ids))
    return fail(bad_input({file, 0, ""},
                          "is not the table that the order of rows was made for, or secure.ids and "
                          "secure.fold_case are others than then: align it again"));
  if (order.rows.empty()) return fail(bad_input({file, 0, ""}, "has no record that the other parties have too"));
  const auto gaps = std::count(order.rows.begin(), order.rows.end(), kNoPartner);
  if (gaps > 0)
    return fail(bad_input(
        {file, 0, ""}, fmt::format("has no partner for {} of the order, which keeps rows of the first party alone; a "
                                   "run needs every part of a record: align without --left",
                                   counted(gaps, "row"))));
  Dataset ordered = table.select_rows(order.rows);
  ordered.clipped = table.clipped;
  ordered.dropped = table.dropped;
  return ordered;
}

}  // namespace parley::data
