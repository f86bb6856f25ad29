#pragma once

#include "space/author.h"

namespace whet {

std::span<const Template> gpu_templates();
const std::vector<const Rule*>& gpu_rules();

}  // namespace whet
