#include "lower/cpu/passes.h"

namespace whet {
namespace {

constexpr PassTable kTables[] = {
    {"cpu", cpu_passes},
};

}  // namespace

std::span<const PassTable> pass_tables() { return kTables; }

}  // namespace whet
