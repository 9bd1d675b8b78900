// Every verb registers itself on the application and, when chosen, leaves its exit code behind.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdio>

#include "parley/core/result.h"

namespace parley::app {

struct Exit {
  int code = 0;

  // Prints the one line that a person needs and keeps the exit code of the error.
  void refuse(const Error& error) {
    std::fprintf(stderr, "parley: %s\n", error.message.c_str());
    code = error.exit_code();
  }
  // The exit code of a verb that ran, or the line and code of its error.
  void finish(const Result<int>& result) {
    if (result)
      code = *result;
    else
      refuse(result.error());
  }
};

void add_account(CLI::App& app, Exit& exit);
void add_audit(CLI::App& app, Exit& exit);
void add_align(CLI::App& app, Exit& exit);
void add_coordinate(CLI::App& app, Exit& exit);
void add_join(CLI::App& app, Exit& exit);
void add_cv(CLI::App& app, Exit& exit);
void add_init(CLI::App& app, Exit& exit);
void add_keys(CLI::App& app, Exit& exit);
void add_calibrate(CLI::App& app, Exit& exit);
void add_train(CLI::App& app, Exit& exit);
void add_plan(CLI::App& app, Exit& exit);
void add_predict(CLI::App& app, Exit& exit);
void add_evaluate(CLI::App& app, Exit& exit);
void add_doctor(CLI::App& app, Exit& exit);
void add_site(CLI::App& app, Exit& exit);
void add_ledger(CLI::App& app, Exit& exit);
void add_report(CLI::App& app, Exit& exit);

// Subcommands of `parley data`.
void add_data_describe(CLI::App& data_verb, Exit& exit);
void add_data_convert(CLI::App& data_verb, Exit& exit);
void add_data_generate(CLI::App& data_verb, Exit& exit);
void add_data_split(CLI::App& data_verb, Exit& exit);

}  // namespace parley::app
