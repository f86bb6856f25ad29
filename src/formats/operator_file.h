#pragma once

#include "import/file_model.h"

namespace whet {

/// An operator by its definition (docs/formats/dag.md) as a model: a node for each of its outputs. Families and roles that nobody
/// wrote are recognised (compute/recognise.h). A `const` placeholder is a constant where options have its value, and else an
/// input, which is not packed. A definition with sizes is taken at the values that it names. Errors are the notation's, with the line, and those of
/// loads that may be outside of their tensors.
Result<FileModel> read_operator_file(ModelSource&&);

}  // namespace whet
