#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

struct ZooOptions {
  std::int64_t batch = 1;
  std::int64_t image = 224;  ///< height and width of the input [pixels]; a network without pictures has no other
  Layout layout = Layout::channels_first;
  std::uint64_t seed = 0;  ///< of the weights
};

/// "resnet-18", ..., "mlp".
std::vector<std::string> zoo_names();
/// A built-in network with seeded weights, scaled so that activations stay in range. Its input is called "data".
Result<Graph> zoo_model(const std::string& name, const ZooOptions& options = {});

}  // namespace whet
