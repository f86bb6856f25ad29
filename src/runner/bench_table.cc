#include "runner/cpu/bench.h"

namespace whet {
namespace {

constexpr BenchOfFormat kBenches[] = {
    {CodeFormat::native_object, make_cpu_bench},
};

}  // namespace

std::span<const BenchOfFormat> kernel_benches() { return kBenches; }

}  // namespace whet
