#include "space/cpu/author.h"
#include "space/gpu/author.h"
#include "space/gpu/safe.h"

namespace whet {
namespace {

constexpr SpaceAuthor kAuthors[] = {
    {"cpu", cpu_templates, cpu_rules},
    {"cuda", gpu_templates, gpu_rules, safe_schedule, true},
};

}  // namespace

std::span<const SpaceAuthor> space_authors() { return kAuthors; }

}  // namespace whet
