#include "parley/data/date.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace parley::data {

namespace {

// Reads digits and separators of a cell one after the other; the first that is missing makes it no date.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  // A number of `least` to `most` digits.
  int number(std::size_t least, std::size_t most) {
    std::size_t length = 0;
    int value = 0;
    for (; length < most && length < rest_.size() && rest_[length] >= '0' && rest_[length] <= '9'; ++length)
      value = 10 * value + (rest_[length] - '0');
    if (length < least) good_ = false;
    rest_.remove_prefix(length);
    return value;
  }
  // One of the characters; 0 where there is none of them.
  char pass(std::string_view one_of) {
    if (rest_.empty() || one_of.find(rest_.front()) == std::string_view::npos) return 0;
    const char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }
  void require(bool holds) { good_ = good_ && holds; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

constexpr std::string_view kSeparators = "-/.";

// The part of a day before the time that the cell goes on with.
double read_time(DateReader& cell) {
  const int hour = cell.number(1, 2);
  cell.require(hour < 24 && cell.pass(":") != 0);
  const int minute = cell.number(2, 2);
  cell.require(minute < 60);
  double seconds = 0;
  if (cell.pass(":") != 0) {
    seconds = cell.number(2, 2);
    cell.require(seconds < 60);
    if (cell.pass(".,") != 0) cell.number(1, 9);  // parts of a second say nothing about a day
  }
  cell.pass("Z");
  return (hour + (minute + seconds / 60) / 60) / 24;
}

}  // namespace

std::optional<double> parse_date(std::string_view text, DateFormat format) {
  DateReader cell(text);
  int parts[3] = {};
  char separator = 0;
  for (int k = 0; k < 3; ++k) {
    const bool is_year = (format == DateFormat::kYearMonthDay || format == DateFormat::kCompact) ? k == 0 : k == 2;
    const std::size_t digits = format == DateFormat::kCompact ? 2 : 1;
    parts[k] = is_year ? cell.number(4, 4) : cell.number(digits, 2);
    if (k == 2 || format == DateFormat::kCompact) continue;
    const char found = cell.pass(kSeparators);
    cell.require(found != 0 && (separator == 0 || separator == found));
    separator = found;
  }
  double part_of_day = 0;
  if (cell.good() && cell.pass("T ") != 0) part_of_day = read_time(cell);
  if (!cell.good() || !cell.at_end()) return std::nullopt;
  int year = parts[0], month = parts[1], day = parts[2];
  if (format == DateFormat::kDayMonthYear) std::swap(year, day);
  if (format == DateFormat::kMonthDayYear) {
    month = parts[0];
    day = parts[1];
    year = parts[2];
  }
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) + part_of_day;
}

std::string date_text(double days) {
  constexpr double kReach = 4e6;  // about ten thousand years
  if (!(std::abs(days) < kReach)) return fmt::format("{}", days);
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(std::floor(days)))};
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace parley::data
