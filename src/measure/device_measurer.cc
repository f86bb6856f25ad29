#include "measure/device_measurer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "device/sane_reply.h"
#include "measure/jobs.h"
#include "measure/part.h"
#include "measure/reference.h"

namespace whet {
namespace {

/// Built kernels kept for checks, confirmations and repeats.
constexpr std::size_t kKeptObjectBytes = std::size_t{32} << 20;
/// Outputs before a check (GuardedBuffer::poison).
constexpr char kPoison = '\xff';
constexpr std::size_t kKeptPackings = 16, kKeptReferences = 64;
/// Tasks that are tuned concurrently for each device. Two hide the work of the tuner between jobs. A GPU of this machine waits
/// for its builders. Four tasks and 16 builders left an H200 idle half of the time, and the builders more than half.
constexpr int kConcurrentTasks = 2, kMostConcurrentTasks = 8;
constexpr int kBuildersOfATask = 2;

/// The last few values by key, oldest out first. For several threads.
template <typename Value>
class Kept {
 public:
  using Pointer = std::shared_ptr<Value>;

  explicit Kept(std::size_t most) : most_(most) {}
  Pointer find(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return look_up(key);
  }
  /// The one that is there, else `made`.
  Pointer add(const std::string& key, Pointer made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Pointer found = look_up(key)) return found;
    list_.emplace_front(key, made);
    if (list_.size() > most_) list_.pop_back();
    return made;
  }

 private:
  Pointer look_up(const std::string& key) {
    const auto it = std::ranges::find(list_, key, &std::pair<std::string, Pointer>::first);
    if (it == list_.end()) return nullptr;
    list_.splice(list_.begin(), list_, it);
    return list_.front().second;
  }

  std::size_t most_;
  std::mutex mutex_;  ///< of the list
  std::list<std::pair<std::string, Pointer>> list_;
};

/// Results of builds by request, dropped all at once when their objects take too much memory.
class BuildCache {
 public:
  /// What its candidates' keys begin with.
  static std::string prefix_of(const MeasureTask& task) {
    return std::to_string(task.dag_hash) + '\n' + to_string(task.within) + '\n' + to_string(task.target) + '\n';
  }
  std::shared_ptr<const BuildResult> find(const std::string& key) const {
    const auto it = results_.find(key);
    return it == results_.end() ? nullptr : it->second;
  }
  void add(const std::string& key, const std::shared_ptr<const BuildResult>& result) {
    if (results_.try_emplace(key, result).second) bytes_ += result->kernel.code.size();
  }
  void trim() {
    if (bytes_ <= kKeptObjectBytes) return;
    results_.clear();
    bytes_ = 0;
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<const BuildResult>> results_;
  std::size_t bytes_ = 0;
};

Outcome failed(OutcomeCode code, std::string message) { return {code, std::move(message)}; }

void add_build(const BuildResult& built, Outcome& outcome) {
  outcome.build_seconds = built.seconds;
  outcome.registers = built.report.registers;
  outcome.spill_bytes = built.report.spill_bytes;
}

/// A DAG whose constants are ordinary inputs, so that lowering leaves the packing in the kernel.
ComputeDag with_inputs(ComputeDag dag) {
  for (Op& op : dag.ops)
    if (op.is_placeholder()) std::get<Placeholder>(op.def).constant = false;
  return dag;
}

/// A task with the place that it writes to.
std::string id_of(const MeasureTask& task) { return task.key + " in " + to_string(task.within); }

}  // namespace

class DeviceMeasurer::Impl {
 public:
  Impl(BuilderPool& builders, const std::vector<Device*>& devices, MeasureOptions options)
      : options_(std::move(options)), builders_(builders), units_(devices, options_.patience, options_.interrupted) {
    WHET_CHECK(!devices.empty());
  }

  MeasureSetting setting() const { return {units_.name(deciding_), name_of(options_.policy.cache)}; }
  bool in_jobs() const { return units_.size() > 1 || is_far_away(); }
  /// Where kernels run on the builders' processors, nothing is built while something is timed.
  int concurrent_tasks() const {
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (units_.device(i).info().beside_builders) return 1;
    const auto builders = static_cast<int>(builders_.size());
    const int tasks = is_far_away() ? kConcurrentTasks
                                    : std::clamp(builders / kBuildersOfATask, kConcurrentTasks, kMostConcurrentTasks);
    return tasks * static_cast<int>(units_.size());
  }

  Status calibrate(const MeasureTask& task, const std::string& steps, const std::string& deciding) {
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (units_.name(i) == deciding) deciding_ = i;
    if (!deciding.empty() && units_.name(deciding_) != deciding)
      return Error{"no device is named " + deciding + "; expected one of " + names(), ErrorKind::wrong_use};
    if (units_.size() == 1) return ok_status();
    const Built built = build_all(task, {steps});
    std::vector<double> seconds(units_.size(), kInfinity);
    units_.on_all([&](Device& device, std::size_t unit) {
      seconds[unit] = compare_on(device, units_.name(unit), task, built, 1)[0].best_seconds();
    });
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (std::isfinite(seconds[i])) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return seconds[i]; });
    if (deciding.empty() && !order.empty()) deciding_ = order[(order.size() - 1) / 2];
    for (const std::size_t i : order)
      if (std::isfinite(seconds[deciding_])) units_.note_pace(i, seconds[i] / seconds[deciding_]);
    return ok_status();
  }
  std::size_t deciding() const { return deciding_; }
  std::vector<UnitReport> units() const { return units_.reports(deciding_); }

  void prepare(const MeasureTask& task, const std::vector<std::string>& steps) { build_all(task, steps); }

  std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                const Incumbent& incumbent) {
    const Built built = build_all(task, steps);
    std::vector<Measured> out(steps.size());
    std::vector<std::size_t> runnable;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      out[i].tree_hash = built[i]->tree_hash;
      out[i].outcome = failed(built[i]->code, built[i]->message);
      if (built[i]->code == OutcomeCode::ok) runnable.push_back(i);
    }
    if (in_jobs())
      run_in_jobs(task, built, runnable, incumbent, out);
    else
      for (const std::size_t i : runnable) out[i].outcome = run(task, *built[i], incumbent);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      add_build(*built[i], out[i].outcome);
      stamp(out[i].outcome);
    }
    return out;
  }

  void forget(const MeasureTask& task) {
    const std::lock_guard<std::mutex> lock(memory_);
    measured_.erase(id_of(task));
  }

  Outcome check(const MeasureTask& task, const std::string& steps, Precision precision) {
    return stamped(checked(task, steps, precision));
  }

  /// On the deciding unit, or where it is lost on another.
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) {
    const Built built = build_all(task, steps);
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const std::size_t unit = (deciding_ + i) % units_.size();
      units_.on(unit, [&](Device& device) { outcomes = compare_on(device, units_.name(unit), task, built, bursts); });
      const bool lost = std::ranges::count(outcomes, OutcomeCode::device_lost, &Outcome::code) > 0;
      if (!lost || interrupted()) break;
    }
    for (Outcome& outcome : outcomes) stamp(outcome);
    return outcomes;
  }

  MeasureCounters counters() const {
    const std::lock_guard<std::mutex> lock(memory_);
    MeasureCounters c = counters_;
    c.builders_started = builders_.started();
    return c;
  }

 private:
  using Built = std::vector<std::shared_ptr<const BuildResult>>;

  /// A task's checks are made one after the other, those of several tasks side by side.
  struct TaskReference {
    std::mutex checking;                 ///< of what follows; held as long as a check takes
    std::optional<Reference> reference;  ///< nothing until it is computed
  };

  /// Asking them costs time: all devices are of one kind.
  bool is_far_away() const { return units_.device(0).info().job_candidates > 1; }
  std::string names() const {
    std::string names;
    for (std::size_t i = 0; i < units_.size(); ++i) names += (i == 0 ? "" : ", ") + units_.name(i);
    return names;
  }

  Outcome checked(const MeasureTask& task, const std::string& steps, Precision precision) {
    const auto kept = build_all(task, {steps});
    const BuildResult& built = *kept[0];
    if (built.code != OutcomeCode::ok) return failed(built.code, built.message);
    const std::shared_ptr<TaskReference> known = reference_of(task);
    const std::lock_guard<std::mutex> lock(known->checking);
    if (!known->reference) {
      Result<Reference> made = Reference::make(task.dag, seed_of(task));
      if (!made.ok()) return failed(OutcomeCode::unknown, "the reference cannot be computed: " + made.error().message);
      known->reference = std::move(*made);
    }
    Reference& reference = *known->reference;
    if (is_far_away() && has_small_outputs(task)) return checked_by_spots(task, built, reference, precision);

    CheckReply reply;
    const Status ran = run_check(task, built, reference.inputs(), [&](const CheckRequest& check) {
      reply = check_on_any(check);
      return reply.code;
    });
    if (!ran.ok())
      return failed(interrupted() ? OutcomeCode::device_lost : OutcomeCode::unknown,
                    "the constants cannot be packed: " + ran.error().message);
    Outcome outcome = failed(reply.code, reply.message);
    if (!outcome.ok()) return outcome;
    auto outputs = written(task, in_task_order(task, built, std::move(reply.outputs)));
    outcome.message = outputs.ok() ? reference.compare(*outputs, precision) : outputs.error().message;
    if (!outcome.message.empty()) outcome.code = OutcomeCode::wrong_answer;
    return outcome;
  }

  /// Elements are asked for by numbers of 32 bits.
  static bool has_small_outputs(const MeasureTask& task) {
    return std::ranges::all_of(task.dag.outputs, [&](OpId id) {
      return num_elements(task.dag.op(id).shape) <= std::int64_t{std::numeric_limits<std::uint32_t>::max()};
    });
  }

  /// The numbers of the task's outputs in the order in which the kernel takes them; nothing where it takes others.
  static std::vector<std::uint32_t> outputs_in_order(const MeasureTask& task, const BuildResult& built) {
    std::vector<std::uint32_t> order, all(task.dag.outputs.size());
    std::iota(all.begin(), all.end(), 0u);
    for (const BuiltArgument& a : built.arguments)
      if (a.kind == BuiltArgument::Kind::output) order.push_back(a.index);
    return std::ranges::is_permutation(order, all) ? order : std::vector<std::uint32_t>();
  }

  /// On a device elsewhere, whose outputs stay there.
  Outcome checked_by_spots(const MeasureTask& task, const BuildResult& built, const Reference& reference,
                           Precision precision) {
    const std::vector<std::uint32_t> order = outputs_in_order(task, built);
    if (order.size() != task.dag.outputs.size())
      return failed(OutcomeCode::wrong_answer, "the kernel has other outputs than the task");
    const std::shared_ptr<Passed> passed = passed_.find(id_of(task));
    const std::vector<AskedOutput> asked = reference.asked(task.within, passed != nullptr, precision);
    SpotsRequest request;
    for (const std::uint32_t number : order) {
      request.outputs.push_back(asked[number]);
      request.outputs.back().passed = number;
      if (passed)
        request.outputs.back().passed =
            static_cast<std::uint32_t>(std::ranges::find(passed->order, number) - passed->order.begin());
    }
    if (passed) request.passed = passed->check;
    SpotsReply reply;
    const Status ran = run_check(task, built, reference.inputs(), [&](const CheckRequest& check) {
      request.check = check;
      reply = spots_on_any(request);
      return reply.code;
    });
    if (!ran.ok())
      return failed(interrupted() ? OutcomeCode::device_lost : OutcomeCode::unknown,
                    "the constants cannot be packed: " + ran.error().message);
    Outcome outcome = failed(reply.code, reply.message);
    if (!outcome.ok()) return outcome;
    std::vector<SeenOutput> seen(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) seen[order[k]] = std::move(reply.outputs[k]);
    reply.outputs = std::move(seen);
    outcome.message = reference.compare(asked, reply, task.within, precision);
    if (!outcome.message.empty()) outcome.code = OutcomeCode::wrong_answer;
    // Later kernels are compared with one that is as exact as they are, and travels with them.
    if (outcome.ok() && !passed && tolerance_of(precision) == 0 && request.check.contents.empty())
      passed_.add(id_of(task), std::make_shared<Passed>(request.check, order));
    return outcome;
  }
  SpotsReply spots_on_any(const SpotsRequest& request) {
    SpotsReply reply{OutcomeCode::device_lost, "no device checked it", false, {}};
    units_.anywhere({[&](Device& device, std::size_t) {
      reply = sane_reply(device.check_spots(request), request);
      return reply.code != OutcomeCode::device_lost;
    }});
    return reply;
  }

  std::vector<Outcome> compare_on(Device& device, const std::string& name, const MeasureTask& task, const Built& built,
                                  int bursts) const {
    TimingPolicy policy = options_.policy;
    policy.classic = false;
    policy.guard = false;
    policy.incumbent_seconds = 0;
    policy.min_seconds = options_.burst_seconds;
    std::vector<Outcome> outcomes(built.size());
    std::vector<std::size_t> turns;  // whose burst is next
    for (std::size_t i = 0; i < built.size(); ++i) outcomes[i] = failed(built[i]->code, built[i]->message);
    for (int burst = 0; burst < bursts; ++burst)
      for (std::size_t i = 0; i < built.size(); ++i)
        if (outcomes[i].ok()) turns.push_back(i);
    const auto request = [&](std::size_t i) { return MeasureRequest{job_of(task, *built[i], nullptr), policy}; };
    const auto add = [&](std::size_t i, Outcome seen) {
      if (seen.ok()) seen.seconds = {seen.best_seconds()};
      add_build(*built[i], seen);
      seen.run_seconds += outcomes[i].run_seconds;
      seen.seconds.insert(seen.seconds.begin(), outcomes[i].seconds.begin(), outcomes[i].seconds.end());
      outcomes[i] = std::move(seen);
    };
    const auto most = static_cast<std::size_t>(device.info().job_candidates);
    if (turns.size() > 1 && most > 1) {
      const std::size_t rounds = std::max(most, built.size()) / built.size() * built.size();  // of all, where they fit
      for (std::size_t first = 0, end = 0; first < turns.size(); first = end) {
        MeasureJob job;  // whichever machine takes it, runs all of it
        std::vector<std::size_t> asked;
        for (end = std::min(turns.size(), first + std::min(most, rounds)); asked.size() < end - first;)
          asked.push_back(turns[first + asked.size()]);
        std::erase_if(asked, [&](std::size_t i) { return !outcomes[i].ok(); });
        if (asked.empty()) continue;
        for (const std::size_t i : asked) job.requests.push_back(request(i));
        JobReply reply = device.run(job);
        reply.replies.resize(asked.size(), {OutcomeCode::device_lost, "the device gave no answer"});
        for (std::size_t k = 0; k < asked.size(); ++k)
          if (outcomes[asked[k]].ok())
            add(asked[k], outcome_of(sane(std::move(reply.replies[k]), job.requests[k], device, task), name));
      }
      return outcomes;
    }
    for (const std::size_t i : turns)
      if (outcomes[i].ok())
        add(i, interrupted() ? failed(OutcomeCode::device_lost, "interrupted before it was compared")
                             : measure_on(device, name, task, request(i)));
    return outcomes;
  }

  void stamp(Outcome& outcome) const {
    const MeasureSetting how = setting();
    if (outcome.device.empty()) outcome.device = how.device;
    outcome.cache = how.cache;
  }
  Outcome stamped(Outcome outcome) const { return stamp(outcome), outcome; }

  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  /// All devices run the same code.
  bool is_emulated() const { return units_.device(0).info().code == CodeFormat::emulated; }

  /// One result for each of `steps`. What several threads ask for at the same time is built for each.
  Built build_all(const MeasureTask& task, const std::vector<std::string>& steps) {
    BuildRequest request{
        task.dag_text, "", to_string(task.target), task.within, is_emulated(), units_.device(0).info().driver};
    const std::string prefix = BuildCache::prefix_of(task);
    Built out;
    std::vector<BuildRequest> missing;
    {
      const std::lock_guard<std::mutex> lock(memory_);
      cache_.trim();
      for (const std::string& s : steps) {
        request.steps = s;
        out.push_back(cache_.find(prefix + s));
        if (!out.back() && std::ranges::find(missing, s, &BuildRequest::steps) == missing.end())
          missing.push_back(request);
      }
    }
    auto results = builders_.build(missing, options_.interrupted);
    const std::lock_guard<std::mutex> lock(memory_);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      counters_.build_seconds += results[i].seconds;
      const auto result = std::make_shared<const BuildResult>(std::move(results[i]));
      if (result->code != OutcomeCode::device_lost) cache_.add(prefix + missing[i].steps, result);  // else it may be asked for again
      for (std::size_t k = 0; k < steps.size(); ++k)
        if (!out[k] && steps[k] == missing[i].steps) out[k] = result;
    }
    return out;
  }

  /// On the only device.
  Outcome run(const MeasureTask& task, const BuildResult& built, const Incumbent& incumbent) {
    if (interrupted()) return failed(OutcomeCode::device_lost, "interrupted before it was measured");
    MeasureRequest request{job_of(task, built, nullptr), options_.policy};
    const std::uint64_t identity = identity_of(task, request);
    if (const auto known = find_measured(task, identity)) return *known;
    request.policy.incumbent_seconds = incumbent.seconds;
    Outcome outcome;
    units_.on(0, [&](Device& device) { outcome = measure_on(device, units_.name(0), task, request); });
    remember(task, identity, outcome);
    return outcome;
  }

  /// Equal code once.
  void run_in_jobs(const MeasureTask& task, const Built& built, const std::vector<std::size_t>& runnable,
                   const Incumbent& incumbent, std::vector<Measured>& out) {
    JobsOfTask jobs;
    jobs.champion_seconds = incumbent.seconds;
    jobs.flops = flops(task.dag);
    jobs.bytes = bytes(task.dag);
    jobs.deciding = deciding_;
    std::vector<std::uint64_t> identities;                     // of the candidates
    std::map<std::uint64_t, std::vector<std::size_t>> places;  // where their outcomes go
    for (const std::size_t i : runnable) {
      MeasureRequest request{job_of(task, *built[i], nullptr), options_.policy};
      const std::uint64_t identity = identity_of(task, request);
      if (const auto known = find_measured(task, identity)) {
        out[i].outcome = *known;
        continue;
      }
      std::vector<std::size_t>& same = places[identity];
      same.push_back(i);
      if (same.size() > 1) continue;
      identities.push_back(identity);
      jobs.candidates.push_back(std::move(request));
    }
    if (jobs.candidates.empty()) return;
    if (incumbent.steps) {
      const Built champion = build_all(task, {*incumbent.steps});
      if (champion[0]->code == OutcomeCode::ok) jobs.champion = {job_of(task, *champion[0], nullptr), options_.policy};
    }
    const std::vector<Outcome> outcomes = measure_in_jobs(units_, jobs);
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      remember(task, identities[k], outcomes[k]);
      for (const std::size_t i : places[identities[k]]) out[i].outcome = outcomes[k];
    }
  }

  void remember(const MeasureTask& task, std::uint64_t identity, const Outcome& outcome) {
    const std::lock_guard<std::mutex> lock(memory_);
    counters_.run_seconds += outcome.run_seconds;
    if (says_something_about_the_code(outcome)) measured_[id_of(task)].emplace(identity, outcome);
  }

  std::optional<Outcome> find_measured(const MeasureTask& task, std::uint64_t identity) {
    const std::lock_guard<std::mutex> lock(memory_);
    const auto& of_task = measured_[id_of(task)];
    const auto it = of_task.find(identity);
    if (it == of_task.end()) return std::nullopt;
    ++counters_.measured_once;
    return it->second;
  }

  static MeasureReply sane(MeasureReply reply, const MeasureRequest& request, const Device& device,
                           const MeasureTask& task) {
    return sane_reply(std::move(reply), request, device.info(), flops(task.dag), bytes(task.dag));
  }
  static Outcome measure_on(Device& device, const std::string& name, const MeasureTask& task,
                            const MeasureRequest& request) {
    return outcome_of(sane(device.measure(request), request, device, task), name);
  }
  CheckReply check_on_any(const CheckRequest& request) {
    CheckReply reply{OutcomeCode::device_lost, "no device checked it", {}};
    units_.anywhere({[&](Device& device, std::size_t) {
      reply = sane_reply(device.check(request), request);
      return reply.code != OutcomeCode::device_lost;
    }});
    return reply;
  }

  /// A truncated time says only "slower than that incumbent was"; a runner that was killed from outside says nothing.
  static bool says_something_about_the_code(const Outcome& outcome) {
    switch (outcome.code) {
      case OutcomeCode::device_lost:
      case OutcomeCode::out_of_memory:
      case OutcomeCode::unknown:
        return false;
      default:
        return !outcome.truncated;
    }
  }

  /// The same code on the same data under the same policy takes the same time.
  std::uint64_t identity_of(const MeasureTask& task, MeasureRequest request) const {
    request.policy.incumbent_seconds = 0;
    std::uint64_t h = hash_bytes(task.key);
    h = hash_combine(h, static_cast<std::uint64_t>(request.policy.cache));
    h = hash_combine(h, static_cast<std::uint64_t>(request.policy.network_bytes));
    return hash_combine(h, hash_bytes(encode(request.job)));
  }

  std::uint64_t seed_of(const MeasureTask& task) const { return hash_combine(options_.seed, hash_bytes(task.key)); }

  /// `inputs`: the placeholders' contents for a check; else legal ones made up here.
  KernelJob job_of(const MeasureTask& task, const BuildResult& built, const std::vector<ArgumentSpec>* inputs) const {
    KernelJob job;
    job.kernel = built.kernel;
    job.threads = static_cast<std::uint32_t>(std::max(1, task.target.threads));
    job.cpu = options_.cpu;
    for (const BuiltArgument& a : built.arguments) {
      ArgumentSpec spec = a.spec;
      if (a.kind == BuiltArgument::Kind::input) {
        spec.seed = hash_combine(seed_of(task), a.index);
        if (inputs && a.index < inputs->size()) spec = (*inputs)[a.index];
      }
      job.arguments.push_back(spec);
    }
    return job;
  }

  /// Has a kernel checked on the reference's inputs. Its constants are packed by compiled code, and where that fails, and
  /// could be why the kernel fails, by the interpreter.
  Status run_check(const MeasureTask& task, const BuildResult& built, const std::vector<ArgumentSpec>& inputs,
                   const std::function<OutcomeCode(const CheckRequest&)>& check) {
    CheckRequest request{job_of(task, built, &inputs), {}, {}, {}};
    if (!has_packed(built)) return check(request), ok_status();
    WHET_TRY(const ComputeDag packing_dag, parse_dag(built.packing));
    std::vector<ArgumentSpec> constants;
    for (const ArgumentSpec& spec : inputs)
      if (spec.role == ArgumentRole::constant) constants.push_back(spec);
    if (const auto packing = packing_of(task, packing_dag, built.packing); packing->code == OutcomeCode::ok) {
      const MeasureTask packing_task = packing_task_of(task, packing_dag);
      std::vector<ArgumentSpec> unpacked = constants;
      for (ArgumentSpec& spec : unpacked) spec.role = ArgumentRole::activation;
      request.packing = job_of(packing_task, *packing, &unpacked);
      for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
        if (built.arguments[i].kind == BuiltArgument::Kind::packed)
          request.packed.emplace_back(i, argument_of(*packing, built.arguments[i].index));
      if (check(request) == OutcomeCode::ok || interrupted()) return ok_status();
      request.packing.reset();
      request.packed.clear();
    }
    if (interrupted()) return Error{"interrupted"};  // to interpret it takes long
    WHET_TRY(const std::vector<std::string> packed, interpret_packing(packing_dag, constants));
    for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
      if (built.arguments[i].kind == BuiltArgument::Kind::packed)
        request.contents.emplace_back(i, packed.at(built.arguments[i].index));
    return check(request), ok_status();
  }

  static bool has_packed(const BuildResult& built) {
    return std::any_of(built.arguments.begin(), built.arguments.end(),
                       [](const BuiltArgument& a) { return a.kind == BuiltArgument::Kind::packed; });
  }

  /// Outputs as the task numbers them; a kernel may take them in another order.
  static std::vector<std::string> in_task_order(const MeasureTask& task, const BuildResult& built,
                                                std::vector<std::string> outputs) {
    std::vector<std::string> out(task.dag.outputs.size());
    std::size_t next = 0;
    for (const BuiltArgument& a : built.arguments)
      if (a.kind == BuiltArgument::Kind::output && next < outputs.size() && a.index < out.size())
        out[a.index] = std::move(outputs[next++]);
    return out;
  }

  /// What the kernel wrote, without what the whole around it has beside a part.
  static Result<std::vector<std::string>> written(const MeasureTask& task, std::vector<std::string> outputs) {
    if (task.within.empty()) return outputs;
    const Op& op = task.dag.op(task.dag.outputs.front());
    WHET_TRY(outputs.front(), part_of(outputs.front(), {op.dtype, op.shape}, task.within, kPoison));
    return outputs;
  }

  std::shared_ptr<TaskReference> reference_of(const MeasureTask& task) {
    return references_.add(task.key + '\n' + std::to_string(task.dag_hash),
                           std::make_shared<TaskReference>());
  }

  static MeasureTask packing_task_of(const MeasureTask& task, const ComputeDag& packing_dag) {
    return {task.key + " prologue", "", with_inputs(packing_dag), task.target};
  }
  /// The kernel that packs constants, by default schedules. Not through the cache of builds, which may drop the
  /// candidate that is being checked.
  std::shared_ptr<const BuildResult> packing_of(const MeasureTask& task, const ComputeDag& packing_dag,
                                                const std::string& text) {
    if (auto found = packings_.find(text)) return found;
    const MeasureTask packing = packing_task_of(task, packing_dag);
    BuildResult built = std::move(builders_.build({{packing.dag_text, "", to_string(packing.target)}})[0]);
    if (has_packed(built)) built.code = OutcomeCode::unknown;
    return packings_.add(text, std::make_shared<const BuildResult>(std::move(built)));
  }
  /// The kernel's argument that is output `number` of its task.
  static std::uint32_t argument_of(const BuildResult& built, std::uint32_t number) {
    for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
      if (built.arguments[i].kind == BuiltArgument::Kind::output && built.arguments[i].index == number) return i;
    WHET_CHECK(false, "a packed constant that nothing computes");
  }

  static Result<std::vector<std::string>> interpret_packing(const ComputeDag& dag,
                                                            const std::vector<ArgumentSpec>& constants) {
    std::vector<Tensor> tensors;
    for (const Op& op : dag.ops)
      if (op.is_placeholder() && tensors.size() < constants.size())
        tensors.push_back(make_tensor(constants[tensors.size()], op.shape));
    WHET_TRY(auto outputs, evaluate(dag, tensors));
    std::vector<std::string> out;
    for (const Tensor& t : outputs)
      out.emplace_back(static_cast<const char*>(t.data()), static_cast<std::size_t>(t.bytes()));
    return out;
  }

  MeasureOptions options_;
  BuilderPool& builders_;
  Units units_;
  std::size_t deciding_ = 0;   ///< the unit
  mutable std::mutex memory_;  ///< of `cache_`, `measured_` and `counters_`
  BuildCache cache_;
  std::unordered_map<std::string, std::unordered_map<std::uint64_t, Outcome>> measured_;  ///< by task, then by code
  MeasureCounters counters_;
  Kept<TaskReference> references_{kKeptReferences};
  Kept<const BuildResult> packings_{kKeptPackings};  ///< by the text of the packing
  /// A kernel that was right on a device elsewhere, and the task's outputs in its order.
  struct Passed {
    CheckRequest check;
    std::vector<std::uint32_t> order;
  };
  Kept<Passed> passed_{kKeptReferences};  ///< by task
};

DeviceMeasurer::DeviceMeasurer(BuilderPool& builders, const std::vector<Device*>& devices, MeasureOptions options)
    : impl_(std::make_unique<Impl>(builders, devices, std::move(options))) {}
DeviceMeasurer::~DeviceMeasurer() = default;
MeasureSetting DeviceMeasurer::setting() const { return impl_->setting(); }
bool DeviceMeasurer::in_jobs() const { return impl_->in_jobs(); }
int DeviceMeasurer::concurrent_tasks() const { return impl_->concurrent_tasks(); }
void DeviceMeasurer::prepare(const MeasureTask& task, const std::vector<std::string>& steps) {
  impl_->prepare(task, steps);
}
std::vector<Measured> DeviceMeasurer::measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                              const Incumbent& incumbent) {
  return impl_->measure(task, steps, incumbent);
}
void DeviceMeasurer::forget(const MeasureTask& task) { impl_->forget(task); }
Outcome DeviceMeasurer::check(const MeasureTask& task, const std::string& steps, Precision precision) {
  return impl_->check(task, steps, precision);
}
std::vector<Outcome> DeviceMeasurer::compare(const MeasureTask& task, const std::vector<std::string>& steps,
                                             int bursts) {
  return impl_->compare(task, steps, bursts);
}
Status DeviceMeasurer::calibrate(const MeasureTask& task, const std::string& steps, const std::string& deciding) {
  return impl_->calibrate(task, steps, deciding);
}
std::size_t DeviceMeasurer::deciding() const { return impl_->deciding(); }
std::vector<UnitReport> DeviceMeasurer::units() const { return impl_->units(); }
MeasureCounters DeviceMeasurer::counters() const { return impl_->counters(); }

}  // namespace whet
