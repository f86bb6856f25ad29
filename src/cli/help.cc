#include "cli/help.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/arguments.h"
#include "cli/table.h"

namespace whet {
namespace {

constexpr std::size_t kTextColumn = 26;  ///< where descriptions begin

/// Examples of a command lie in CLI's footer: a line and its meaning by turns.
std::vector<Example> examples_of(const CLI::App& app) {
  std::vector<Example> examples;
  const std::vector<std::string> lines = CLI::detail::split(app.get_footer(), '\n');
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) examples.push_back({lines[i], lines[i + 1]});
  return examples;
}

/// "tune", "explain task"; "" of the program.
std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

std::string usage_of(const CLI::App& app) {
  const std::string path = path_of(app);
  std::string text = "whet" + (path.empty() ? "" : " " + path);
  if (!commands_of(app).empty()) return text + (path.empty() ? " COMMAND" : " TOPIC") + " [OPTIONS]";
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      text += " " + (option->get_required() ? option->get_name() : "[" + option->get_name() + "]") +
              (option->get_expected_max() > 1 ? "..." : "");
  return text + " [OPTIONS]";
}

/// "-o, --output TEXT", "--quick[=SECONDS]"
std::string spelled(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  std::string text;
  for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) text += "--" + name + ", ";
  text.resize(text.size() - 2);
  if (option.get_type_name().starts_with("[=")) return text + option.get_type_name();
  return option.get_expected_max() == 0 || option.get_type_name().empty() ? text : text + " " + option.get_type_name();
}
/// With the default, where the option has one that the text does not tell.
std::string described(const CLI::Option& option) {
  const std::string& usual = option.get_default_str();
  return option.get_description() + (usual.empty() ? "" : " (default: " + usual + ")");
}

struct OptionGroup {
  std::string name;
  std::vector<const CLI::Option*> options;
};
/// Operands first, then groups in the order in which the command names them; the built-in networks' last.
std::vector<OptionGroup> groups_of(const CLI::App& app) {
  std::vector<OptionGroup> groups = {{"Arguments", {}}};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_positional() ? "Arguments" : option->get_group();
    if (name.empty()) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const OptionGroup& each) { return each.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->options.push_back(option);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const OptionGroup& each) { return each.name != kZooGroup; });
  std::erase_if(groups, [](const OptionGroup& each) { return each.options.empty(); });
  return groups;
}

class HelpFormat : public CLI::FormatterBase {
 public:
  explicit HelpFormat(std::size_t columns) : columns_(columns) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string text = fmt::format("Usage: {}\n\n{}\n", wrapped(usage_of(*app), columns_, 11),
                                   wrapped(app->get_description(), columns_, 0));
    if (const auto examples = examples_of(*app); !examples.empty()) text += "\nExamples:\n";
    for (const Example& example : examples_of(*app))
      text += fmt::format("  {}\n      {}\n", example.line, wrapped(example.meaning, columns_, 6));
    for (const CLI::App* command : commands_of(*app)) {
      if (command == commands_of(*app).front()) text += app->get_parent() == nullptr ? "\nCommands:\n" : "\nTopics:\n";
      text += entry(command->get_name(), command->get_description());
    }
    for (const OptionGroup& group : groups_of(*app)) {
      text += "\n" + group.name + ":\n";
      for (const CLI::Option* option : group.options) text += entry(spelled(*option), described(*option));
    }
    return text;
  }

 private:
  std::string entry(const std::string& left, const std::string& right) const {
    std::string text = "  " + left;
    if (text.size() + 2 > kTextColumn)
      text += "\n" + std::string(kTextColumn, ' ');
    else
      text.resize(kTextColumn, ' ');
    return text + wrapped(right, columns_, kTextColumn) + "\n";
  }

  std::size_t columns_;
};

/// Text in roff: no line begins with its control characters, and "-" is the one that can be searched for.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void append_command(std::string& page, const CLI::App& app) {
  page += fmt::format(".SS {}\n{}\n", roff(usage_of(app)), roff(app.get_description() + "."));
  for (const Example& example : examples_of(app))
    page += fmt::format(".PP\n.nf\n    {}\n.fi\n{}\n", roff(example.line), roff(example.meaning + "."));
  for (const OptionGroup& group : groups_of(app)) {
    page += fmt::format(".PP\n{}:\n", roff(group.name));
    for (const CLI::Option* option : group.options)
      page += fmt::format(".TP\n.B {}\n{}\n", roff(spelled(*option)), roff(described(*option)));
  }
  for (const CLI::App* command : commands_of(app)) append_command(page, *command);
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); });
}

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  std::string out, line;
  for (const std::string& word : CLI::detail::split(text, ' ')) {
    if (!line.empty() && indent + width_of(line) + 1 + width_of(word) > columns) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line;
}

void use_help_format(CLI::App& app, int columns) {
  app.formatter(std::make_shared<HelpFormat>(static_cast<std::size_t>(std::max(columns, 50))));
}

void set_examples(CLI::App& command, const std::vector<Example>& examples) {
  std::string lines;
  for (const Example& example : examples) lines += example.line + "\n" + example.meaning + "\n";
  command.footer(lines);
}

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::string page = fmt::format(
      ".TH WHET 1 \"\" \"whet {}\"\n.SH NAME\nwhet \\- {}\n.SH SYNOPSIS\n.B whet\nCOMMAND [OPTIONS]\n.SH COMMANDS\n",
      version, roff("tune and compile neural networks for the machine they will run on"));
  for (const CLI::App* command : commands_of(app)) append_command(page, *command);
  page += ".SH EXIT STATUS\n0: done. 1: it could not be done. 2: wrong use. 130: interrupted.\n";
  page += ".SH SEE ALSO\nThe documents in /usr/share/doc/whet/docs.\n";
  return page;
}

}  // namespace whet
