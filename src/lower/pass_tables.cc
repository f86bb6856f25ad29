#include "lower/cpu/passes.h"
#include "lower/gpu/passes.h"

namespace whet {
namespace {

constexpr PassTable kTables[] = {
    {"cpu", cpu_passes},
    {"cuda", gpu_passes},
};

}  // namespace

std::span<const PassTable> pass_tables() { return kTables; }

}  // namespace whet
