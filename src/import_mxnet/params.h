#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace whet::mxnet {

/// The tensors of a .params file, of any of its versions, by their names without "arg:" and "aux:". Sparse ones, and types that
/// whet does not have, are refused at their place in the file.
Result<std::map<std::string, Tensor>> parse_params(std::string_view bytes, const std::string& what);

}  // namespace whet::mxnet
