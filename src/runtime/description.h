#pragma once

#include <cstdint>

#include "artifact/model_format.h"
#include "whet/model.h"

namespace whet {

/// A plan's description of the model and of its tensors, in the structs of the API; their strings and shapes are the plan's.
/// The array is the caller's to free; null where there is no memory.
whet_model_info describe_model(const ModelView& view);
whet_tensor_info* describe_tensors(const ModelView& view, const PlanTensor* tensors, std::uint32_t count);
/// The same into `count` structs.
void describe_tensors(const ModelView& view, const PlanTensor* tensors, std::uint32_t count, whet_tensor_info* infos);

/// Writes "f32[1x3x224x224]" into `text`, cut to `bytes`.
void write_type(const whet_tensor_info& info, char* text, std::size_t bytes);

/// Fills in the strides, in bytes, of a contiguous row-major tensor.
void write_strides(const whet_tensor_info& info, std::int64_t* strides);

/// "input 0 "image" is f32[1x4]; <what was found>". Gives -1, as the next do.
int refuse_tensor(const char* what, const whet_tensor_info& info, std::uint32_t i, const char* found,
                  whet_error* error);
/// "there is no input 3; the model has 1, counted from 0"
int no_such_tensor(const char* what, std::uint32_t i, std::uint32_t count, whet_error* error);
int tensor_not_set(const whet_tensor_info& info, std::uint32_t i, whet_error* error);

/// Whether dtype and shape of a DLPack tensor are those of `info`: 0, or -1 and a sentence.
int check_dlpack(const char* what, const whet_tensor_info& info, std::uint32_t i, const whet_dltensor& tensor,
                 whet_error* error);
/// Its strides in bytes, `info.rank` of them.
void read_dlpack_strides(const whet_tensor_info& info, const whet_dltensor& tensor, std::int64_t* strides);
/// The first byte of its data; null where it has none.
const void* dlpack_data(const whet_dltensor& tensor);
/// A contiguous tensor as DLPack has it; `shape` points into the plan.
whet_dltensor dlpack_of(const whet_tensor_info& info, void* data, std::int32_t device_type, std::int32_t device_id);

enum DlpackDevice : std::int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3 };

}  // namespace whet
