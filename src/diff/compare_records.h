#pragma once

#include <map>
#include <string>
#include <utility>

#include "diff/comparison.h"
#include "records/records.h"

namespace whet {

/// How often a model runs each of its tasks, by key and `within`.
using TaskWeights = std::map<std::pair<std::string, Shape>, int>;

/// Compares what two record files know: the best record of each task and target, and the plans of networks. The whole is the sum
/// over tasks that both files have a time of.
///   weights  where it is empty every task counts once; else tasks that it does not have are left out
Comparison compare_records(const Records& before, const Records& after, const TaskWeights& weights = {});

}  // namespace whet
