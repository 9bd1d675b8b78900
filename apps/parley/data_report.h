// What the data verbs say about the files they wrote.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "parley/core/error.h"
#include "parley/data/generate.h"

namespace parley::app {

// One line on stderr; the exit code that goes with it.
int say(const Error& error);

// "3 files, a.csv .. c.csv", rows x columns and size; one line for each table, or one for many of the same
// shape.
std::string lines_about(const std::vector<data::WrittenTable>& tables);

}  // namespace parley::app
