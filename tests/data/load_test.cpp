// labels: threads
#include "parley/data/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/data/packing.h"
#include "tests/support/shared.h"

using namespace parley;
using namespace parley::data;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

const LoadOptions kReals{.labels = LabelKind::kReal};

std::string long_libsvm() {
  std::string text;
  for (int i = 0; i < 40000; ++i)
    text += std::to_string(i % 7) + " " + std::to_string(1 + i % 5) + ":" + std::to_string(i) + "\n";
  return text;
}

std::string error_of(std::string_view content, const LoadOptions& options = kReals) {
  const auto data = load_text(content, "f", options);
  return data ? "" : data.error().message;
}

class Packed : public ::testing::TestWithParam<std::pair<const char*, std::string (*)(std::string_view)>> {};

}  // namespace

TEST(Load, TellsFormatsApartByContent) {
  EXPECT_EQ(load_text("1 1:2\n", "f", kReals)->schema.format, Format::kLibsvm);
  EXPECT_EQ(load_text("# c\n1\n-1 qid:3 1:2\n", "f", kReals)->schema.format, Format::kLibsvm);
  EXPECT_EQ(load_text("y,a\n1,2\n", "f.libsvm", kReals)->schema.format, Format::kCsv);
  EXPECT_EQ(load_text("y a\n1 2\n", "f", kReals)->schema.format, Format::kCsv);
  EXPECT_EQ(load_text("y,time\n1,12:30\n2,12:31\n", "f", kReals)->schema.format, Format::kCsv);
}

TEST_P(Packed, IsUnpackedOnTheWay) {
  const std::string text = long_libsvm();
  const Dataset data = load_text(GetParam().second(text), "f", kReals).value();
  EXPECT_EQ(data.rows(), 40000U);
  EXPECT_EQ(data.features.at(39999, 4), 39999);
}

TEST_P(Packed, SeveralMembersAreOneFile) {
  const Dataset data = load_text(GetParam().second("1 1:5\n") + GetParam().second("2 1:6\n"), "f", kReals).value();
  EXPECT_EQ(data.rows(), 2U);
}

TEST_P(Packed, TruncatedFileIsAnErrorThatNamesIt) {
  const std::string packed = GetParam().second(long_libsvm());
  for (const std::size_t size :
       {packed.size() - 1, packed.size() - 9, packed.size() / 2, std::size_t{20}, std::size_t{7}})
    EXPECT_THAT(error_of(std::string_view(packed).substr(0, size)),
                StartsWith(std::string("f: truncated ") + GetParam().first))
        << size;
}

TEST_P(Packed, CorruptFileIsAnErrorThatNamesIt) {
  std::string packed = GetParam().second(long_libsvm());
  for (std::size_t at = packed.size() / 2; at < packed.size() / 2 + 40; ++at)
    packed[at] = static_cast<char>(packed[at] ^ 0x5a);
  EXPECT_THAT(error_of(packed), StartsWith("f: corrupt "));
}

TEST_P(Packed, GarbageAfterTheEndIsAnError) {
  EXPECT_THAT(error_of(GetParam().second("1 1:5\n") + "garbage garbage"), StartsWith("f: corrupt "));
}

TEST_P(Packed, EmptyContentIsAnEmptyFile) {
  EXPECT_EQ(error_of(GetParam().second("")), "f: is empty: it has no records");
}

INSTANTIATE_TEST_SUITE_P(Load, Packed,
                         ::testing::Values(std::pair{"gzip", &test::gzipped}, std::pair{"xz", &test::xzipped},
                                           std::pair{"zstd", &test::zstandard}),
                         [](const auto& packing) { return std::string(packing.param.first); });

TEST(LoadBadInput, FileDoesNotExist) {
  EXPECT_EQ(load("no/such/file.csv", kReals).error().message,
            "no/such/file.csv: cannot be read: No such file or directory");
  EXPECT_EQ(load("no/such/file.csv", kReals).error().exit_code(), 2);
}
TEST(LoadBadInput, PathIsAFolder) {
  EXPECT_THAT(load("/", kReals).error().message, HasSubstr("it is a folder"));
}
TEST(LoadBadInput, OtherPackings) {
  EXPECT_THAT(error_of("BZh91AY&SY"), StartsWith("f: bzip2 files are not read"));
  EXPECT_THAT(error_of("PK\x03\x04xxxx"), StartsWith("f: is a zip archive: unpack it"));
}
TEST(LoadBadInput, Utf16Text) {
  EXPECT_EQ(error_of(std::string_view("\xff\xfey\0,\0", 6)), "f: is UTF-16 text; save it as UTF-8");
}
TEST(LoadBadInput, SchemaWithColumnsForLibsvm) {
  LoadOptions options = kReals;
  options.format = Format::kLibsvm;
  options.schema = parse_schema("[[column]]\nname = 'a'\ntype = 'id'\n", "s").value();
  EXPECT_EQ(error_of("1 1:1\n", options), "f: is read as LIBSVM, but its schema names columns");
}

TEST(Load, ReadsFromDisk) {
  const auto path =
      std::filesystem::temp_directory_path() / ("parley_load_test_" + std::to_string(::getpid()) + ".csv.zst");
  std::ofstream(path, std::ios::binary) << test::zstandard("y,a\n1,2\n3,4\n");
  const auto data = load(path.string(), kReals);
  std::filesystem::remove(path);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->rows(), 2U);
}

namespace {

struct SharedSet {
  const char* file;
  LoadOptions options;
  std::size_t rows;
  linalg::Index cols;
  double positives;  // labels equal to +1; or for real labels and classes the sum of labels
};

}  // namespace

TEST(LoadShared, PublicSetsHaveTheirDocumentedShapes) {
  const auto folder = test::shared();
  if (!folder) GTEST_SKIP() << "needs shared/data beside the source tree, or PARLEY_SHARED";
  const std::vector<SharedSet> sets = {
      {"a9a/a9a.xz", {}, 32561, 123, 7841},
      {"a9a/a9a.t.xz", {.features = 123}, 16281, 123, 3846},
      {"dorothea/dorothea.xz", {.features = 100000}, 800, 100000, 78},
      {"mushrooms/mushrooms.xz", {.positive = {"1"}}, 8124, 112, 3916},
      {"small/heart_scale.xz", {}, 270, 13, 120},
      {"rcv1_small/rcv1_small.xz", {.features = 47236}, 1000, 47236, 459},
      {"duke-west/west_raw.csv.xz", {.label = "first"}, 49, 7129, 24},
      {"colon-cancer/colon_raw.csv.xz", {.label = "first"}, 62, 2000, 40},
      {"small/ionosphere.data.xz", {.label = "last"}, 351, 34, 225},
      {"uci-credit/UCI_Credit_Card.csv.xz", {.label = "default.payment.next.month"}, 30000, 23, 6636},
      {"bank-marketing/bank-full.csv.xz",
       {},
       45211,
       48,
       5289},  // default, housing and loan are yes/no: one column each
      {"fate-vfl/breast_hetero_guest.csv.xz", {}, 569, 10, 357},
  };
  for (const SharedSet& set : sets) {
    const auto data = load((*folder / "data" / set.file).string(), set.options);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->rows(), set.rows) << set.file;
    EXPECT_EQ(data->features.cols(), set.cols) << set.file;
    EXPECT_EQ(std::count(data->labels.values.begin(), data->labels.values.end(), 1.0), set.positives) << set.file;
  }
}

TEST(LoadShared, RawAdultTrainAndTestAgree) {
  const auto folder = test::shared();
  if (!folder) GTEST_SKIP() << "needs shared/data beside the source tree, or PARLEY_SHARED";
  const LoadOptions options{.label = "last", .positive = {">50K", ">50K."}};
  LoadOptions train_options = options;
  train_options.positive = {">50K"};
  const auto train = load((*folder / "data/adult/adult.data.xz").string(), train_options);
  ASSERT_TRUE(train) << train.error().message;
  EXPECT_EQ(train->rows(), 32561U);
  const auto test = load((*folder / "data/adult/adult.test.xz").string(), options_like(*train, options));
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_EQ(test->rows(), 16281U);
  EXPECT_EQ(test->columns, train->columns);
  EXPECT_EQ(std::count(test->labels.values.begin(), test->labels.values.end(), 1.0), 3846);
}
