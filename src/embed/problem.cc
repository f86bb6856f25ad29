#include "embed/problem.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "embed/guarded.h"
#include "embed/line_queue.h"
#include "embed/options.h"
#include "embed/program.h"
#include "tensor_files/file.h"
#include "workflow/compiling.h"
#include "workflow/events.h"
#include "workflow/layouts.h"
#include "workflow/lowering.h"
#include "workflow/outputs.h"
#include "workflow/reporting.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

/// Events of a call: to the caller and, where an option names one, to a file.
class Events {
 public:
  Events(LineQueue& queue, const std::string& file) {
    streams_.push_back(std::make_unique<EventStream>([&queue](const std::string& line) { queue.put(line); }));
    if (file.empty()) return;
    Result<EventStream> opened = EventStream::open(file);
    if (opened.ok())
      streams_.push_back(std::make_unique<EventStream>(std::move(*opened)));
    else
      status_ = opened.error();
  }
  void write(const std::string& name, const Json& members) {
    for (const auto& stream : streams_) stream->write(name, members);
  }
  /// What writes to the streams while the tuner runs.
  void listen(const TuneSettings& settings, TuneListeners& listeners) {
    for (const auto& stream : streams_)
      listeners.all.push_back(writers_.emplace_back(std::make_unique<TuneEvents>(*stream, settings)).get());
  }
  const Status& status() const {
    if (!status_.ok()) return status_;
    return streams_.back()->status();
  }

 private:
  std::vector<std::unique_ptr<EventStream>> streams_;
  std::vector<std::unique_ptr<TuneEvents>> writers_;
  Status status_ = ok_status();
};

/// Runs `work` in a thread of its own, while this one takes its lines. The work is told to stop once `take` gives false.
using Work = std::function<Result<std::string>(LineQueue&, const std::atomic<bool>& stopped)>;
Result<std::string> run_beside(const TakeEvent& take, const Work& work) {
  LineQueue queue;
  std::atomic<bool> stopped = false;
  Result<std::string> result = Error{"nothing was done", ErrorKind::internal};
  std::thread worker([&] {
    result = guarded([&] { return work(queue, stopped); });
    queue.end();
  });
  while (const std::optional<std::string> line = queue.next())
    if (take && !stopped && !take(*line)) stopped = true;
  worker.join();
  return result;
}

Status check_tune(const TuneRequest& request) {
  const TuneSettings& settings = request.settings;
  if (settings.model.model.empty())
    return Error{"tune: the problem has no model; measure the tasks that requests define by problem_ask"};
  if (request.seconds > 0 && request.minutes > 0)
    return Error{"tune: seconds and minutes are both given; give one of the two", ErrorKind::wrong_use};
  if (settings.per_task && settings.scheduler != "gradient")
    return Error{"tune: scheduler counts only without per-task", ErrorKind::wrong_use};
  const bool has_tuning_sizes = !settings.tuning_sizes.listed.empty() || !settings.tuning_sizes.lengths.empty();
  if (settings.model.sizes.empty() && has_tuning_sizes)
    return Error{"tune: tuning-sizes and lengths count only for a model with sizes", ErrorKind::wrong_use};
  WHET_RETURN_IF_ERROR(check_repeat(settings, "tune"));
  WHET_RETURN_IF_ERROR(check_lowering(settings));
  std::vector<std::string> inputs = settings.base.files;
  inputs.push_back(settings.model.model);
  return check_outputs({{"output", settings.records, FileKind::records},
                        {"report", request.report, FileKind::page},
                        {"write-quantized", settings.write_quantized, FileKind::onnx},
                        {"events", request.events, FileKind::events}},
                       inputs);
}

TimeBudget budget_of(const TuneRequest& request, double begun) {
  if (request.seconds > 0) return {request.seconds, begun, "seconds " + dump(Json(request.seconds))};
  if (request.minutes > 0) return {60 * request.minutes, begun, "minutes " + dump(Json(request.minutes))};
  return {};
}

Result<std::string> run_tuner(TuneRequest& request, Zygote& zygote, LineQueue& queue,
                              const std::atomic<bool>& stopped) {
  TuneSettings& settings = request.settings;
  Events events(queue, request.events);
  WHET_RETURN_IF_ERROR(events.status());
  settings.where.tell = [&events, tell = settings.where.tell](const std::string& note) {
    events.write("note", Json::object().set("text", note));
    tell(note);
  };
  settings.where.interrupted = [&stopped] { return stopped.load(); };
  WHET_TRY(Workplace place, make_workplace(settings, zygote));
  if (!place.prepared.files.unnamed.empty()) return unnamed_value();
  WHET_TRY(RecordFile file, open_records(settings, place.prepared, place.devices));
  TuneListeners listeners;
  events.listen(settings, listeners);
  RunReport report(settings, request.report);
  if (!request.report.empty()) listeners.all.push_back(&report);
  WHET_TRY(const Tuned tuned, tune_model(settings, place.prepared, zygote, place.devices, file, listeners));
  WHET_RETURN_IF_ERROR(events.status());
  if (tuned.unwritten) settings.where.tell(tuned.unwritten->message);  // the result is there all the same, and says so
  return dump(to_json(tuned, settings.records));
}

}  // namespace

Result<std::string> Workshop::program() const { return find_program(program_); }

Result<Zygote*> Workshop::zygote() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!zygote_) {
    WHET_TRY(const std::string path, program());
    WHET_TRY(Zygote started, Zygote::start_program({path, "measure-host"}));
    zygote_.emplace(std::move(started));
  }
  return &*zygote_;
}

void Notes::add(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sentences_.push_back(sentence);
}

std::vector<std::string> Notes::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(sentences_, {});
}

Result<std::unique_ptr<Problem>> Problem::load(std::shared_ptr<Workshop> shop, std::shared_ptr<Notes> notes,
                                               const Load& load) {
  WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
  std::unique_ptr<Problem> problem(new Problem(std::move(shop), std::move(notes), std::move(scratch)));
  WHET_RETURN_IF_ERROR(problem->read(load));
  return problem;
}

Status Problem::read(const Load& load) {
  settings_.where.tell = [notes = notes_](const std::string& note) { notes->add(note); };
  OptionTable options = load_options(settings_);
  options.texts("sizes", settings_.model.sizes);
  WHET_RETURN_IF_ERROR(options.read(load.options, "load"));
  WHET_RETURN_IF_ERROR(check_repeat(settings_, "load"));
  settings_.model.model = load.path;
  if (load.bytes) {
    // Its own name, whatever folders the caller's has: error sentences and reports have it.
    const std::string name = std::filesystem::path(load.name).filename().string();
    settings_.model.model = scratch_.path() + "/" + (name.empty() ? "model" : name);
    WHET_RETURN_IF_ERROR(write_file(settings_.model.model, *load.bytes));
  }
  if (!load.records.empty()) settings_.records = load.records;
  if (settings_.records.empty()) settings_.records = scratch_.path() + "/records";
  if (settings_.model.model.empty()) return ok_status();
  if (!settings_.model.sizes.empty()) return ok_status();  // of one size are its tasks, of all its compiles
  if (!settings_.where.devices.empty()) {
    const Result<ServedTasks*> connected = served();
    return connected.ok() ? ok_status() : Status(connected.error());
  }
  WHET_TRY(const TargetOnCores place, choose_target(settings_.where.place));
  WHET_TRY(const InputFiles files, read_named_inputs(settings_.model));
  WHET_TRY(const FusedGraph fused, load_fused(settings_.model, files, settings_.rounding.passes(place.target)));
  WHET_TRY(tasks_, extract_tasks(fused, place.target));
  return ok_status();
}

Result<ServedTasks*> Problem::served() {
  if (!served_) {
    WHET_TRY(Zygote* const zygote, shop_->zygote());
    WHET_TRY(served_, ServedTasks::start(settings_, *zygote));
  }
  return served_.get();
}

bool Problem::has_records() const {
  std::error_code code;
  return std::filesystem::exists(settings_.records, code);
}

Result<std::string> Problem::tasks() {
  return served_ ? served_->server().answer(R"({"do":"tasks"})") : dump(tasks_json(tasks_));
}

Result<std::string> Problem::tune(const Tune& tune, const TakeEvent& take) {
  const double begun = seconds_now();
  TuneRequest request{.settings = settings_};
  WHET_RETURN_IF_ERROR(tune_options(request).read(tune.options, "tune"));
  TuneSettings& settings = request.settings;
  if (tune.trials > 0) settings.trials = tune.trials;
  if (!(tune.seconds >= 0))
    return Error{fmt::format("tune: seconds is {}; expected 0 or more", tune.seconds), ErrorKind::wrong_use};
  if (tune.seconds > 0) request.seconds = tune.seconds;
  if (!tune.records.empty()) settings.records = tune.records;
  WHET_RETURN_IF_ERROR(check_tune(request));
  settings.time = budget_of(request, begun);
  settings.has_page = !request.report.empty();
  settings.alternatives = [layouts = request.layouts, covers = request.covers](const Target& target) {
    return parse_alternatives(layouts, covers, target);
  };
  WHET_TRY(Zygote* const zygote, shop_->zygote());
  settings_.records = settings.records, settings_.tuning_sizes = settings.tuning_sizes;
  Result<std::string> report = run_beside(take, [&](LineQueue& queue, const std::atomic<bool>& stopped) {
    return run_tuner(request, *zygote, queue, stopped);
  });
  if (served_) WHET_RETURN_IF_ERROR(served_->read_records(settings_));
  return report;
}

Result<std::string> Problem::compile(const Compile& compile) {
  CompileRequest request;
  CompileSettings& settings = request.settings;
  settings.model = settings_.model;
  settings.where = settings_.where;
  settings.records.base = settings_.base;
  settings.records.rounding = settings_.rounding;
  settings.records.tuning_sizes = settings_.tuning_sizes;
  settings.records.tell = settings_.where.tell;
  if (has_records()) settings.records.file = settings_.records;
  // The device's own target, where one elsewhere was measured on.
  if (served_ && settings.where.place.target.empty())
    settings.where.place.target = to_string(served_->prepared().place.target);
  WHET_RETURN_IF_ERROR(compile_options(request).read(compile.options, "compile"));
  if (!compile.output.empty()) settings.output = compile.output;
  if (!compile.records.empty()) settings.records.file = compile.records;
  if (settings.model.model.empty()) return Error{"compile: the problem has no model"};
  if (settings.output.empty()) return Error{"compile: output is missing; give the path of the library to write"};
  std::vector<std::string> inputs = settings.records.base.files;
  inputs.push_back(settings.model.model);
  if (!settings.records.file.empty()) inputs.push_back(settings.records.file);
  for (const std::string& read : {settings.like, settings.samples})
    if (!read.empty()) inputs.push_back(read);
  WHET_RETURN_IF_ERROR(
      check_outputs({{"output", settings.output, settings.weights_only ? FileKind::weights : FileKind::model},
                     {"weights-file", settings.weights_file, FileKind::weights},
                     {"dump-code", settings.listing, FileKind::code},
                     {"ptx", settings.ptx, FileKind::ptx},
                     {"header", settings.header, FileKind::header},
                     {"events", request.events, FileKind::events}},
                    inputs));
  Zygote* zygote = nullptr;
  if (settings.quick > 0) {
    WHET_TRY(zygote, shop_->zygote());
  }
  std::optional<EventStream> events;
  if (!request.events.empty()) {
    WHET_TRY(EventStream opened, EventStream::open(request.events));
    events.emplace(std::move(opened));
  }
  CompileWatch watch;
  watch.kernel = [&events](int done, int all) {
    if (events) events->write("compiling", Json::object().set("done", done).set("all", all));
  };
  watch.reading = [&events](std::int64_t read, std::int64_t all) {
    if (events) events->write("reading", Json::object().set("read", read).set("all", all));
  };
  WHET_TRY(const CompiledModel compiled, compile_as_asked(settings, zygote, watch));
  const Json report = compile_json(settings.output, compiled);
  if (events) {
    events->write("finished", report);
    WHET_RETURN_IF_ERROR(Status(events->status()));
  }
  return dump(report);
}

Result<std::string> Problem::ask(std::string_view request) {
  WHET_TRY(ServedTasks* const served, this->served());
  return served->server().answer(request);
}

}  // namespace whet
