#pragma once

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// A frozen GraphDef; its inputs are its placeholders, its outputs what no node reads.
Result<FileModel> read_graph_def_model(ModelSource&&);
/// A SavedModel: its folder, or the saved_model.pb in it. `entry`: which of its signatures. Inputs and outputs are called as in
/// the signature.
Result<FileModel> read_saved_model(ModelSource&&);
/// A graph model of TensorFlow.js: its folder, or the model.json in it, whose weights are beside it.
Result<FileModel> read_tfjs_model(ModelSource&&);

}  // namespace whet
