#pragma once

// Internal to sessions on a device: the state of a session, and the graph of its operations.

#include <stdlib.h>

#include <cstdint>

#include "runtime/cpu/pool.h"
#include "runtime/cuda/model.h"
#include "runtime/cuda/operations.h"
#include "runtime/cuda/step_order.h"
#include "runtime/process.h"

namespace whet {

/// Where the memory is that a user gave for an input or an output.
enum class CudaPlace : std::uint8_t {
  none,    ///< not given: an output's own memory
  host,    ///< staged through pinned memory of the session
  pinned,  ///< host memory that the device reads and writes itself
  device,  ///< read and written in place where it is aligned, else copied on the device
};

struct CudaTensor {
  CudaPlace place;
  void* data;
  std::int64_t strides[kMaxRank];            // bytes, of an input on the host
  std::uint64_t device_offset, host_offset;  // of the session's own memory for it

  bool in_place() const {
    return place == CudaPlace::device && reinterpret_cast<std::uintptr_t>(data) % kDeviceAlignment == 0;
  }
};

/// A graph that can be launched, and its nodes: one an operation.
struct CudaGraph {
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode* nodes;
};

struct CudaSession {
  CudaModel* model;
  whet_pool* pool;
  StepOrder order;
  CudaOperations operations;
  bool *uploaded, *downloaded;  // of each input and output: whether `operations` has one for it
  CudaTensor *inputs, *outputs;
  CUdeviceptr memory;          // arena, then inputs and outputs
  char* host;                  // pinned, for inputs and outputs
  CUdeviceptr* addresses;      // of each argument of the plan
  CUdeviceptr* workspaces;     // of each step
  CUdeviceptr* set_addresses;  // as the graph's nodes have them
  void** parameters;           // scratch: one launch's
  CUgraphNode* before;         // scratch: what one node waits for
  CudaGraph graph, profile_graph;
  CUstream own_stream, stream, last_stream;
  CUevent done;
  CUevent *begin_end, *step_events;  // 2, and steps + 1; made when profiling is first switched on
  bool kinds_changed, pointers_changed, profile_changed, pending;
  char note[256];
  InUse running;

  bool profiling;
  whet_step_profile* steps;
  whet_profile profile;
};

inline const ModelView& view_of(const CudaSession& s) { return s.model->view; }
inline const CudaFunctions& call_of(const CudaSession& s) { return s.model->context.driver->call; }

template <typename T>
T* zeroed(std::uint64_t count) {
  return static_cast<T*>(calloc(count + 1, sizeof(T)));
}

inline int failed(const CudaSession& s, CUresult code, const char* what, whet_error* error) {
  return cuda_device_fail(s.model->context, code, error, "%s model %s", what, s.model->info.name);
}

/// Where a copy from or to the host begins.
void* host_address(const CudaSession&, const CudaTensor&);
/// The parameters of a kernel. They point into the session and hold until the next call.
CUDA_KERNEL_NODE_PARAMS_v2 kernel_of(CudaSession&, const CudaOperation&);
CUDA_MEMCPY3D_v2 copy_of(const CudaSession&, const CudaOperation&);

/// Whether the session runs a graph; else it starts one operation after another.
bool has_graph(const CudaSession&);
/// Makes addresses, operations and graphs fit the memory that inputs and outputs have now.
int prepare(CudaSession&, whet_error*);
void destroy_graph(CudaSession&, CudaGraph*);

}  // namespace whet
