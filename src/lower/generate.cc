#include "lower/generate.h"

#include <optional>

#include "lower/generate/generator.h"
#include "lower/merged_shape.h"

namespace whet {

Result<Lowered> generate(const LoopTree& tree, const Shape& within) {
  WHET_CHECK(within.empty() || tree.dag.outputs.size() == 1, "only a single output is a part of a tensor");
  if (within.empty()) return Generator(tree, make_storage(tree, within)).run();
  const std::optional<Shape> whole = merged_like(tree.dag.op(tree.dag.outputs.front()).shape, within);
  if (!whole) return Error{"the output has dimensions merged that are not whole in the tensor that it is a part of"};
  return Generator(tree, make_storage(tree, *whole)).run();
}

}  // namespace whet
