#include <CLI/CLI.hpp>

#include "apps/parley/verbs.h"
#include "parley/core/version.h"

int main(int argc, char** argv) {
  CLI::App app{"Parley: sparse linear models over data that may not be pooled"};
  app.set_version_flag("--version", parley::kVersion);
  app.require_subcommand(1);
  parley::app::Exit exit;
  CLI11_PARSE(app, argc, argv);
  return exit.code;
}
