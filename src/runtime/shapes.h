#pragma once

#include <cstdint>

#include "artifact/sized_plan.h"
#include "whet/model.h"

namespace whet {

/// The shapes that the inputs of an open model may have.
struct ModelShapes {
  const SizedView* plans;
  const whet_size_info* sizes;  ///< describe_sizes
  std::uint32_t inputs;
  /// The inputs at a variant.
  const whet_tensor_info* (*inputs_at)(const void* model, std::uint32_t variant);
  const void* model;
};

/// The sizes of a model in the structs of the API; their names and values are the plan's. The array is the caller's to free;
/// null where there is no memory.
whet_size_info* describe_sizes(const SizedView& plans);

/// Finds the variant of a model whose inputs have these shapes, as session_set_shapes has them; sizes that they do not say
/// are those of variant `now`. Gives 0, or -1 and a sentence. Allocates nothing.
int find_variant(const ModelShapes& model, std::uint32_t now, const std::int64_t* const* shapes, std::uint32_t* found,
                 whet_error* error);

/// Whether no size of variant `a` is larger than in variant `b`.
bool is_within(const SizedView& plans, std::uint32_t a, std::uint32_t b);

}  // namespace whet
