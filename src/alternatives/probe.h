#pragma once

#include <string>
#include <vector>

#include "alternatives/alternatives.h"

namespace whet {

/// What one switch of a probe rounds: the operands of a group's product, or what else the group reads.
struct ProbedLayer {
  int group = -1;
  std::string node;  ///< the value that the group computes
  bool product = true;
  StoredAs stored = StoredAs::bf16;  ///< to what
};

/// A network that rounds as its lowered groups do: each of them, or none, as it is told when it runs. One compiled model measures then what
/// each layer alone does to the answers.
struct ProbeNetwork {
  Graph graph;                      ///< inputs: the network's, then for each layer a truth value [1]: it rounds
  std::vector<ProbedLayer> layers;  ///< in the order in which they run
};

/// The layers are those that an alternative lowers, each once for each type. With no layer switched on the answers are those of the network.
///   ranges  that the alternatives were found with
Result<ProbeNetwork> probe_of(const FusedGraph&, const Alternatives&, const ValueRanges& ranges = {});

/// The inputs of a probe: a sample's, then the switches of which layer `on` is set; none for -1.
std::vector<Tensor> probe_inputs(const std::vector<Tensor>& sample, std::size_t layers, int on);

}  // namespace whet
