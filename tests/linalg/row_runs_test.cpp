#include "parley/linalg/row_runs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "random_matrix.h"

using namespace parley::linalg;

namespace {

std::vector<std::size_t> every_other_row(Index rows) {
  std::vector<std::size_t> records;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); i += 2) records.push_back(i);
  return records;
}

}  // namespace

TEST(RowRuns, HoldTheStoredNonzerosOfEveryRowInOrder) {
  const Plain plain = mixed(97, 40, 1);
  const Matrix a = plain.matrix();
  const RowRuns runs(a.with_column_scale(std::vector<double>(40, 3.0)));  // the scale stays outside
  for (std::size_t i = 0; i < 97; ++i) {
    const std::vector<RowEntry> row = a.row(static_cast<Index>(i));
    ASSERT_EQ(runs.entries(i), row.size());
    auto next = row.begin();
    runs.for_each(i, [&](std::uint32_t column, double value) {
      EXPECT_EQ(static_cast<Index>(column), next->column);
      EXPECT_EQ(value, next->value);
      ++next;
    });
  }
}

TEST(RowRuns, DotsAreThoseOfTheMatrix) {
  for (const bool narrow : {false, true}) {  // values that float holds, and values that it does not
    Plain plain = mixed(97, 40, 2);
    const Matrix stored =
        narrow ? plain.matrix().with_stored_values([](Index, Index, double v) { return v == 0 ? 0.0 : 0.5; })
               : plain.matrix();
    std::vector<double> scale(40), w(40);
    std::iota(scale.begin(), scale.end(), 1.0);
    for (std::size_t j = 0; j < 40; ++j) w[j] = 1.0 / (3.0 + static_cast<double>(j));
    const Matrix scaled = stored.with_column_scale(scale);
    const RowRuns runs(scaled);
    const std::vector<std::size_t> records = every_other_row(97);
    std::vector<double> plain_dots(records.size()), scaled_dots(records.size());
    runs.dots(records, w, {}, plain_dots);
    runs.dots(records, w, scale, scaled_dots);
    for (std::size_t b = 0; b < records.size(); ++b) {
      const auto i = static_cast<Index>(records[b]);
      double size = 0;  // of the terms: sums in another order differ by rounding at that size
      for (const RowEntry& entry : scaled.row(i))
        size += std::abs(entry.value * w[static_cast<std::size_t>(entry.column)]);
      EXPECT_NEAR(plain_dots[b], stored.row_dot(i, w), 1e-14 * size);
      EXPECT_NEAR(scaled_dots[b], scaled.row_dot(i, w), 1e-14 * size);
    }
  }
}

TEST(RowRuns, AnEmptyMatrixAndAnEmptyBatchAreFine) {
  const RowRuns none{Matrix()};
  const RowRuns runs{mixed(5, 4, 3).matrix()};
  std::vector<double> out;
  runs.dots({}, std::vector<double>(4), {}, out);
  none.dots({}, {}, {}, out);
  EXPECT_TRUE(out.empty());
}

// Whether a matrix has a scale can depend on any record; a record's own product must not.
TEST(RowRuns, AScaleOfPowersOfTwoThatIsTakenBackChangesNoBit) {
  const RowRuns runs{mixed(97, 41, 4).matrix()};
  std::vector<double> scale(41), w(41), halved(41);
  for (std::size_t j = 0; j < 41; ++j) {
    scale[j] = j % 2 == 0 ? 4 : 0.5;
    w[j] = 1.0 / (3.0 + static_cast<double>(j));
    halved[j] = w[j] / scale[j];
  }
  const std::vector<std::size_t> records = every_other_row(97);
  std::vector<double> plain(records.size()), scaled(records.size());
  runs.dots(records, w, {}, plain);
  runs.dots(records, halved, scale, scaled);
  EXPECT_EQ(plain, scaled);
}
