#include "parley/data/database.h"

#include <algorithm>
#include <utility>

#include "parley/data/write.h"

namespace parley::data {

namespace {

class DatabaseBytes final : public ByteSource {
 public:
  DatabaseBytes(std::unique_ptr<DatabaseTable> table, std::string header)
      : table_(std::move(table)), text_(std::move(header)) {}

  Result<std::size_t> read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      if (given_ == text_.size()) {
        text_.clear();
        given_ = 0;
        if (ended_) break;
        PARLEY_TRY(const bool more, table_->next(text_));
        ended_ = !more;
        continue;
      }
      const std::size_t count = std::min(out.size() - filled, text_.size() - given_);
      std::copy_n(text_.data() + given_, count, out.data() + filled);
      given_ += count;
      filled += count;
    }
    return filled;
  }

 private:
  std::unique_ptr<DatabaseTable> table_;
  std::string text_;
  std::size_t given_ = 0;  // of text_
  bool ended_ = false;
};

}  // namespace

std::string quoted_identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

Result<std::unique_ptr<DatabaseTable>> open_database(const DatabaseAddress& address) {
  return address.kind == DatabaseKind::kSqlite ? open_sqlite(address) : open_postgres(address);
}

Result<std::unique_ptr<ByteSource>> open_columns(const DatabaseAddress& address,
                                                 const std::optional<std::vector<std::string>>& wanted) {
  PARLEY_TRY(auto table, open_database(address));
  std::vector<std::size_t> chosen;
  std::string header;
  for (std::size_t j = 0; j < table->columns().size(); ++j) {
    const std::string& name = table->columns()[j].name;
    if (wanted && std::find(wanted->begin(), wanted->end(), name) == wanted->end()) continue;
    if (!chosen.empty()) header += ',';
    append_cell(header, name);
    chosen.push_back(j);
  }
  if (chosen.empty())
    return fail(bad_input({address.address, 0, ""}, wanted ? "has no column that the schema names" : "has no column"));
  header += '\n';
  PARLEY_CHECK(table->select(chosen));
  return std::make_unique<DatabaseBytes>(std::move(table), std::move(header));
}

Schema of_database(Schema schema) {
  schema.format = Format::kCsv;
  schema.delimiter = ",";
  schema.header = true;
  schema.skip_lines = 0;
  schema.comment.clear();
  if (std::find(schema.missing_markers.begin(), schema.missing_markers.end(), "") == schema.missing_markers.end())
    schema.missing_markers.emplace_back();
  return schema;
}

}  // namespace parley::data
