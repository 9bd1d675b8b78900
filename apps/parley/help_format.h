// --help in at most 100 columns: descriptions and closing paragraphs are wrapped, examples are left as they are.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace parley::app {

class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace parley::app
