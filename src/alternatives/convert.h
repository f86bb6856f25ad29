#pragma once

#include <optional>
#include <vector>

#include "alternatives/activation_layout.h"
#include "base/result.h"
#include "passes/fuse.h"

namespace whet {

/// A value of the fused graph, as it is stored.
struct StoredValue {
  ValueId value;  ///< of the fused graph, where it is channels last
  ActivationLayout form;
  friend auto operator<=>(const StoredValue&, const StoredValue&) = default;
};

/// One kernel as a small graph, whose inputs and outputs are stored values of the fused graph.
struct Fragment {
  Graph graph;                 ///< constants included
  std::vector<NodeId> kernel;  ///< its nodes that are the kernel; all others are aliases. Empty: nothing is computed
  std::vector<StoredValue> reads;   ///< of the graph's inputs, in order
  std::vector<StoredValue> writes;  ///< of the graph's outputs, in order; a merged kernel's outputs are all one value
};

/// The group as it is.
Result<Fragment> fragment_of(const FusedGraph&, const Group&);
/// An alias (passes/fuse.h), which no kernel computes.
Result<Fragment> fragment_of_alias(const FusedGraph&, const Node&);

/// The group on other forms: pictures that it reads up to its convolution are stored as `in`, those that it reads behind it
/// and its result as `out`. A group without a convolution has one form for all. Values of one pixel have one form.
/// Forms: channels_first only on both sides; a depthwise convolution's are equal.
/// Blocks that the channels do not fill are padded where that is little (activation_layout.h), or the form is one of `padded`. Weights of
/// padding channels are zeros, and what they hold stays finite: nothing where an operator of the group could make more of it.
/// Nothing where an operator of the group has no such form.
Result<std::optional<Fragment>> converted(const FusedGraph&, const Group&, ActivationLayout in, ActivationLayout out,
                                          const std::vector<ActivationLayout>& padded = {});

/// A kernel that copies `value` from one form into another.
Result<Fragment> transform_of(const FusedGraph&, ValueId value, ActivationLayout from, ActivationLayout to);

}  // namespace whet
