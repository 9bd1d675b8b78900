#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <new>

#include "apps/parley/help_format.h"
#include "apps/parley/verbs.h"
#include "parley/core/text.h"
#include "parley/core/version.h"

namespace {

using parley::app::Exit;

// The word that stands where a verb belongs and is not one, with the verb that may have been meant.
std::string unknown_verb(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto verbs = at->get_subcommands([](const CLI::App*) { return true; });
    if (word.starts_with("-") || verbs.empty()) return {};
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* verb : verbs) {
      names.push_back(verb->get_name());
      if (verb->get_name() == word) next = verb;
    }
    if (next == nullptr) return "no verb '" + parley::printable(word, 40) + "'" + parley::suggestion(word, names);
    at = next;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Parley: sparse linear models over data that may not be pooled"};
  app.formatter(std::make_shared<parley::app::HelpFormat>());
  app.set_version_flag("--version", parley::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  parley train examples/readmission/job.toml\n\n"
      "`parley VERB --help` says more about a verb. Exit codes: 0 done; 1 the run failed; 2 bad usage or bad input; "
      "3 a privacy budget ended.");

  Exit exit;
  parley::app::add_init(app, exit);
  parley::app::add_train(app, exit);
  parley::app::add_cv(app, exit);
  parley::app::add_plan(app, exit);
  parley::app::add_audit(app, exit);
  parley::app::add_report(app, exit);
  parley::app::add_align(app, exit);
  parley::app::add_predict(app, exit);
  parley::app::add_evaluate(app, exit);
  parley::app::add_coordinate(app, exit);
  parley::app::add_join(app, exit);
  parley::app::add_site(app, exit);
  parley::app::add_keys(app, exit);
  parley::app::add_doctor(app, exit);
  parley::app::add_account(app, exit);
  parley::app::add_calibrate(app, exit);
  parley::app::add_ledger(app, exit);
  CLI::App* data = app.add_subcommand("data", "Describe, convert, generate and split tables");
  data->require_subcommand(1);
  data->footer(
      "Example:\n"
      "  parley data describe examples/readmission/clinic.csv --label readmitted \\\n"
      "    --schema-out clinic.schema.toml");
  parley::app::add_data_describe(*data, exit);
  parley::app::add_data_convert(*data, exit);
  parley::app::add_data_generate(*data, exit);
  parley::app::add_data_split(*data, exit);

  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  if (const std::string unknown = unknown_verb(app, argc, argv); !unknown.empty()) {
    std::fprintf(stderr, "parley: %s\n", unknown.c_str());
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& shown) {  // --help, --version
    return app.exit(shown);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "parley: %s (see --help)\n", parley::printable(error.what()).c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("parley: out of memory\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parley: failed: %s\n", parley::printable(error.what()).c_str());
    return 1;
  }
  return exit.code;
}
