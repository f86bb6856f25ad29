#include "import_onnx/channel_names.h"

#include "import/parts/move_axis.h"

namespace whet {

std::string ChannelNames::result(ValueId id, bool channels_first) {
  const Value& value = graph_.value(id);
  if (!channels_first) return value.name;
  const std::string made = writer_.unique(value.name + "/channels_first");
  first_[id.value] = made;
  return waiting_[id.value] = made;
}

std::string ChannelNames::own(ValueId id) {
  const Value& value = graph_.value(id);
  const auto waiting = waiting_.find(id.value);
  if (waiting == waiting_.end() || waiting->second.empty()) return value.name;
  const std::size_t rank = value.type.shape.size();
  set_attribute(writer_.add_node(value.name + "/channels_last", "Transpose", {waiting->second}, value.name), "perm",
                move_axis(rank, 1, rank - 1).perm);
  waiting->second.clear();
  return value.name;
}

std::string ChannelNames::first(ValueId id) {
  if (const auto known = first_.find(id.value); known != first_.end()) return known->second;
  const Value& value = graph_.value(id);
  const std::string made = writer_.unique(value.name + "/channels_first"), from = own(id);
  const std::size_t rank = value.type.shape.size();
  set_attribute(writer_.add_node(made, "Transpose", {from}, made), "perm", move_axis(rank, rank - 1, 1).perm);
  return first_[id.value] = made;
}

}  // namespace whet
