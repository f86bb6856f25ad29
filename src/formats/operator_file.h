#pragma once

#include "import/file_model.h"

namespace whet {

/// An operator by its definition (docs/formats/dag.md) as a model: a node for each of its outputs. Families and roles that nobody
/// wrote are recognised (compute/recognise.h). A `const` placeholder is a constant where options have its value, and else an
/// input, which is not packed. A name among the extents of placeholders is an open dimension of this symbol; one of a SIZE line has its
/// bounds, and its value where nothing binds it. Errors are the notation's, with the line; those of loads that may be outside of their
/// tensors; a size that nothing decides; and one with two values.
Result<FileModel> read_operator_file(ModelSource&&);

}  // namespace whet
