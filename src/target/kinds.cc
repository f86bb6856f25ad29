#include "target/kinds.h"

namespace whet {
namespace {

constexpr TargetKind kKinds[] = {
    {"cpu", "cpu -mcpu=haswell -threads=2", cpu_text, parse_cpu, cpu_distance, cpu_differences, cpu_cache_bytes},
    {"cuda", "cuda -arch=sm_90 -sms=132", gpu_text, parse_gpu, gpu_distance, gpu_differences, gpu_cache_bytes},
};

}  // namespace

std::span<const TargetKind> target_kinds() { return kKinds; }

}  // namespace whet
