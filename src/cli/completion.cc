#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <vector>

#include "cli/arguments.h"
#include "cli/help.h"

namespace whet {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

/// Words with a colon, which is the end of a word for bash: what is behind the colon, by what is before it.
using WordsBehind = std::map<std::string, std::set<std::string>>;

std::vector<std::string> without_colons(const std::vector<std::string>& words, WordsBehind& behind) {
  std::vector<std::string> others;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos)
      others.push_back(word);
    else
      behind[word.substr(0, colon)].insert(word.substr(colon + 1));
  }
  return others;
}

/// The words of positional arguments, and what stands for an option's argument: a case an option.
///   taking  all options that take an argument
std::string argument_cases(const CLI::App& sub, std::vector<std::string>& taking, std::vector<std::string>& positional,
                           WordsBehind& behind) {
  std::string cases;
  for (const CLI::Option* option : sub.get_options()) {
    const std::vector<std::string> names = names_of(*option), words = without_colons(words_of(*option), behind);
    if (names.empty()) positional.insert(positional.end(), words.begin(), words.end());
    if (names.empty() || option->get_expected_max() == 0) continue;
    taking.insert(taking.end(), names.begin(), names.end());
    if (words.empty()) continue;
    cases += fmt::format("        {}) words=\"{}\" ;;\n", fmt::join(names, "|"), joined(words));
  }
  return cases;
}

/// `word`: the number of the word that names the command.
std::string command_case(const CLI::App& sub, int word, WordsBehind& behind) {
  std::vector<std::string> options, taking, positional;
  for (const CLI::Option* option : sub.get_options())
    for (const std::string& name : names_of(*option)) options.push_back(name);
  const std::string cases = argument_cases(sub, taking, positional, behind);
  std::string inner;
  for (const CLI::App* command : commands_of(sub)) {
    positional.push_back(command->get_name());
    inner += command_case(*command, word + 1, behind);
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
  std::string cases, colons;
  WordsBehind behind;
  for (const CLI::App* sub : commands_of(app)) {
    commands.push_back(sub->get_name());
    cases += command_case(*sub, 1, behind);
  }
  for (const auto& [before, words] : behind)
    colons += fmt::format(R"(    {0}:) COMPREPLY=($(compgen -W "{1}" -- "${{current#:}}")); return ;;
)",
                          before, fmt::join(words, " "));
  return fmt::format(R"(# Completion of whet's commands for bash, written by `whet completion bash`.
_whet() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} options= words=
  COMPREPLY=()
  # A colon is a word of its own: zoo : resn
  case $([ "$current" = : ] && echo "$previous:" || echo "${{COMP_WORDS[COMP_CWORD-2]}}$previous") in
{}  esac
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
                     colons, joined(commands), cases);
}

namespace {

/// In single quotes, for a shell in which a quote ends them.
std::string quoted(const std::string& text, const std::string& of_a_quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? of_a_quote : std::string(1, c);
  return out + "'";
}

// ---- zsh: `_arguments` has a specification an option, `_describe` a list of names and meanings.

std::string zsh_quoted(const std::string& text) { return quoted(text, "'\\''"); }
/// In brackets, with the signs of specifications escaped.
std::string zsh_meaning(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += (std::string_view("[]:\\").find(c) != std::string_view::npos ? "\\" : "") + std::string(1, c);
  return out;
}
std::string zsh_values(const CLI::Option& option) {
  const std::vector<std::string> words = words_of(option);
  if (words.empty()) return "_files";
  // Of words with a colon there are files beside them.
  const bool with_files = words.front().find(':') != std::string::npos;
  std::string list = joined(words);
  if (!with_files) return "(" + list + ")";
  for (std::size_t at = 0; (at = list.find(':', at)) != std::string::npos; at += 2) list.insert(at, "\\");
  return "{_alternative \"files:file:_files\" \"networks:network:(" + list + ")\"}";
}

std::string zsh_case(const CLI::App& app, int word) {
  std::string text = fmt::format("    {})\n", app.get_name()), lists;
  if (const auto inner = commands_of(app); !inner.empty()) {
    for (const CLI::App* each : inner) lists += " " + zsh_quoted(each->get_name() + ":" + each->get_description());
    text += fmt::format(
        "      if (( CURRENT == {0} )); then\n        local -a topics=({1})\n        _describe topic topics\n        "
        "return\n      fi\n      case $words[{0}] in\n",
        word + 1, lists);
    for (const CLI::App* each : inner) text += zsh_case(*each, word + 1);
    return text + "      esac ;;\n";
  }
  text += fmt::format("      shift {} words; (( CURRENT -= {} ))\n      _arguments", word - 1, word - 1);
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> names = names_of(*option);
    const std::string value = option->get_expected_max() == 0 ? "" : ":value:" + zsh_values(*option);
    for (const std::string& name : names)
      text += " \\\n        " + zsh_quoted("*" + name + "[" + zsh_meaning(option->get_description()) + "]" + value);
    if (names.empty())
      text += " \\\n        " + zsh_quoted("*:" + zsh_meaning(option->get_name()) + ":" + zsh_values(*option));
  }
  return text + " ;;\n";
}

// ---- fish: a line an option, with the condition under which it is offered.

std::string fish_quoted(const std::string& text) { return quoted(text, "\\'"); }

/// `condition`: the command was given.
void append_fish(std::string& text, const CLI::App& app, const std::string& condition) {
  const std::string when = "complete -c whet -n " + fish_quoted(condition);
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> words = words_of(*option);
    if (names_of(*option).empty()) {
      if (!words.empty()) text += when + " -a " + fish_quoted(joined(words)) + "\n";
      continue;
    }
    text += when;
    for (const std::string& name : option->get_lnames()) text += " -l " + name;
    for (const std::string& name : option->get_snames()) text += " -s " + name;
    if (!words.empty())
      text += " -x -a " + fish_quoted(joined(words));
    else if (option->get_expected_max() > 0)
      text += " -r";
    text += " -d " + fish_quoted(option->get_description()) + "\n";
  }
  std::string topics;
  for (const CLI::App* each : commands_of(app)) topics += (topics.empty() ? "" : " ") + each->get_name();
  for (const CLI::App* each : commands_of(app)) {
    text += when + fmt::format(" -n 'not __fish_seen_subcommand_from {}' -f -a {} -d {}\n", topics, each->get_name(),
                               fish_quoted(each->get_description()));
    append_fish(text, *each, condition + "; and __fish_seen_subcommand_from " + each->get_name());
  }
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* sub : commands_of(app)) {
    commands += "\n    " + zsh_quoted(sub->get_name() + ":" + sub->get_description());
    cases += zsh_case(*sub, 2);
  }
  return fmt::format(R"(#compdef whet
# Completion of whet's commands for zsh, written by `whet completion zsh`.
_whet() {{
  if (( CURRENT == 2 )); then
    local -a commands=({})
    _describe command commands
    return
  fi
  case $words[2] in
{}  esac
}}
_whet "$@"
)",
                     commands, cases);
}

std::string fish_completion(const CLI::App& app) {
  std::string text = "# Completion of whet's commands for fish, written by `whet completion fish`.\n";
  for (const CLI::App* sub : commands_of(app)) {
    text += fmt::format("complete -c whet -n __fish_use_subcommand -f -a {} -d {}\n", sub->get_name(),
                        fish_quoted(sub->get_description()));
    append_fish(text, *sub, "__fish_seen_subcommand_from " + sub->get_name());
  }
  return text;
}

}  // namespace whet
