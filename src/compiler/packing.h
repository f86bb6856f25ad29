#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "tensor/tensor.h"

namespace whet {

/// What `evaluate` gives, quickly where an output only moves elements (packed weights), or rounds them to f16 or tf32 as well: rows
/// of its last axis are gathered with a stride. `constants`: one tensor a placeholder, in order.
Result<std::vector<Tensor>> run_packing(const ComputeDag& packing, const std::vector<Tensor>& constants);

/// Constants that compiles of one graph have packed, by the group that they are of and what packed them: models that differ in one
/// task's schedule share the rest. Thread-safe; it keeps their memory.
class PackedConstants {
 public:
  std::optional<std::vector<Tensor>> find(std::size_t group, const ComputeDag& packing) const;
  void keep(std::size_t group, const ComputeDag& packing, const std::vector<Tensor>&);
  std::size_t size() const;

 private:
  using Key = std::pair<std::size_t, std::string>;
  mutable std::mutex lock_;
  std::map<Key, std::vector<Tensor>> packed_;
};

}  // namespace whet
