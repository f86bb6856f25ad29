#pragma once

#include <cstdint>

#include "runtime/cuda/model.h"
#include "runtime/cuda/step_order.h"

namespace whet {

/// A piece of work on the device: one node of a graph.
struct CudaOperation {
  enum class Kind : std::uint8_t {
    upload,    ///< of an input, from the host or from elsewhere on the device
    kernel,    ///< one launch of a step
    copy,      ///< a step that copies
    download,  ///< of an output
  };
  Kind kind;
  std::uint32_t step;                        ///< of kernel and copy
  std::uint32_t launch;                      ///< of kernel: its number in the plan
  std::uint32_t tensor;                      ///< of upload and download: the input's or output's number
  std::uint32_t first_before, before_count;  ///< operations that come before it, in CudaOperations::before
};

/// All operations of one inference, in an order in which they may run one by one.
struct CudaOperations {
  CudaOperation* operation;
  std::uint32_t count;
  std::uint32_t* before;
};

/// Lists them: an upload for each input of which `uploaded` is true, every step in order, a download for each output of
/// which `downloaded` is true. Free the list. Gives 0, or -1 where there is no memory.
int list_operations(const ModelView& view, const StepOrder& order, const bool* uploaded, const bool* downloaded,
                    CudaOperations* operations, whet_error* error);
void free_operations(CudaOperations* operations);

}  // namespace whet
