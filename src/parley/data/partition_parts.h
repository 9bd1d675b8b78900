// What the three ways of splitting share. Internal to partition*.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/job_draft.h"
#include "parley/data/raw_table.h"
#include "parley/data/split_plan.h"

namespace parley::data {

struct RowLabels {
  std::vector<std::string> classes;  // distinct labels: numbers by value, else by bytes
  std::vector<std::uint32_t> rank;   // of each record's label in that order
  bool real = false;                 // too many numbers to be classes
};

Result<RowLabels> row_labels(const RawTable& table, const std::string& label_name);
std::vector<std::uint32_t> rows_by_label(const RowLabels& labels);  // ascending, ties in file order

// linear, logistic or softmax.
std::string task_of(const RowLabels& labels);

// Names the label and the task in the job, or says in a note that both are missing (label SIZE_MAX).
Result<void> set_label(const RawTable& table, const std::string& label_name, std::size_t label, JobDraft& job,
                       std::vector<std::string>& notes);

// The folder of a split under construction.
class SplitFolder {
 public:
  SplitFolder(const RawTable& table, std::uint64_t seed, const SplitOutput& output, std::size_t parts,
              const std::string& default_name);

  // One valid file name per party, all different.
  Result<void> check_names() const;
  // Every column of the table is in the schema, where there is one, and these are its label and its id (SIZE_MAX:
  // none).
  Result<void> check_schema(std::size_t label, std::size_t id) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  void set_names(std::vector<std::string> names) { names_ = std::move(names); }

  Result<OutputFile*> open(std::size_t party, std::int64_t rows, std::int64_t columns);

  // Writes the schema of some columns of the table, and of those that were made for the part, or of all, beside the
  // parts, and gives it to a party; nothing without a schema.
  Result<void> give_schema(std::size_t party, const std::string& file, const std::vector<std::string>& columns,
                           const std::vector<ColumnSchema>& made);
  Result<void> give_schema_to_all();

  // What a party got, for split.json: a list of texts.
  void note_columns(std::size_t party, std::vector<std::string> columns);

  Result<SplitResult> finish(JobDraft job, const std::string& how, std::vector<std::string> notes);

 private:
  const RawTable& table_;
  std::uint64_t seed_;
  const SplitOutput& output_;
  std::vector<std::string> names_;
  Outputs outputs_;
  std::vector<std::pair<WrittenTable, OutputFile*>> tables_;
  std::vector<std::string> files_;
  std::vector<std::string> schemas_;
  std::vector<std::vector<std::string>> columns_;
};

Result<SplitResult> split_rows(const RawTable& table, const SplitRows& plan, std::uint64_t seed,
                               const SplitOutput& output);
Result<SplitResult> split_columns(const RawTable& table, const SplitColumns& plan, std::uint64_t seed,
                                  const SplitOutput& output);
Result<SplitResult> split_tables(const RawTable& table, const SplitTables& plan, std::uint64_t seed,
                                 const SplitOutput& output);

// "a, b ,c" -> {"a", "b", "c"}; empty pieces stay.
std::vector<std::string> pieces(std::string_view text, char separator);

}  // namespace parley::data
