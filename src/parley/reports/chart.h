// Charts as SVG text: lines and bars, with axes that have names and round numbers. Colours come from the page's style
// (classes s0, s1, ...), so that one picture serves light and dark. Whatever text comes in is escaped here.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace parley::reports {

// Text as it may stand in HTML, in an attribute too; control characters and invalid bytes become '?'.
std::string escaped(std::string_view text);
// A number for people.
std::string shown(double value);

enum class Scale { kLinear, kLogarithmic };

struct Axis {
  std::string name;
  Scale scale = Scale::kLinear;
  // Of the numbers themselves unless stated: low < high.
  double low = 0, high = 0;
  [[nodiscard]] bool stated() const { return low < high; }
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // of one size; a point that is not finite is left out
  bool dots = false;
};

struct LineChart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  bool diagonal = false;  // from corner to corner, for comparison
};
// Empty where there is no point to draw.
std::string svg(const LineChart& chart);

struct Bar {
  std::string name;
  double value = 0;  // below 0 it goes to the left
  std::string shown;
  std::size_t series = 0;  // its colour
};
struct BarChart {
  std::string title;
  std::string unit;
  std::vector<Bar> bars;
};
std::string svg(const BarChart& chart);

// Positions of marks with round numbers within [low, high]: steps of 1, 2 or 5 times a power of ten, or powers of ten.
std::vector<double> ticks(const Axis& axis);

}  // namespace parley::reports
