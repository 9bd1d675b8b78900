// The verbs that need gRPC, in a build without it: each says in one line what is missing and how to get it.
#include <string>

#include "apps/parley/align.h"
#include "apps/parley/verbs.h"

namespace parley::app {

namespace {

void add_missing(CLI::App& app, Exit& exit, const std::string& name, const std::string& purpose) {
  CLI::App* verb = app.add_subcommand(name, purpose + " (not in this build: it has no gRPC)");
  verb->allow_extras();
  verb->callback([name, &exit] {
    exit.refuse(
        bad_input({.field = name}, "this build has no gRPC; install libgrpc++-dev, then configure and build again"));
  });
}

}  // namespace

void add_coordinate(CLI::App& app, Exit& exit) {
  add_missing(app, exit, "coordinate", "Run a job with parties on other machines");
}

void add_join(CLI::App& app, Exit& exit) {
  add_missing(app, exit, "join", "Take part in jobs as a site");
}

Result<InCommon> align_sites(const AlignOptions&, const std::string&) {
  return fail(bad_input({.field = "--listen"},
                        "this build has no gRPC; install libgrpc++-dev, then configure and build again"));
}

}  // namespace parley::app
