#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx/reader.h"

namespace whet {

/// What a node is called: its name, or its operator and position ("Conv_12").
std::string node_label(const OnnxModel&, std::size_t index);
/// The nodes that the outputs need, each after those that it reads, else in the file's order. Errors: a value that
/// nothing defines or two define, a cycle, no outputs.
Result<std::vector<std::size_t>> live_order(const OnnxModel&);

}  // namespace whet
