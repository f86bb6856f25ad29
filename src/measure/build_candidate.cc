#include <chrono>
#include <cstdio>

#include "codegen/build.h"
#include "codegen/gpu/ptxas.h"
#include "compute/dag.h"
#include "cost/gpu/estimate.h"
#include "measure/build.h"
#include "measure/part.h"
#include "measure/reference.h"

namespace whet {
namespace {

/// A builder gets one task's candidates one after the other: the DAG is parsed once.
Result<const ComputeDag*> parsed(const std::string& text) {
  static std::string last_text;
  static ComputeDag last;
  if (text != last_text || last.ops.empty()) {
    WHET_TRY(last, parse_dag(text));
    last_text = text;
  }
  return &last;
}

BuildResult refused(OutcomeCode code, std::string message, BuildResult so_far = {}) {
  so_far.code = code;
  so_far.message = std::move(message);
  return so_far;
}

std::vector<OpId> placeholders(const ComputeDag& dag) {
  std::vector<OpId> ids;
  for (std::size_t i = 0; i < dag.ops.size(); ++i)
    if (dag.ops[i].is_placeholder()) ids.emplace_back(static_cast<std::int64_t>(i));
  return ids;
}

std::vector<BuiltArgument> built_arguments(const ComputeDag& dag, const std::vector<KernelArgument>& arguments,
                                           const Shape& within) {
  const auto inputs = placeholders(dag);
  std::vector<BuiltArgument> out;
  for (const KernelArgument& a : arguments) {
    BuiltArgument built;
    built.index = static_cast<std::uint32_t>(a.index);
    if (a.kind == KernelArgument::Kind::input) {
      built.spec = spec_of(dag.op(inputs[built.index]), 0);
    } else if (a.kind == KernelArgument::Kind::sizes) {
      built.kind = BuiltArgument::Kind::sizes;
      built.spec = sizes_spec(dag.at);
    } else {
      built.kind = a.kind == KernelArgument::Kind::packed ? BuiltArgument::Kind::packed : BuiltArgument::Kind::output;
      built.spec.role = a.kind == KernelArgument::Kind::packed ? ArgumentRole::constant : ArgumentRole::output;
      built.spec.dtype = a.type.dtype;
      const bool is_part = a.kind == KernelArgument::Kind::output && !within.empty();
      built.spec.bytes = num_elements(is_part ? within : a.type.shape) * size_of(a.type.dtype);
    }
    out.push_back(built);
  }
  return out;
}

std::string digits_of(std::uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

OutcomeCode code_of(BuildPart failed, const Error& error) {
  if (failed != BuildPart::codegen) return OutcomeCode::instantiation;
  // The generator's estimate of code size is a check before anything is built; all else is its failure.
  return error.kind == ErrorKind::limit ? OutcomeCode::rejected : OutcomeCode::compile_host;
}

/// A kernel that spills more is not among the fast ones.
constexpr std::int64_t kMostSpillBytes = 256;

/// Makes device code of the PTX, where an assembler is installed whose code the driver loads; else the driver will do so.
Status assemble(const Target& target, int driver, BuildResult& result) {
  const Ptxas& ptxas = installed_ptxas();
  if (ptxas.path.empty() || ptxas.release > driver) return ok_status();
  WHET_TRY(AssembledPtx assembled, assemble_ptx(ptxas, result.kernel.code, target.gpu().arch));
  result.kernel.code = std::move(assembled.cubin);
  result.kernel.format = CodeFormat::cubin;
  result.report = assembled.report;
  return ok_status();
}

BuildResult build_request(const BuildRequest& request) {
  auto dag = parsed(request.dag);
  if (!dag.ok()) return refused(OutcomeCode::instantiation, dag.error().message);
  auto target = parse_target(request.target);
  if (!target.ok()) return refused(OutcomeCode::instantiation, target.error().message);
  auto steps = parse_steps(request.steps);
  if (!steps.ok()) return refused(OutcomeCode::instantiation, steps.error().message);
  if (is_sized(**dag) && (!request.within.empty() || (*dag)->sizes.size() > kMostSizesOfAKernel))
    return refused(OutcomeCode::instantiation, "a task with sizes is a whole tensor and has three of them at most");
  if (!request.within.empty() && !is_part(**dag, request.within))
    return refused(OutcomeCode::instantiation, "the task's output is no part of " + to_string(request.within));
  BuildOptions options{.within = request.within};
  if (request.emulated)
    options.emulated_seconds = [](const LoopTree& tree, const Target& t) { return estimate_launches(tree, t); };
  BuildProgress reached;
  auto built = build(**dag, *steps, *target, options, &reached);
  if (built.ok() && built->lowered.program.sizes != (*dag)->sizes)
    return refused(OutcomeCode::instantiation, "the schedule is not for all sizes");
  BuildResult result;
  if (reached.part > BuildPart::replay) result.tree_hash = digits_of(reached.tree_hash);
  if (!built.ok()) return refused(code_of(reached.part, built.error()), built.error().message, result);
  result.kernel = std::move(built->emulated ? *built->emulated : built->kernel);
  if (result.kernel.format == CodeFormat::ptx)
    if (const Status done = assemble(*target, request.driver, result); !done.ok())
      return refused(OutcomeCode::compile_device, done.error().message, result);
  if (result.report.spill_bytes > kMostSpillBytes)
    return refused(OutcomeCode::rejected,
                   "a thread spills " + std::to_string(result.report.spill_bytes) + " bytes of registers; " +
                       std::to_string(kMostSpillBytes) + " are the most that is measured",
                   result);
  result.arguments = built_arguments(**dag, built->lowered.arguments, request.within);
  if (!built->lowered.packing.outputs.empty()) result.packing = to_text(built->lowered.packing);
  result.code = OutcomeCode::ok;
  return result;
}

}  // namespace

BuildResult at_sizes(const BuildResult& built, const ComputeDag& at, const SizeValues& values) {
  BuildResult result = built;
  const std::vector<OpId> inputs = placeholders(at);
  for (std::size_t k = 0; k < result.arguments.size(); ++k) {
    BuiltArgument& argument = result.arguments[k];
    if (argument.kind == BuiltArgument::Kind::sizes) argument.spec = sizes_spec(values);
    if (argument.kind == BuiltArgument::Kind::input) argument.spec = spec_of(at.op(inputs.at(argument.index)), 0);
    if (argument.kind == BuiltArgument::Kind::output) {
      const Op& op = at.op(at.outputs.at(argument.index));
      argument.spec.bytes = num_elements(op.shape) * size_of(op.dtype);
    }
    result.kernel.argument_bytes.at(k) = argument.spec.bytes;  // those of the largest sizes are what it needs there
  }
  return result;
}

BuildResult build_candidate(const BuildRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  BuildResult result = build_request(request);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace whet
