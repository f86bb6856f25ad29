#pragma once

#include <cstdint>

#include "artifact/sized_plan.h"
#include "whet/model.h"

namespace whet {

/// The shapes that the inputs of an open model may have.
struct ModelShapes {
  const SizedView* plans;
  const whet_size_info* sizes;     ///< describe_sizes
  const whet_tensor_info* inputs;  ///< at any sizes: their names and ranks are the same at all
  std::uint32_t input_count;
};

/// The sizes of a model in the structs of the API; their names and values are the plan's. The array is the caller's to free;
/// null where there is no memory.
whet_size_info* describe_sizes(const SizedView& plans);

/// Finds the sizes of a model that these shapes say, as session_set_shapes has them, and the variant that has them; sizes that they do
/// not say are those of `now`, one a size. Gives 0, or -1 and a sentence. Allocates nothing, as the next.
int find_sizes(const ModelShapes& model, const std::int64_t* now, const std::int64_t* const* shapes,
               std::int64_t* values, std::uint32_t* variant, whet_error* error);

/// Whether the shapes are those of `inputs`, the model's at the sizes that were found.
int check_shapes(const ModelShapes& model, const whet_tensor_info* inputs, const std::int64_t* const* shapes,
                 whet_error* error);

/// The largest sizes of a box of which none is larger than in `most`; false: it has no such sizes.
bool largest_within(const SizedView& plans, std::uint32_t box, const std::int64_t* most, std::int64_t* values);

}  // namespace whet
