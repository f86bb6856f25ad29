#include "import_torch/saved.h"

#include <algorithm>

#include "base/nearest.h"

namespace whet::torch {
namespace {

using Kind = PickleValue::Kind;

struct StorageRow {
  std::string_view name;
  std::int64_t type;
};
constexpr StorageRow kStorages[] = {
    {"torch.FloatStorage", 7}, {"torch.DoubleStorage", 8}, {"torch.HalfStorage", 6},  {"torch.BFloat16Storage", 13},
    {"torch.LongStorage", 5},  {"torch.IntStorage", 4},    {"torch.ShortStorage", 3}, {"torch.CharStorage", 2},
    {"torch.ByteStorage", 1},  {"torch.BoolStorage", 12},
};

/// The integers of a tuple.
Result<std::vector<std::int64_t>> integers_of(const Pickle& pickle, PickleId id, const std::string& at) {
  const PickleValue& tuple = pickle.at(id);
  if ((tuple.kind != Kind::tuple && tuple.kind != Kind::list) || tuple.items.size() > 64)
    return Error{at + " has no sizes and strides"};
  std::vector<std::int64_t> values;
  for (const PickleId each : tuple.items) {
    const PickleValue& value = pickle.at(each);
    if (value.kind != Kind::integer || value.integer < 0 || value.integer > kMaxElements)
      return Error{at + " has a size or stride that is no number from 0 on"};
    values.push_back(value.integer);
  }
  return values;
}

}  // namespace

Result<SavedTensors> SavedTensors::read(const Members& members, const std::string& pickle, std::string storages) {
  WHET_TRY(const std::string bytes, members.read_text(pickle));
  WHET_TRY(Pickle parsed, parse_pickle(bytes, members.what() + ": member " + in_quotes(pickle)));
  return SavedTensors(members, std::move(parsed), std::move(storages));
}

bool SavedTensors::is_tensor(PickleId id) const {
  const PickleValue& value = pickle_.at(id);
  return value.kind == Kind::call && value.text.starts_with("torch._utils.");
}

Result<SavedView> SavedTensors::view(PickleId id, const std::string& name) const {
  const std::string at = members_->what() + ": " + in_quotes(name);
  for (int level = 0; level < 4 && pickle_.at(id).text.starts_with("torch._utils._rebuild_parameter"); ++level) {
    if (pickle_.at(id).items.empty()) return Error{at + " is a parameter without a tensor"};
    id = pickle_.at(id).items[0];
  }
  const PickleValue& call = pickle_.at(id);
  if (call.text == "torch._utils._rebuild_qtensor")
    return Error{at +
                 " is a quantized tensor of torch.ao.quantization's eager mode, which is not supported; in Python: " +
                 "export the float model, or one that torchao's pt2e quantization made"};
  if (!call.text.starts_with("torch._utils._rebuild_tensor") || call.items.size() < 4)
    return Error{at + " is no tensor"};
  const PickleValue& storage = pickle_.at(call.items[0]);
  if (storage.kind != Kind::storage || storage.items.size() < 3) return Error{at + " has no storage"};
  const std::string& type = pickle_.at(storage.items[1]).text;
  const auto* row = std::find_if(std::begin(kStorages), std::end(kStorages),
                                 [&](const StorageRow& each) { return each.name == type; });
  if (row == std::end(kStorages)) return Error{at + " lies in a storage of the type " + in_quotes(type)};
  SavedView view{pickle_.at(storage.items[2]).text, {ScalarType{row->type}, {}, {}, 0}};
  WHET_TRY(view.strided.sizes, integers_of(pickle_, call.items[2], at));
  WHET_TRY(view.strided.strides, integers_of(pickle_, call.items[3], at));
  view.strided.offset = pickle_.at(call.items[1]).integer;
  if (view.strided.sizes.size() != view.strided.strides.size())
    return Error{at + " has sizes and strides of two ranks"};
  return view;
}

Result<Tensor> SavedTensors::tensor(PickleId id, const std::string& name) {
  WHET_TRY(const SavedView found, view(id, name));
  const std::string member = storages_ + found.storage;
  if (member != last_member_) {
    WHET_TRY(last_bytes_, members_->read(member));
    last_member_ = member;
  }
  WHET_TRY(Tensor tensor, gathered_tensor(last_bytes_, found.strided, members_->native_types(),
                                          members_->what() + ": " + in_quotes(name)));
  WHET_RETURN_IF_ERROR(members_->count_made(tensor.bytes()));
  return tensor;
}

}  // namespace whet::torch
