// Every verb registers itself on the application and, when chosen, leaves its exit code behind.
#pragma once
#include <CLI/CLI.hpp>

namespace parley::app {

struct Exit {
  int code = 0;
};

// Subcommands of `parley data`.
void add_data_generate(CLI::App& data_verb, Exit& exit);

}  // namespace parley::app
