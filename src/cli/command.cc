#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/last_words.h"
#include "base/nearest.h"
#include "base/version.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/tvm_words.h"
#include "codegen/llvm_version.h"
#include "target/kinds.h"

namespace whet {

extern const char* const kRevision;  // cmake/Revision.cmake

namespace {

/// The long and short names of an app's options, as typed.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The name in front of an "=".
std::string before_equals(const std::string& word) { return word.substr(0, word.find('=')); }

int refuse_use(const std::string& command, const std::string& why) {
  if (command.empty()) return wrong_use({why + "; `whet --help` shows its use"});
  return wrong_use({command + ": " + why + "; `whet " + command + " --help` shows its use"});
}

/// What was left over after parsing, as an error; the first option is the likeliest cause of what else is left over.
int refuse_leftovers(const CLI::App& app, const std::string& command, const std::vector<std::string>& left) {
  for (const std::string& word : left) {
    if (!word.starts_with('-')) continue;
    const std::string name = before_equals(word), where = command.empty() ? "" : command + ": ";
    const std::string answer = instead_of_tvms(name);
    return wrong_use(
        {where + "unknown option " + name + (answer.empty() ? did_you_mean(name, option_names(app)) : answer)});
  }
  return refuse_use(command, "unexpected argument \"" + left.front() + "\"");
}

/// The name of the command that was given, "explain task"; empty without one.
std::string called(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return "";
  const std::string inner = called(*parsed.front());
  return parsed.front()->get_name() + (inner.empty() ? "" : " " + inner);
}

/// The nearest word; else one that is longer or shorter at its end, as "benchmark" is for bench; `--version` for "version".
std::string suggested(const std::string& word, const std::vector<std::string>& words) {
  if (word == "version") return "; did you mean \"--version\"?";
  std::string meant = did_you_mean(word, words);
  for (const std::string& each : words)
    if (meant.empty() && word.size() > 2 && (word.starts_with(each) || each.starts_with(word)))
      meant = "; did you mean \"" + each + "\"?";
  return meant;
}

int unknown_command(const std::vector<Command>& commands, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  names.emplace_back("completion");
  names.emplace_back("help");
  const std::string answer = instead_of_tvms(word), meant = answer.empty() ? suggested(word, names) : answer;
  return wrong_use({"unknown command \"" + word + "\"" + (meant.empty() ? "; `whet --help` lists them" : meant)});
}

/// The library counts: "--trials: At Most 1 required but received 2", "--trials: 1 required N missing".
std::string mismatch(const std::string& counted) {
  const std::string option = counted.substr(0, counted.find(':'));
  return option + (counted.find("received") == std::string::npos ? " has no value" : " is given more than once");
}

/// "Could not convert: --exact = maybe".
std::string converted(const std::string& told) {
  const std::size_t option = told.find("--"), value = told.find(" = ");
  if (option == std::string::npos || value == std::string::npos) return told;
  return told.substr(option, value - option) + " takes no value, and \"" + told.substr(value + 3) + "\" was given";
}

/// "whet 0.1.0, revision 1a2b3c4, LLVM 19.1.7, targets cpu, cuda"
std::string version_text() {
  const std::string revision = kRevision;
  std::string targets;
  for (const TargetKind& kind : target_kinds()) targets += (targets.empty() ? "" : ", ") + std::string(kind.kind);
  return "whet " + version() + (revision.empty() ? "" : ", revision " + revision) + ", LLVM " + llvm_version() +
         ", targets " + targets;
}

/// Each runs a command, where it was given, and gives its exit code.
using CommandRuns = std::vector<std::function<std::optional<int>()>>;

CommandRuns::value_type add_command(CLI::App& app, const Command& command) {
  CLI::App* sub = app.add_subcommand(command.name, command.summary);
  sub->set_help_flag("-h,--help", "Print this text");
  set_examples(*sub, command.examples);
  sub->allow_extras();
  sub->option_defaults()->always_capture_default();
  Arguments arguments(*sub);
  CommandAction run = command.make(arguments);
  return [sub, check = arguments.check(), run = std::move(run), &app]() -> std::optional<int> {
    if (!sub->parsed()) return std::nullopt;
    if (const auto left = sub->remaining(); !left.empty() && sub->get_subcommands({}).empty())
      return refuse_leftovers(*sub, (app.get_parent() ? app.get_name() + " " : "") + sub->get_name(), left);
    const Status can = check();
    const Result<int> code = can.ok() ? run() : can.error();
    return code.ok() ? *code : fail(code.error());
  };
}

CommandRuns add_commands(CLI::App& app, const std::vector<Command>& commands) {
  app.require_subcommand(0, 1);  // a second name is an argument
  CommandRuns runs;
  for (const Command& command : commands) runs.push_back(add_command(app, command));
  return runs;
}

/// `whet help`: of the program, of a command, or of a topic of a command.
CommandAction make_help(const CLI::App& app, Arguments& arguments) {
  struct HelpCommand {
    std::string name, topic;
    bool man = false;
  };
  auto command = std::make_shared<HelpCommand>();
  arguments.add("COMMAND", command->name, "A command");
  arguments.add("TOPIC", command->topic, "A topic of it, as in `whet help explain task`");
  arguments.flag("--man", command->man, "Print the manual page, in roff");
  return [command, &app] {
    const CLI::App* found = &app;
    for (const std::string& name : {command->name, command->topic}) {
      if (name.empty()) break;
      std::vector<std::string> names;
      for (const CLI::App* each : found->get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(each->get_name());
      if (std::find(names.begin(), names.end(), name) == names.end())
        return wrong_use({"help: there is no command \"" + name + "\"" + suggested(name, names)});
      found = found->get_subcommand(name);
    }
    std::printf("%s", command->man ? manual_page(app, version()).c_str() : found->help().c_str());
    return kDone;
  };
}

/// Adds the commands, `completion`, `help` and `--version`.
CommandRuns describe(const std::vector<Command>& commands, CLI::App& app) {
  app.set_version_flag("-v,--version", version_text(), "Print the version, the revision and the targets");
  app.set_help_flag("-h,--help", "List the commands");
  use_help_format(app, terminal_size().columns);
  CommandRuns runs = add_commands(app, commands);
  const auto make_completion = [&app](Arguments& arguments) -> CommandAction {
    auto shell = std::make_shared<std::string>();
    arguments.require_choice("SHELL", *shell, {"bash", "fish", "zsh"}, "The shell");
    return [shell, &app] {
      const auto script = *shell == "bash" ? bash_completion : *shell == "fish" ? fish_completion : zsh_completion;
      std::printf("%s", script(app).c_str());
      return kDone;
    };
  };
  runs.push_back(add_command(app, {"help",
                                   "Print the help of a command",
                                   [&app](Arguments& arguments) { return make_help(app, arguments); },
                                   {{"whet help tune", "prints what `whet tune --help` does"},
                                    {"whet help explain layout", "prints the help of a topic"}}}));
  runs.push_back(add_command(
      app, {"completion",
            "Print a script for a shell that completes these commands",
            make_completion,
            {{"whet completion bash > ~/.local/share/bash-completion/completions/whet", "lets bash complete"},
             {"whet completion fish > ~/.config/fish/completions/whet.fish", "lets fish complete"}}}));
  app.allow_extras();
  return runs;
}

}  // namespace

CommandAction Arguments::commands(const std::string& what, const std::vector<Command>& commands) {
  return [runs = add_commands(app_, commands), commands, what, &app = app_] {
    const std::string where = app.get_name();
    const std::vector<std::string> left = app.remaining();
    if (!left.empty() && (left.front().starts_with('-') || !app.get_subcommands().empty()))
      return refuse_leftovers(app, where, left);
    for (const auto& run : runs)
      if (const std::optional<int> code = run()) return *code;
    if (left.empty()) return refuse_use(where, what + " is required");
    std::vector<std::string> names;
    std::string list;
    for (const Command& command : commands) {
      names.emplace_back(command.name);
      list += (list.empty() ? "" : ", ") + names.back();
    }
    return wrong_use({what + ": \"" + left.front() + "\" is none of " + list + did_you_mean(left.front(), names)});
  };
}

int fail(const Error& error) {
  std::fprintf(stderr, "whet: %s\n", error.message.c_str());
  return error.kind == ErrorKind::wrong_use ? kWrongUse : kFailed;
}

int wrong_use(const Error& error) {
  fail(error);
  return kWrongUse;
}

Status refuse_given(const std::function<bool(const std::string&)>& given, const std::vector<std::string>& options,
                    const std::string& where, const std::string& why) {
  for (const std::string& option : options)
    if (given(option)) return Error{where + ": " + option + " " + why, ErrorKind::wrong_use};
  return ok_status();
}

namespace {

/// A shell writes `--sizes x.0={1,2}` out as `--sizes x.0=1 x.0=2`: each value gets the option.
std::vector<char*> with_sizes_repeated(int argc, char** argv) {
  static char option[] = "--sizes";
  std::vector<char*> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool follows = words.size() > 1 && std::string_view(words[words.size() - 2]) == option;
    const std::string_view before = follows ? words.back() : std::string_view();
    const std::size_t end = before.rfind('=') + 1;  // of its name
    const bool is_value = end > 0 && word.size() > end && word.substr(0, end) == before.substr(0, end) &&
                          word.find_first_not_of("0123456789", end) == std::string_view::npos;
    if (is_value) words.push_back(option);
    words.push_back(argv[i]);
  }
  return words;
}

int parse_and_run(const std::vector<Command>& commands, int argc, char** argv) {
  CLI::App app("whet sharpens a neural network for the machine it will run on.", "whet");
  const auto runs = describe(commands, app);
  try {
    std::vector<char*> words = with_sizes_repeated(argc, argv);
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;               // std::cout would go past the guard
    const int code = app.exit(success, text);
    std::printf("%s", text.str().c_str());
    return code == 0 ? kDone : kFailed;
  } catch (const CLI::RequiredError& error) {
    return refuse_use(called(app), error.what());
  } catch (const CLI::ArgumentMismatch& error) {
    return refuse_use(called(app), mismatch(error.what()));
  } catch (const CLI::ConversionError& error) {
    return refuse_use(called(app), converted(error.what()));
  } catch (const CLI::ParseError& error) {
    return wrong_use({error.what()});
  }
  end_at_interrupts();
  // In front of a command too, as in `whet tvmc tune`.
  if (const auto left = app.remaining(); !left.empty())
    return left.front().starts_with('-') ? refuse_leftovers(app, "", left) : unknown_command(commands, left.front());
  for (const auto& run : runs)
    if (const std::optional<int> code = run()) return *code;
  std::printf("%s", app.help().c_str());
  return kWrongUse;
}

}  // namespace

int run_command_line(const std::vector<Command>& commands, int argc, char** argv) {
  int code = kFailed;
  std::string why;
  leave_with_a_sentence("whet", kFailed);
  try {
    code = parse_and_run(commands, argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(no_memory());
  } catch (const std::length_error&) {  // more than any memory
    return fail(no_memory());
  } catch (const std::system_error& error) {  // by fmt::print, where a buffer cannot be written
    if (std::ferror(stdout) == 0) throw;
    why = ": " + error.code().message();
  }
  // A full disk may show at the last buffer only. Half an output must not look like a whole one.
  if (std::fflush(stdout) != 0) why = std::string(": ") + std::strerror(errno);
  if (why.empty() && std::ferror(stdout) == 0) return code;
  fail({"standard output cannot be written" + why, ErrorKind::io});
  return code == kDone ? kFailed : code;
}

}  // namespace whet
