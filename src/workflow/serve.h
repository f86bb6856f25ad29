#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "measure/measurer.h"
#include "records/record_base.h"
#include "records/record_file.h"
#include "space/space.h"
#include "task/task.h"
#include "tuner/tuner.h"
#include "workflow/own_templates.h"
#include "workflow/tuning.h"

namespace whet {

/// The version of the protocol of `whet serve` (docs/formats/serve.md).
inline constexpr int kServeVersion = 1;

/// What a server's requests need beside measurements.
struct ServeOptions {
  std::function<bool()> interrupted;  ///< ends a search; may be empty
  /// Compiles the session's model with its records to a file, and tells of it. Empty: there is no model.
  std::function<Result<Json>(const std::string& output)> compile;
  /// Of a model with sizes: at which of them each task runs, and how often there.
  std::vector<Json> sizes = {};
  /// Hears what happens before an answer: the name of an event, and its members.
  using Told = std::function<void(const std::string& event, const Json& members)>;
  /// Times kernels for the ranges of the session's model, and the model at its sizes. Empty: it has no ranges.
  std::function<Result<Json>(const Told&)> ranges = {};
};

/// Answers requests about tasks, their spaces and their measurements: own strategies in other programs are made of these. A request
/// and its answer are a JSON object each. Bad requests get an answer with a sentence and change nothing.
class TaskServer {
 public:
  /// Measurer and file outlive the server. `seed` goes into records.
  ///   base  what is known of other networks
  TaskServer(std::vector<Task> tasks, Target, const SpaceOptions&, std::uint64_t seed, Measurer&, RecordFile&,
             std::shared_ptr<const RecordBase> base = std::make_shared<const RecordBase>(), ServeOptions options = {});

  /// The line that is written first, without its newline.
  std::string greeting() const;
  /// Takes a line of what happens before the answer; false: nobody listens any more.
  using Emit = std::function<bool(const std::string& line)>;
  /// The answer to a line; neither has a newline, nor has what is emitted.
  std::string answer(std::string_view line, const Emit& emit = {});

 private:
  struct Verb;
  static const std::vector<Verb>& verbs();

  Result<Json> performed(const Json& request);
  Result<Json> perform(const Json& request);
  Result<Json> tasks(const Json& request);
  Result<Json> define(const Json& request);
  Result<Json> space(const Json& request);
  Result<Json> seeds(const Json& request);
  Result<Json> transfers(const Json& request);
  Result<Json> sample(const Json& request);
  Result<Json> neighbours(const Json& request);
  Result<Json> steps(const Json& request);
  Result<Json> measure(const Json& request);
  Result<Json> best(const Json& request);
  Result<Json> add_template(const Json& request);
  Result<Json> search(const Json& request);
  Result<Json> ranges(const Json& request);
  Result<Json> compile(const Json& request);
  Result<Json> features_of(const Json& request);

  Result<const Task*> task_of(const Json& request) const;
  /// The numbers that `task` has: one, a list, or where it is absent all.
  Result<std::vector<int>> tasks_of(const Json& request) const;
  /// How a request `tune` searches these tasks.
  Result<TuneOptions> search_options(const Json& request, const std::vector<int>& ids) const;
  /// The space of the request's task with its templates, made once.
  Result<const DesignSpace*> space_of(const Json& request);
  /// The fastest record of a task that counts; null.
  Json best_of(const Task&) const;
  MeasureTask measure_task(const Task&) const;
  /// A candidate of the space or a schedule of the user's, as a record without its outcome.
  Result<Record> proposal(const Task&, const DesignSpace&, const Json& candidate) const;
  /// The fastest that counts, 0 where there is none [s].
  double best_seconds(const Task&) const;
  /// A would-be best whose answers are wrong becomes a wrong answer.
  void check(const Task&, Record&);

  std::vector<Task> tasks_;
  Target target_;
  SpaceOptions options_;
  std::uint64_t seed_;
  Measurer& measurer_;
  RecordFile& file_;
  std::shared_ptr<const RecordBase> base_;
  ServeOptions serving_;
  OwnTemplates templates_;
  std::map<std::int64_t, DesignSpace> spaces_;  ///< by the task's number
  Emit emit_;                                   ///< of the request that is answered
};

/// The tasks of a list as `tasks` answers them: an object with `tasks`.
///   sizes  of a model with sizes, of the first of them: where each runs
Json tasks_json(const std::vector<Task>&, const std::vector<Json>& sizes = {});

/// A model that was prepared as a run of the tuner does it, with its devices, builders and record file, and the server of its tasks.
class ServedTasks {
 public:
  /// The zygote lives longer. An error where the model, a device or the record file cannot be had.
  static Result<std::unique_ptr<ServedTasks>> start(const TuneSettings&, Zygote&);
  TaskServer& server() { return *server_; }
  const Prepared& prepared() const { return work_.prepared; }
  /// Takes in what others appended since, or another record file, which the settings name.
  Status read_records(const TuneSettings&);

 private:
  ServedTasks() = default;

  TuneSettings settings_;
  Workplace work_;
  std::optional<RecordFile> file_;
  std::optional<BuilderPool> builders_;
  std::optional<DeviceMeasurer> measurer_;
  std::optional<TaskServer> server_;
};

/// Serves line by line until the input ends or `interrupted` (may be empty) turns true. An error: what cannot be written.
Status serve_lines(TaskServer&, int input, int output, const std::function<bool()>& interrupted);

/// Prepares a model as a run of the tuner does, and serves it: the whole of `whet serve`.
///   ready  called before the first request
Status serve(const TuneSettings&, Zygote&, int input, int output, const std::function<void()>& ready);

}  // namespace whet
