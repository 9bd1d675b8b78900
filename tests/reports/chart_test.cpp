#include "parley/reports/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace parley::reports;

TEST(Chart, MarksAreRoundNumbersWithinTheAxis) {
  EXPECT_EQ(ticks({.low = 0, .high = 1}), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  for (const auto& [low, high] : {std::pair{-3.0, 17.0}, std::pair{1e-7, 3e-7}, std::pair{1e6, 1.0001e6}}) {
    const auto marks = ticks({.low = low, .high = high});
    EXPECT_GE(marks.size(), 2u) << low;
    EXPECT_LE(marks.size(), 12u) << low;
    for (const double mark : marks)
      EXPECT_TRUE(mark >= low - 1e-9 * std::abs(low) && mark <= high + 1e-9 * std::abs(high));
  }
  EXPECT_EQ(ticks({.scale = Scale::kLogarithmic, .low = 0.01, .high = 100}),
            (std::vector<double>{0.01, 0.1, 1, 10, 100}));
  EXPECT_TRUE(ticks({.low = 1, .high = 1}).empty());
}

TEST(Chart, TextOfFilesCannotBecomeMarkup) {
  EXPECT_EQ(escaped("<b onclick=\"x\">&'"), "&lt;b onclick=&quot;x&quot;&gt;&amp;&#39;");
  const std::string picture = svg(BarChart{"<script>", "</svg>", {{"<img src=x>", 1, "\"><b>", 0}}});
  EXPECT_EQ(picture.find("<script"), std::string::npos);
  EXPECT_EQ(picture.find("<img"), std::string::npos);
  EXPECT_EQ(picture.find("<b>"), std::string::npos);
  EXPECT_EQ(picture.find("</svg>"), picture.size() - 7);
  LineChart lines{.title = "a<b", .x = {.name = "<i>"}, .y = {.name = "y"}};
  lines.series = {{"<u>", {0, 1}, {0, 1}}, {"two", {0, 1}, {1, 0}}};
  EXPECT_EQ(svg(lines).find("<u>"), std::string::npos);
  EXPECT_EQ(svg(lines).find("<i>"), std::string::npos);
}

TEST(Chart, LeavesOutWhatIsNotANumber) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  LineChart lines{.title = "t", .x = {.name = "x"}, .y = {.name = "y"}};
  lines.series = {{"s", {0, 1, 2, 3}, {1, nan, infinity, 2}}};
  const std::string picture = svg(lines);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
  EXPECT_EQ(picture.find("inf"), std::string::npos);
  lines.series = {{"s", {0, 1}, {nan, nan}}};
  EXPECT_EQ(svg(lines), "") << "there is nothing to draw";
  EXPECT_EQ(svg(BarChart{"t", "u", {}}), "");
  EXPECT_EQ(svg(BarChart{"t", "u", {{"a", nan, "-", 0}, {"b", -2, "-2", 0}}}).find("nan"), std::string::npos);
  lines.series = {{"s", {0, 1, 2}, {3, 3, 3}}};
  EXPECT_EQ(svg(lines).find("nan"), std::string::npos) << "a line that is level has an axis all the same";
  lines.y.scale = Scale::kLogarithmic;
  lines.series = {{"s", {0, 1, 2}, {1e-3, 0, 1e-9}}};
  EXPECT_EQ(svg(lines).find("nan"), std::string::npos);
}

TEST(Chart, LongHistoriesStaySmall) {
  LineChart lines{.title = "t", .x = {.name = "x"}, .y = {.name = "y"}};
  Series series{.name = "s"};
  for (int k = 0; k < 100'000; ++k) series.x.push_back(k), series.y.push_back(std::exp(-k * 1e-4));
  lines.series = {series};
  EXPECT_LT(svg(lines).size(), 12'000u);
}
