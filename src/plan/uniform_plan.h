#pragma once

#include <string_view>
#include <vector>

#include "alternatives/alternatives.h"

namespace whet {

/// The alternatives that are in no plan in which every product multiplies this type that can: what else computes the layer of such a
/// product. Layers without a product are free. With these forbidden there is always a plan: only a layer is held to it that has a kernel
/// which reads the type and writes f32, from what is there or a copy rounds.
///   broken  numbers of alternatives whose kernels cannot run; a layer that has no other one is free, too
std::vector<int> others_than(const Alternatives&, StoredAs, const std::vector<int>& broken = {});

/// The word of --precision that asks for plans of one type, as PlanPrecision::uniform has it, or for those that were chosen layer by layer:
/// "int8" of "u8", "auto" of "".
std::string_view precision_word(std::string_view uniform);

}  // namespace whet
