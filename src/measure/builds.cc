#include "measure/builds.h"

#include <algorithm>

#include "measure/reference.h"
#include "runner/given.h"
#include "runner/lent.h"

namespace whet {
namespace {

/// Built kernels kept for checks, confirmations and repeats, and what they are called with.
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;

std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace

void add_build(const BuildResult& built, Outcome& outcome) {
  outcome.build_seconds = built.seconds;
  outcome.registers = built.report.registers;
  outcome.spill_bytes = built.report.spill_bytes;
}

BuildResults Builds::of(const MeasureTask& task, const std::vector<std::string>& steps) {
  const std::string target = to_string(task.target);
  const std::string prefix =
      std::to_string(task.dag_hash) + '\n' + to_string(task.within) + '\n' + target + '\n' + task.inputs.hash + '\n';
  BuildResults out;
  std::vector<BuildRequest> missing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    trim();
    for (const std::string& s : steps) {
      out.push_back(find(prefix + s));
      if (!out.back() && std::ranges::find(missing, s, &BuildRequest::steps) == missing.end())
        missing.push_back({task.dag_text, s, target, task.within, emulated_, driver_});
    }
  }
  std::vector<BuildResult> results = builders_.build(missing, interrupted_);
  if (!task.inputs.hash.empty())
    for (BuildResult& result : results) give_inputs(task, result);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    seconds_ += results[i].seconds;
    const auto result = std::make_shared<const BuildResult>(std::move(results[i]));
    if (result->code != OutcomeCode::device_lost && results_.try_emplace(prefix + missing[i].steps, result).second)
      bytes_ += result->kernel.code.size();
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (!out[k] && steps[k] == missing[i].steps) out[k] = result;
  }
  return out;
}

/// Arguments have the user's contents: inputs as they are, constants of integers as they are packed. What packed floats are no time
/// depends on.
void Builds::give_inputs(const MeasureTask& task, BuildResult& built) {
  std::vector<Contents> packed;
  for (BuiltArgument& argument : built.arguments) {
    const bool is_index = argument.kind == BuiltArgument::Kind::packed && !is_float(argument.spec.dtype);
    if (argument.kind == BuiltArgument::Kind::input && task.inputs.number(argument.index) != 0)
      argument.spec = given_spec(argument.spec, task.inputs.number(argument.index));
    if (!is_index) continue;
    if (packed.empty()) packed = packed_contents(task, built);
    if (argument.index >= packed.size()) continue;
    argument.spec = given_spec(argument.spec, number_of_contents(*packed[argument.index]));
    built.given.push_back(packed[argument.index]);
  }
}

/// What the packing makes of the constants, made from seeds where they are not given; nothing where it cannot be evaluated.
std::vector<Builds::Contents> Builds::packed_contents(const MeasureTask& task, const BuildResult& built) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = packed_.find(built.packing + task.inputs.hash); known != packed_.end()) return known->second;
  }
  std::vector<Contents> contents;
  if (const Result<ComputeDag> packing = parse_dag(built.packing); packing.ok()) {
    std::vector<std::uint64_t> numbers;
    std::size_t placeholder = 0;
    for (const Op& op : task.dag.ops) {
      if (!op.is_placeholder()) continue;
      if (std::get<Placeholder>(op.def).constant) numbers.push_back(task.inputs.number(placeholder));
      ++placeholder;
    }
    std::vector<Tensor> constants;
    for (const Op& op : packing->ops)
      if (op.is_placeholder() && constants.size() < numbers.size())
        constants.push_back(make_tensor(spec_of(op, constants.size(), numbers[constants.size()]), op.shape));
    if (const Result<std::vector<Tensor>> outputs = evaluate(*packing, constants); outputs.ok())
      for (const Tensor& output : *outputs)
        contents.push_back(is_float(output.dtype()) ? nullptr : lend_given(bytes_of(output)));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] = packed_.try_emplace(built.packing + task.inputs.hash, std::move(contents));
  for (const Contents& each : entry->second) bytes_ += is_new && each ? each->size() : 0;
  return entry->second;
}

BuildResult Builds::naive(const MeasureTask& task) {
  return std::move(builders_.build({{task.dag_text, "", to_string(task.target)}})[0]);
}

double Builds::seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return seconds_;
}

std::shared_ptr<const BuildResult> Builds::find(const std::string& key) const {
  const auto it = results_.find(key);
  return it == results_.end() ? nullptr : it->second;
}

/// Drops all at once.
void Builds::trim() {
  if (bytes_ <= kKeptBytes) return;
  results_.clear();
  packed_.clear();
  bytes_ = 0;
}

}  // namespace whet
