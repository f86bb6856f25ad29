#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact/kernel.h"
#include "artifact/outcome_code.h"
#include "runtime/cuda/device.h"

namespace whet {

/// Something that went wrong on a GPU, as the replies carry it. The code ok: nothing did.
struct GpuFailure {
  OutcomeCode code = OutcomeCode::ok;
  std::string message;
  bool lost = false;  ///< the context is: this process runs nothing on the device any more
  bool failed() const { return code != OutcomeCode::ok; }
};

/// A GPU with a stream, for one thread. Everything below ends before it does.
class BenchDevice {
 public:
  BenchDevice() = default;
  BenchDevice(const BenchDevice&) = delete;
  ~BenchDevice();

  GpuFailure open(const CudaDriver&, int number);
  bool is_open() const { return stream_ != nullptr; }
  const CudaContext& context() const { return context_; }
  const CudaFunctions& call() const { return context_.driver->call; }
  CUstream stream() const { return stream_; }

  /// `what` goes on "cuda:0 (NVIDIA H100) cannot ...". No failure where the code is 0.
  GpuFailure judged(CUresult code, const std::string& what) const;
  GpuFailure synchronize(const std::string& what) const { return judged(call().cuStreamSynchronize(stream_), what); }

 private:
  CudaContext context_{};
  CUstream stream_ = nullptr;
};

/// Memory of a device between two stretches of a pattern, which stray stores damage.
class GuardedGpuBuffer {
 public:
  static constexpr std::size_t kGuard = 4096;  ///< bytes of the pattern on each side

  GuardedGpuBuffer() = default;
  GuardedGpuBuffer(GuardedGpuBuffer&& other) noexcept { *this = std::move(other); }
  GuardedGpuBuffer& operator=(GuardedGpuBuffer&&) noexcept;
  ~GuardedGpuBuffer();

  GpuFailure allocate(const BenchDevice&, std::size_t bytes, std::string name);
  CUdeviceptr data() const { return base_ + kGuard; }
  std::size_t bytes() const { return bytes_; }

  GpuFailure upload(const void* from) const;
  GpuFailure download(void* to) const;
  /// Every byte 0xff (NaN as a float), the pattern around it renewed.
  GpuFailure poison() const;
  /// A failure where the pattern is damaged.
  GpuFailure check_guards() const;

 private:
  const BenchDevice* device_ = nullptr;
  CUdeviceptr base_ = 0;
  std::size_t bytes_ = 0;
  std::string name_;
};

/// A kernel's code on the device, and its launches. The code may be there several times, each at a place of its own, so that copies
/// of a launch do not find it in the SMs' caches.
class GpuKernel {
 public:
  explicit GpuKernel(const BenchDevice& device) : device_(device) {}
  GpuKernel(const GpuKernel&) = delete;
  ~GpuKernel();

  /// Once, or once more.
  GpuFailure load(const Kernel&);
  const std::vector<Launch>& launches() const { return launches_; }
  /// What a node of a graph, or a launch, needs; copy after copy takes the next place of the code. `parameters` points to the
  /// addresses of all arguments, and of the workspace behind them.
  CUDA_KERNEL_NODE_PARAMS_v2 node(std::size_t copy, std::size_t launch, void** parameters) const;

 private:
  GpuFailure find(const Launch&);
  /// As the launches of a network: of the functions that were found last, one a launch.
  GpuFailure share_memory() const;

  const BenchDevice& device_;
  std::vector<CUmodule> modules_;
  std::vector<CUfunction> functions_;  ///< of each module, one a launch
  std::vector<Launch> launches_;
};

/// Copies of a kernel one after another as a graph, and events in front and behind.
class GpuReplay {
 public:
  explicit GpuReplay(const BenchDevice& device) : device_(device) {}
  GpuReplay(const GpuReplay&) = delete;
  ~GpuReplay();

  ///   parameters  of each copy, as GpuKernel::node takes them
  GpuFailure build(const GpuKernel&, const std::vector<void**>& parameters);
  /// One replay: seconds of one copy.
  GpuFailure run(double* seconds) const;

 private:
  const BenchDevice& device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::size_t copies_ = 0;
};

}  // namespace whet
