#include "cost/features.h"

namespace whet {

std::vector<float> features(const LoopTree& tree, const Target& target) {
  const FeatureSet* set = row_of(feature_sets(), target);
  return set != nullptr ? set->row(tree, target) : std::vector<float>();
}

const std::vector<std::string>& feature_names(const Target& target) {
  static const std::vector<std::string> none;
  const FeatureSet* set = row_of(feature_sets(), target);
  return set != nullptr ? set->names() : none;
}

double analytic_seconds(const LoopTree& tree, const Target& target) {
  const FeatureSet* set = row_of(feature_sets(), target);
  return set != nullptr ? set->seconds(tree, target) : 0;
}

double issue_seconds(const LoopTree& tree, const Target& target) {
  const FeatureSet* set = row_of(feature_sets(), target);
  if (set == nullptr || set->issue_seconds == nullptr) return analytic_seconds(tree, target);
  return set->issue_seconds(tree, target);
}

}  // namespace whet
