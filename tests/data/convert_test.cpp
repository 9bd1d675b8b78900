// labels: threads
#include "parley/data/convert.h"

#include <gtest/gtest.h>

#include <fstream>

#include "parley/data/load.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::data;

namespace {

struct Room {
  TemporaryFolder folder;

  std::string put(const char* name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  }
  Result<Converted> run(const std::string& from, const char* to, Conversion conversion = {}) const {
    conversion.from = from;
    conversion.to = folder / to;
    return convert(conversion);
  }
  std::string converted(const std::string& from, const char* to, Conversion conversion = {}) const {
    const auto done = run(from, to, std::move(conversion));
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return contents(folder / to);
  }
};

}  // namespace

TEST(Convert, LibsvmToCsvKeepsDigitsAndSpellsOutZeros) {
  const Room room;
  const std::string in = room.put("in", "+1 1:0.50 3:2e0\n-1\n");
  EXPECT_EQ(room.converted(in, "a.csv"), "y,x1,x2,x3\n+1,0.50,0,2e0\n-1,0,0,0\n");
  EXPECT_EQ(room.converted(room.put("zero", "1 0:5 2:1\n2 1:1\n"), "b.csv", {.label = "class"}),
            "class,x0,x1,x2\n1,5,0,1\n2,0,1,0\n");
}

TEST(Convert, OfColumnsThatAreNearlyAllEmptyThoseThatOccurAreWritten) {
  const Room room;
  const std::string in = room.put("in", "1 1:2 2147483646:3\n0 5:1\n");
  const auto done = room.run(in, "a.csv");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(contents(room.folder / "a.csv"), "y,x1,x5,x2147483646\n1,2,0,3\n0,0,1,0\n");
  EXPECT_EQ(done->notes,
            std::vector<std::string>{"indices reach 2,147,483,646: only the 3 columns that occur are kept"});
}

TEST(Convert, CsvToLibsvmKeepsNumbersAndCodesCategories) {
  const Room room;
  const std::string in = room.put("in.csv", "id,y,a,colour\n1,2.5,0,red\n2,-1,3,blue\n3,0,0.25,red\n");
  const auto done = room.run(in, "a.libsvm", {.names_file = (room.folder / "names").string()});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(contents(room.folder / "names"), "a\ncolour=blue\ncolour=red\n");
  EXPECT_EQ(contents(room.folder / "a.libsvm"), "2.5 3:1\n-1 1:3 2:1\n0 1:0.25 3:1\n");
  EXPECT_EQ(done->table.rows, 3);
  EXPECT_EQ(done->table.columns, 3);
}

TEST(Convert, RefusesNamesThatAreNoLine) {
  const Room room;
  const std::string in = room.put("in.csv", "y,\"blood\npressure\",a\n1,2,3\n0,4,5\n");
  const auto refused = room.run(in, "a.libsvm", {.names_file = (room.folder / "names").string()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            in + ": --names: has a line for each column; this name breaks its line (got 'blood?pressure')");
  EXPECT_EQ(files_in(room.folder.path()), 1u);
  EXPECT_EQ(room.converted(in, "a.libsvm"), "1 1:2 2:3\n0 1:4 2:5\n");
}

TEST(Convert, ClassesThatAreNoNumbersGetNumbers) {
  const Room room;
  EXPECT_EQ(room.converted(room.put("two.csv", "outcome,a\nno,1\nyes,2\nno,3\n"), "two.libsvm", {.label = "outcome"}),
            "-1 1:1\n1 1:2\n-1 1:3\n");
  EXPECT_EQ(room.converted(room.put("three.csv", "y,a\nu,1\nv,2\nw,3\n"), "three.libsvm"), "0 1:1\n1 1:2\n2 1:3\n");
}

TEST(Convert, NumbersColumnsFromZeroOnRequest) {
  const Room room;
  const std::string csv = room.put("in.csv", "y,a,b\n1,2,3\n0,0,4\n");
  EXPECT_EQ(room.converted(csv, "a.libsvm", {.first_index = 0}), "1 0:2 1:3\n0 1:4\n");
  const std::string libsvm = room.put("in.libsvm", "1 1:2.0 2:3\n0 2:4\n");
  EXPECT_EQ(room.converted(libsvm, "b.libsvm", {.first_index = 0}), "1 0:2.0 1:3\n0 1:4\n");
  EXPECT_EQ(room.converted((room.folder / "b.libsvm").string(), "c.libsvm", {.first_index = 1}), contents(libsvm));
}

TEST(Convert, IndicesAreAsLargeAsTheyAreWhereTablesAreLoaded) {
  const Room room;
  for (const char* index : {"2147483647", "4294967296", "99999999999999999999"}) {
    const std::string in = room.put("in.libsvm", "1 1:1\n0 " + std::string(index) + ":2\n");
    const std::string told = in + ":2: index: must be at most 2147483646 (got '" + index + ":2')";
    EXPECT_EQ(load(in, {.labels = LabelKind::kReal}).error().message, told);
    for (const char* to : {"out.csv", "out.libsvm"}) {
      const auto refused = room.run(in, to);
      ASSERT_FALSE(refused) << index;
      EXPECT_EQ(refused.error().message, told);
    }
  }
  const std::string in = room.put("in.libsvm", "1 0:1\n0 2147483646:2\n");
  EXPECT_EQ(room.run(in, "out.libsvm", {.first_index = 1}).error().message,
            in + ": index: must be at most 2147483646 (got '2147483647')");
  const std::string bare = room.put("bare.libsvm", "1\n0\n");
  EXPECT_EQ(room.converted(bare, "bare.out",
                           {.from_format = Format::kLibsvm, .to_format = Format::kLibsvm, .first_index = 0}),
            "1\n0\n");
}

TEST(Convert, RepacksWithoutTouchingTheBytes) {
  const Room room;
  const std::string text = "id,y,a\r\n1,2, \"x\"\r\n\r\n2,3,y\r\n";
  const std::string in = room.put("in.csv", text);
  for (const char* name : {"a.csv.gz", "a.csv.zst", "a.csv.xz"}) {
    room.converted(in, name);
    const std::string back = std::string("back-") + name + ".csv";
    EXPECT_EQ(room.converted((room.folder / name).string(), back.c_str()), text) << name;
  }
}

TEST(Convert, ThereAndBackIsTheSameTable) {
  const Room room;
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += std::to_string(i % 2) + ' ' + std::to_string(1 + i % 5) + ':' + std::to_string(i * 0.37) + " 9:1\n";
  room.converted(room.put("in.libsvm", text), "mid.csv.gz");
  room.converted((room.folder / "mid.csv.gz").string(), "out.libsvm");
  LoadOptions options;
  const auto before = load((room.folder / "in.libsvm").string(), options);
  const auto after = load((room.folder / "out.libsvm").string(), options);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->labels.values, after->labels.values);
  ASSERT_EQ(before->features.cols(), after->features.cols());
  for (linalg::Index i = 0; i < 500; ++i)
    for (linalg::Index j = 0; j < before->features.cols(); ++j)
      EXPECT_EQ(before->features.at(i, j), after->features.at(i, j));
}

TEST(Convert, NumbersThatCannotBeAreNoClasses) {
  const Room room;
  const auto refusal = [&](const std::string& text, const std::string& schema) {
    Conversion conversion;
    if (!schema.empty()) conversion.schema = parse_schema(schema, "s").value();
    const auto done = room.run(room.put("in.csv", text), "out.libsvm", conversion);
    EXPECT_FALSE(std::filesystem::exists(room.folder / "out.libsvm"));
    return done ? "" : done.error().message.substr(done.error().message.find("in.csv"));
  };
  const std::string table = "[table]\nout_of_bounds = 'refuse'\n";
  const std::string columns = "[[column]]\nname = 'a'\ntype = 'number'\n[[column]]\nname = 'y'\ntype = 'label'\n";
  EXPECT_EQ(refusal("a,y\n1,2.5\n2,30\n", table + columns + "bound = 10\n"),
            "in.csv:3: y: must lie between -10 and 10 (got '30')");
  EXPECT_EQ(refusal("a,y\n1,2.5\n2,30\n", table + "label_bound = 20\n" + columns),
            "in.csv:3: y: must lie between -20 and 20 (got '30')");
  EXPECT_EQ(refusal("a,y\n1,2.5\n2,1e999\n", ""), "in.csv:3: y: is too large for a number (got '1e999')");
  // The first fault decides.
  EXPECT_EQ(refusal("a,y\n1,1e999\n2,no\n", ""), "in.csv:2: y: is too large for a number (got '1e999')");
  // A number of a feature is not a reason to look at the labels.
  std::string many = "a,y\nx,0.5\n";
  for (int i = 0; i < 10002; ++i) many += "1," + std::to_string(i) + ".5\n";
  EXPECT_EQ(refusal(many, ""), "in.csv:2: a: must be a finite number, as most cells of this column are (got 'x')");
  EXPECT_EQ(room.converted(room.put("words.csv", "a,y\n1,no\n2,30\n"), "words.libsvm",
                           {.schema = parse_schema(table + columns + "bound = 10\n", "s").value()}),
            "1 1:1\n-1 1:2\n");
}

TEST(Convert, SaysWhichLabelMadeNumbersClasses) {
  const Room room;
  const auto about = [&](const std::string& labels) {
    std::string text = "a,y\n";
    for (std::size_t at = 0, row = 1; at < labels.size(); at = labels.find(' ', at) + 1, ++row) {
      text += std::to_string(row) + "," + labels.substr(at, labels.find(' ', at) - at) + "\n";
      if (labels.find(' ', at) == std::string::npos) break;
    }
    const auto done = room.run(room.put("in.csv", text), "out.libsvm", {.existing = Existing::kReplace});
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    std::string said;
    for (const std::string& note : done->notes)
      if (note.starts_with("labels")) said += note + "\n";
    return said;
  };
  EXPECT_EQ(about("1.5 2.5 oops 3.5"),
            "labels were taken for classes, not for numbers: " + (room.folder / "in.csv").string() +
                ":4: y: must be a finite number, as most cells of this column are (got 'oops')\n"
                "labels: 0 is '1.5', 1 is '2.5', ...\n");
  EXPECT_EQ(about("1.5 2.5 3.5 1.5"), "");
  EXPECT_EQ(about("no yes no yes"), "labels: -1 is 'no', +1 is 'yes'\n");
  EXPECT_EQ(about("a 1 b c"), "labels: 0 is '1', 1 is 'a', ...\n");
  EXPECT_EQ(about("same same same"), "labels: 0 is 'same'\n");
}

TEST(Convert, RefusesWithOneLineAndLeavesNothing) {
  const Room room;
  const std::string csv = room.put("in.csv", "y,a\n1,2\n");
  const std::string libsvm = room.put("in.libsvm", "1 1:2\n");
  const std::string missing = room.put("missing.csv", "y,a,f\nno,1,\nyes,2,3\nno,3,3\nyes,5,4\n");
  const std::string ragged = room.put("ragged.csv", "y,a\n1,2\n3\n");
  const std::size_t before = files_in(room.folder.path());
  const auto refused = [&](const std::string& from, const char* to, Conversion conversion = {}) {
    const auto done = room.run(from, to, std::move(conversion));
    EXPECT_FALSE(done);
    if (done) return std::string();
    EXPECT_EQ(done.error().exit_code(), 2);
    EXPECT_EQ(files_in(room.folder.path()), before);
    return done.error().message;
  };
  EXPECT_NE(refused(csv, "out.dat").find("neither .csv nor .libsvm: give --to"), std::string::npos);
  EXPECT_NE(refused(csv, "out.csv", {.first_index = 0}).find("--zero-based"), std::string::npos);
  EXPECT_NE(refused(libsvm, "out.libsvm", {.schema = Schema{}}).find("--schema"), std::string::npos);
  EXPECT_NE(refused(libsvm, "in.csv").find("exists; --force replaces it"), std::string::npos);
  EXPECT_NE(refused(libsvm, "in.libsvm").find("is the file to read"), std::string::npos);
  EXPECT_NE(refused(ragged, "out.libsvm").find("ragged.csv:3"), std::string::npos);
  // The labels are classes, and no fault; the empty cell is one.
  EXPECT_EQ(refused(missing, "out.libsvm").find(missing + ":2: f: "), 0U);
  EXPECT_NE(refused(csv, "out.libsvm", {.label = "nope"}).find("nope"), std::string::npos);
  EXPECT_NE(refused((room.folder / "absent").string(), "out.csv").find("absent"), std::string::npos);
  EXPECT_NE(refused(room.put("in.csv", "y,a\n1,2\n"), "x.csv", {.names_file = "n"}).find("--names"), std::string::npos);
}

TEST(Convert, RefusesACsvThatNoDiskHolds) {
  const Room room;
  std::string text;
  // Just not so empty that its empty columns would be left out.
  for (int i = 0; i < 1600000; ++i) text += "1 25000000:1\n";
  const auto done = room.run(room.put("huge.libsvm", text), "huge.csv");
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("would take at least 80.0 TB"), std::string::npos);
}
