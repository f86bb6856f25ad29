#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace whet {

struct NamedTensor {
  std::string name;  ///< empty where the format has none (.npy)
  Tensor tensor;
};

/// NumPy's .npy, versions 1 to 3: little endian, C order; the types of tensors, u16 (as i32), u32 and u64 (as i64), as import
/// widens them. numpy has no bf16: its elements are `V2` there, two bytes each, as numpy writes arrays of ml_dtypes.bfloat16.
/// `what` begins messages.
Result<Tensor> parse_npy(std::string_view bytes, const std::string& what);
std::string format_npy(const Tensor&);
/// NumPy's .npz: a zip file of .npy members (stored or deflated); names without ".npy", in the file's order.
Result<std::vector<NamedTensor>> parse_npz(std::string_view bytes, const std::string& what);
/// Stored members, as numpy.savez writes them.
Result<std::string> format_npz(const std::vector<NamedTensor>&);

Status save_npy(const std::string& path, const Tensor&);
Status save_npz(const std::string& path, const std::vector<NamedTensor>&);

}  // namespace whet
