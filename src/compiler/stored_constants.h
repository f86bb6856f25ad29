#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "compute/dag.h"
#include "lower/lower.h"
#include "tensor/tensor.h"

namespace whet {

/// The constants that the kernels of a library read. Two of one type that agree in some elements count as equal here. This
/// guides the choice of schedules alone: WeightTable compares what is stored element by element.
class StoredConstants {
 public:
  void add(const Tensor& constant) { known_.insert(fingerprint(constant)); }
  /// The bytes of the constants that a kernel reads, packed or as they are, and that are not among these.
  ///   constants  of its task, in the order of the DAG's constant placeholders
  std::int64_t missing_bytes(const ComputeDag&, const Lowered&, const std::vector<Tensor>& constants) const;

  /// The same for equal constants, whatever their shape.
  static std::uint64_t fingerprint(const Tensor&);

 private:
  std::set<std::uint64_t> known_;
};

}  // namespace whet
