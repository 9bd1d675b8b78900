#include "parley/data/write.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include "parley/data/dataset.h"
#include "parley/data/random.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::data;

namespace {

std::string number(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string unpacked(const std::filesystem::path& path, std::size_t size) {
  const std::string packed = contents(path);
  std::string text(size, '\0');
  switch (packing_of(path)) {
    case Packing::kNone:
      return packed;
    case Packing::kGzip: {
      gzFile file = gzopen(path.c_str(), "rb");
      const int got = gzread(file, text.data(), static_cast<unsigned>(size));
      gzclose(file);
      text.resize(static_cast<std::size_t>(std::max(0, got)));
      return text;
    }
    case Packing::kZstd: {
      // A stream of unknown length: no size in the frame, so the buffer is given.
      const std::size_t got = ZSTD_decompress(text.data(), size, packed.data(), packed.size());
      text.resize(ZSTD_isError(got) != 0 ? 0 : got);
      return text;
    }
    case Packing::kXz: {
      std::uint64_t memory = std::numeric_limits<std::uint64_t>::max();
      std::size_t in = 0;
      std::size_t out = 0;
      const lzma_ret done =
          lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &in,
                                    packed.size(), reinterpret_cast<std::uint8_t*>(text.data()), &out, size);
      text.resize(done == LZMA_OK ? out : 0);
      return text;
    }
  }
  return {};
}

}  // namespace

TEST(AppendNumber, IsShortAndReadsBackBitForBit) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(-3), "-3");
  EXPECT_EQ(number(1.0 / 3), "0.3333333333333333");
  Random random(6);
  for (int k = 0; k < 20000; ++k) {
    const double value = std::bit_cast<double>(random.bits());
    if (!std::isfinite(value)) continue;
    const std::string text = number(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << text;
  }
}

TEST(AppendCell, QuotesOnlyWhatNeedsIt) {
  const auto cell = [](std::string_view text, char delimiter = ',') {
    std::string out;
    append_cell(out, text, delimiter);
    return out;
  };
  EXPECT_EQ(cell("plain text"), "plain text");
  EXPECT_EQ(cell("a,b"), "\"a,b\"");
  EXPECT_EQ(cell("a,b", ';'), "a,b");
  EXPECT_EQ(cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(cell("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(cell(" edge"), "\" edge\"");
}

TEST(Outputs, AppearTogetherOnCommit) {
  TemporaryFolder folder;
  Outputs outputs(Existing::kRefuse);
  ASSERT_TRUE(outputs.write_whole(folder / "sub/a.csv", "a\n"));
  ASSERT_TRUE(outputs.write_whole(folder / "sub/b.csv", "b\n"));
  EXPECT_FALSE(exists(folder / "sub/a.csv"));
  ASSERT_TRUE(outputs.commit());
  EXPECT_EQ(contents(folder / "sub/a.csv"), "a\n");
  EXPECT_EQ(contents(folder / "sub/b.csv"), "b\n");
  EXPECT_EQ(files_in(folder / "sub"), 2u);
}

TEST(Outputs, LeaveNothingBehindWithoutCommit) {
  TemporaryFolder folder;
  {
    Outputs outputs(Existing::kRefuse);
    ASSERT_TRUE(outputs.write_whole(folder / "x/y/a.csv", std::string(1 << 20, 'a')));
  }
  EXPECT_FALSE(exists(folder / "x"));
}

TEST(Outputs, RefuseATakenNameUnlessToldOtherwise) {
  TemporaryFolder folder;
  std::ofstream(folder / "a.csv") << "old";
  Outputs refusing(Existing::kRefuse);
  const auto refused = refusing.open(folder / "a.csv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_NE(refused.error().message.find("a.csv: exists; --force replaces it"), std::string::npos);
  Outputs replacing(Existing::kReplace);
  ASSERT_TRUE(replacing.write_whole(folder / "a.csv", "new"));
  EXPECT_EQ(contents(folder / "a.csv"), "old");
  ASSERT_TRUE(replacing.commit());
  EXPECT_EQ(contents(folder / "a.csv"), "new");
}

TEST(Outputs, RefuseOneNameForTwoFiles) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "here");
  Outputs outputs(Existing::kReplace);
  ASSERT_TRUE(outputs.write_whole(folder / "out", "table"));
  for (const char* again : {"out", "./out", "here/../out"}) {
    const auto refused = outputs.write_whole(folder / again, "names");
    ASSERT_FALSE(refused) << again;
    EXPECT_EQ(refused.error().message, (folder / again).string() + ": is written twice: two outputs need two names");
  }
  ASSERT_TRUE(outputs.commit());
  EXPECT_EQ(contents(folder / "out"), "table");
}

TEST(Outputs, RefuseAFolderNameThatIsAFile) {
  TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  Outputs outputs(Existing::kReplace);
  const auto refused = outputs.open(folder / "file/a.csv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
}

TEST(Outputs, PackByTheEndingOfTheName) {
  TemporaryFolder folder;
  std::string text;
  Random random(1);
  for (int k = 0; k < 60000; ++k) {
    append_number(text, random.normal());
    text += '\n';
  }
  for (const char* name : {"a.csv", "a.csv.gz", "a.csv.zst", "a.csv.xz"}) {
    Outputs outputs(Existing::kRefuse);
    auto file = outputs.open(folder / name);
    ASSERT_TRUE(file);
    // Pieces of every size, some larger than any buffer.
    for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = 3 * size % 700001)
      ASSERT_TRUE((*file)->write(std::string_view(text).substr(at, size)));
    ASSERT_TRUE(outputs.commit());
    EXPECT_EQ((*file)->bytes(), std::filesystem::file_size(folder / name));
    EXPECT_EQ(unpacked(folder / name, text.size() + 10), text) << name;
    EXPECT_LE((*file)->bytes(), packing_of(name) == Packing::kNone ? text.size() : text.size() * 6 / 10) << name;
  }
}

TEST(Outputs, PackEmptyFilesToo) {
  TemporaryFolder folder;
  for (const char* name : {"a.gz", "a.zst", "a.xz"}) {
    Outputs outputs(Existing::kRefuse);
    ASSERT_TRUE(outputs.write_whole(folder / name, ""));
    ASSERT_TRUE(outputs.commit());
    EXPECT_GT(std::filesystem::file_size(folder / name), 0u);
    EXPECT_EQ(unpacked(folder / name, 10), "");
  }
}

TEST(WriteRows, KeepsTheOrderForEveryNumberOfThreads) {
  TemporaryFolder folder;
  std::string expected;
  for (int row = 0; row < 5000; ++row) expected += std::to_string(row) + '\n';
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    Outputs outputs(Existing::kReplace);
    auto file = outputs.open(folder / "rows");
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_rows(**file, 5000, 10000, [](std::size_t row, std::string& text) {
      append_integer(text, static_cast<std::int64_t>(row));
      text += '\n';
    }));
    ASSERT_TRUE(outputs.commit());
    EXPECT_EQ(contents(folder / "rows"), expected);
  }
  set_thread_count(0);
}

namespace {

Dataset small_table() {
  Dataset table;
  // 1 0 2.5 / 0 0 0 / 0 -1 0
  table.features = linalg::Matrix::from_dense(3, 3, std::vector<double>{1, 0, 0, 0, 0, -1, 2.5, 0, 0});
  table.columns = std::vector<std::string>{"a", "b,c", "d"};
  table.labels.values = {1, -1, 1};
  table.labels.classes = {"no", "yes"};
  return table;
}

std::string written(const Dataset& table, bool libsvm, int first_index = 1) {
  TemporaryFolder folder;
  Outputs outputs(Existing::kRefuse);
  auto file = outputs.open(folder / "t");
  EXPECT_TRUE(file);
  EXPECT_TRUE(libsvm ? write_libsvm(**file, table, first_index) : write_csv(**file, table));
  EXPECT_TRUE(outputs.commit());
  return contents(folder / "t");
}

}  // namespace

TEST(WriteCsv, SpellsOutZerosNamesAndClasses) {
  Dataset table = small_table();
  EXPECT_EQ(written(table, false), "y,a,\"b,c\",d\nyes,1,0,2.5\nno,0,0,0\nyes,0,-1,0\n");
  table.ids = {"p1", "p2", "p3"};
  table.labels = {};
  EXPECT_EQ(written(table, false), "id,a,\"b,c\",d\np1,1,0,2.5\np2,0,0,0\np3,0,-1,0\n");
}

TEST(WriteLibsvm, NumbersColumnsAndClasses) {
  Dataset table = small_table();
  EXPECT_EQ(written(table, true), "1 1:1 3:2.5\n-1\n1 2:-1\n");
  EXPECT_EQ(written(table, true, 0), "1 0:1 2:2.5\n-1\n1 1:-1\n");
  table.labels.classes = {"0", "1"};
  EXPECT_EQ(written(table, true), "1 1:1 3:2.5\n0\n1 2:-1\n");
  table.labels = {};
  EXPECT_EQ(written(table, true), "0 1:1 3:2.5\n0\n0 2:-1\n");
}
