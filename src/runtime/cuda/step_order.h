#pragma once

#include <cstdint>

#include "artifact/model_format.h"

namespace whet {

/// The order of a plan's steps. Step i waits for before[first[i]] .. before[first[i + 1] - 1], each smaller than i, and through
/// these for all other steps that it depends on. No edge follows from the others.
struct StepOrder {
  std::uint32_t* first;  ///< steps + 1
  std::uint32_t* before;
};

/// Finds the edges: two steps are ordered where one writes memory that the other reads or writes. A chain orders every
/// step behind the one before. Free it. Gives 0, or -1 where there is no memory.
int find_step_order(const ModelView& view, bool chain, StepOrder* order, whet_error* error);
void free_step_order(StepOrder* order);

/// Whether a step may write its argument i (PlanStep::written).
bool may_write(const ModelView& view, const PlanStep& step, std::uint32_t i);

}  // namespace whet
