#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace whet {

inline float log2p(double x) { return static_cast<float>(std::log2(1 + std::max(0.0, x))); }

/// Writes a row of features, or the names of its columns: one piece of code, so that they cannot differ.
class FeatureRow {
 public:
  void add(const char* name, float value) {
    if (names) names->push_back(prefix + name);
    values.push_back(value);
  }
  std::string prefix;
  std::vector<float> values;
  std::vector<std::string>* names = nullptr;
};

}  // namespace whet
