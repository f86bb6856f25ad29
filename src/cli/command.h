#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"

namespace whet {

// The exit codes of every subcommand.
constexpr int kDone = 0, kFailed = 1, kWrongUse = 2, kInterrupted = 130;

/// A subcommand: `make` adds its options and returns the function that runs it after parsing. The options live as long
/// as that function.
struct Command {
  const char* name;
  const char* summary;  ///< a line for `whet --help`
  std::function<std::function<int()>(Arguments&)> make;
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

std::function<int()> make_bench(Arguments&);
std::function<int()> make_check(Arguments&);
std::function<int()> make_compile(Arguments&);
std::function<int()> make_devices(Arguments&);
std::function<int()> make_diff(Arguments&);
std::function<int()> make_doctor(Arguments&);
std::function<int()> make_explain(Arguments&);
std::function<int()> make_measure_host(Arguments&);
std::function<int()> make_profile(Arguments&);
std::function<int()> make_records(Arguments&);
std::function<int()> make_run(Arguments&);
std::function<int()> make_serve(Arguments&);
std::function<int()> make_space_command(Arguments&);
std::function<int()> make_target(Arguments&);
std::function<int()> make_tasks(Arguments&);
std::function<int()> make_tune(Arguments&);
std::function<int()> make_report(Arguments&);
std::function<int()> make_zoo(Arguments&);

}  // namespace whet
