#pragma once

#include "runtime/model.h"

namespace whet {

/// The copy of an image's weights in huge pages, which kernels read. All models that are open on the image share it. Null where
/// there is no memory. From any thread.
const char* take_weights_copy(const ModelImage&);
/// The last return frees the copy.
void return_weights_copy(const char* copy);

}  // namespace whet
