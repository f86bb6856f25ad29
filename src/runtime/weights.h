#pragma once

#include "runtime/model.h"

namespace whet {

/// Where kernels read the weights of an image: a copy in huge pages, one for all that open the image at a time. Null where
/// memory ends. From any thread.
const char* take_weights_copy(const ModelImage&);
/// The last one frees it.
void return_weights_copy(const char* copy);

}  // namespace whet
