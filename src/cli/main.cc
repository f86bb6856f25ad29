// The table of subcommands.

#include "cli/command.h"
#include "cli/output.h"

int main(int argc, char** argv) {
  const std::vector<whet::Command> commands = {
      {"tasks", "List the tasks of a model, with their operations and weights", whet::make_tasks},
      {"space", "Show the design space of a task: sketches, decisions, sizes, samples", whet::make_space_command},
      {"tune", "Search for faster programs on this machine, and append the measurements to a record file",
       whet::make_tune},
      {"compile", "Make one library of the model and its best records", whet::make_compile},
      {"run", "Run a model once, with inputs and outputs in files", whet::make_run},
      {"bench", "Measure the latency of a model", whet::make_bench},
      {"profile", "Measure the time of each operation of a model", whet::make_profile},
      {"records", "Show and change record files: best, distill, show, merge, stats", whet::make_records},
      {"diff", "Compare two compiled models, record files or benchmarks: what became slower, by how much, and why",
       whet::make_diff},
      {"report", "Write a page about a tuned model: gains, limits, layouts, where its time and the trials went",
       whet::make_report},
      {"explain", "Explain an error, the progress table, the metrics, a task, a candidate, a layout or a cover",
       whet::make_explain},
      {"target", "Describe this machine: detected processor, measured peak and bandwidth", whet::make_target},
      {"doctor", "Check whether this machine is fit for measuring: governor, load, host, limits", whet::make_doctor},
      {"devices",
       "List or export the program that runs kernels and models on other machines; print the units of a fleet",
       whet::make_devices},
      {"zoo", "List or export the built-in networks", whet::make_zoo},
      {"check", "Compare the answers of a model with the right ones, output by output, the worst first",
       whet::make_check},
      {"serve", "Answer another program's requests about the tasks of a model: spaces, candidates, measurements",
       whet::make_serve},
      {"measure-host", "Start builders and runners for a program that measures through whet; not for people",
       whet::make_measure_host},
  };
  whet::guard_output();
  return whet::run_command_line(commands, argc, argv);
}
