#include "measure/device_measurer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/hash.h"
#include "device/sane_reply.h"
#include "measure/part.h"
#include "measure/reference.h"

namespace whet {
namespace {

/// Built kernels kept for checks, confirmations and repeats.
constexpr std::size_t kKeptObjectBytes = std::size_t{32} << 20;
/// Outputs before a check (GuardedBuffer::poison).
constexpr char kPoison = '\xff';
constexpr std::size_t kKeptPackings = 16, kKeptReferences = 64;

/// The last few values by key, oldest out first.
template <typename Value>
class Kept {
 public:
  explicit Kept(std::size_t most) : most_(most) {}
  Value* find(const std::string& key) {
    for (auto it = list_.begin(); it != list_.end(); ++it) {
      if (it->first != key) continue;
      list_.splice(list_.begin(), list_, it);
      return &list_.front().second;
    }
    return nullptr;
  }
  Value& add(std::string key, Value value) {
    list_.emplace_front(std::move(key), std::move(value));
    if (list_.size() > most_) list_.pop_back();
    return list_.front().second;
  }

 private:
  std::size_t most_;
  std::list<std::pair<std::string, Value>> list_;
};

/// Results of builds by request, dropped all at once when their objects take too much memory.
class BuildCache {
 public:
  const BuildResult* find(const BuildRequest& r) const {
    const auto it = results_.find(key(r));
    return it == results_.end() ? nullptr : &it->second;
  }
  /// References stay valid until the next call of `trim`.
  const BuildResult& add(const BuildRequest& r, BuildResult result) {
    bytes_ += result.kernel.code.size();
    return results_.insert_or_assign(key(r), std::move(result)).first->second;
  }
  void trim() {
    if (bytes_ <= kKeptObjectBytes) return;
    results_.clear();
    bytes_ = 0;
  }

 private:
  static std::string key(const BuildRequest& r) {
    return std::to_string(hash_bytes(r.dag)) + '\n' + to_string(r.within) + '\n' + r.target + '\n' + r.steps;
  }
  std::unordered_map<std::string, BuildResult> results_;
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
      : options_(std::move(options)), builders_(builders) {
    WHET_CHECK(!devices.empty());
    for (Device* device : devices) units_.push_back(std::make_unique<Unit>(device));
  }

  MeasureSetting setting() const { return {units_.front()->device->info().name, name_of(options_.policy.cache)}; }
  std::vector<std::string> devices() const {
    std::vector<std::string> names;
    for (const auto& unit : units_)
      if (std::ranges::find(names, unit->name()) == names.end()) names.push_back(unit->name());
    return names;
  }
  int width() const { return static_cast<int>(units_.size()); }

  void prepare(const MeasureTask& task, const std::vector<std::string>& steps) { build_all(task, steps); }

  std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                const Incumbent& incumbent) {
    const auto built = build_all(task, steps);
    std::vector<Measured> out(steps.size());
    std::atomic<std::size_t> next = 0;
    on_all_units([&](std::size_t unit) {
      for (std::size_t i = next++; i < steps.size(); i = next++) {
        out[i].tree_hash = built[i]->tree_hash;
        out[i].outcome = built[i]->code == OutcomeCode::ok ? run(task, *built[i], incumbent, unit)
                                                           : failed(built[i]->code, built[i]->message);
        add_build(*built[i], out[i].outcome);
        stamp(out[i].outcome);
      }
    });
    return out;
  }

  void forget(const MeasureTask& task) { measured_.erase(id_of(task)); }

  Outcome check(const MeasureTask& task, const std::string& steps) { return stamped(checked(task, steps)); }

  /// On the first unit that is not lost, of this name where one is given.
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts,
                               const std::string* name = nullptr) {
    const auto built = build_all(task, steps);
    std::vector<Outcome> outcomes;
    for (const auto& unit : units_) {
      if (name && unit->name() != *name) continue;
      outcomes = compare_on(*unit, task, built, bursts);
      const bool lost = std::ranges::count(outcomes, OutcomeCode::device_lost, &Outcome::code) > 0;
      if (!lost || interrupted()) break;
    }
    WHET_CHECK(outcomes.size() == steps.size(), "no device has this name");
    for (Outcome& outcome : outcomes) stamp(outcome);
    return outcomes;
  }

  MeasureCounters counters() const {
    MeasureCounters c = counters_;
    c.builders_started = builders_.started();
    return c;
  }

 private:
  /// A device answers one request at a time.
  struct Unit {
    explicit Unit(Device* device) : device(device) {}
    const std::string& name() const { return device->info().name; }
    Device* device;
    std::mutex busy;
  };

  Outcome checked(const MeasureTask& task, const std::string& steps) {
    const BuildResult& built = *build_all(task, {steps})[0];
    if (built.code != OutcomeCode::ok) return failed(built.code, built.message);
    auto reference = reference_of(task);
    if (!reference.ok())
      return failed(OutcomeCode::unknown, "the reference cannot be computed: " + reference.error().message);
    const auto& inputs = (*reference)->inputs();

    auto checked = run_check(task, built, inputs);
    if (!checked.ok())
      return failed(interrupted() ? OutcomeCode::device_lost : OutcomeCode::unknown,
                    "the constants cannot be packed: " + checked.error().message);
    CheckReply& reply = *checked;
    Outcome outcome = failed(reply.code, reply.message);
    if (!outcome.ok()) return outcome;
    auto outputs = written(task, in_task_order(task, built, std::move(reply.outputs)));
    outcome.message = outputs.ok() ? (*reference)->compare(*outputs, precision_of(steps)) : outputs.error().message;
    if (!outcome.message.empty()) outcome.code = OutcomeCode::wrong_answer;
    return outcome;
  }

  std::vector<Outcome> compare_on(Unit& unit, const MeasureTask& task, const std::vector<const BuildResult*>& built,
                                  int bursts) {
    TimingPolicy policy = options_.policy;
    policy.classic = false;
    policy.guard = false;
    policy.incumbent_seconds = 0;
    policy.min_seconds = options_.burst_seconds;
    std::vector<Outcome> outcomes(built.size());
    for (std::size_t i = 0; i < built.size(); ++i) outcomes[i] = failed(built[i]->code, built[i]->message);
    for (int burst = 0; burst < bursts; ++burst) {
      for (std::size_t i = 0; i < built.size(); ++i) {
        if (!outcomes[i].ok()) continue;
        Outcome seen = interrupted() ? failed(OutcomeCode::device_lost, "interrupted before it was compared")
                                     : measure_on(unit, task, {job_of(task, *built[i], nullptr), policy});
        if (seen.ok()) seen.seconds = {seen.best_seconds()};
        add_build(*built[i], seen);
        seen.run_seconds += outcomes[i].run_seconds;
        seen.seconds.insert(seen.seconds.begin(), outcomes[i].seconds.begin(), outcomes[i].seconds.end());
        outcomes[i] = std::move(seen);
      }
    }
    return outcomes;
  }

  /// Calls `work` once a unit, side by side.
  void on_all_units(const std::function<void(std::size_t unit)>& work) {
    std::vector<std::thread> others;
    for (std::size_t unit = 1; unit < units_.size(); ++unit) others.emplace_back(work, unit);
    work(0);
    for (std::thread& other : others) other.join();
  }

  void stamp(Outcome& outcome) const {
    const MeasureSetting how = setting();
    if (outcome.device.empty()) outcome.device = how.device;
    outcome.cache = how.cache;
  }
  Outcome stamped(Outcome outcome) const { return stamp(outcome), outcome; }

  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  /// All devices run the same code.
  bool is_emulated() const { return units_.front()->device->info().code == CodeFormat::emulated; }

  /// One result for each of `steps`, valid until the next call.
  std::vector<const BuildResult*> build_all(const MeasureTask& task, const std::vector<std::string>& steps) {
    cache_.trim();
    BuildRequest request{to_text(task.dag),      "",
                         to_string(task.target), task.within,
                         is_emulated(),          units_.front()->device->info().driver};
    std::vector<BuildRequest> missing;
    for (const std::string& s : steps) {
      request.steps = s;
      if (!cache_.find(request) && std::find(missing.begin(), missing.end(), request) == missing.end())
        missing.push_back(request);
    }
    auto results = builders_.build(missing, options_.interrupted);
    interrupted_builds_.clear();
    for (std::size_t i = 0; i < missing.size(); ++i) {
      counters_.build_seconds += results[i].seconds;
      // What was not tried may be asked for again.
      if (results[i].code == OutcomeCode::device_lost)
        interrupted_builds_.push_back(std::move(results[i]));
      else
        cache_.add(missing[i], std::move(results[i]));
    }
    std::vector<const BuildResult*> out;
    for (const std::string& s : steps) {
      request.steps = s;
      const BuildResult* found = cache_.find(request);
      out.push_back(found ? found : &interrupted_builds_.front());
    }
    return out;
  }

  /// On this unit, or where it is lost on the next that is not.
  Outcome run(const MeasureTask& task, const BuildResult& built, const Incumbent& incumbent, std::size_t first) {
    if (interrupted()) return failed(OutcomeCode::device_lost, "interrupted before it was measured");
    MeasureRequest request{job_of(task, built, nullptr), options_.policy};
    const std::uint64_t identity = identity_of(task, request);
    if (const Outcome* known = find_measured(task, identity)) return *known;
    Outcome outcome;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      Unit& unit = *units_[(first + i) % units_.size()];
      request.policy.incumbent_seconds = incumbent.on(unit.name());
      outcome = measure_on(unit, task, request);
      if (outcome.code != OutcomeCode::device_lost || interrupted()) break;
    }
    const std::lock_guard<std::mutex> lock(memory_);
    counters_.run_seconds += outcome.run_seconds;
    if (says_something_about_the_code(outcome)) measured_[id_of(task)].emplace(identity, outcome);
    return outcome;
  }

  const Outcome* find_measured(const MeasureTask& task, std::uint64_t identity) {
    const std::lock_guard<std::mutex> lock(memory_);
    const auto& of_task = measured_[id_of(task)];
    const auto it = of_task.find(identity);
    if (it == of_task.end()) return nullptr;
    ++counters_.measured_once;
    return &it->second;
  }

  static Outcome measure_on(Unit& unit, const MeasureTask& task, const MeasureRequest& request) {
    const std::lock_guard<std::mutex> lock(unit.busy);
    const DeviceInfo& info = unit.device->info();
    Outcome outcome =
        outcome_of(sane_reply(unit.device->measure(request), request, info, flops(task.dag), bytes(task.dag)));
    outcome.device = info.name;
    return outcome;
  }
  /// The first unit that is not lost.
  CheckReply check_on_any(const CheckRequest& request) {
    CheckReply reply;
    for (const auto& unit : units_) {
      const std::lock_guard<std::mutex> lock(unit->busy);
      reply = sane_reply(unit->device->check(request), request);
      if (reply.code != OutcomeCode::device_lost || interrupted()) break;
    }
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

  static Outcome outcome_of(MeasureReply reply) {
    Outcome o;
    o.code = reply.code;
    o.message = std::move(reply.message);
    o.seconds = std::move(reply.seconds);
    o.truncated = reply.truncated;
    o.run_seconds = reply.run_seconds;
    return o;
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

  /// Runs a kernel on the reference's inputs. Its constants are packed by compiled code, and where that fails, and could
  /// be why the kernel fails, by the interpreter.
  Result<CheckReply> run_check(const MeasureTask& task, const BuildResult& built,
                               const std::vector<ArgumentSpec>& inputs) {
    CheckRequest request{job_of(task, built, &inputs), {}, {}, {}};
    if (!has_packed(built)) return check_on_any(request);
    WHET_TRY(const ComputeDag packing_dag, parse_dag(built.packing));
    std::vector<ArgumentSpec> constants;
    for (const ArgumentSpec& spec : inputs)
      if (spec.role == ArgumentRole::constant) constants.push_back(spec);
    if (const BuildResult& packing = packing_of(task, packing_dag, built.packing); packing.code == OutcomeCode::ok) {
      const MeasureTask packing_task = packing_task_of(task, packing_dag);
      std::vector<ArgumentSpec> unpacked = constants;
      for (ArgumentSpec& spec : unpacked) spec.role = ArgumentRole::activation;
      request.packing = job_of(packing_task, packing, &unpacked);
      for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
        if (built.arguments[i].kind == BuiltArgument::Kind::packed)
          request.packed.emplace_back(i, argument_of(packing, built.arguments[i].index));
      CheckReply reply = check_on_any(request);
      if (reply.code == OutcomeCode::ok || interrupted()) return reply;
      request.packing.reset();
      request.packed.clear();
    }
    if (interrupted()) return Error{"interrupted"};  // to interpret it takes long
    WHET_TRY(const std::vector<std::string> packed, interpret_packing(packing_dag, constants));
    for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
      if (built.arguments[i].kind == BuiltArgument::Kind::packed)
        request.contents.emplace_back(i, packed.at(built.arguments[i].index));
    return check_on_any(request);
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

  Result<Reference*> reference_of(const MeasureTask& task) {
    const std::string key = task.key + '\n' + std::to_string(hash_bytes(to_text(task.dag)));
    if (Reference* found = references_.find(key)) return found;
    WHET_TRY(Reference made, Reference::make(task.dag, seed_of(task)));
    return &references_.add(key, std::move(made));
  }

  static MeasureTask packing_task_of(const MeasureTask& task, const ComputeDag& packing_dag) {
    return {task.key + " prologue", "", with_inputs(packing_dag), task.target};
  }
  /// The kernel that packs constants, by default schedules. Not through the cache of builds, which may drop the
  /// candidate that is being checked.
  const BuildResult& packing_of(const MeasureTask& task, const ComputeDag& packing_dag, const std::string& text) {
    if (const BuildResult* found = packings_.find(text)) return *found;
    const MeasureTask packing = packing_task_of(task, packing_dag);
    BuildResult built = std::move(builders_.build({{to_text(packing.dag), "", to_string(packing.target)}})[0]);
    if (has_packed(built)) built.code = OutcomeCode::unknown;
    return packings_.add(text, std::move(built));
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
  std::vector<std::unique_ptr<Unit>> units_;
  BuildCache cache_;
  std::vector<BuildResult> interrupted_builds_;
  std::mutex memory_;  ///< of `measured_` and `counters_` while several units measure
  std::unordered_map<std::string, std::unordered_map<std::uint64_t, Outcome>> measured_;  ///< by task, then by code
  Kept<Reference> references_{kKeptReferences};
  Kept<BuildResult> packings_{kKeptPackings};  ///< by the text of the packing
  MeasureCounters counters_;
};

DeviceMeasurer::DeviceMeasurer(BuilderPool& builders, const std::vector<Device*>& devices, MeasureOptions options)
    : impl_(std::make_unique<Impl>(builders, devices, std::move(options))) {}
DeviceMeasurer::~DeviceMeasurer() = default;
MeasureSetting DeviceMeasurer::setting() const { return impl_->setting(); }
std::vector<std::string> DeviceMeasurer::devices() const { return impl_->devices(); }
int DeviceMeasurer::width() const { return impl_->width(); }
void DeviceMeasurer::prepare(const MeasureTask& task, const std::vector<std::string>& steps) {
  impl_->prepare(task, steps);
}
std::vector<Measured> DeviceMeasurer::measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                              const Incumbent& incumbent) {
  return impl_->measure(task, steps, incumbent);
}
void DeviceMeasurer::forget(const MeasureTask& task) { impl_->forget(task); }
Outcome DeviceMeasurer::check(const MeasureTask& task, const std::string& steps) { return impl_->check(task, steps); }
std::vector<Outcome> DeviceMeasurer::compare(const MeasureTask& task, const std::vector<std::string>& steps,
                                             int bursts) {
  return impl_->compare(task, steps, bursts);
}
std::vector<Outcome> DeviceMeasurer::compare_on(const std::string& device, const MeasureTask& task,
                                                const std::vector<std::string>& steps, int bursts) {
  return impl_->compare(task, steps, bursts, &device);
}
MeasureCounters DeviceMeasurer::counters() const { return impl_->counters(); }

}  // namespace whet
