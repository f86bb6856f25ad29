#pragma once

#include "space/author.h"

namespace whet {

/// The templates for CPUs, in the order in which they are asked.
std::span<const Template> cpu_templates();
/// The auto-scheduler's rules for CPUs (space/rules/cpu).
const std::vector<const Rule*>& cpu_rules();

}  // namespace whet
