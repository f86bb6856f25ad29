#include "codegen/build.h"

#include <utility>

#include "base/parallel.h"
#include "codegen/compile.h"
#include "codegen/gpu/compile.h"

namespace whet {

Result<Built> build(const ComputeDag& dag, const Steps& steps, const Target& target, const BuildOptions& options,
                    BuildProgress* progress) {
  BuildProgress unasked;
  BuildProgress& reached = progress != nullptr ? *progress : unasked;
  double last = seconds_now();
  const auto lap = [&last] {
    const double now = seconds_now();
    return now - std::exchange(last, now);
  };
  reached.part = BuildPart::replay;
  WHET_TRY(LoopTree tree, replay(dag, steps));
  Built built{std::move(tree), {}, {}};
  if (progress != nullptr) reached.tree_hash = hash(built.tree);
  built.replay_seconds = lap();
  reached.part = BuildPart::lower;
  WHET_TRY(built.lowered, lower(built.tree, target, options.within));
  if (!options.name.empty()) built.lowered.program.name = options.name;
  built.lower_seconds = lap();
  reached.part = BuildPart::codegen;
  WHET_TRY(built.kernel, compile_kernel(built.lowered.program, target));
  if (options.emulated_seconds != nullptr) {
    WHET_TRY(built.emulated,
             compile_emulated(built.lowered.program, target, options.emulated_seconds(built.tree, target)));
  }
  built.codegen_seconds = lap();
  return built;
}

}  // namespace whet
