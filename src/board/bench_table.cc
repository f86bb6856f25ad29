// The formats that a board's runner runs, in place of runner/bench_table.cc: code for its processor alone.
#include "runner/bench.h"
#include "runner/cpu/bench.h"

namespace whet {
namespace {

constexpr BenchOfFormat kBoardBenches[] = {{CodeFormat::native_object, make_cpu_bench}};

}  // namespace

std::span<const BenchOfFormat> kernel_benches() { return kBoardBenches; }

}  // namespace whet
