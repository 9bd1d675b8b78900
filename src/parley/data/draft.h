// From a table to a schema and a job that trains at once. What the drafts say of the data - types, bounds, levels, the
// task - was found in them; a person confirms what is to count as public.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parley/core/result.h"
#include "parley/data/describe.h"
#include "parley/data/schema.h"

namespace parley::data {

struct DraftRequest {
  std::string label;              // name, number from 1, first or last; empty: y, label, target or class
  std::string task;               // empty: guessed from the label
  std::optional<double> epsilon;  // of a private job
  std::string data;               // the table as the job names it, relative to the job's file
};

struct Draft {
  std::string task;
  std::string why;    // that task, in words
  std::string label;  // empty: LIBSVM
  Schema schema;
  std::string job;  // TOML
  std::vector<std::string> notes;
};

// `table`: as `describe` found it with the request's label.
Result<Draft> draft(const Description& table, const DraftRequest& request);

// What a person says of the drafted bounds: "all", "NAME" (as drafted) or "NAME=LO:HI". Of LIBSVM tables the name is
// "bound".
Result<void> confirm(Schema& schema, std::string_view wish, const std::string& file_name);

// What is yet to confirm, in one screen; empty where nothing is.
std::string to_confirm(const Schema& schema);

}  // namespace parley::data
