#include "runtime/cuda/testing/scripted_state.h"

namespace whet::testing::scripted {
namespace {

/// Nodes in an order that the edges allow, which one by chance.
std::vector<std::size_t> some_order(const std::vector<std::vector<std::size_t>>& after) {
  std::vector<std::size_t> order, ready, waits(after.size());
  std::vector<std::vector<std::size_t>> before(after.size());
  for (std::size_t n = 0; n < after.size(); ++n) {
    waits[n] = after[n].size();
    for (std::size_t m : after[n]) before[m].push_back(n);
    if (waits[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    std::size_t pick;
    {
      const std::lock_guard<std::mutex> guard(state->lock);
      pick = state->random() % ready.size();
    }
    const std::size_t node = ready[pick];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    order.push_back(node);
    for (std::size_t next : before[node]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

CUresult run_graph(const std::vector<CUgraphNode_st>& nodes, const std::vector<std::vector<std::size_t>>& after,
                   CUstream stream) {
  for (std::size_t n : some_order(after)) {
    const CUgraphNode_st& node = nodes[n];
    CUresult code = kSuccess;
    switch (node.kind) {
      case CUgraphNode_st::Kind::kernel:
        code = run_kernel(*node.function, node.launch);
        break;
      case CUgraphNode_st::Kind::copy:
        code = run_copy(node.copy);
        break;
      case CUgraphNode_st::Kind::event:
        reach(node.event, stream);
        break;
    }
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

void describe_graph(const CUgraph_st& graph) {
  std::map<const CUgraphNode_st*, std::size_t> number;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) number[graph.nodes[i].get()] = i;
  std::string text;
  for (const auto& node : graph.nodes) {
    text += std::to_string(number[node.get()]);
    switch (node->kind) {
      case CUgraphNode_st::Kind::kernel:
        text += " kernel " + node->function->name;
        break;
      case CUgraphNode_st::Kind::copy:
        text += node->copy.srcMemoryType == CU_MEMORYTYPE_HOST   ? " upload"
                : node->copy.dstMemoryType == CU_MEMORYTYPE_HOST ? " download"
                                                                 : " copy";
        break;
      case CUgraphNode_st::Kind::event:
        text += " event";
        break;
    }
    std::map<std::size_t, bool> after;
    for (CUgraphNode_st* before : node->after) after[number[before]] = node->early.count(before) != 0;
    if (!after.empty()) text += " after";
    for (const auto& [n, early] : after) text += " " + std::to_string(n) + (early ? " (early)" : "");
    text += "\n";
  }
  state->last_graph = text;
}

CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                  std::unique_ptr<CUgraphNode_st> node) {
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  node->after.assign(after, after + count);
  *out = node.get();
  graph->nodes.push_back(std::move(node));
  return kSuccess;
}

}  // namespace
}  // namespace whet::testing::scripted

using namespace whet;                     // NOLINT: the driver's functions are global
using namespace whet::testing;            // NOLINT
using namespace whet::testing::scripted;  // NOLINT

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  ENTER_IN_CONTEXT(cuGraphCreate);
  auto made = std::make_unique<CUgraph_st>();
  *graph = made.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->graphs[*graph] = std::move(made);
  return kSuccess;
}

CUresult cuGraphDestroy(CUgraph graph) {
  ENTER_IN_CONTEXT(cuGraphDestroy);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->graphs.erase(graph) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  ENTER_IN_CONTEXT(cuGraphAddKernelNode_v2);
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::kernel;
  made->function = parameters->func;
  made->launch = make_launch(*parameters->func, *parameters);
  if (const CUresult code = check_launch(*made->function, made->launch); code != 0) return code;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D_v2* copy, CUcontext context) {
  ENTER_IN_CONTEXT(cuGraphAddMemcpyNode);
  if (context == nullptr) return kInvalidContext;
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::copy;
  made->copy = *copy;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUevent event) {
  ENTER_IN_CONTEXT(cuGraphAddEventRecordNode);
  auto made = std::make_unique<CUgraphNode_st>();
  made->kind = CUgraphNode_st::Kind::event;
  made->event = event;
  return add_node(node, graph, after, count, std::move(made));
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  ENTER_IN_CONTEXT(cuGraphAddDependencies);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return kSuccess;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  ENTER_IN_CONTEXT(cuGraphAddDependencies_v2);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  for (size_t i = 0; i < count; ++i) {
    const bool kernels = from[i]->kind == CUgraphNode_st::Kind::kernel && to[i]->kind == CUgraphNode_st::Kind::kernel;
    const bool early = edges != nullptr && edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    if (early && !kernels) return kInvalidValue;
    if (early) to[i]->early.insert(from[i]);
    to[i]->after.push_back(from[i]);
  }
  return kSuccess;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ENTER_IN_CONTEXT(cuGraphInstantiateWithFlags);
  const std::lock_guard<std::mutex> guard(state->lock);
  if (state->graphs.count(graph) == 0) return kInvalidHandle;
  auto made = std::make_unique<CUgraphExec_st>();
  made->context = current_context();
  for (const auto& node : graph->nodes) {
    made->number[node.get()] = made->nodes.size();
    made->nodes.push_back(*node);
  }
  for (const auto& node : graph->nodes) {
    std::vector<std::size_t> after;
    for (CUgraphNode before : node->after) after.push_back(made->number.at(before));
    made->after.push_back(after);
  }
  describe_graph(*graph);
  *exec = made.get();
  state->execs[*exec] = std::move(made);
  return kSuccess;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  ENTER_IN_CONTEXT(cuGraphUpload);
  if (!is_stream(stream)) return kInvalidHandle;
  exec->uploaded = true;
  return kSuccess;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CallScript verdict;
  if (const CUresult code = enter("cuGraphLaunch", true, &verdict); code != 0) return code;
  if (!is_stream(stream)) return kInvalidHandle;
  for (const CUgraphNode_st& node : exec->nodes) {
    if (node.kind == CUgraphNode_st::Kind::event) record(node.event, stream);
  }
  // What is launched does not change with the graph any more.
  return submit(stream, verdict,
                [stream, nodes = exec->nodes, after = exec->after] { return run_graph(nodes, after, stream); });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER_IN_CONTEXT(cuGraphExecDestroy);
  const std::lock_guard<std::mutex> guard(state->lock);
  return state->execs.erase(exec) == 1 ? kSuccess : kInvalidHandle;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  ENTER_IN_CONTEXT(cuGraphExecKernelNodeSetParams_v2);
  const auto found = exec->number.find(node);
  if (found == exec->number.end()) return kInvalidHandle;
  CUgraphNode_st& own = exec->nodes[found->second];
  if (own.kind != CUgraphNode_st::Kind::kernel) return kInvalidValue;
  own.function = parameters->func;
  own.launch = make_launch(*parameters->func, *parameters);
  return check_launch(*own.function, own.launch);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D_v2* copy,
                                        CUcontext context) {
  ENTER_IN_CONTEXT(cuGraphExecMemcpyNodeSetParams);
  const auto found = exec->number.find(node);
  if (found == exec->number.end() || context == nullptr) return kInvalidHandle;
  CUgraphNode_st& own = exec->nodes[found->second];
  // As the driver has it: the kinds of memory and the size stay.
  if (own.kind != CUgraphNode_st::Kind::copy || own.copy.srcMemoryType != copy->srcMemoryType ||
      own.copy.dstMemoryType != copy->dstMemoryType || own.copy.WidthInBytes != copy->WidthInBytes) {
    return kInvalidValue;
  }
  own.copy = *copy;
  return kSuccess;
}

}  // extern "C"
