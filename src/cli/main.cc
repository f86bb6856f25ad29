// The table of subcommands.

#include "cli/command.h"

int main(int argc, char** argv) {
  const std::vector<whet::Command> commands = {
      {"tasks", "What a model is cut into: the tasks, their operations and weights", whet::make_tasks},
      {"space", "What is searched for a task: sketches, decisions, sizes, samples", whet::make_space_command},
      {"tune", "Search for faster programs on this machine, and append what is measured to a record file",
       whet::make_tune},
      {"compile", "Make one library of the model and its best records", whet::make_compile},
      {"run", "Run a model once: inputs in, outputs out", whet::make_run},
      {"bench", "How long an inference takes", whet::make_bench},
      {"profile", "Where the time of an inference goes", whet::make_profile},
      {"records", "What a record file holds: best, distill, show, merge, stats", whet::make_records},
      {"explain", "What a number on the screen means: an error, the progress table, the metrics", whet::make_explain},
      {"target", "What was detected on this machine, and the peak measured", whet::make_target},
      {"doctor", "Is this machine fit for measuring? Governor, load, host, limits", whet::make_doctor},
      {"zoo", "The built-in networks: list, export", whet::make_zoo},
      {"check", "Are the answers right? Per output and per inner value, worst first", whet::make_check},
  };
  return whet::run_command_line(commands, argc, argv);
}
