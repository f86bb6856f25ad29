#include "runtime/description.h"

#include <stdio.h>
#include <stdlib.h>

namespace whet {
namespace {

struct DlpackType {
  std::uint8_t code, bits;
};
constexpr DlpackType kDlpackTypes[] = {{2, 32}, {2, 64}, {2, 16}, {0, 8},  {1, 8},
                                       {0, 32}, {0, 64}, {6, 8},  {4, 16}, {0, 16}};  // by whet_dtype

/// The dtype of a DLPack tensor; false where whet has none for it.
bool dtype_of(const whet_dltensor& tensor, whet_dtype* dtype) {
  if (tensor.dtype.lanes != 1) return false;
  for (std::uint32_t d = 0; d < sizeof kDlpackTypes / sizeof kDlpackTypes[0]; ++d) {
    if (kDlpackTypes[d].code != tensor.dtype.code || kDlpackTypes[d].bits != tensor.dtype.bits) continue;
    *dtype = static_cast<whet_dtype>(d);
    return true;
  }
  return false;
}

}  // namespace

whet_tensor_info* describe_tensors(const ModelView& view, const PlanTensor* tensors, std::uint32_t count) {
  whet_tensor_info* infos = static_cast<whet_tensor_info*>(calloc(count + 1, sizeof(whet_tensor_info)));
  if (infos != nullptr) describe_tensors(view, tensors, count, infos);
  return infos;
}

void describe_tensors(const ModelView& view, const PlanTensor* tensors, std::uint32_t count, whet_tensor_info* infos) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const PlanTensor& t = tensors[i];
    infos[i] = {view.text(t.name), static_cast<whet_dtype>(t.dtype), t.rank, view.dims + t.first_dim,
                static_cast<std::int64_t>(t.bytes)};
  }
}

whet_model_info describe_model(const ModelView& view) {
  const PlanHeader& h = *view.header;
  whet_model_info info{};
  info.name = view.text(h.name);
  info.target = view.text(h.target);
  info.required_isa = view.text(h.required_isa);
  info.records = view.text(h.records);
  info.compiler = view.text(h.compiler);
  info.inputs = h.inputs.count;
  info.outputs = h.outputs.count;
  info.steps = h.steps.count;
  info.tuned_threads = h.tuned_threads;
  info.arena_bytes = static_cast<std::int64_t>(h.arena_bytes);
  info.weights_bytes = static_cast<std::int64_t>(h.weights_bytes);
  info.flops = h.flops;
  info.predicted_seconds = h.predicted_seconds;
  return info;
}

void write_type(const whet_tensor_info& info, char* text, std::size_t bytes) {
  std::size_t length = static_cast<std::size_t>(snprintf(text, bytes, "%s[", whet_dtype_name(info.dtype)));
  for (std::uint32_t d = 0; d < info.rank && length < bytes; ++d) {
    length += static_cast<std::size_t>(
        snprintf(text + length, bytes - length, "%s%lld", d ? "x" : "", static_cast<long long>(info.shape[d])));
  }
  if (length < bytes) snprintf(text + length, bytes - length, "]");
}

void write_strides(const whet_tensor_info& info, std::int64_t* strides) {
  std::int64_t stride = whet_dtype_bytes(info.dtype);
  for (std::uint32_t d = info.rank; d-- > 0;) {
    strides[d] = stride;
    stride *= info.shape[d];
  }
}

int refuse_tensor(const char* what, const whet_tensor_info& info, std::uint32_t i, const char* found,
                  whet_error* error) {
  char type[256];
  write_type(info, type, sizeof type);
  return whet_fail(error, "%s %u \"%s\" is %s; %s", what, i, info.name, type, found);
}

int no_such_tensor(const char* what, std::uint32_t i, std::uint32_t count, whet_error* error) {
  return whet_fail(error, "there is no %s %u; the model has %u, counted from 0", what, i, count);
}

int tensor_not_set(const whet_tensor_info& info, std::uint32_t i, whet_error* error) {
  char type[256];
  write_type(info, type, sizeof type);
  return whet_fail(error, "input %u \"%s\" is not set; expected %s", i, info.name, type);
}

int check_dlpack(const char* what, const whet_tensor_info& info, std::uint32_t i, const whet_dltensor& tensor,
                 whet_error* error) {
  char found[160];
  whet_dtype dtype;
  if (!dtype_of(tensor, &dtype) || dtype != info.dtype) {
    snprintf(found, sizeof found, "the DLPack tensor has type code %u, %u bits, %u lanes", tensor.dtype.code,
             tensor.dtype.bits, tensor.dtype.lanes);
    return refuse_tensor(what, info, i, found, error);
  }
  bool same = tensor.ndim >= 0 && static_cast<std::uint32_t>(tensor.ndim) == info.rank;
  for (std::uint32_t d = 0; same && d < info.rank; ++d) same = tensor.shape[d] == info.shape[d];
  if (same) return 0;
  char type[128];
  const whet_tensor_info given = {info.name, dtype, tensor.ndim < 0 ? 0 : static_cast<std::uint32_t>(tensor.ndim),
                                  tensor.shape, 0};
  write_type(given, type, sizeof type);
  snprintf(found, sizeof found, "the DLPack tensor is %s", type);
  return refuse_tensor(what, info, i, found, error);
}

void read_dlpack_strides(const whet_tensor_info& info, const whet_dltensor& tensor, std::int64_t* strides) {
  if (tensor.strides == nullptr) return write_strides(info, strides);
  for (std::uint32_t d = 0; d < info.rank; ++d) strides[d] = tensor.strides[d] * whet_dtype_bytes(info.dtype);
}

const void* dlpack_data(const whet_dltensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<const char*>(tensor.data) + tensor.byte_offset;
}

whet_dltensor dlpack_of(const whet_tensor_info& info, void* data, std::int32_t device_type, std::int32_t device_id) {
  whet_dltensor tensor{};
  tensor.data = data;
  tensor.device.device_type = device_type;
  tensor.device.device_id = device_id;
  tensor.ndim = static_cast<std::int32_t>(info.rank);
  tensor.dtype.code = kDlpackTypes[info.dtype].code;
  tensor.dtype.bits = kDlpackTypes[info.dtype].bits;
  tensor.dtype.lanes = 1;
  tensor.shape = const_cast<std::int64_t*>(info.shape);
  return tensor;
}

}  // namespace whet
