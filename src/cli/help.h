#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace whet {

/// A line that a user could type, and what it does.
struct Example {
  std::string line, meaning;
};

/// The commands of the program, or the topics of a command, as its help lists them.
std::vector<const CLI::App*> commands_of(const CLI::App&);

/// What `--help` prints of `app` and of the commands that are added to it from now on: the text wraps at `columns`, options are in their groups,
/// those of the built-in networks last, examples in front.
void use_help_format(CLI::App& app, int columns);
/// Shows the examples in the help of a command.
void set_examples(CLI::App& command, const std::vector<Example>&);

/// The manual page whet(1): commands with their options and examples, as roff (man-pages(7)).
std::string manual_page(const CLI::App&, const std::string& version);

/// Words of `text` in lines of at most `columns` characters, each behind `indent` spaces; the first line is not indented. One word may be longer.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent);

}  // namespace whet
