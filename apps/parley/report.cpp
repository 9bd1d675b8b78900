// parley report DIR...: a page about finished runs.
#include <fmt/format.h>

#include "apps/parley/verbs.h"
#include "parley/reports/page.h"

namespace parley::app {

namespace {

Result<int> report(const std::vector<std::string>& folders) {
  PARLEY_TRY(const std::string path, reports::write_report(folders));
  fmt::print("{}\n", path);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Exit& exit) {
  auto folders = std::make_shared<std::vector<std::string>>();
  CLI::App* verb = app.add_subcommand("report", "Write DIR/report.html: a run, or several side by side, as one page");
  verb->add_option("dir", *folders, "Folders of runs (--out of train); the page goes into the first")->required();
  verb->footer(
      "The page needs no network and no script. What stands under `simulation` in the result of a private run is on "
      "it\n"
      "too, and is for the holder of the data only.\n\n"
      "Example:\n  parley report out/readmission");
  verb->callback([folders, &exit] { exit.finish(report(*folders)); });
}

}  // namespace parley::app
