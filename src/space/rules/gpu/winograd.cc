// Special treatment for Winograd: a 3x3 convolution of stride 1 becomes transforms (transform.cc) and products of matrices,
// which the other rules go on with.

#include "compute/round.h"
#include "space/anatomy.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

/// The result of the task, and the ops as the step `winograd` numbers them.
struct GpuWinogradOps {
  WinogradOps ops;
  OpId output;
};
std::optional<GpuWinogradOps> ops_of(const Derivation& d, OpId conv, std::int64_t m) {
  const Anatomy anatomy = *find_anatomy(d.dag());
  const Result<WinogradDag> changed = winograd(d.dag(), conv, m);
  if (!changed.ok()) return std::nullopt;
  GpuWinogradOps found{changed->ops, anatomy.output.value_or(conv)};
  if (found.output >= conv) found.output = OpId(found.output.value + found.ops.conv.value - conv.value);
  if (changed->dag.op(found.output).shape != changed->dag.op(found.ops.conv).shape) return std::nullopt;
  return found;
}

std::optional<std::string> why_not_winograd_on_gpu(const Derivation& d, OpId op) {
  if (!d.name().empty()) return "";
  const std::optional<Anatomy> anatomy = find_anatomy(d.dag());
  if (!anatomy || anatomy->anchor != op) return "it is not the only reduction of the task";
  if (multiplies_halves(d.dag(), DType::bf16)) return "it multiplies bf16";
  const Result<WinogradDag> changed = winograd(d.dag(), op, 2);
  if (!changed.ok()) return changed.error().message;
  if (changed->dilation > 1) return "its taps are apart";
  if (!ops_of(d, op, 2)) return "the result has another shape";
  return std::nullopt;
}

std::vector<Derivation> apply_winograd_on_gpu(const Derivation& from, OpId op) {
  std::vector<Derivation> results;
  for (const std::int64_t m : {2, 4}) {
    Derivation d = from;
    const std::optional<GpuWinogradOps> found = ops_of(d, op, m);
    if (!found) continue;
    const auto& [ops, output] = *found;
    d.call("winograd" + std::to_string(m));
    d.act([op, m](ScheduleDraft& draft) { draft.s.winograd(op, m); });
    d.start_over();
    d.set_treatment(ops.rows, OpTreatment::under), d.set_treatment(ops.partial, OpTreatment::under);
    d.set_treatment(ops.input, OpTreatment::transform), d.set_treatment(output, OpTreatment::transform);
    results.push_back(std::move(d));
  }
  return results;
}

}  // namespace

const Rule kGpuWinogradRule{"winograd",
                            "computes a 3x3 convolution by Winograd's algorithm: transforms, products, transforms",
                            why_not_winograd_on_gpu,
                            apply_winograd_on_gpu,
                            true,
                            false};
}  // namespace whet
