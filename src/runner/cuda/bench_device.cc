#include "runner/cuda/bench_device.h"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/errors.h"
#include "runtime/cuda/image.h"
#include "runtime/cuda/sm_memory.h"

namespace whet {
namespace {

constexpr unsigned kGuardPattern = 0x5a5a5a5a, kPoison = 0xffffffff;
constexpr int kPlainBlockMemory = 48 << 10;  ///< bytes that a block may have without asking

std::size_t whole_words(std::size_t bytes) { return (bytes + 3) / 4; }

}  // namespace

// ---- The device.

BenchDevice::~BenchDevice() {
  if (stream_ != nullptr) call().cuStreamDestroy_v2(stream_);
  if (context_.handle == nullptr) return;
  call().cuCtxPopCurrent_v2(nullptr);
  close_cuda_context(&context_);
}

GpuFailure BenchDevice::open(const CudaDriver& driver, int number) {
  whet_error error{};
  int count = 0;
  if (count_cuda_devices(driver, &count, &error) != 0) return {OutcomeCode::device_lost, error.message, true};
  if (number < 0 || number >= count)
    return {OutcomeCode::device_lost,
            "there is no device cuda:" + std::to_string(number) + "; the driver has " + std::to_string(count) +
                ", counted from 0",
            true};
  if (open_cuda_context(driver, number, &context_, &error) != 0) return {OutcomeCode::device_lost, error.message, true};
  CUresult code = call().cuCtxPushCurrent_v2(context_.handle);  // as long as this lives
  if (code == 0) code = call().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  return judged(code, "make a stream");
}

GpuFailure BenchDevice::judged(CUresult code, const std::string& what) const {
  if (code == 0) return {};
  whet_error error{};
  cuda_device_fail(context_, code, &error, "%s", what.c_str());
  const CudaErrorFate fate = fate_of(code);
  return {fate.outcome, error.message, fate.sticky};
}

// ---- Memory.

GuardedGpuBuffer& GuardedGpuBuffer::operator=(GuardedGpuBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(name_, other.name_);
  return *this;
}

GuardedGpuBuffer::~GuardedGpuBuffer() {
  if (base_ != 0) device_->call().cuMemFree_v2(base_);
}

GpuFailure GuardedGpuBuffer::allocate(const BenchDevice& device, std::size_t bytes, std::string name) {
  *this = GuardedGpuBuffer();
  whet_error error{};
  const std::size_t whole = whole_words(bytes) * 4 + 2 * kGuard;
  if (allocate_cuda_memory(device.context(), whole, name.c_str(), &base_, &error) != 0)
    return {OutcomeCode::out_of_memory, error.message};
  device_ = &device;
  bytes_ = bytes;
  name_ = std::move(name);
  return poison();
}

GpuFailure GuardedGpuBuffer::upload(const void* from) const {
  return device_->judged(device_->call().cuMemcpyHtoDAsync_v2(data(), from, bytes_, device_->stream()),
                         "copy " + name_ + " to the device");
}

GpuFailure GuardedGpuBuffer::download(void* to) const {
  const CUresult code = device_->call().cuMemcpyDtoHAsync_v2(to, data(), bytes_, device_->stream());
  if (GpuFailure failure = device_->judged(code, "copy " + name_ + " from the device"); failure.failed())
    return failure;
  return device_->synchronize("copy " + name_ + " from the device");
}

GpuFailure GuardedGpuBuffer::poison() const {
  const std::size_t words = whole_words(bytes_);
  const auto set = [&](CUdeviceptr to, unsigned value, std::size_t count) {
    return count == 0 ? 0 : device_->call().cuMemsetD32Async(to, value, count, device_->stream());
  };
  CUresult code = set(base_, kGuardPattern, kGuard / 4);
  if (code == 0) code = set(data(), kPoison, words);
  if (code == 0) code = set(data() + words * 4, kGuardPattern, kGuard / 4);
  return device_->judged(code, "prepare " + name_);
}

GpuFailure GuardedGpuBuffer::check_guards() const {
  for (const bool behind : {false, true}) {
    std::vector<unsigned> guard(kGuard / 4);
    const CUdeviceptr from = behind ? data() + whole_words(bytes_) * 4 : base_;
    const CUresult code = device_->call().cuMemcpyDtoHAsync_v2(guard.data(), from, kGuard, device_->stream());
    if (GpuFailure failure = device_->judged(code, "look at " + name_); failure.failed()) return failure;
    if (GpuFailure failure = device_->synchronize("look at " + name_); failure.failed()) return failure;
    const auto damaged = [](unsigned word) { return word != kGuardPattern; };
    const auto first = std::ranges::find_if(guard, damaged);
    if (first == guard.end()) continue;
    const auto at = static_cast<std::size_t>(first - guard.begin()) * 4;
    return {OutcomeCode::wrong_answer, "memory " + std::to_string(behind ? at : kGuard - at) + " bytes " +
                                           (behind ? "behind the end" : "before the begin") + " of " + name_ +
                                           " was overwritten"};
  }
  return {};
}

// ---- Code.

GpuKernel::~GpuKernel() {
  for (CUmodule module : modules_) device_.call().cuModuleUnload(module);
}

GpuFailure GpuKernel::load(const Kernel& kernel) {
  const PlanImageFormat format = kernel.format == CodeFormat::emulated ? PlanImageFormat::emulated
                                 : kernel.format == CodeFormat::cubin  ? PlanImageFormat::cubin
                                                                       : PlanImageFormat::ptx;
  const PlanImage image{format, static_cast<std::uint32_t>(device_.context().info.arch), 0, kernel.code.size() + 1};
  whet_error error{};
  CUmodule module = nullptr;
  if (load_image(device_.context(), image, kernel.code.c_str(), &module, &error) != 0)
    return {OutcomeCode::compile_device, error.message};
  modules_.push_back(module);
  launches_ = kernel.launches;
  for (const Launch& launch : launches_)
    if (GpuFailure failure = find(launch); failure.failed()) return failure;
  return share_memory();
}

GpuFailure GpuKernel::find(const Launch& launch) {
  CUfunction function = nullptr;
  CUresult code = device_.call().cuModuleGetFunction(&function, modules_.back(), launch.entry.c_str());
  if (code == 0 && launch.block_memory > kPlainBlockMemory)
    code = device_.call().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                             static_cast<int>(launch.block_memory));
  functions_.push_back(function);
  return device_.judged(code, "prepare the launch " + launch.entry);
}

GpuFailure GpuKernel::share_memory() const {
  std::vector<LaunchedKernel> kernels;
  const std::size_t first = functions_.size() - launches_.size();
  for (std::size_t l = 0; l < launches_.size(); ++l) {
    const Launch& launch = launches_[l];
    kernels.push_back({functions_[first + l], launch.grid.x * launch.grid.y * launch.grid.z,
                       launch.block.x * launch.block.y * launch.block.z,
                       static_cast<std::uint32_t>(launch.block_memory)});
  }
  const CUresult code = share_sm_memory(device_.context(), kernels.data(), static_cast<std::uint32_t>(kernels.size()));
  return device_.judged(code, "share the SMs' memory between the launches");
}

CUDA_KERNEL_NODE_PARAMS_v2 GpuKernel::node(std::size_t copy, std::size_t number, void** parameters) const {
  const Launch& launch = launches_[number];
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = functions_[copy % modules_.size() * launches_.size() + number];
  node.gridDimX = launch.grid.x, node.gridDimY = launch.grid.y, node.gridDimZ = launch.grid.z;
  node.blockDimX = launch.block.x, node.blockDimY = launch.block.y, node.blockDimZ = launch.block.z;
  node.sharedMemBytes = static_cast<unsigned>(launch.block_memory);
  node.kernelParams = parameters;
  return node;
}

// ---- Time.

GpuReplay::~GpuReplay() {
  const CudaFunctions& call = device_.call();
  if (exec_ != nullptr) call.cuGraphExecDestroy(exec_);
  if (graph_ != nullptr) call.cuGraphDestroy(graph_);
  for (CUevent event : {begin_, end_})
    if (event != nullptr) call.cuEventDestroy_v2(event);
}

GpuFailure GpuReplay::build(const GpuKernel& kernel, const std::vector<void**>& parameters) {
  const CudaFunctions& call = device_.call();
  copies_ = parameters.size();
  CUresult code = call.cuGraphCreate(&graph_, 0);
  for (CUevent* event : {&begin_, &end_})
    if (code == 0) code = call.cuEventCreate(event, CU_EVENT_DEFAULT);
  CUgraphNode last = nullptr;
  if (code == 0) code = call.cuGraphAddEventRecordNode(&last, graph_, nullptr, 0, begin_);
  for (std::size_t copy = 0; copy < copies_; ++copy)
    for (std::size_t i = 0; code == 0 && i < kernel.launches().size(); ++i) {
      const CUDA_KERNEL_NODE_PARAMS_v2 node = kernel.node(copy, i, parameters[copy]);
      const CUgraphNode before = last;
      code = call.cuGraphAddKernelNode_v2(&last, graph_, &before, 1, &node);
    }
  const CUgraphNode before = last;
  if (code == 0) code = call.cuGraphAddEventRecordNode(&last, graph_, &before, 1, end_);
  if (code == 0) code = call.cuGraphInstantiateWithFlags(&exec_, graph_, 0);
  if (code == 0) code = call.cuGraphUpload(exec_, device_.stream());
  return device_.judged(code, "make a graph of the kernel");
}

GpuFailure GpuReplay::run(double* seconds) const {
  CUresult code = device_.call().cuGraphLaunch(exec_, device_.stream());
  if (code == 0) code = device_.call().cuStreamSynchronize(device_.stream());
  float milliseconds = 0;
  if (code == 0) code = device_.call().cuEventElapsedTime(&milliseconds, begin_, end_);
  *seconds = static_cast<double>(milliseconds) / 1e3 / static_cast<double>(copies_);
  return device_.judged(code, "run the kernel");
}

}  // namespace whet
