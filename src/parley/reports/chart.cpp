#include "parley/reports/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parley/core/text.h"

namespace parley::reports {

namespace {

constexpr double kWidth = 460, kHeight = 300;
constexpr double kLeft = 62, kRight = 14, kTop = 30, kBottom = 46, kLegendLine = 16;
constexpr std::size_t kMostPoints = 400;  // of a series: a page has a size that mail takes
constexpr std::size_t kMostName = 28;     // characters beside a bar

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool drawable(const Axis& axis, double value) {
  return std::isfinite(value) && (axis.scale == Scale::kLinear || value > 0);
}

// The axis with room around what is drawn.
Axis fitted(Axis axis, const Range& range) {
  if (axis.stated()) return axis;
  axis.low = range.low;
  axis.high = range.high;
  if (axis.scale == Scale::kLogarithmic) {
    if (axis.high / axis.low < 1.01) axis.low /= 2, axis.high *= 2;
    return axis;
  }
  const double room = axis.high > axis.low ? 0.04 * (axis.high - axis.low) : std::max(1e-9, 0.1 * std::abs(axis.high));
  axis.low -= axis.low == 0 && axis.high > 0 ? 0 : room;
  axis.high += room;
  return axis;
}

double share(const Axis& axis, double value) {
  return axis.scale == Scale::kLinear ? (value - axis.low) / (axis.high - axis.low)
                                      : std::log(value / axis.low) / std::log(axis.high / axis.low);
}

double across(const Axis& axis, double value) {
  return kLeft + share(axis, value) * (kWidth - kLeft - kRight);
}
double down(const Axis& axis, double value) {
  return kHeight - kBottom - share(axis, value) * (kHeight - kTop - kBottom);
}

std::string begin(const std::string& title, double height) {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\"><text class=\"title\" x=\"0\" "
      "y=\"14\">{}</text>\n",
      kWidth, height, escaped(title), escaped(title));
}

std::string frame(const Axis& x, const Axis& y) {
  std::string text;
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double tick : ticks(x))
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"{3:.1f}\">{4}</text>\n",
        across(x, tick), kTop, bottom, bottom + 15, shown(tick));
  for (const double tick : ticks(y))
    text += fmt::format(
        "<line class=\"grid\" x1=\"{1:.1f}\" y1=\"{0:.1f}\" x2=\"{2:.1f}\" y2=\"{0:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
        down(y, tick), kLeft, right, kLeft - 6, down(y, tick) + 4, shown(tick));
  text += fmt::format("<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\"/>\n", kLeft, kTop, bottom, right);
  text += fmt::format("<text class=\"name\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                      0.5 * (kLeft + right), kHeight - 10, escaped(x.name));
  text += fmt::format(
      "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(12 {:.1f}) rotate(-90)\">{}</text>\n",
      0.5 * (kTop + bottom), escaped(y.name));
  return text;
}

// Of many points every so-many-th, and the last.
std::vector<std::size_t> kept(std::size_t points) {
  std::vector<std::size_t> all;
  const std::size_t step = std::max<std::size_t>(1, (points + kMostPoints - 1) / kMostPoints);
  for (std::size_t k = 0; k < points; k += step) all.push_back(k);
  if (!all.empty() && all.back() + 1 != points) all.push_back(points - 1);
  return all;
}

std::string drawn(const Series& series, std::size_t number, const Axis& x, const Axis& y) {
  std::string path, dots;
  bool pen_is_down = false;
  for (const std::size_t k : kept(series.x.size())) {
    if (!drawable(x, series.x[k]) || !drawable(y, series.y[k])) {
      pen_is_down = false;
      continue;
    }
    const double px = across(x, series.x[k]), py = down(y, series.y[k]);
    path += fmt::format("{}{:.1f} {:.1f}", pen_is_down ? "L" : "M", px, py);
    if (series.dots)
      dots += fmt::format("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", number % 8, px, py);
    pen_is_down = true;
  }
  return fmt::format("<path class=\"line s{}\" d=\"{}\"/>{}\n", number % 8, path, dots);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, 100'000)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shown(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e6 || size < 1e-4) return fmt::format("{:.3g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::vector<double> ticks(const Axis& axis) {
  std::vector<double> all;
  if (!(axis.low < axis.high)) return all;
  if (axis.scale == Scale::kLogarithmic) {
    const int first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
    const int step = std::max(1, (last - first) / 5);
    for (int power = first; power <= last; power += step) all.push_back(std::pow(10.0, power));
    if (all.size() >= 2) return all;
    all.clear();
    for (int power = first - 1; power <= last + 1; ++power)
      for (const double digit : {1, 2, 5})
        if (const double tick = digit * std::pow(10.0, power); tick >= axis.low && tick <= axis.high)
          all.push_back(tick);
    if (!all.empty()) return all;
  }
  const double rough = (axis.high - axis.low) / 5, unit = std::pow(10.0, std::floor(std::log10(rough)));
  const double times = rough / unit, step = unit * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
  for (double tick = std::ceil(axis.low / step - 1e-9) * step; tick <= axis.high + 1e-9 * step; tick += step)
    all.push_back(std::abs(tick) < 1e-9 * step ? 0 : tick);
  return all;
}

std::string svg(const LineChart& chart) {
  Range in_x, in_y;
  for (const Series& series : chart.series)
    for (std::size_t k = 0; k < series.x.size(); ++k)
      if (drawable(chart.x, series.x[k]) && drawable(chart.y, series.y[k]))
        in_x.take(series.x[k]), in_y.take(series.y[k]);
  if (in_x.low > in_x.high) return {};
  const Axis x = fitted(chart.x, in_x), y = fitted(chart.y, in_y);
  const bool legend = chart.series.size() > 1;
  std::string text =
      begin(chart.title, kHeight + (legend ? kLegendLine * static_cast<double>(chart.series.size()) : 0));
  text += frame(x, y);
  if (chart.diagonal)
    text += fmt::format("<path class=\"chance\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", across(x, x.low),
                        down(y, y.low), across(x, x.high), down(y, y.high));
  for (std::size_t s = 0; s < chart.series.size(); ++s) text += drawn(chart.series[s], s, x, y);
  for (std::size_t s = 0; legend && s < chart.series.size(); ++s) {
    const double at = kHeight + kLegendLine * (static_cast<double>(s) + 0.5);
    text += fmt::format(
        "<path class=\"line s{0}\" d=\"M{1:.1f} {2:.1f}h22\"/><text class=\"tick\" x=\"{3:.1f}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        s % 8, kLeft, at, kLeft + 30, at + 4, escaped(chart.series[s].name));
  }
  return text + "</svg>\n";
}

std::string svg(const BarChart& chart) {
  if (chart.bars.empty()) return {};
  constexpr double kBar = 20, kNames = 170, kValues = 84, kHead = 26;
  Range range{0, 0};
  for (const Bar& bar : chart.bars)
    if (std::isfinite(bar.value)) range.take(bar.value);
  const double width = kWidth - kNames - kValues, span = std::max(range.high - range.low, 1e-300);
  const double zero = kNames - range.low / span * width;
  const double height = kHead + kBar * static_cast<double>(chart.bars.size()) + (chart.unit.empty() ? 4 : 24);
  std::string text = begin(chart.title, height);
  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    const Bar& bar = chart.bars[b];
    const double at = kHead + kBar * static_cast<double>(b), value = std::isfinite(bar.value) ? bar.value : 0;
    const double from = zero + std::min(0.0, value) / span * width, length = std::abs(value) / span * width;
    // The end of a long name is where columns of one category differ.
    const std::string name = bar.name.size() > kMostName
                                 ? bar.name.substr(0, 6) + "..." + bar.name.substr(bar.name.size() - (kMostName - 9))
                                 : bar.name;
    text += fmt::format(
        "<g><title>{}: {}</title><text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        escaped(bar.name), escaped(bar.shown), kNames - 8, at + 14, escaped(name));
    text += fmt::format("<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>",
                        bar.series % 8, from, at + 3, std::max(0.5, length), kBar - 6);
    text += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n", kNames + width + 6, at + 14,
                        escaped(bar.shown));
  }
  text += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", zero, kHead,
                      kBar * static_cast<double>(chart.bars.size()));
  if (!chart.unit.empty())
    text += fmt::format("<text class=\"name\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                        kNames + 0.5 * width, height - 6, escaped(chart.unit));
  return text + "</svg>\n";
}

}  // namespace parley::reports
