#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/help.h"

namespace whet {

// The exit codes of every subcommand.
constexpr int kDone = 0, kFailed = 1, kWrongUse = 2, kInterrupted = 130;

/// A subcommand: `make` adds its options and returns the function that runs it after parsing. The options live as long
/// as that function.
struct Command {
  const char* name;
  const char* summary;  ///< a line for `whet --help`
  std::function<CommandAction(Arguments&)> make;
  std::vector<Example> examples = {};
};

/// Parses and runs: the whole program except the table. For an unknown command or option the error names the nearest
/// known one; the exit code is 2.
int run_command_line(const std::vector<Command>&, int argc, char** argv);

/// Prints `whet: message` to standard error; gives `kFailed`, or `kWrongUse` where that is the kind of error.
int fail(const Error&);
/// Prints and gives `kWrongUse`.
int wrong_use(const Error&);
/// An error, of the kind wrong_use, about the first of these options that the user gave: `where: --option why`.
Status refuse_given(const std::function<bool(const std::string&)>& given, const std::vector<std::string>& options,
                    const std::string& where, const std::string& why);

CommandAction make_bench(Arguments&);
CommandAction make_check(Arguments&);
CommandAction make_compile(Arguments&);
CommandAction make_devices(Arguments&);
CommandAction make_diff(Arguments&);
CommandAction make_doctor(Arguments&);
CommandAction make_explain(Arguments&);
CommandAction make_measure_host(Arguments&);
CommandAction make_profile(Arguments&);
CommandAction make_records(Arguments&);
CommandAction make_repro(Arguments&);
CommandAction make_run(Arguments&);
CommandAction make_serve(Arguments&);
CommandAction make_sizes(Arguments&);
CommandAction make_space_command(Arguments&);
CommandAction make_target(Arguments&);
CommandAction make_tasks(Arguments&);
CommandAction make_tune(Arguments&);
CommandAction make_report(Arguments&);
CommandAction make_zoo(Arguments&);

}  // namespace whet
