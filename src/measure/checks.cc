#include "measure/checks.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "compute/dag.h"
#include "device/sane_reply.h"
#include "measure/kernel_job.h"
#include "measure/part.h"

namespace whet {
namespace {

/// Outputs before a check (GuardedBuffer::poison).
constexpr char kPoison = '\xff';
constexpr std::size_t kKeptPackings = 16, kKeptReferences = 64;

/// Elements are asked for by numbers of 32 bits.
bool has_small_outputs(const MeasureTask& task) {
  return std::ranges::all_of(task.dag.outputs, [&](OpId id) {
    return num_elements(task.dag.op(id).shape) <= std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  });
}

/// The numbers of the task's outputs in the order in which the kernel takes them; nothing where it takes others.
std::vector<std::uint32_t> outputs_in_order(const MeasureTask& task, const BuildResult& built) {
  std::vector<std::uint32_t> order, all(task.dag.outputs.size());
  std::iota(all.begin(), all.end(), 0u);
  for (const BuiltArgument& a : built.arguments)
    if (a.kind == BuiltArgument::Kind::output) order.push_back(a.index);
  return std::ranges::is_permutation(order, all) ? order : std::vector<std::uint32_t>();
}

/// Outputs as the task numbers them; a kernel may take them in another order.
std::vector<std::string> in_task_order(const MeasureTask& task, const BuildResult& built,
                                       std::vector<std::string> outputs) {
  std::vector<std::string> out(task.dag.outputs.size());
  std::size_t next = 0;
  for (const BuiltArgument& a : built.arguments)
    if (a.kind == BuiltArgument::Kind::output && next < outputs.size() && a.index < out.size())
      out[a.index] = std::move(outputs[next++]);
  return out;
}

/// What the kernel wrote, without what the whole around it has beside a part.
Result<std::vector<std::string>> written(const MeasureTask& task, std::vector<std::string> outputs) {
  if (task.within.empty()) return outputs;
  const Op& op = task.dag.op(task.dag.outputs.front());
  WHET_TRY(outputs.front(), part_of(outputs.front(), {op.dtype, op.shape}, task.within, kPoison));
  return outputs;
}

bool has_packed(const BuildResult& built) {
  return std::ranges::count(built.arguments, BuiltArgument::Kind::packed, &BuiltArgument::kind) > 0;
}

/// The kernel's argument that is output `number` of its task.
std::uint32_t argument_of(const BuildResult& built, std::uint32_t number) {
  for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
    if (built.arguments[i].kind == BuiltArgument::Kind::output && built.arguments[i].index == number) return i;
  WHET_CHECK(false, "a packed constant that nothing computes");
}

/// The packing of a task's constants as a task. Its constants are ordinary inputs, so that lowering leaves the packing in the
/// kernel.
MeasureTask packing_task_of(const MeasureTask& task, ComputeDag packing) {
  for (Op& op : packing.ops)
    if (op.is_placeholder()) std::get<Placeholder>(op.def).constant = false;
  return {task.key + " prologue", "", std::move(packing), task.target};
}

Result<std::vector<std::string>> interpret_packing(const ComputeDag& dag, const std::vector<ArgumentSpec>& constants) {
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

/// `ask`s whichever device is free, until one answers.
template <typename Reply, typename Request>
Reply answer_of(Units& units, const Request& request, Reply (Device::*ask)(const Request&)) {
  Reply reply;
  reply.code = OutcomeCode::device_lost;
  reply.message = "no device checked it";
  units.anywhere({[&](Device& device, std::size_t) {
    reply = sane_reply((device.*ask)(request), request);
    return reply.code != OutcomeCode::device_lost;
  }});
  return reply;
}

/// wrong_answer where there is something to say against it.
Outcome judged(std::string wrong) {
  const OutcomeCode code = wrong.empty() ? OutcomeCode::ok : OutcomeCode::wrong_answer;
  return {code, std::move(wrong)};
}

}  // namespace

Checks::Checks(Builds& builds, Units& units, const MeasureOptions& options)
    : builds_(builds),
      units_(units),
      options_(options),
      references_(kKeptReferences),
      packings_(kKeptPackings),
      passed_(kKeptReferences) {}

Outcome Checks::check(const MeasureTask& task, const BuildResult& built, Precision precision) {
  if (built.code != OutcomeCode::ok) return {built.code, built.message};
  const auto known = references_.add(task.key + '\n' + std::to_string(task.dag_hash) + '\n' + task.inputs.hash,
                                     std::make_shared<TaskReference>());
  const std::lock_guard<std::mutex> lock(known->checking);
  if (!known->reference) {
    Result<Reference> made = Reference::make(task.dag, seed_of(task, options_), task.inputs);
    if (!made.ok()) return {OutcomeCode::unknown, "the reference cannot be computed: " + made.error().message};
    known->reference = std::move(*made);
  }
  const bool by_spots = units_.are_far_away() && has_small_outputs(task);
  return by_spots ? spots(task, built, *known->reference, precision) : whole(task, built, *known->reference, precision);
}

Outcome Checks::whole(const MeasureTask& task, const BuildResult& built, Reference& reference, Precision precision) {
  CheckReply reply;
  const Status ran = run(task, built, reference.inputs(), [&](const CheckRequest& check) {
    reply = answer_of(units_, check, &Device::check);
    return reply.code;
  });
  if (!ran.ok()) return not_run(ran.error());
  if (reply.code != OutcomeCode::ok) return {reply.code, reply.message};
  auto outputs = written(task, in_task_order(task, built, std::move(reply.outputs)));
  return judged(outputs.ok() ? reference.compare(*outputs, precision) : outputs.error().message);
}

Outcome Checks::spots(const MeasureTask& task, const BuildResult& built, const Reference& reference,
                      Precision precision) {
  const std::vector<std::uint32_t> order = outputs_in_order(task, built);
  if (order.size() != task.dag.outputs.size())
    return {OutcomeCode::wrong_answer, "the kernel has other outputs than the task"};
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
  const Status ran = run(task, built, reference.inputs(), [&](const CheckRequest& check) {
    request.check = check;
    reply = answer_of(units_, request, &Device::check_spots);
    return reply.code;
  });
  if (!ran.ok()) return not_run(ran.error());
  if (reply.code != OutcomeCode::ok) return {reply.code, reply.message};
  std::vector<SeenOutput> seen(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) seen[order[k]] = std::move(reply.outputs[k]);
  reply.outputs = std::move(seen);
  Outcome outcome = judged(reference.compare(asked, reply, task.within, precision));
  // Later kernels are compared with one that is as exact as they are, and travels with them.
  if (outcome.ok() && !passed && tolerance_of(precision) == 0 && request.check.contents.empty())
    passed_.add(id_of(task), std::make_shared<Passed>(request.check, order));
  return outcome;
}

Outcome Checks::not_run(const Error& why) const {
  return {options_.is_interrupted() ? OutcomeCode::device_lost : OutcomeCode::unknown,
          "the constants cannot be packed: " + why.message};
}

/// Has a kernel checked on the reference's inputs.
Status Checks::run(const MeasureTask& task, const BuildResult& built, const std::vector<ArgumentSpec>& inputs,
                   const std::function<OutcomeCode(const CheckRequest&)>& check) {
  CheckRequest request{job_of(task, built, options_, &inputs), {}, {}, {}};
  if (!has_packed(built)) return check(request), ok_status();
  WHET_TRY(const ComputeDag packing_dag, parse_dag(built.packing));
  std::vector<ArgumentSpec> constants;
  for (const ArgumentSpec& spec : inputs)
    if (spec.role == ArgumentRole::constant) constants.push_back(spec);
  const MeasureTask packing_task = packing_task_of(task, packing_dag);
  if (const auto packing = packing_of(packing_task, built.packing); packing->code == OutcomeCode::ok) {
    std::vector<ArgumentSpec> unpacked = constants;
    for (ArgumentSpec& spec : unpacked) spec.role = ArgumentRole::activation;
    request.packing = job_of(packing_task, *packing, options_, &unpacked);
    for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
      if (built.arguments[i].kind == BuiltArgument::Kind::packed)
        request.packed.emplace_back(i, argument_of(*packing, built.arguments[i].index));
    if (check(request) == OutcomeCode::ok || options_.is_interrupted()) return ok_status();
    request.packing.reset();
    request.packed.clear();
  }
  if (options_.is_interrupted()) return Error{"interrupted"};  // to interpret it takes long
  WHET_TRY(const std::vector<std::string> packed, interpret_packing(packing_dag, constants));
  for (std::uint32_t i = 0; i < built.arguments.size(); ++i)
    if (built.arguments[i].kind == BuiltArgument::Kind::packed)
      request.contents.emplace_back(i, packed.at(built.arguments[i].index));
  return check(request), ok_status();
}

/// The kernel that packs constants. Not through the memory of builds, which may drop the candidate that is being checked.
std::shared_ptr<const BuildResult> Checks::packing_of(const MeasureTask& packing, const std::string& text) {
  if (auto found = packings_.find(text)) return found;
  BuildResult built = builds_.naive(packing);
  if (has_packed(built)) built.code = OutcomeCode::unknown;
  return packings_.add(text, std::make_shared<const BuildResult>(std::move(built)));
}

}  // namespace whet
