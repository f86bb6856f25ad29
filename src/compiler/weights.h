#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.h"

namespace whet {

/// Some of the weights as they are in a compiled model.
struct WeightPiece {
  std::uint64_t offset = 0;
  const void* data = nullptr;
  std::uint64_t bytes = 0;
};

/// The weights of a model in the making: tensors in the order in which the plan first reads them, equal ones stored
/// once.
class WeightTable {
 public:
  /// From now on tensors are one where they are the same memory: places do not depend on values.
  void keep_equal_apart() { apart_ = true; }
  /// Position of the tensor; its bytes are kept.
  std::uint64_t add(const Tensor&);

  /// Gives large floating-point tensors the content of artifact/made_weights.h. The others may be indices, or lie in a page with them.
  void make_up();

  std::uint64_t bytes() const { return bytes_; }
  /// Points into the tensors that were added: pieces at ascending offsets, zeros between and to the end.
  std::vector<WeightPiece> pieces() const;

 private:
  struct Stored {
    std::uint64_t offset;
    Tensor tensor;
  };
  std::vector<Stored> stored_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
  std::uint64_t bytes_ = 0;
  bool apart_ = false;
};

}  // namespace whet
