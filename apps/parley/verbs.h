// Every verb registers itself on the application and, when chosen, leaves its exit code behind.
#pragma once
#include <CLI/CLI.hpp>

namespace parley::app {

struct Exit {
  int code = 0;
};

}  // namespace parley::app
