#pragma once

#include "graph/graph.h"

namespace whet {

/// The class of an operator: all that fusion knows of it.
enum class OperatorClass : std::uint8_t {
  elementwise,  ///< each element of the result from the elements at the same place of the operands (which broadcast)
  injective,    ///< each element of the result copies one element
  reduction,    ///< a reduction over dimensions
  softmax,
  window,  ///< a few elements around each place: pools, interpolating resizes
  anchor,  ///< convolutions and matmuls: a kernel is built around one
};

OperatorClass class_of(const Operator&);

}  // namespace whet
