// What verbs say about the tables they wrote and read.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "parley/data/generate.h"

namespace parley::app {

// "3 files, a.csv .. c.csv", rows x columns and size; one line for each table, or one for many of the same shape.
std::string lines_about(const std::vector<data::WrittenTable>& tables);
std::string lines_about(const std::vector<std::string>& notes);

// On stderr: stdout is for the answer alone.
void say_notes(const std::vector<std::string>& notes);

// What to do with a drafted job: train it, or why this version cannot.
std::string next_step(const std::filesystem::path& job);

// For options that count: digits only. Unsigned numbers would take -1 for a very large one.
std::string whole_number(const std::string& text);  // empty, or the rule that is broken

}  // namespace parley::app
