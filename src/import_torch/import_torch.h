#pragma once

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// Reads a program of torch.export (.pt2).
Result<FileModel> read_pt2_model(ModelSource&&);
/// Reads a TorchScript archive: traced, scripted or frozen. Its program is followed with the sizes of the inputs that the
/// options give, so that what decides on sizes is known; nothing of the file is run.
Result<FileModel> read_torchscript_model(ModelSource&&);

/// What an archive of torch.save holds: " (244 tensors)"; "" where that cannot be told.
std::string saved_weights_text(const ModelSource&);

namespace torch {
struct TorchModel;
/// A program without writes as a model of any format.
FileModel file_model(TorchModel);
}  // namespace torch

}  // namespace whet
