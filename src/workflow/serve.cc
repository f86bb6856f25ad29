#include "workflow/serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "artifact/code_format.h"
#include "artifact/kernel.h"
#include "base/last_words.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "base/version.h"
#include "cost/features.h"
#include "records/record_line.h"
#include "workflow/events.h"
#include "workflow/opened.h"
#include "workflow/outputs.h"
#include "workflow/ranges_end.h"
#include "workflow/task_json.h"
#include "workflow/transferring.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

constexpr std::int64_t kMostCandidates = 10000;
/// Of a search, and those of a task where a request has no limit.
constexpr std::int64_t kMostTrials = 1000000000, kTrialsPerTask = 64;
constexpr double kMostSeconds = 1e8;
/// A line beyond this is no request.
constexpr std::size_t kMostBytes = std::size_t{1} << 24;
/// The sketch of a schedule that the user wrote, and the name of a task that is defined without one.
constexpr const char* kOwnSketch = "own";
/// The tensors of a task that a user defines, those between its inputs and outputs too [bytes]: they lie in memory several times.
constexpr double kMostTaskBytes = 4e9;

/// In floating point: the extents of a text may have any product.
double bytes_in_memory(const ComputeDag& dag) {
  double all = 0;
  for (const Op& op : dag.ops) {
    auto own = static_cast<double>(size_of(op.dtype));
    for (const std::int64_t extent : op.shape) own *= static_cast<double>(extent);
    all += own;
  }
  return all;
}

Json json_of(const Candidate& candidate) {
  Json choices = Json::object();
  for (const auto& [name, choice] : candidate.choices) choices.set(name, Json::array_of(choice));
  return Json::object().set("sketch", candidate.sketch).set("choices", std::move(choices));
}

Json json_of(const std::vector<Candidate>& candidates) {
  Json list = Json::array();
  for (const Candidate& candidate : candidates) list.add(json_of(candidate));
  return Json::object().set("candidates", std::move(list));
}

Result<Candidate> candidate_of(const Json& json) {
  if (!json.is_object()) return Error{"a candidate is " + dump(json) + "; expected an object with sketch and choices"};
  Candidate candidate;
  if (const Json& sketch = json["sketch"]; sketch.is_string())
    candidate.sketch = sketch.string();
  else if (!sketch.is_null() || json["steps"].is_null())
    return Error{"a candidate's sketch is " + dump(sketch) + "; expected a name"};
  const Json& choices = json["choices"];
  if (choices.is_null()) return candidate;
  if (!choices.is_object()) return Error{"a candidate's choices are " + dump(choices) + "; expected an object"};
  for (const auto& [name, choice] : choices.members()) {
    WHET_TRY(candidate.choices[name], choice_of(choice, name));
  }
  return candidate;
}

Result<std::int64_t> count_of(const Json& request) {
  const Json& count = request["count"];
  if (count.is_null()) return std::int64_t{1};
  if (!count.is_integer() || count.integer() < 1 || count.integer() > kMostCandidates)
    return Error{fmt::format("count is {}; expected 1 to {}", dump(count), kMostCandidates)};
  return count.integer();
}

/// A member of a request; `usual` where it is absent.
Result<int> whole_number(const Json& request, const char* name, std::int64_t least, std::int64_t most, int usual) {
  const Json& number = request[name];
  if (number.is_null()) return usual;
  if (!number.is_integer() || number.integer() < least || number.integer() > most)
    return Error{fmt::format("{} is {}; expected {} to {}", name, dump(number), least, most)};
  return static_cast<int>(number.integer());
}

/// What `seconds` or `minutes` of a request allow; 0: no limit.
Result<double> seconds_of(const Json& request) {
  const std::pair<const char*, double> units[] = {{"seconds", 1}, {"minutes", 60}};
  for (const auto& [name, unit] : units) {
    const Json& time = request[name];
    if (time.is_null()) continue;
    if (!time.is_number() || !(time.number() > 0 && time.number() <= kMostSeconds))
      return Error{fmt::format("{} is {}; expected a number above 0", name, dump(time))};
    return unit * time.number();
  }
  return 0.0;
}

Result<const Json::Array*> list_of(const Json& request, const char* name) {
  const Json& list = request[name];
  if (!list.is_array()) return Error{fmt::format("{} is {}; expected a list", name, dump(list))};
  if (std::ssize(list.items()) > kMostCandidates)
    return Error{fmt::format("{} has {} entries; expected {} at most", name, list.items().size(), kMostCandidates)};
  return &list.items();
}

Json json_of(const Sketch& sketch) {
  Json decisions = Json::array();
  for (const Decision& decision : sketch.decisions) {
    Json options = Json::array();
    for (const Choice& option : decision.options) options.add(Json::array_of(option));
    decisions.add(Json::object()
                      .set("name", decision.name)
                      .set("meaning", decision.meaning)
                      .set("extent", decision.extent)
                      .set("options", std::move(options)));
  }
  return Json::object().set("sketch", sketch.name).set("share", sketch.share).set("decisions", std::move(decisions));
}

Json json_of(const Task& task, std::int64_t id) {
  Json out = Json::object();
  out.set("id", id).set("name", task.name).set("key", task.key).set("weight", task.weight);
  out.set("flops", flops(task.dag)).set("bytes", bytes(task.dag)).set("dag", to_text(task.dag));
  out.set("ops", ops_json(task.dag));
  if (!task.inputs.hash.empty()) out.set("inputs", task.inputs.hash);
  return out;
}

Json json_of(const Outcome& outcome) {
  Json times = Json::array();
  for (const double seconds : outcome.seconds) times.add(seconds * 1e3);
  Json out = Json::object();
  if (outcome.placement.is_known()) out.set("round_trip_ns", outcome.placement.round_trip_ns);
  return out.set("code", static_cast<int>(outcome.code))
      .set("error", outcome.ok() ? Json() : Json(name_of(outcome.code)))
      .set("message", outcome.message)
      .set("ms", outcome.ok() ? Json(outcome.best_seconds() * 1e3) : Json())
      .set("times_ms", std::move(times))
      .set("truncated", outcome.truncated)
      .set("build_seconds", outcome.build_seconds)
      .set("run_seconds", outcome.run_seconds);
}

}  // namespace

/// What a request may ask for.
struct TaskServer::Verb {
  const char* name;
  Result<Json> (TaskServer::*perform)(const Json& request);
};

const std::vector<TaskServer::Verb>& TaskServer::verbs() {
  static const std::vector<Verb> verbs = {
      {"tasks", &TaskServer::tasks},           {"define", &TaskServer::define},
      {"space", &TaskServer::space},           {"seeds", &TaskServer::seeds},
      {"transfers", &TaskServer::transfers},   {"sample", &TaskServer::sample},
      {"steps", &TaskServer::steps},           {"best", &TaskServer::best},
      {"neighbours", &TaskServer::neighbours}, {"measure", &TaskServer::measure},
      {"template", &TaskServer::add_template}, {"tune", &TaskServer::search},
      {"ranges", &TaskServer::ranges},         {"compile", &TaskServer::compile},
      {"features", &TaskServer::features_of},
  };
  return verbs;
}

TaskServer::TaskServer(std::vector<Task> tasks, Target target, const SpaceOptions& options, std::uint64_t seed,
                       Measurer& measurer, RecordFile& file, std::shared_ptr<const RecordBase> base,
                       ServeOptions serving)
    : tasks_(std::move(tasks)),
      target_(std::move(target)),
      options_(options),
      seed_(seed),
      measurer_(measurer),
      file_(file),
      base_(std::move(base)),
      serving_(std::move(serving)) {}

std::string TaskServer::greeting() const {
  return dump(Json::object()
                  .set("v", kServeVersion)
                  .set("whet", version())
                  .set("target", to_string(target_))
                  .set("records", file_.path())
                  .set("base", base_->name())
                  .set("tasks", static_cast<std::int64_t>(tasks_.size())));
}

std::string TaskServer::answer(std::string_view line, const Emit& emit) {
  emit_ = emit;
  const Result<Json> request = parse_json(line);
  if (!request.ok()) return dump(Json::object().set("id", Json()).set("error", "not JSON: " + request.error().message));
  Json reply = Json::object().set("id", (*request)["id"]);
  Result<Json> result = performed(*request);
  if (!result.ok()) return dump(reply.set("error", result.error().message));
  for (auto& [name, value] : result->members()) reply.set(name, std::move(value));
  return dump(reply);
}

/// What needs more memory than there is costs that request alone.
Result<Json> TaskServer::performed(const Json& request) {
  try {
    return perform(request);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {
    return no_memory();
  }
}

Result<Json> TaskServer::perform(const Json& request) {
  if (!request.is_object()) return Error{"a request is a JSON object; this is " + dump(request)};
  const Json& verb = request["do"];
  std::vector<std::string> names;
  for (const Verb& known : verbs()) {
    if (verb.is_string() && verb.string() == known.name) return (this->*known.perform)(request);
    names.emplace_back(known.name);
  }
  if (!verb.is_string())
    return Error{"do is " + dump(verb) + "; expected one of " + fmt::format("{}", fmt::join(names, ", "))};
  return Error{fmt::format("do is {}; expected one of {}{}", dump(verb), fmt::join(names, ", "),
                           did_you_mean(verb.string(), names))};
}

Result<const Task*> TaskServer::task_of(const Json& request) const {
  const Json& number = request["task"];
  if (!number.is_integer() || number.integer() < 0 || number.integer() >= std::ssize(tasks_))
    return Error{tasks_.empty()
                     ? fmt::format("task is {}; there is no task yet, define one", dump(number))
                     : fmt::format("task is {}; the tasks are 0 to {}", dump(number), std::ssize(tasks_) - 1)};
  return &tasks_[static_cast<std::size_t>(number.integer())];
}

Result<const DesignSpace*> TaskServer::space_of(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  const std::int64_t number = task - tasks_.data();
  const auto found = spaces_.find(number);
  if (found != spaces_.end()) return &found->second;
  DesignSpace space = make_space(task->dag, target_, options_);
  if (const std::optional<OwnSketches> own = templates_.of(*task)) space = with_sketches(task->dag, space, *own);
  return &spaces_.emplace(number, std::move(space)).first->second;
}

MeasureTask TaskServer::measure_task(const Task& task) const {
  return {task.key, task.name, task.dag, target_, task.within, task.inputs};
}

Result<Json> TaskServer::tasks(const Json& /*request*/) { return tasks_json(tasks_, serving_.sizes); }

Result<Json> TaskServer::define(const Json& request) {
  const Json &text = request["dag"], &name = request["name"];
  if (!text.is_string()) return Error{"dag is " + dump(text) + "; expected the text of a computation"};
  if (!name.is_null() && !name.is_string()) return Error{"name is " + dump(name) + "; expected a text"};
  Result<ComputeDag> dag = parse_dag(text.string());
  if (!dag.ok()) return dag.error().at("dag");
  if (is_sized(*dag)) return Error{"dag has sizes; the tasks of a session are of one size"};
  if (const double all = bytes_in_memory(*dag); all > kMostTaskBytes)
    return Error{fmt::format("dag: its tensors have {:.3g} GB together; expected {:g} at most", all / 1e9,
                             kMostTaskBytes / 1e9)};
  const auto known =
      std::ranges::find_if(tasks_, [&](const Task& task) { return task.within.empty() && same_dag(task.dag, *dag); });
  const std::int64_t number = known - tasks_.begin();
  if (known == tasks_.end()) {
    std::string key = workload_key(*dag);
    tasks_.push_back({std::move(key), name.string_or(kOwnSketch), std::move(*dag), 1, {}});
  }
  return Json::object().set("task", json_of(tasks_[static_cast<std::size_t>(number)], number));
}

Result<Json> TaskServer::space(const Json& request) {
  WHET_TRY(const DesignSpace* const space, space_of(request));
  Json sketches = Json::array();
  for (const Sketch& sketch : space->sketches()) sketches.add(json_of(sketch));
  const SpaceSize size = space->size();
  return Json::object().set("candidates", size.legal).set("exact", size.exact).set("sketches", std::move(sketches));
}

Result<Json> TaskServer::seeds(const Json& request) {
  WHET_TRY(const DesignSpace* const space, space_of(request));
  std::vector<Candidate> list = {space->default_candidate()};
  for (Candidate& seed : space->seeds()) list.push_back(std::move(seed));
  return json_of(list);
}

Result<Json> TaskServer::transfers(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  Json list = Json::array();
  for (const auto& [transfer, why_not] : weighed_transfers(*task, &file_.records(), *base_, target_, options_))
    list.add(json_of(transfer.candidate)
                 .set("from", transfer.from)
                 .set("distance", transfer.distance)
                 .set("gain", transfer.gain)
                 .set("estimate", transfer.analytic)
                 .set("why_not", why_not));
  return Json::object().set("transfers", std::move(list));
}

Result<Json> TaskServer::sample(const Json& request) {
  WHET_TRY(const DesignSpace* const space, space_of(request));
  WHET_TRY(const std::int64_t count, count_of(request));
  const Json& seed = request["seed"];
  if (!seed.is_null() && !seed.is_integer()) return Error{"seed is " + dump(seed) + "; expected an integer"};
  Rng rng(static_cast<std::uint64_t>(seed.integer_or(0)));
  std::vector<Candidate> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(space->sample(rng));
  return json_of(list);
}

Result<Json> TaskServer::neighbours(const Json& request) {
  WHET_TRY(const DesignSpace* const space, space_of(request));
  WHET_TRY(const Candidate candidate, candidate_of(request["candidate"]));
  WHET_RETURN_IF_ERROR(space->contains(candidate));
  return json_of(space->neighbours(candidate));
}

Result<Record> TaskServer::proposal(const Task& task, const DesignSpace& space, const Json& json) const {
  Record record;
  WHET_TRY(record.candidate, candidate_of(json));
  if (const Json& own = json["steps"]; own.is_string()) {
    if (record.candidate.sketch.empty()) record.candidate.sketch = kOwnSketch;
    Result<Steps> steps = parse_steps(own.string());
    if (!steps.ok()) return steps.error().at("steps");
    record.steps = to_text(*steps), record.numerics = numerics_of(*steps);
  } else if (!own.is_null()) {
    return Error{"steps is " + dump(own) + "; expected the text of a schedule"};
  } else {
    WHET_RETURN_IF_ERROR(space.contains(record.candidate));
    WHET_TRY(const Steps steps, space.steps(record.candidate));
    record.steps = to_text(steps), record.numerics = numerics_of(steps);
  }
  record.key = task.key;
  record.task = task.name;
  record.within = task.within;
  record.inputs = task.inputs.hash;
  record.target = to_string(target_);
  record.codegen = codegen_version(code_format(target_));
  record.seed = seed_;
  return record;
}

Result<Json> TaskServer::steps(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  WHET_TRY(const DesignSpace* const space, space_of(request));
  WHET_TRY(const Json::Array* const candidates, list_of(request, "candidates"));
  Json list = Json::array();
  for (const Json& candidate : *candidates) {
    WHET_TRY(Record record, proposal(*task, *space, candidate));
    list.add(std::move(record.steps));
  }
  return Json::object().set("steps", std::move(list));
}

double TaskServer::best_seconds(const Task& task) const {
  const std::optional<RecordChoice> best = file_.records().best(task.key, task.within, target_);
  return best && best->exact ? best->record->ranked_seconds() : 0;
}

void TaskServer::check(const Task& task, Record& record) {
  const double best = best_seconds(task);
  if (!record.outcome.ok() || (best > 0 && record.outcome.best_seconds() >= best)) return;
  Outcome found = measurer_.check(measure_task(task), record.steps, record.numerics.precision);
  if (found.ok()) return;
  found.build_seconds = record.outcome.build_seconds;
  found.run_seconds = record.outcome.run_seconds;
  record.outcome = std::move(found);
}

Result<Json> TaskServer::measure(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  WHET_TRY(const DesignSpace* const space, space_of(request));
  WHET_TRY(const Json::Array* const candidates, list_of(request, "candidates"));
  std::vector<Record> records;
  std::vector<std::string> schedules;
  for (const Json& candidate : *candidates) {
    WHET_TRY(Record record, proposal(*task, *space, candidate));
    schedules.push_back(record.steps);
    records.push_back(std::move(record));
  }
  const double incumbent = request["end_early"].bool_or(false) ? best_seconds(*task) : 0;
  const std::vector<Measured> measured = measurer_.measure(measure_task(*task), schedules, Incumbent(incumbent));
  Json outcomes = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& record = records[i];
    record.outcome = measured[i].outcome;
    record.tree_hash = measured[i].tree_hash;
    record.whet = version();
    record.at = utc_now();
    check(*task, record);
    record.outcome.device = without_number(record.outcome.device);
    // What was not tried, because the user interrupted, is no trial.
    const bool tried = record.outcome.code != OutcomeCode::device_lost;
    if (tried) WHET_RETURN_IF_ERROR(file_.append(record));
    outcomes.add(json_of(record.outcome).set("recorded", tried));
  }
  return Json::object().set("outcomes", std::move(outcomes));
}

Json TaskServer::best_of(const Task& task) const {
  const std::optional<RecordChoice> best = file_.records().best(task.key, task.within, target_);
  if (!best) return {};
  const Record& record = *best->record;
  return json_of(record.candidate)
      .set("steps", record.steps)
      .set("ms", record.outcome.best_seconds() * 1e3)
      .set("exact", best->exact)
      .set("at", record.at.text());
}

Result<Json> TaskServer::best(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  return Json::object().set("best", best_of(*task));
}

Result<Json> TaskServer::add_template(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  WHET_TRY(Json answer, templates_.add(request, *task, make_space(task->dag, target_, options_), options_));
  spaces_.clear();  // tasks with equal keys have it, too
  return answer;
}

Result<std::vector<int>> TaskServer::tasks_of(const Json& request) const {
  Json asked = request["task"];
  std::vector<int> ids;
  if (asked.is_null()) {
    for (int id = 0; id < std::ssize(tasks_); ++id) ids.push_back(id);
    asked = Json::array();
  }
  for (const Json& each : asked.is_array() ? asked.items() : Json::Array{asked}) {
    WHET_TRY(const Task* const task, task_of(Json::object().set("task", each)));
    ids.push_back(static_cast<int>(task - tasks_.data()));
  }
  std::ranges::sort(ids);
  const auto [first, last] = std::ranges::unique(ids);
  ids.erase(first, last);
  if (ids.empty()) return Error{"tune: there is no task to tune"};
  return ids;
}

Result<TuneOptions> TaskServer::search_options(const Json& request, const std::vector<int>& ids) const {
  TuneOptions options;
  WHET_TRY(options.trials, whole_number(request, "trials", 1, kMostTrials, 0));
  WHET_TRY(options.round, whole_number(request, "round", 1, kMostCandidates, options.round));
  WHET_TRY(options.early_stop, whole_number(request, "early_stop", 0, kMostTrials, 0));
  WHET_TRY(const double seconds, seconds_of(request));
  const Json& strategy = request["strategy"];
  if (!strategy.is_null() && !strategy.is_string()) return Error{"strategy is " + dump(strategy) + "; expected a text"};
  options.strategy = strategy.string_or(options.strategy);
  if (seconds > 0) options.deadline = seconds_now() + seconds;
  if (options.trials == 0 && seconds == 0) options.trials = kTrialsPerTask * std::ssize(ids);
  options.seeds = !request["no_seeds"].bool_or(false);
  options.seed = seed_;
  options.ids = ids;
  options.exact = options_.exact;
  options.precision = options_.precision;
  options.base = base_.get();
  options.own_sketches = templates_.by_task();
  return options;
}

Result<Json> TaskServer::search(const Json& request) {
  WHET_TRY(const std::vector<int> ids, tasks_of(request));
  WHET_TRY(TuneOptions options, search_options(request, ids));
  bool is_heard = true;
  options.interrupted = [&] { return !is_heard || (serving_.interrupted && serving_.interrupted()); };
  std::vector<Task> tasks;
  for (const int id : ids) tasks.push_back(tasks_[static_cast<std::size_t>(id)]);
  std::map<int, Json> known;
  const auto tell_round = [&](const TuneProgress& progress) {
    if (!emit_ || !is_heard) return;
    Json line = Json::object().set("id", request["id"]).set("event", "round"), round = round_event(progress, known);
    for (auto& [name, value] : round.members()) line.set(name, std::move(value));
    is_heard = emit_(dump(line));
  };
  WHET_TRY(const TuneProgress done, tune(tasks, target_, measurer_, file_, options, tell_round));
  Json list = Json::array();
  for (std::size_t i = 0; i < done.tasks.size(); ++i) list.add(to_json(done.tasks[i]).set("best", best_of(tasks[i])));
  return Json::object()
      .set("done", true)
      .set("trials", done.trials)
      .set("seconds", done.seconds)
      .set("interrupted", done.interrupted)
      .set("tasks", std::move(list));
}

Result<Json> TaskServer::ranges(const Json& request) {
  if (!serving_.ranges) return Error{"the session's model has no ranges; start whet serve with --sizes, like n=1..512"};
  return serving_.ranges([&](const std::string& event, const Json& members) {
    if (!emit_) return;
    Json line = Json::object().set("id", request["id"]).set("event", event);
    for (const auto& [name, value] : members.members()) line.set(name, value);
    emit_(dump(line));
  });
}

Result<Json> TaskServer::compile(const Json& request) {
  const Json& output = request["output"];
  if (!output.is_string()) return Error{"output is " + dump(output) + "; expected a path"};
  if (!serving_.compile)
    return Error{"there is no model in this session; whet compile makes a library of an operator's file"};
  return serving_.compile(output.string());
}

Result<Json> TaskServer::features_of(const Json& request) {
  WHET_TRY(const Task* const task, task_of(request));
  WHET_TRY(const DesignSpace* const space, space_of(request));
  WHET_TRY(const Json::Array* const candidates, list_of(request, "candidates"));
  Json rows = Json::array();
  for (const Json& candidate : *candidates) {
    WHET_TRY(const Record record, proposal(*task, *space, candidate));
    WHET_TRY(const Steps steps, parse_steps(record.steps));
    WHET_TRY(const LoopTree tree, replay(task->dag, steps));
    const std::vector<float> row = features(tree, target_);
    rows.add(Json::array_of(std::vector<double>(row.begin(), row.end())));
  }
  return Json::object().set("names", Json::array_of(feature_names(target_))).set("features", std::move(rows));
}

namespace {

Status write_line(int output, std::string line) {
  line += '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::write(output, line.data() + at, line.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{std::string("answers cannot be written: ") + std::strerror(errno), ErrorKind::io};
    at += static_cast<std::size_t>(n);
  }
  return ok_status();
}

/// Adds what has come to `text`; false where the input has ended, or the user wants an end.
bool read_more(int input, std::string& text, const std::function<bool()>& interrupted) {
  char bytes[1 << 16];
  for (;;) {
    pollfd waited{input, POLLIN, 0};
    if (interrupted && interrupted()) return false;
    const int ready = ::poll(&waited, 1, 200);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = ::read(input, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) text.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }
}

}  // namespace

Status serve_lines(TaskServer& server, int input, int output, const std::function<bool()>& interrupted) {
  WHET_RETURN_IF_ERROR(write_line(output, server.greeting()));
  Status written = ok_status();
  const auto emit = [&](const std::string& line) { return (written = write_line(output, line)).ok(); };
  std::string text;
  do {
    std::size_t at = 0;
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      if (interrupted && interrupted()) return ok_status();
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (line.empty()) continue;
      const std::string answer = server.answer(line, emit);
      WHET_RETURN_IF_ERROR(written);
      WHET_RETURN_IF_ERROR(write_line(output, answer));
    }
    text.erase(0, at);
    if (text.size() > kMostBytes)
      return Error{fmt::format("a request has more than {} bytes without a newline", kMostBytes)};
  } while (read_more(input, text, interrupted));
  return ok_status();
}

namespace {

/// The session's model with the records that it has until now.
Result<Json> compiled(const TuneSettings& settings, const Prepared& prepared, const RecordFile& file,
                      const std::string& output) {
  if (output.ends_with(".a"))
    return Error{
        fmt::format("output is \"{}\"; a session compiles libraries, .so: `whet compile` makes archives", output)};
  std::vector<std::string> inputs = {settings.records};
  if (!settings.model.is_built_in()) inputs.push_back(settings.model.model);
  WHET_RETURN_IF_ERROR(check_outputs({{"output", output, FileKind::model}}, inputs));
  RecordOptions records;
  if (file.records().size() > 0) records.file = settings.records;
  records.base = settings.base;
  records.rounding = settings.rounding;
  records.emulated = prepared.emulated;
  records.gpu = prepared.place.gpu;
  records.tell = settings.where.tell;
  CompileOptions options;
  options.name = settings.model.name();
  options.emulated = prepared.emulated && prepared.place.target.is_gpu();
  records.tuning_sizes = settings.tuning_sizes;
  const Target& target = prepared.place.target;
  WHET_TRY(const CompileReport report,
           settings.model.sizes.empty()
               ? compile_with_records(prepared.fused, records, target, output, options)
               : compile_sizes_with_records(settings.model, prepared.files, records, target, output, options));
  return Json::object()
      .set("output", output)
      .set("summary", summary(report))
      .set("file_bytes", report.file_bytes)
      .set("weights_bytes", report.weights_bytes)
      .set("seconds", report.total_seconds)
      .set("predicted_ms", report.predicted_seconds * 1e3);
}

std::vector<std::string> names_of(const std::vector<WantedSize>& sizes) {
  std::vector<std::string> names;
  for (const WantedSize& size : sizes) names.push_back(size.name);
  return names;
}

/// Of each task of a model with sizes: where it runs.
std::vector<Json> sizes_of_tasks(const Prepared& prepared) {
  std::vector<Json> sizes(prepared.at.empty() ? 0 : prepared.tasks.size(), Json::array());
  for (const PreparedSize& size : prepared.at)
    for (const auto& [task, runs] : size.tasks)
      sizes[task].add(
          Json::object().set("sizes", values_json(names_of(prepared.sizes), size.size.at)).set("runs", runs));
  return sizes;
}

/// Tells how kernels for ranges are timed.
class RangesTold : public TuneListener {
 public:
  RangesTold(const Prepared& prepared, const ServeOptions::Told& told) : prepared_(prepared), told_(told) {}
  void ladder(const LadderProgress& progress) override {
    told_("ladder", to_json(progress).set("task", progress.task));
  }
  void at_sizes(const NetworkAtSizes& times) override {
    told_("at_sizes", Json::object().set("at_sizes", to_json(times, names_of(prepared_.sizes))));
  }

 private:
  const Prepared& prepared_;
  const ServeOptions::Told& told_;
};

/// What the end of a run of the tuner does for ranges.
Result<Json> timed_ranges(TuneSettings settings, const Workplace& work, DeviceMeasurer& measurer, RecordFile& file,
                          const ServeOptions::Told& told) {
  std::vector<std::string> notes;
  settings.where.tell = [&notes, tell = settings.where.tell](const std::string& note) {
    notes.push_back(note);
    whet::tell(tell, note);
  };
  RangesTold listener(work.prepared, told);
  Tuned tuned;
  RangesEnd(settings, work.prepared, listener).run(measurer, work.devices, file, tuned);
  if (!tuned.ladder) return Error{notes.empty() ? "interrupted before anything was timed" : notes.back()};
  Json out = Json::object().set("done", true).set("ladder", to_json(*tuned.ladder));
  if (tuned.at_sizes) out.set("at_sizes", to_json(*tuned.at_sizes, names_of(work.prepared.sizes)));
  return out.set("notes", Json::array_of(notes));
}

}  // namespace

Json tasks_json(const std::vector<Task>& tasks, const std::vector<Json>& sizes) {
  Json list = Json::array();
  for (std::size_t id = 0; id < tasks.size(); ++id) {
    Json row = json_of(tasks[id], static_cast<std::int64_t>(id));
    if (id < sizes.size()) row.set("sizes", sizes[id]);
    list.add(std::move(row));
  }
  return Json::object().set("tasks", std::move(list));
}

Result<std::unique_ptr<ServedTasks>> ServedTasks::start(const TuneSettings& settings, Zygote& zygote) {
  std::unique_ptr<ServedTasks> served(new ServedTasks);
  served->settings_ = settings;
  WHET_TRY(served->work_, make_workplace(settings, zygote));
  const Prepared& prepared = served->work_.prepared;
  if (!prepared.files.unnamed.empty()) return unnamed_value();
  WHET_TRY(RecordFile file, open_records(settings, prepared, served->work_.devices));
  served->file_.emplace(std::move(file));
  for (const std::string& note : record_notes(prepared, *served->file_)) tell(settings.where.tell, note);
  std::vector<Device*> devices;
  for (const auto& device : served->work_.devices) devices.push_back(device.get());
  served->builders_.emplace(zygote, settings.builders, BuilderLimits{.timeout = settings.build_timeout});
  served->measurer_.emplace(*served->builders_, devices, measure_options(settings, prepared));
  WHET_RETURN_IF_ERROR(calibrate(settings, prepared, *served->measurer_));
  ServeOptions serving{.interrupted = settings.where.interrupted, .compile = {}, .sizes = sizes_of_tasks(prepared)};
  if (has_ranges(prepared.sizes))
    serving.ranges = [tasks = served.get()](const ServeOptions::Told& told) {
      return timed_ranges(tasks->settings_, tasks->work_, *tasks->measurer_, *tasks->file_, told);
    };
  if (!settings.model.model.empty())
    serving.compile = [tasks = served.get()](const std::string& to) {
      return compiled(tasks->settings_, tasks->work_.prepared, *tasks->file_, to);
    };
  served->server_.emplace(prepared.tasks, prepared.place.target, settings.rounding.schedules(), settings.model.seed,
                          *served->measurer_, *served->file_, prepared.base, std::move(serving));
  return served;
}

Status ServedTasks::read_records(const TuneSettings& settings) {
  WHET_TRY(*file_, open_records(settings, work_.prepared, work_.devices));
  settings_ = settings;
  return ok_status();
}

Status serve(const TuneSettings& settings, Zygote& zygote, int input, int output, const std::function<void()>& ready) {
  WHET_TRY(const std::unique_ptr<ServedTasks> served, ServedTasks::start(settings, zygote));
  ready();
  return serve_lines(served->server(), input, output, settings.where.interrupted);
}

}  // namespace whet
