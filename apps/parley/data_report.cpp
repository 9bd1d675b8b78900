#include "apps/parley/data_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/catalog/read_job.h"
#include "parley/core/text.h"

namespace parley::app {

std::string lines_about(const std::vector<data::WrittenTable>& tables) {
  const auto shape = [](const data::WrittenTable& table) {
    return fmt::format("{} x {}", counted(table.rows, "row"), counted(table.columns, "column"));
  };
  if (tables.size() > 12) {
    std::uintmax_t bytes = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    for (const auto& table : tables) {
      bytes += table.bytes;
      rows += table.rows;
      columns = std::max(columns, table.columns);
    }
    return fmt::format("wrote {} files, {} to {}: {} in all, up to {}, {}\n", tables.size(),
                       tables.front().path.string(), tables.back().path.filename().string(), counted(rows, "row"),
                       counted(columns, "column"), human_bytes(static_cast<double>(bytes)));
  }
  std::string out;
  for (const auto& table : tables)
    out += fmt::format("wrote {}: {}, {}\n", table.path.string(), shape(table),
                       human_bytes(static_cast<double>(table.bytes)));
  return out;
}

std::string whole_number(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::string() : fmt::format("must be a whole number of at least 0 (got '{}')", printable(text, 60));
}

std::string lines_about(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "note: " + note + '\n';
  return out;
}

void say_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "parley: note: {}\n", note);
}

std::string next_step(const std::filesystem::path& job) {
  const auto read = catalog::read_job(job.string(), {});
  if (read) return fmt::format("next: parley train {}\n", job.string());
  return fmt::format("note: this version cannot train the job as drafted: {}\n", read.error().message);
}

}  // namespace parley::app
