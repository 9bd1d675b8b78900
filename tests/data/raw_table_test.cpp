// labels: threads
#include "parley/data/raw_table.h"

#include <gtest/gtest.h>

using namespace parley;
using namespace parley::data;

namespace {

RawTable table_of(const std::string& text) {
  auto table = RawTable::from_text(text, "t.csv");
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? std::move(*table) : RawTable();
}

std::vector<std::string> cells_of(const RawTable& table, std::size_t row) {
  std::vector<std::string_view> raw;
  table.cells(row, raw);
  return {raw.begin(), raw.end()};
}

}  // namespace

TEST(RawTable, OneCarriageReturnEndsALineAndOthersAreCells) {
  const RawTable blanks = table_of("1  \r\r");
  EXPECT_EQ(blanks.names().size(), 2u);
  EXPECT_EQ(cells_of(blanks, 0), (std::vector<std::string>{"1", "\r"}));
  const RawTable commas = table_of("a,b\r\n1,2\r\n3,\r\n");
  EXPECT_EQ(cells_of(commas, 0), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(cells_of(commas, 1), (std::vector<std::string>{"3", ""}));
}

TEST(RawTable, KeepsQuotesBlanksAndDigitsOfCells) {
  const RawTable table = table_of("id,y,name\n1,0.500,\"a, \"\"b\"\"\"\n2, 1e0 ,\"two\nlines\"\n");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.header(), "id,y,name");
  EXPECT_EQ(cells_of(table, 0), (std::vector<std::string>{"1", "0.500", "\"a, \"\"b\"\"\""}));
  EXPECT_EQ(cells_of(table, 1), (std::vector<std::string>{"2", " 1e0 ", "\"two\nlines\""}));
  EXPECT_EQ(table.content("\"a, \"\"b\"\"\""), "a, \"b\"");
  EXPECT_EQ(table.record(1), "2, 1e0 ,\"two\nlines\"");
  EXPECT_EQ(table.line(1), 3u);
}

TEST(RawTable, ReadsCrlfByteOrderMarkAndEmptyLastCells) {
  const RawTable table = table_of("\xEF\xBB\xBFid;y;x\r\n1;0;\r\n\r\n2;1;7");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.line_end(), "\r\n");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"id", "y", "x"}));
  EXPECT_EQ(cells_of(table, 0), (std::vector<std::string>{"1", "0", ""}));
  EXPECT_EQ(cells_of(table, 1), (std::vector<std::string>{"2", "1", "7"}));
}

TEST(RawTable, ReadsLibsvmWithItsDigits) {
  const RawTable table = table_of("+1 1:0.50 3:1e-3 # note\n-1 qid:4 2:7\n\n1\n");
  ASSERT_TRUE(table.is_libsvm());
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_EQ(table.label(0), "+1");
  std::vector<RawEntry> entries;
  table.entries(0, entries);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].index, 3u);
  EXPECT_EQ(entries[1].value, "1e-3");
  table.entries(1, entries);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_EQ(table.first_index(), 1u);
  EXPECT_EQ(table.last_index(), 3u);
  EXPECT_EQ(table.notes().size(), 1u);
  EXPECT_EQ(table_of("1 0:2 4:1\n").first_index(), 0u);
}

TEST(RawTable, NamesTheLineOfAMistake) {
  const auto message = [](const std::string& text) {
    const auto table = RawTable::from_text(text, "t");
    EXPECT_FALSE(table);
    return table ? "" : table.error().message;
  };
  EXPECT_EQ(message("id,y\n1,2\n3,4,5\n"), "t:3: must have 2 cells like the first record (got '3')");
  EXPECT_EQ(message("1 1:2\n1 3:4 2:1\n"), "t:2: indices must ascend (got '2:1')");
  EXPECT_EQ(message("1 1:2\nx 3:4\n"), "t:2: label: is not a number (got 'x')");
  EXPECT_EQ(message("1 1:2\n1 3:nan\n"), "t:2: 3: is not a number (got 'nan')");
  EXPECT_EQ(message("1 1:2\n1 3\n"), "t:2: is not of the form index:value (got '3')");
  EXPECT_NE(message(""), "");
}

TEST(RawTable, ASchemaSaysHowTheFileIsWritten) {
  const std::string columns = "[[column]]\nname = 'a'\ntype = 'number'\n[[column]]\nname = 'y'\ntype = 'label'\n";
  const auto names_of = [&](const std::string& text, const std::string& written) {
    const Schema schema = parse_schema("[table]\n" + written + columns, "s").value();
    const auto table = RawTable::from_text(text, "t", Format::kDetect, &schema);
    if (!table) return table.error().message;
    std::string said = std::string(table->header()) + '\n';
    for (const std::string& name : table->names()) said += name + ' ';
    for (std::size_t row = 0; row < table->rows(); ++row) said += '|' + std::string(table->record(row));
    return said;
  };
  EXPECT_EQ(names_of("1,2\n3,4\n", "header = false\n"), "\na y |1,2|3,4");
  EXPECT_EQ(names_of("1,2\n3,4\n", ""), "\na y |1,2|3,4");
  EXPECT_EQ(names_of("made by, hand, today\na,y\n1,2\n", "skip_lines = 1\n"), "a,y\na y |1,2");
  EXPECT_EQ(names_of("made by\n\"a\",\"y\"\n1,2\n", "skip_lines = 1\n"), "\"a\",\"y\"\na y |1,2");
  EXPECT_EQ(names_of("a;y\n1,5;2\n", "delimiter = ';'\n"), "a;y\na y |1,5;2");
  EXPECT_EQ(names_of("a,y\n1,2\n!late\n3,4\n", "comment = '!'\n"), "a,y\na y |1,2|3,4");
  EXPECT_EQ(names_of("1,2,3\n", "header = false\n"), "t:1: the schema has 2 columns, the file has 3");
}

TEST(FindColumn, SuggestsTheNearestName) {
  const auto missing = find_column(table_of("id,age,y\n1,2,3\n"), "agee", "--label");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "t.csv: --label: no column has this name; did you mean 'age'? (got 'agee')");
}
