#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/file_model.h"
#include "import/options.h"

namespace whet {

/// The static types of the model's inputs, in order: `options.shapes` and the shapes of `options.values` bind symbolic
/// dimensions (one symbol everywhere to one extent), a leading dimension that is left is 1, any other is an error that
/// says which option to give.
Result<std::vector<TensorType>> bind_inputs(const FileModel&, const ImportOptions& options);

/// Opens the fixed dimensions that the options name.
void open_dimensions(FileModel&, const ImportOptions& options);

/// An input that is a sequence: its elements are inputs "NAME.0", "NAME.1", ..., as many as the options name.
struct InputList {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> elements;
};
/// Puts the elements in place of the sequences among the model's inputs. Errors: a sequence of which no element is named.
Result<std::vector<InputList>> expand_lists(FileModel&, const ImportOptions& options);

}  // namespace whet
