#pragma once

#include <string>
#include <unordered_map>

#include "import_onnx/writer.h"

namespace whet {

/// The names of a graph's values in a file that is being written, where channels are in the second place. A value with channels
/// last lives channels first under another name while nothing needs it otherwise; the Transpose to the order that is asked for is
/// written once.
class ChannelNames {
 public:
  ChannelNames(const Graph& graph, OnnxWriter& writer) : graph_(graph), writer_(writer) {}

  /// The value as the graph has it.
  std::string own(ValueId);
  /// The value with its channels in the second place.
  std::string first(ValueId);
  /// The name under which a node's result is written; `channels_first`: that of a value with channels last.
  std::string result(ValueId, bool channels_first);
  /// Whether the value was written channels first.
  bool is_first(ValueId id) const { return waiting_.contains(id.value); }

 private:
  const Graph& graph_;
  OnnxWriter& writer_;
  std::unordered_map<std::int32_t, std::string> first_;    ///< names of channels-first forms
  std::unordered_map<std::int32_t, std::string> waiting_;  ///< those whose channels-last form is not written; else ""
};

}  // namespace whet
