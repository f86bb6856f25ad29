#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/arguments.h"

namespace whet {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

/// The words of positional arguments, and what stands for an option's argument: a case an option.
///   taking  all options that take an argument
std::string argument_cases(const CLI::App& sub, std::vector<std::string>& taking,
                           std::vector<std::string>& positional) {
  std::string cases;
  for (const CLI::Option* option : sub.get_options()) {
    const std::vector<std::string> names = names_of(*option), words = words_of(*option);
    if (names.empty()) positional.insert(positional.end(), words.begin(), words.end());
    if (names.empty() || option->get_expected_max() == 0) continue;
    taking.insert(taking.end(), names.begin(), names.end());
    if (words.empty()) continue;
    cases += fmt::format("        {}) words=\"{}\" ;;\n", fmt::join(names, "|"), joined(words));
  }
  return cases;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// `word`: the number of the word that names the command.
std::string command_case(const CLI::App& sub, int word) {
  std::vector<std::string> options, taking, positional;
  for (const CLI::Option* option : sub.get_options())
    for (const std::string& name : names_of(*option)) options.push_back(name);
  const std::string cases = argument_cases(sub, taking, positional);
  std::string inner;
  for (const CLI::App* command : commands_of(sub)) {
    positional.push_back(command->get_name());
    inner += command_case(*command, word + 1);
  }
  std::string text = fmt::format("    {})\n      options=\"{}\"\n      words=\"{}\"\n", sub.get_name(), joined(options),
                                 joined(positional));
  if (!inner.empty())
    text += fmt::format("      [ \"$COMP_CWORD\" -le {0} ] || case ${{COMP_WORDS[{0}]}} in\n{1}      esac\n", word + 1,
                        inner);
  if (!taking.empty())
    text += fmt::format("      case $previous in\n{}        {}) words= options= ;;\n      esac\n", cases,
                        fmt::join(taking, "|"));
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App* sub : commands_of(app)) {
    commands.push_back(sub->get_name());
    cases += command_case(*sub, 1);
  }
  return fmt::format(R"(# Completion of whet's commands for bash, written by `whet completion bash`.
_whet() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} options= words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}}
complete -o bashdefault -o default -F _whet whet
)",
                     joined(commands), cases);
}

}  // namespace whet
