#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/fuse.h"

namespace whet {

/// Finds for groups earlier ones whose DAGs are equal, by their nodes, without making a DAG of each: a long network has many groups of
/// few kinds. It may miss one, where many differ in numbers alone.
class EqualGroups {
 public:
  explicit EqualGroups(const FusedGraph& fused) : fused_(fused) {}

  /// The number of an earlier group; nothing where there is none, and this one is one from now on. Numbers ascend from call to call.
  std::optional<std::size_t> find(std::size_t group);

 private:
  const FusedGraph& fused_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> seen_;
};

}  // namespace whet
