#pragma once

#include <cstdint>
#include <string>

namespace whet {

/// What an operator is, for people. Of a kernel's operators the first kind of this list gives the kernel's.
enum class OperatorKind : std::uint8_t { depthwise, convolution, matrix_product, pool_or_reduction, copy, elementwise };

/// What people call a kernel where there is little room: "conv2d 56x56x64 k3".
struct TaskLabel {
  OperatorKind kind = OperatorKind::elementwise;
  std::string op;           ///< its first operator of that kind: "conv2d"
  std::string shape = {};   ///< of its result, without a batch of one: "56x56x64"
  std::string window = {};  ///< of its convolution or pool: "k3"
};
std::string to_text(const TaskLabel&);

}  // namespace whet
