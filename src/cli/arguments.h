#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "workflow/outputs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace whet {

struct Command;

/// The title of the options of built-in networks, which the help lists last.
constexpr const char* kZooGroup = "Built-in networks (zoo:)";

/// What a command does once its options are parsed. It gives its exit code, or the error that `fail` is to print.
using CommandAction = std::function<Result<int>()>;

/// The options of one subcommand, each bound to a variable that holds its default: the program's view of the
/// command-line library, which only this file's source sees. `names` is "--long", "-s,--long" or "positional".
class Arguments {
 public:
  explicit Arguments(CLI::App& app);

  /// As long as what it gives lives, options that are added are listed under this title in the help.
  [[nodiscard]] std::shared_ptr<void> group(const std::string& title);

  void add(const std::string& names, std::string& value, const std::string& help);
  void add(const std::string& names, std::vector<std::string>& values, const std::string& help);
  /// Numbers must lie in low .. high; the help tells the default unless it is `unset`.
  void add(const std::string& names, int& value, int low, int high, const std::string& help, int unset = -1);
  void add(const std::string& names, double& value, double low, double high, const std::string& help,
           double unset = -1);
  void add(const std::string& names, std::uint64_t& value, const std::string& help);
  /// A flag that may have a number: `--x` alone is `usual`, `--x=3` is 3. The help calls the number `what`.
  void flag(const std::string& name, double& value, double usual, double low, double high, const std::string& what,
            const std::string& help);
  /// `!--no-x` clears.
  void flag(const std::string& names, bool& value, const std::string& help);
  /// One of a few words; others get the nearest one.
  void choice(const std::string& names, std::string& value, std::vector<std::string> words, const std::string& help);

  /// Words that a shell may complete for an option or argument, which takes others too. One that has a colon is offered where something is typed.
  void offers(const std::string& name, const std::vector<std::string>& words);

  // Positional arguments that must be there.
  void require(const std::string& name, std::string& value, const std::string& help);
  void require(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void require_choice(const std::string& name, std::string& value, std::vector<std::string> words,
                      const std::string& help);

  // The files of the command, by the options that name them: outputs are checked against inputs before the command runs.

  void reads(const std::string& value);
  void reads(const std::vector<std::string>& values);
  ///   usual  the name where none is given; empty: then nothing is written
  void writes(const std::string& option, std::string& value, FileKind kind, std::function<std::string()> usual = {});
  /// The same of an option whose kind of file another one decides.
  void writes(const std::string& option, std::string& value, std::function<FileKind()> kind,
              std::function<std::string()> usual = {});
  /// Names what was not given, and checks. It outlives this object, as the values do.
  std::function<Status()> check() const;

  /// Commands of this command, each with options of its own: one has to be given, and the result runs it. `what` names it: "topic".
  CommandAction commands(const std::string& what, const std::vector<Command>&);

  /// Whether the user gave an option, "--long". Asked while the command runs.
  std::function<bool(const std::string&)> given() const;

 private:
  struct Files;
  CLI::App& app_;
  std::shared_ptr<Files> files_;
};

/// The words that an option made by `choice` or `require_choice` takes, or that `offers` has for it; none of another one.
std::vector<std::string> words_of(const CLI::Option&);

}  // namespace whet
