#pragma once

#include <string>

#include "base/result.h"
#include "import_tf/graph.h"

namespace whet::tensorflow {

/// The graph of a model.json with its weights from the files beside it in `folder`. Its signature is called "serving_default".
Result<TfGraph> parse_tfjs(const std::string& text, const std::string& folder, const std::string& what);

}  // namespace whet::tensorflow
