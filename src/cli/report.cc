// whet report: what tuning has brought, as a page to look at.

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <memory>

#include "cli/add_options.h"
#include "cli/command.h"
#include "machine/detect.h"
#include "records/memory.h"
#include "records/record_file.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/rates.h"
#include "workflow/record_rates.h"
#include "workflow/reporting.h"

namespace whet {
namespace {

struct ReportCommand {
  ModelOptions model;
  TargetOptions place;
  RoundingOptions rounding;
  std::string records, output;
  bool no_run = false;
};

/// Another processor's records are shown, too; nothing is measured then.
Status run_network(const ReportCommand& command, const ReportSubject& subject, const Records& records,
                   const InputFiles& files, ReportData& data) {
  const std::vector<InputSlot> slots = input_slots(subject.fused->graph);
  WHET_TRY(std::vector<Tensor> inputs,
           match_inputs(slots, without_folded(command.model, slots, files), "random", command.model.seed));
  return run_for_report(subject, records, std::move(inputs), data);
}

Status make_report_page(const ReportCommand& command, const TargetOnCores& place) {
  WHET_RETURN_IF_ERROR(command.rounding.check(place.target));
  WHET_TRY(const InputFiles files, read_inputs(command.model));
  make_large_heaps();
  // What the rates will be measured by is compiled while the files are read; to measure needs the processors alone.
  std::future<RatesMeasurement> kernel = std::async(std::launch::async, [&place] { return RatesMeasurement(place); });
  std::future<Result<RecordsRead>> reading = std::async(std::launch::async, read_records, command.records);
  WHET_TRY(const FusedGraph fused, load_fused(command.model, files, command.rounding.passes(place.target)));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, place.target));
  WHET_TRY(RecordsRead all, reading.get());
  // Never freed: the process ends with it, and a tenth of its time would go into that.
  static const RecordsRead& read = *new RecordsRead(std::move(all));
  std::vector<std::string> notes = read.notes;
  std::ranges::copy(strangers_of(command.records, read.records, fused, place.target, TargetUse::exact),
                    std::back_inserter(notes));
  for (const std::string& note : notes) tell_user(note);
  const std::string elsewhere = measured_elsewhere(read.records, tasks, place.target);
  const bool runs_here = place.target.is_cpu() && elsewhere.empty() && can_run(place.target).ok();
  const auto measure = [&kernel] { return kernel.get().measure(); };
  const MachineRates rates = rates_here(place, elsewhere, measure).rates;
  const ReportSubject subject{command.model.text(), &fused, &tasks, place, command.rounding, command.records, ""};
  WHET_TRY(ReportData data, describe_for_report(subject, read.records, rates, true));
  data.notes = std::move(notes);
  if (data.trials == 0)
    data.notes.push_back(fmt::format("{} holds no measurement on {}.", command.records, to_string(place.target)));
  if (!elsewhere.empty()) {
    data.notes.push_back(elsewhere +
                         " timed these kernels: the network was not measured as a whole, and limits are not known.");
  } else if (!runs_here) {
    data.notes.push_back(
        "This machine cannot run the network, so it was not measured as a whole, and limits are not known.");
  } else if (!command.no_run) {
    if (const Status ran = run_network(command, subject, read.records, files, data); !ran.ok())
      data.notes.push_back("The network could not be measured as a whole: " + ran.error().message);
  }
  return write_report(std::move(data), command.output);
}

Result<int> run(const ReportCommand& command) {
  if (command.records.empty()) return wrong_use({"report: no records are given; give --records FILE (of `whet tune`)"});
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  WHET_RETURN_IF_ERROR(make_report_page(command, *place));
  fmt::print("{}\n", command.output);
  return kDone;
}

}  // namespace

CommandAction make_report(Arguments& arguments) {
  auto command = std::make_shared<ReportCommand>();
  add_options(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input; others are random");
  add_options(arguments, command->place);
  arguments.add("--records", command->records, "The record file of `whet tune`");
  arguments.reads(command->records);
  arguments.add("-o,--output", command->output, "The page to write (default: the model's name with .html, here)");
  arguments.writes("--output", command->output, FileKind::page,
                   [&model = command->model] { return model.name() + ".html"; });
  arguments.flag("--no-run", command->no_run,
                 "Do not compile the network to measure it as a whole, before and after, and to profile it");
  add_options(arguments, command->rounding, "schedules");
  return [command] { return run(*command); };
}

}  // namespace whet
