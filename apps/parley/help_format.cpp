#include "apps/parley/help_format.h"

#include <cstddef>
#include <sstream>

namespace parley::app {

namespace {

constexpr std::size_t kColumns = 100;

// Lines that begin with a space are examples or lists: somebody may copy them.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) out += '\n';
    if (line.starts_with(' ')) {
      out += line;
      continue;
    }
    std::size_t at = 0;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const bool fits = at == 0 || at + 1 + word.size() <= width;
      if (at > 0) out += fits ? ' ' : '\n';
      out += word;
      at = at > 0 && fits ? at + 1 + word.size() : word.size();
    }
  }
  return out;
}

}  // namespace

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrapped(Formatter::make_option_desc(option), kColumns - get_column_width());
}

std::string HelpFormat::make_subcommand(const CLI::App* verb) const {
  std::stringstream out;
  CLI::detail::format_help(out, verb->get_display_name(true),
                           wrapped(verb->get_description(), kColumns - get_column_width()), get_column_width());
  return out.str();
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? footer : wrapped(footer, kColumns) + "\n";
}

}  // namespace parley::app
