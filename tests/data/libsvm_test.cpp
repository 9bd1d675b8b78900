// labels: threads
#include "parley/data/libsvm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "parley/core/threads.h"
#include "parley/data/load.h"
#include "parley/linalg/cpu.h"

using namespace parley;
using namespace parley::data;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

LoadOptions reals() {
  return {.format = Format::kLibsvm, .labels = LabelKind::kReal};
}

Result<Dataset> read(std::string_view text, const LoadOptions& options = reals()) {
  return load_text(text, "f", options);
}

std::string error_of(std::string_view text, const LoadOptions& options = reals()) {
  const auto data = read(text, options);
  return data ? "" : data.error().message;
}

std::vector<double> dense(const Dataset& data) {
  std::vector<double> rows;
  for (linalg::Index i = 0; i < data.features.rows(); ++i)
    for (linalg::Index j = 0; j < data.features.cols(); ++j) rows.push_back(data.features.at(i, j));
  return rows;
}

}  // namespace

TEST(Libsvm, ReadsLabelsAndEntries) {
  const Dataset data = read("1 1:0.5 3:2\n-1 2:1e-3\n").value();
  EXPECT_THAT(dense(data), ElementsAre(0.5, 0, 2, 0, 1e-3, 0));
  EXPECT_THAT(data.labels.values, ElementsAre(1, -1));
  EXPECT_THAT(data.columns.list(), ElementsAre("x1", "x2", "x3"));
}

// Wide registers read most entries ahead and leave the others to the careful way: together they must read
// what that alone reads, errors included.
TEST(Libsvm, IsTheSameWithAndWithoutWideRegisters) {
  std::mt19937_64 random(7);
  const linalg::CpuLevel best = linalg::cpu_level();
  const std::vector<std::string> odd = {"7:1e2",
                                        "8:+.5",
                                        "9:\t",
                                        " ",
                                        "qid:3",
                                        "12345678:1",
                                        "9:1#c",
                                        "9:0x1",
                                        "9:",
                                        "09:1",
                                        ":1",
                                        "3:nan",
                                        "9:1\r",
                                        "9:12345678901234567",
                                        "9:0.12345678901234567890",
                                        "x"};
  std::size_t refused = 0;
  for (int k = 0; k < 2000; ++k) {
    std::string text;
    for (std::size_t line = 1 + random() % 6; line > 0; --line) {
      text += std::to_string(static_cast<int>(random() % 3) - 1);
      std::size_t index = 0;
      for (std::size_t entry = random() % 30; entry > 0; --entry) {
        index += 1 + random() % (random() % 20 == 0 ? 300 : 5);
        switch (random() % 4) {
          case 0:
            text += fmt::format(" {}:1", index);
            break;
          case 1:
            text += fmt::format(" {}:{}", index, static_cast<int>(random() % 2000) - 1000);
            break;
          case 2:
            text += fmt::format(" {}:{:.6g}", index, static_cast<double>(random() % 1000000) / 7e5);
            break;
          default:
            text += fmt::format(" {}:{}", index, std::ldexp(static_cast<double>(random()), -64));
            break;
        }
        if (random() % 200 == 0) text += " " + odd[random() % odd.size()];
      }
      text += "\n";
    }
    linalg::set_cpu_level(linalg::CpuLevel::kBaseline);
    const auto careful = read(text);
    linalg::set_cpu_level(best);
    const auto wide = read(text);
    ASSERT_EQ(careful.has_value(), wide.has_value()) << text;
    if (!wide) {
      ++refused;
      ASSERT_EQ(careful.error().message, wide.error().message) << text;
      continue;
    }
    ASSERT_EQ(careful->labels.values, wide->labels.values);
    ASSERT_EQ(careful->features.cols(), wide->features.cols());
    for (linalg::Index j = 0; j < wide->features.cols(); ++j) {
      std::vector<std::pair<linalg::Index, double>> one, other;
      careful->features.for_each_in_column(j, [&](linalg::Index i, double v) { one.emplace_back(i, v); });
      wide->features.for_each_in_column(j, [&](linalg::Index i, double v) { other.emplace_back(i, v); });
      ASSERT_EQ(one, other) << text;
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_LT(refused, 1900U);
}

TEST(Libsvm, SkipsBlankLinesAndComments) {
  const Dataset data = read("# a file\n\n  \t\r\n+1 1:1 # 2:5\n  -1\t2:3  \r\n2#x\n").value();
  EXPECT_THAT(dense(data), ElementsAre(1, 0, 0, 3, 0, 0));
  EXPECT_THAT(data.labels.values, ElementsAre(1, -1, 2));
}

TEST(Libsvm, CountsFromZeroWhenIndexZeroOccurs) {
  const Dataset data = read("1 1:5\n2 0:7 1:8\n").value();
  EXPECT_THAT(dense(data), ElementsAre(0, 5, 7, 8));
  EXPECT_THAT(data.columns.list(), ElementsAre("x0", "x1"));
  EXPECT_THAT(data.notes, Contains(HasSubstr("indices begin at 0")));
  // An explicit zero tells just as well.
  EXPECT_EQ(read("1 0:0 1:5\n").value().features.cols(), 2);
}

TEST(Libsvm, FirstIndexCanBeForced) {
  LoadOptions options = reals();
  options.first_index = 0;
  EXPECT_EQ(read("1 1:5\n", options).value().features.cols(), 2);
  options.first_index = 1;
  EXPECT_EQ(error_of("1 1:5\n2 0:1\n", options), "f:2: index: indices begin at 1 (got '0:1')");
}

TEST(Libsvm, LeavesQidOutWithANote) {
  const Dataset data = read("3 qid:1 1:5\n2 qid:1 2:1\n").value();
  EXPECT_THAT(dense(data), ElementsAre(5, 0, 0, 1));
  EXPECT_THAT(data.notes, Contains("qid: left out in 2 records"));
}

TEST(Libsvm, StatedFeaturesGiveTrainAndTestTheSameColumns) {
  LoadOptions options = reals();
  options.features = 4;
  EXPECT_EQ(read("1 1:5\n", options).value().features.cols(), 4);
  EXPECT_EQ(error_of("1 1:5\n1 5:1\n", options), "f:2: index: must be at most 4: the data have 4 features (got '5:1')");
  EXPECT_EQ(error_of("1 0:5\n1 4:1\n", options),
            "f:2: index: must be at most 3: the data have 4 features and indices begin at 0 (got '4')");
}

TEST(Libsvm, ReadsAnotherFileToTheColumnsOfTheFirst) {
  const Dataset train = read("1 1:5 7:1\n2 3:1\n").value();
  const Dataset test = read("1 2:4 9:1\n", options_like(train, reals())).value();
  EXPECT_EQ(test.columns, train.columns);
  EXPECT_THAT(dense(test), ElementsAre(0, 4, 0, 0, 0, 0, 0));
  EXPECT_THAT(test.notes, Contains(HasSubstr("1 value of columns that the training data do not have was left out")));
}

TEST(Libsvm, KeepsOnlyOccurringColumnsWhenIndicesAreHuge) {
  const Dataset data = read("1 5:1 2147483646:2\n2 1000000000:3\n").value();
  EXPECT_THAT(dense(data), ElementsAre(1, 0, 2, 0, 3, 0));
  EXPECT_THAT(data.columns.list(), ElementsAre("x5", "x1000000000", "x2147483646"));
  EXPECT_THAT(data.notes, Contains(HasSubstr("only the 3 columns that occur are kept")));
  const Dataset test = read("1 7:1 1000000000:9\n", options_like(data, reals())).value();
  EXPECT_THAT(dense(test), ElementsAre(0, 9, 0));
}

TEST(Libsvm, ClipsToABoundAndCounts) {
  LoadOptions options = reals();
  options.bound = 2;
  const Dataset data = read("1 1:5 2:-7 3:2\n", options).value();
  EXPECT_THAT(dense(data), ElementsAre(2, -2, 2));
  EXPECT_EQ(data.clipped, 2U);
  EXPECT_THAT(data.bounds, ElementsAre(2, 2, 2));
  options.schema = parse_schema("[table]\nbound = 3\nout_of_bounds = 'refuse'\n", "s").value();
  EXPECT_EQ(error_of("1 1:3 2:-7\n", options), "f:1: index 2: must lie within the bound 3 (got '-7')");
}

TEST(LibsvmBadInput, LabelBeyondItsBound) {
  LoadOptions options = reals();
  options.schema = parse_schema("[table]\nlabel_bound = 3\nout_of_bounds = 'refuse'\n", "s").value();
  EXPECT_EQ(error_of("# labels\n3 1:1\n\n-4 1:2\n", options), "f:4: label: must lie within the bound 3 (got '-4')");
  options.schema->out_of_bounds = OutOfBounds::kClip;
  EXPECT_THAT(read("3 1:1\n-4 1:2\n", options)->labels.values, ElementsAre(3, -3));
  options.schema->out_of_bounds = OutOfBounds::kRefuse;
  options.label_use = LabelUse::kNone;
  EXPECT_TRUE(read("3 1:1\n-4 1:2\n", options));
}

TEST(Libsvm, ReadsUnlabelledLinesWhenLabelsAreOptional) {
  LoadOptions options = reals();
  EXPECT_EQ(error_of("1:5 2:1\n", options), "f:1: label: label missing: the line begins with index:value (got '1:5')");
  options.label_use = LabelUse::kOptional;
  const Dataset data = read("1:5 2:1\n2:3\n", options).value();
  EXPECT_TRUE(data.labels.values.empty());
  EXPECT_THAT(dense(data), ElementsAre(5, 1, 0, 3));
}

TEST(Libsvm, IsTheSameForEveryNumberOfThreads) {
  std::mt19937 random(5);
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    text += std::to_string(random() % 2);
    for (int j = 1; j < 60; j += 1 + static_cast<int>(random() % 20))
      text += " " + std::to_string(j) + ":" + std::to_string(random() % 1000 / 8.0);
    text += "\n";
  }
  set_thread_count(1);
  const Dataset one = read(text).value();
  const std::string broken = text + "1 1:x\n" + text + "1 2:y\n" + text;
  const std::string one_error = error_of(broken);
  set_thread_count(3);
  const Dataset three = read(text).value();
  EXPECT_EQ(error_of(broken), one_error);
  set_thread_count(0);
  EXPECT_EQ(one_error, "f:20001: index 1: must be a finite number (got 'x')");
  EXPECT_EQ(one.labels.values, three.labels.values);
  ASSERT_EQ(one.rows(), three.rows());
  for (linalg::Index i = 0; i < one.features.rows(); i += 37) {
    const auto a = one.features.row(i);
    const auto b = three.features.row(i);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_EQ(a[k].column, b[k].column);
      EXPECT_EQ(a[k].value, b[k].value);
    }
  }
}

TEST(LibsvmBadInput, EmptyFile) {
  EXPECT_EQ(error_of(""), "f: is empty: it has no records");
  EXPECT_EQ(error_of("\n# only a comment\n"), "f: is empty: it has no records");
}
TEST(LibsvmBadInput, ValueIsNoNumber) {
  EXPECT_EQ(error_of("1 1:1\n1 2:abc 3:1\n"), "f:2: index 2: must be a finite number (got 'abc')");
}
TEST(LibsvmBadInput, NanAndInfinity) {
  EXPECT_EQ(error_of("1 1:nan\n"), "f:1: index 1: must be a finite number (got 'nan')");
  EXPECT_EQ(error_of("1 1:-inf\n"), "f:1: index 1: must be a finite number (got '-inf')");
  EXPECT_EQ(error_of("1 1:1e999\n"), "f:1: index 1: is too large for a number (got '1e999')");
  EXPECT_EQ(error_of("nan 1:1\n"), "f:1: label: must be a finite number (got 'nan')");
}
TEST(LibsvmBadInput, ValueMissing) {
  EXPECT_EQ(error_of("1 1: 2:3\n"), "f:1: index 1: must be a finite number");
}
TEST(LibsvmBadInput, TextAfterValue) {
  EXPECT_EQ(error_of("1 1:2x\n"), "f:1: index 1: must be a finite number (got '2x')");
}
TEST(LibsvmBadInput, LabelIsNoNumber) {
  EXPECT_EQ(error_of("spam 1:2\n"), "f:1: label: must be a finite number (got 'spam')");
}
TEST(LibsvmBadInput, SeveralLabels) {
  EXPECT_THAT(error_of("1,2 1:2\n"), HasSubstr("several labels"));
}
TEST(LibsvmBadInput, IndicesDescend) {
  EXPECT_EQ(error_of("1 3:1 2:1\n"), "f:1: index: indices must ascend within a line (got '2:1')");
}
TEST(LibsvmBadInput, IndexTwice) {
  EXPECT_EQ(error_of("1 3:1 3:1\n"), "f:1: index: occurs twice in a line (got '3:1')");
}
TEST(LibsvmBadInput, IndexNegative) {
  EXPECT_EQ(error_of("1 -3:1\n"), "f:1: index: must not be negative (got '-3:1')");
}
TEST(LibsvmBadInput, IndexTooLarge) {
  EXPECT_EQ(error_of("1 2147483647:1\n"), "f:1: index: must be at most 2147483646 (got '2147483647:1')");
  EXPECT_EQ(error_of("1 99999999999999999999999:1\n"),
            "f:1: index: must be at most 2147483646 (got '99999999999999999999999:1')");
}
TEST(Libsvm, LeadingZerosOfAnIndexDoNotCount) {
  EXPECT_EQ(read("1 0000000000000000000003:2\n").value().features.at(0, 2), 2);
}
TEST(LibsvmBadInput, NoColon) {
  EXPECT_EQ(error_of("1 1:1\n1 3\n"), "f:2: index: must read index:value (got '3')");
}
TEST(LibsvmBadInput, FeaturesThatWouldBeEmpty) {
  LoadOptions options = reals();
  options.features = 2000000000;
  EXPECT_THAT(error_of("1 1:1\n", options), HasSubstr("features: nearly all of them would be empty columns"));
}
TEST(LibsvmBadInput, OneClassOnly) {
  EXPECT_EQ(error_of("1 1:1\n1 2:1\n", {.format = Format::kLibsvm}),
            "f: label: one class only: there is nothing to tell apart (got '1')");
}
TEST(Libsvm, ReadsASingleRow) {
  EXPECT_EQ(read("1 1:1\n").value().rows(), 1U);
}
TEST(Libsvm, ReadsALastLineWithoutLineFeed) {
  EXPECT_THAT(dense(read("1 1:1\n2 1:12").value()), ElementsAre(1, 12));
}
