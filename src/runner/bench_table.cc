#include "runner/cpu/bench.h"
#include "runner/cuda/bench.h"

namespace whet {
namespace {

constexpr BenchOfFormat kBenches[] = {
    {CodeFormat::native_object, make_cpu_bench},
    {CodeFormat::ptx, make_cuda_bench},
    {CodeFormat::emulated, make_emulated_bench},
    {CodeFormat::cubin, make_cuda_bench},
};

}  // namespace

std::span<const BenchOfFormat> kernel_benches() { return kBenches; }

}  // namespace whet
