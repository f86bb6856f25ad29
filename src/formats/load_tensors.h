#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor_files/npy.h"

namespace whet {

/// Reads .npy, .npz or a TensorProto .pb, by the ending of the path. bf16 and i16 stay so: held_as makes of them what a model takes.
Result<std::vector<NamedTensor>> load_tensors(const std::string& path);
/// The one tensor of a file (.npy, .pb, or a .npz with one member).
Result<Tensor> load_tensor(const std::string& path);

}  // namespace whet
