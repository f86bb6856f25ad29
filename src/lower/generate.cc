#include "lower/generate.h"

#include <optional>

#include "lower/generate/generator.h"
#include "lower/merged_shape.h"

namespace whet {

namespace {

/// The tensor that an output with sizes is a part of: the same rows at each size, which are longer.
Result<Shape> sized_whole(const Op& output, const Shape& within) {
  const bool fixed = output.sizes.empty() || !output.sizes.back().defined();
  if (!fixed || within.back() < output.shape.back())
    return Error{
        "an output with sizes is a part of a tensor only along its last axis, which has one extent at all sizes",
        ErrorKind::unsupported};
  Shape whole = output.shape;
  whole.back() = within.back();
  return whole;
}

}  // namespace

Result<Lowered> generate(const LoopTree& tree, const Shape& within) {
  WHET_CHECK(within.empty() || tree.dag.outputs.size() == 1, "only a single output is a part of a tensor");
  if (within.empty()) return Generator(tree, make_storage(tree, within)).run();
  const Op& output = tree.dag.op(tree.dag.outputs.front());
  if (is_sized(tree.dag)) {
    WHET_TRY(const Shape whole, sized_whole(output, within));
    return Generator(tree, make_storage(tree, whole)).run();
  }
  const std::optional<Shape> whole = merged_like(output.shape, within);
  if (!whole) return Error{"the output has dimensions merged that are not whole in the tensor that it is a part of"};
  return Generator(tree, make_storage(tree, *whole)).run();
}

}  // namespace whet
