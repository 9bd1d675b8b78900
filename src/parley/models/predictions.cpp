#include "parley/models/predictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "parley/core/text.h"
#include "parley/linalg/vectors.h"
#include "parley/models/joined_margins.h"

namespace parley::models {

namespace {

bool is_whole(const std::vector<Trained>& parts) {
  return parts.size() == 1 && !parts.front().part;
}

// The file of every part, in the order of the parts.
Result<std::vector<std::string>> files_by_part(const std::vector<Trained>& parts,
                                               const std::vector<std::string>& files) {
  if (files.size() != parts.size())
    return fail(
        bad_input({.field = "--data"},
                  fmt::format("this model has {}; give one file for each, PARTY=FILE", counted(parts.size(), "part")),
                  counted(files.size(), "file")));
  std::vector<std::string> names;
  names.reserve(parts.size());
  for (const Trained& trained : parts) names.push_back(trained.part->party);
  std::vector<std::string> ordered(parts.size());
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::size_t cut = files[f].find('=');
    const auto named =
        cut == std::string::npos ? names.end() : std::find(names.begin(), names.end(), files[f].substr(0, cut));
    const std::size_t at = named == names.end() ? f : static_cast<std::size_t>(named - names.begin());
    if (!ordered[at].empty())
      return fail(bad_input({.field = "--data"}, "two files for party '" + names[at] + "'", files[f]));
    ordered[at] = named == names.end() ? files[f] : files[f].substr(cut + 1);
  }
  return ordered;
}

void add_ids(const data::Dataset& table, std::vector<std::string>& ids) {
  const std::size_t first = ids.size();
  for (std::size_t i = 0; i < table.rows(); ++i)
    ids.push_back(table.ids.empty() ? std::to_string(first + i + 1) : table.ids[i]);
}

void add_notes(const std::string& file, const data::Dataset& table, std::vector<std::string>& notes) {
  for (const std::string& note : table.notes) notes.push_back(fmt::format("{}: {}", file, note));
}

// Rows of one table after those of another, class by class.
void append_rows(std::vector<double>& all, std::size_t rows, const std::vector<double>& more, std::size_t more_rows) {
  const std::size_t outputs = more.size() / std::max<std::size_t>(more_rows, 1);
  std::vector<double> joined;
  for (std::size_t k = 0; k < outputs; ++k) {
    if (rows > 0) joined.insert(joined.end(), &all[k * rows], &all[k * rows] + rows);
    joined.insert(joined.end(), &more[k * more_rows], &more[k * more_rows] + more_rows);
  }
  all = std::move(joined);
}

Result<Predictions> predict_whole(const Trained& trained, const std::vector<std::string>& files,
                                  data::LabelUse labels) {
  Predictions found;
  data::LoadOptions reading = trained.reading(labels);
  reading.id_may_lack = true;  // of a model in parts the ids show that the parties' files hold the same records
  for (const std::string& file : files) {
    PARLEY_TRY(const data::Dataset table, data::load(file, reading));
    add_notes(file, table, found.notes);
    PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
    append_rows(found.margins, found.rows(), margins, table.rows());
    // Row numbers start anew in every file.
    std::vector<std::string> ids;
    add_ids(table, ids);
    found.ids.insert(found.ids.end(), ids.begin(), ids.end());
    found.labels.insert(found.labels.end(), table.labels.truth().begin(), table.labels.truth().end());
  }
  return found;
}

// One file for each part; the rows are those of the tables' join.
Result<Predictions> predict_over_join(const std::vector<Trained>& parts, const std::vector<std::string>& files,
                                      data::LabelUse labels) {
  Predictions found;
  std::vector<data::Dataset> tables;
  std::vector<const data::Dataset*> read;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PARLEY_TRY(tables.emplace_back(),
               data::load(files[p], parts[p].reading(parts[p].part->labels ? labels : data::LabelUse::kNone)));
    add_notes(files[p], tables.back(), found.notes);
  }
  for (const data::Dataset& table : tables) read.push_back(&table);
  PARLEY_TRY(JoinedMargins joined, margins_over_join(parts, read));
  found.margins = std::move(joined.margins);
  found.labels = std::move(joined.labels);
  found.ids = std::move(joined.ids);
  const std::size_t rows = found.margins.size() / parts.front().model.outputs();
  for (std::size_t j = found.ids.size(); j < rows; ++j) found.ids.push_back(std::to_string(j + 1));
  return found;
}

}  // namespace

Result<Predictions> predict(const std::vector<Trained>& parts, const std::vector<std::string>& files,
                            data::LabelUse labels) {
  if (is_whole(parts)) return predict_whole(parts.front(), files, labels);
  PARLEY_TRY(const std::vector<std::string> ordered, files_by_part(parts, files));
  if (parts.front().part->join) return predict_over_join(parts, ordered, labels);
  Predictions found;
  bool named = false;  // by record ids rather than row numbers
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Trained& trained = parts[p];
    PARLEY_TRY(const data::Dataset table,
               data::load(ordered[p], trained.reading(trained.part->labels ? labels : data::LabelUse::kNone)));
    add_notes(ordered[p], table, found.notes);
    PARLEY_TRY(const std::vector<double> margins, trained.model.margins(table.features));
    if (p == 0) found.margins.assign(margins.size(), 0.0);
    if (margins.size() != found.margins.size())
      return fail(bad_input(
          {ordered[p], 0, ""}, "must hold the same records as the other parties' files",
          fmt::format("{}, not {}", counted(table.rows(), "row"), with_commas(static_cast<long long>(found.rows())))));
    if (named && !table.ids.empty() && table.ids != found.ids)
      return fail(bad_input({ordered[p], 0, ""}, "its record ids are not those of the other files in the same order"));
    linalg::axpy(1.0, margins, found.margins);
    if (found.ids.empty() || (!named && !table.ids.empty())) {
      found.ids.clear();
      add_ids(table, found.ids);
      named = !table.ids.empty();
    }
    if (trained.part->labels) found.labels = table.labels.truth();
  }
  return found;
}

}  // namespace parley::models
