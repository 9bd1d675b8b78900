// Dates as numbers: days since 1970-01-01 of the Gregorian calendar, a time of day as the part of a day that has passed.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace parley::data {

enum class DateFormat {
  kYearMonthDay,  // 2024-02-29; the separator is one of - / .
  kDayMonthYear,  // 29.02.2024
  kMonthDayYear,  // 02/29/2024
  kCompact,       // 20240229
};

// After the date there may be a time, "T" or a blank before it: 13:45, 13:45:10, 13:45:10.5, each with a Z or without.
// Nothing where it is no date of the calendar.
std::optional<double> parse_date(std::string_view cell, DateFormat format);

// The day, as 2024-02-29.
std::string date_text(double days);

}  // namespace parley::data
