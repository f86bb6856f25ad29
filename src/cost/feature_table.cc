#include "cost/cpu/features.h"
#include "cost/features.h"

namespace whet {
namespace {

constexpr FeatureSet kSets[] = {
    {"cpu", cpu_features, cpu_feature_names, cpu_seconds},
};

}  // namespace

std::span<const FeatureSet> feature_sets() { return kSets; }

}  // namespace whet
