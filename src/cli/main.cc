// The table of subcommands.

#include "cli/command.h"

int main(int argc, char** argv) {
  const std::vector<whet::Command> commands = {
      {"tasks", "What a model is cut into: the tasks, their operations and weights", whet::make_tasks},
      {"records", "What a record file holds: best, distill, show, merge, stats", whet::make_records},
      {"target", "What was detected on this machine, and the peak measured", whet::make_target},
      {"explain", "What a number on the screen means: an error, the progress table, the metrics", whet::make_explain},
      {"zoo", "The built-in networks", whet::make_zoo},
  };
  return whet::run_command_line(commands, argc, argv);
}
