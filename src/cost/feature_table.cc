#include "cost/cpu/features.h"
#include "cost/features.h"
#include "cost/gpu/estimate.h"
#include "cost/gpu/features.h"
#include "target/gpu_rates.h"

namespace whet {
namespace {

MachineRates gpu_rates(const MachineRates& known, const Target& target) { return with_data_sheet(known, target.gpu()); }

constexpr FeatureSet kSets[] = {
    {"cpu", cpu_features, cpu_feature_names, cpu_seconds, nullptr, 0, nullptr, cpu_issue_seconds},
    {"cuda", gpu_features, gpu_feature_names, gpu_seconds, gpu_rates, kCalibration.node + kCalibration.ramp,
     gpu_product_gain},
};

}  // namespace

std::span<const FeatureSet> feature_sets() { return kSets; }

}  // namespace whet
