#include "parley/data/job_draft.h"

#include <fmt/format.h>

#include "parley/data/write.h"

namespace parley::data {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string to_toml(const JobDraft& job) {
  std::string out;
  for (std::size_t begin = 0; begin < job.comment.size();) {
    const std::size_t end = std::min(job.comment.find('\n', begin), job.comment.size());
    out += "# " + job.comment.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  // A number in TOML is a float only with a point or an exponent.
  const auto real = [](double value) {
    std::string text;
    append_number(text, value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  };
  out += fmt::format("[job]\nname = {}\npartition = {}\ntask = {}\n", toml_string(job.name), toml_string(job.partition),
                     toml_string(job.task));
  out += "\n[model]\nintercept = false\n";
  if (job.l1) out += fmt::format("l1 = {}\n", real(*job.l1));
  if (job.l2) out += fmt::format("l2 = {}\n", real(*job.l2));
  if (job.l1_radius) out += fmt::format("l1_radius = {}\n", real(*job.l1_radius));
  if (job.sparsity) out += fmt::format("sparsity = {}\n", *job.sparsity);
  out += fmt::format("\n[algorithm]\nname = {}\n", toml_string(job.algorithm));
  if (job.iterations) out += fmt::format("iterations = {}\n", *job.iterations);
  out += fmt::format("\n[data]\nscale = {}\n", toml_string(job.scale));
  if (!job.label_party.empty() || !job.label_column.empty()) {
    out += "\n[labels]\n";
    if (!job.label_party.empty()) out += fmt::format("party = {}\n", toml_string(job.label_party));
    if (!job.label_column.empty()) out += fmt::format("column = {}\n", toml_string(job.label_column));
  }
  for (const auto& party : job.parties) {
    out += fmt::format("\n[[party]]\nname = {}\ndata = {}\n", toml_string(party.name), toml_string(party.data));
    if (!party.schema.empty()) out += fmt::format("schema = {}\n", toml_string(party.schema));
  }
  for (const auto& [table, parties] : job.unions) {
    std::vector<std::string> names;
    for (const std::string& party : parties) names.push_back(toml_string(party));
    out += fmt::format("\n[[union]]\ntable = {}\nparties = [{}]\n", toml_string(table), fmt::join(names, ", "));
  }
  for (const auto& [left, right] : job.joins)
    out += fmt::format("\n[[join]]\nleft = [{}]\nright = [{}]\n", toml_string(left), toml_string(right));
  return out;
}

}  // namespace parley::data
