#include "lower/lower.h"

#include <algorithm>
#include <string>

#include "lower/generate.h"

namespace whet {
namespace {

Status check_sized(const Target& target) {
  if (target.is_cpu()) return ok_status();
  return Error{std::string(target.kind()) + " has no sized kernels; name the sizes", ErrorKind::unsupported};
}

Result<Lowered> run(const LoopTree& tree, const Target& target, const Shape& within,
                    std::span<const LoweringPass> passes, const PassObserver& observer) {
  if (is_sized(tree.dag)) WHET_RETURN_IF_ERROR(check_sized(target));
  WHET_TRY(Lowered lowered, generate(tree, within));
  if (observer) WHET_RETURN_IF_ERROR(observer("generate", lowered.program));
  WHET_TRY(lowered.program, run_passes(std::move(lowered.program), passes, target, observer));
  return lowered;
}

}  // namespace

Result<Lowered> lower(const LoopTree& tree, const Target& target, const Shape& within, const PassObserver& observer) {
  WHET_TRY(const std::span<const LoweringPass> passes, lowering_passes(target));
  return run(tree, target, within, passes, observer);
}

Result<Lowered> lower_until(const LoopTree& tree, const Target& target, std::string_view pass,
                            const PassObserver& observer) {
  WHET_TRY(std::span<const LoweringPass> passes, lowering_passes(target));
  const auto found = std::find_if(passes.begin(), passes.end(), [&](const LoweringPass& p) { return p.name == pass; });
  const auto count = pass == "generate" ? 0 : std::min(found - passes.begin() + 1, std::ssize(passes));
  return run(tree, target, {}, passes.first(static_cast<std::size_t>(count)), observer);
}

}  // namespace whet
