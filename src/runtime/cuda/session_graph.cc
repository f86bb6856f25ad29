#include "runtime/cuda/session_graph.h"

#include <string.h>

namespace whet {
namespace {

constexpr CUresult kOutOfMemory = 2;

CUdeviceptr device_address(const CudaSession& s, const CudaTensor& tensor) {
  return tensor.in_place() ? reinterpret_cast<CUdeviceptr>(tensor.data) : s.memory + tensor.device_offset;
}

CUdeviceptr address_of(const CudaSession& s, const PlanArgument& a) {
  switch (a.place) {
    case PlanPlace::arena:
      return s.memory + a.offset;
    case PlanPlace::weights:
      return s.model->weights + a.offset;
    case PlanPlace::input:
      return device_address(s, s.inputs[a.index]) + a.offset;
    case PlanPlace::output:
      return device_address(s, s.outputs[a.index]) + a.offset;
    case PlanPlace::sizes:  // of sized kernels, which are for the CPU alone
      break;
  }
  return 0;
}

void find_addresses(CudaSession& s) {
  for (std::uint32_t i = 0; i < view_of(s).header->arguments.count; ++i) {
    s.addresses[i] = address_of(s, view_of(s).arguments[i]);
  }
}

CUresult add_node(CudaSession& s, CudaGraph& graph, std::uint32_t n, std::uint32_t before) {
  const CudaOperation& operation = s.operations.operation[n];
  if (operation.kind == CudaOperation::Kind::kernel) {
    const CUDA_KERNEL_NODE_PARAMS_v2 kernel = kernel_of(s, operation);
    return call_of(s).cuGraphAddKernelNode_v2(&graph.nodes[n], graph.graph, s.before, before, &kernel);
  }
  const CUDA_MEMCPY3D_v2 copy = copy_of(s, operation);
  return call_of(s).cuGraphAddMemcpyNode(&graph.nodes[n], graph.graph, s.before, before, &copy,
                                         s.model->context.handle);
}

/// Whether the kernel may start before the kernels that it waits for have ended: it waits itself, before it touches
/// their memory.
bool starts_early(const CudaSession& s, const CudaOperation& operation) {
  constexpr int kFirstArch = 90;
  return operation.kind == CudaOperation::Kind::kernel &&
         (view_of(s).launches[operation.launch].flags & kLaunchEarly) != 0 &&
         (s.model->flags & WHET_DEVICE_NO_EARLY) == 0 && s.model->context.info.arch >= kFirstArch &&
         call_of(s).cuGraphAddDependencies_v2 != nullptr;
}

/// Adds operation n behind those that it waits for.
CUresult add_ordered(CudaSession& s, CudaGraph& graph, std::uint32_t n) {
  const CudaOperation& operation = s.operations.operation[n];
  const bool early = starts_early(s, operation);
  const auto is_early_edge = [&](std::uint32_t e) {
    return early &&
           s.operations.operation[s.operations.before[operation.first_before + e]].kind == CudaOperation::Kind::kernel;
  };
  std::uint32_t full = 0;
  for (std::uint32_t e = 0; e < operation.before_count; ++e) {
    if (!is_early_edge(e)) s.before[full++] = graph.nodes[s.operations.before[operation.first_before + e]];
  }
  CUresult code = add_node(s, graph, n, full);
  for (std::uint32_t e = 0; code == 0 && e < operation.before_count; ++e) {
    if (!is_early_edge(e)) continue;
    const CUgraphEdgeData edge = {kGraphKernelNodePortProgrammatic, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
    code = call_of(s).cuGraphAddDependencies_v2(
        graph.graph, &graph.nodes[s.operations.before[operation.first_before + e]], &graph.nodes[n], &edge, 1);
  }
  return code;
}

CUresult finish_graph(CudaSession& s, CudaGraph& graph) {
  CUresult code = call_of(s).cuGraphInstantiateWithFlags(&graph.exec, graph.graph, 0);
  if (code == 0) code = call_of(s).cuGraphUpload(graph.exec, s.own_stream);
  return code;
}

CUresult build_graph(CudaSession& s) {
  destroy_graph(s, &s.graph);
  CUresult code = call_of(s).cuGraphCreate(&s.graph.graph, 0);
  for (std::uint32_t n = 0; code == 0 && n < s.operations.count; ++n) code = add_ordered(s, s.graph, n);
  if (code == 0) code = finish_graph(s, s.graph);
  memcpy(s.set_addresses, s.addresses, view_of(s).header->arguments.count * sizeof(CUdeviceptr));
  return code;
}

/// Makes the events of profiles that are not there yet.
CUresult make_events(CudaSession& s) {
  const std::uint32_t steps = view_of(s).header->steps.count;
  if (s.begin_end == nullptr) s.begin_end = zeroed<CUevent>(2);
  if (s.step_events == nullptr) s.step_events = zeroed<CUevent>(std::uint64_t{steps} + 1);
  if (s.begin_end == nullptr || s.step_events == nullptr) return kOutOfMemory;
  CUresult code = 0;
  const auto make = [&](CUevent* event) {
    if (code == 0 && *event == nullptr) code = call_of(s).cuEventCreate(event, CU_EVENT_DEFAULT);
  };
  for (int i = 0; i < 2; ++i) make(&s.begin_end[i]);
  for (std::uint32_t i = 0; i <= steps; ++i) make(&s.step_events[i]);
  return code;
}

/// All steps one after another, an event in front of each and behind the last.
CUresult build_profile_graph(CudaSession& s) {
  CudaGraph& graph = s.profile_graph;
  destroy_graph(s, &graph);
  CUresult code = call_of(s).cuGraphCreate(&graph.graph, 0);
  std::uint32_t events = 0;
  std::uint32_t before = 0;  // 0 for the first node, then 1
  const auto add_event = [&] {
    CUgraphNode node = nullptr;
    if (code == 0) {
      code = call_of(s).cuGraphAddEventRecordNode(&node, graph.graph, s.before, before, s.step_events[events++]);
    }
    s.before[0] = node;
    before = 1;
  };
  for (std::uint32_t n = 0; code == 0 && n < s.operations.count; ++n) {
    const CudaOperation& operation = s.operations.operation[n];
    if (operation.kind == CudaOperation::Kind::upload || operation.kind == CudaOperation::Kind::download) continue;
    if (operation.step == events) add_event();
    if (code == 0) code = add_node(s, graph, n, before);
    s.before[0] = graph.nodes[n];
  }
  add_event();
  return code == 0 ? finish_graph(s, graph) : code;
}

bool addresses_changed(const CudaSession& s, const CudaOperation& operation) {
  if (operation.kind == CudaOperation::Kind::upload || operation.kind == CudaOperation::Kind::download) return true;
  const PlanStep& step = view_of(s).steps[operation.step];
  return memcmp(s.addresses + step.first_argument, s.set_addresses + step.first_argument,
                step.argument_count * sizeof(CUdeviceptr)) != 0;
}

/// Gives the changed pointers to the nodes that have them.
CUresult update_graph(CudaSession& s) {
  CUresult code = 0;
  for (std::uint32_t n = 0; code == 0 && n < s.operations.count; ++n) {
    const CudaOperation& operation = s.operations.operation[n];
    if (!addresses_changed(s, operation)) continue;
    if (operation.kind == CudaOperation::Kind::kernel) {
      const CUDA_KERNEL_NODE_PARAMS_v2 kernel = kernel_of(s, operation);
      code = call_of(s).cuGraphExecKernelNodeSetParams_v2(s.graph.exec, s.graph.nodes[n], &kernel);
    } else {
      const CUDA_MEMCPY3D_v2 copy = copy_of(s, operation);
      code = call_of(s).cuGraphExecMemcpyNodeSetParams(s.graph.exec, s.graph.nodes[n], &copy, s.model->context.handle);
    }
  }
  memcpy(s.set_addresses, s.addresses, view_of(s).header->arguments.count * sizeof(CUdeviceptr));
  return code;
}

/// Lists the operations again where the kinds of memory have changed, and makes the graph that they need.
int renew(CudaSession& s, whet_error* error) {
  find_addresses(s);
  CUresult code = 0;
  if (s.kinds_changed) {
    const PlanHeader& header = *view_of(s).header;
    for (std::uint32_t i = 0; i < header.inputs.count; ++i) s.uploaded[i] = !s.inputs[i].in_place();
    for (std::uint32_t i = 0; i < header.outputs.count; ++i) s.downloaded[i] = !s.outputs[i].in_place();
    free_operations(&s.operations);
    if (list_operations(view_of(s), s.order, s.uploaded, s.downloaded, &s.operations, error) != 0) return -1;
    if (has_graph(s)) code = build_graph(s);
  } else if (has_graph(s)) {
    code = update_graph(s);
  }
  s.kinds_changed = code != 0;  // a graph that was half made is made anew
  s.pointers_changed = false;
  s.profile_changed = true;
  return code == 0 ? 0 : failed(s, code, "make the graph of", error);
}

}  // namespace

void* host_address(const CudaSession& s, const CudaTensor& tensor) {
  return tensor.place == CudaPlace::pinned ? tensor.data : s.host + tensor.host_offset;
}

CUDA_KERNEL_NODE_PARAMS_v2 kernel_of(CudaSession& s, const CudaOperation& operation) {
  const PlanStep& step = view_of(s).steps[operation.step];
  const PlanLaunch& launch = view_of(s).launches[operation.launch];
  for (std::uint32_t a = 0; a < launch.argument_count; ++a) {
    s.parameters[a] = &s.addresses[step.first_argument + launch.first_argument + a];
  }
  s.parameters[launch.argument_count] = &s.workspaces[operation.step];
  return {s.model->functions[operation.launch],
          launch.grid[0],
          launch.grid[1],
          launch.grid[2],
          launch.block[0],
          launch.block[1],
          launch.block[2],
          launch.block_memory,
          s.parameters,
          nullptr,
          nullptr,
          nullptr};
}

CUDA_MEMCPY3D_v2 copy_of(const CudaSession& s, const CudaOperation& operation) {
  CUDA_MEMCPY3D_v2 copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.Height = copy.Depth = 1;
  if (operation.kind == CudaOperation::Kind::copy) {
    const PlanStep& step = view_of(s).steps[operation.step];
    copy.srcDevice = s.addresses[step.first_argument];
    copy.dstDevice = s.addresses[step.first_argument + 1];
    copy.WidthInBytes = view_of(s).arguments[step.first_argument].bytes;
    return copy;
  }
  const bool up = operation.kind == CudaOperation::Kind::upload;
  const CudaTensor& tensor = up ? s.inputs[operation.tensor] : s.outputs[operation.tensor];
  copy.WidthInBytes = static_cast<size_t>((up ? s.model->inputs : s.model->outputs)[operation.tensor].bytes);
  const CUdeviceptr own = s.memory + tensor.device_offset;
  const CUdeviceptr theirs = tensor.place == CudaPlace::device ? reinterpret_cast<CUdeviceptr>(tensor.data) : 0;
  (up ? copy.dstDevice : copy.srcDevice) = own;
  (up ? copy.srcDevice : copy.dstDevice) = theirs;
  if (tensor.place == CudaPlace::device) return copy;
  if (up) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host_address(s, tensor);
  } else {
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host_address(s, tensor);
  }
  return copy;
}

void destroy_graph(CudaSession& s, CudaGraph* graph) {
  if (graph->exec != nullptr) call_of(s).cuGraphExecDestroy(graph->exec);
  if (graph->graph != nullptr) call_of(s).cuGraphDestroy(graph->graph);
  graph->exec = nullptr;
  graph->graph = nullptr;
}

bool has_graph(const CudaSession& s) { return (s.model->flags & WHET_DEVICE_NO_GRAPH) == 0; }

int prepare(CudaSession& s, whet_error* error) {
  if ((s.kinds_changed || s.pointers_changed) && renew(s, error) != 0) return -1;
  if (!s.profiling || !s.profile_changed) return 0;
  CUresult code = make_events(s);
  if (code == 0) code = build_profile_graph(s);
  s.profile_changed = code != 0;
  return code == 0 ? 0 : failed(s, code, "make the profile's graph of", error);
}

}  // namespace whet
