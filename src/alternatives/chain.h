#pragma once

#include <string>
#include <vector>

#include "alternatives/convert.h"

namespace whet {

/// Groups one behind the other that one kernel can compute row by row: no one else reads what lies between them.
///   a depthwise convolution or a pool, and the pointwise convolution that reads it
///   the same two behind a convolution that is not depthwise: an inverted bottleneck, the beginning of a network
///   a convolution that is not depthwise, and the depthwise one, the pointwise one or the pool that reads it
struct GroupChain {
  std::vector<int> groups;  ///< of the fused graph, in the order in which they compute
  std::string name;         ///< of their results: "a+b"
  double hope = 1;          ///< of the time of its groups' kernels it is hoped to take no less than this part
};
std::vector<GroupChain> find_chains(const FusedGraph&);

Result<Fragment> chained_kernel(const FusedGraph&, const GroupChain&);

}  // namespace whet
