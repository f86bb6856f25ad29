#pragma once

#include "base/result.h"
#include "diff/comparison.h"
#include "json/json.h"

namespace whet {

/// Compares two outputs of `whet bench --json`: the medians, by the spread that each had. An error names the side and the member
/// that is missing.
Result<Comparison> compare_benchmarks(const Json& before, const Json& after);

}  // namespace whet
