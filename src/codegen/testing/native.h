#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "artifact/cpu/isa.h"
#include "artifact/cpu/object_loader.h"
#include "base/check.h"
#include "codegen/compile.h"
#include "codegen/testing/emulated_processor.h"
#include "tensor/tensor.h"

namespace whet {

/// A processor that this machine can stand in for, of the best vector extension it has; or the emulated one.
inline Target host_target(int threads = 1) {
  if (const char* processor = emulated_processor()) {
    Result<Target> target = parse_target("cpu -mcpu=" + std::string(processor));
    WHET_CHECK(target.ok(), "WHET_EMULATED_PROCESSOR is no processor that -mcpu knows");
    target->threads = threads;
    return *target;
  }
  Target target;
  target.threads = threads;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    target.cpu().mcpu = "skylake-avx512", target.cpu().vector_bytes = 64, target.cpu().vector_registers = 32,
    target.cpu().fma = true;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    target.cpu().mcpu = "haswell", target.cpu().vector_bytes = 32, target.cpu().fma = true;
  }
  return target;
}

/// Whether code for cooperlake runs here.
inline bool has_bf16_products() {
#if defined(__x86_64__)
  return emulated_processor() == nullptr && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

/// Whether code for sapphirerapids runs here, tiles included.
inline bool has_tiles() {
#if defined(__x86_64__)
  constexpr IsaSet kTiles = isa_set("amx-tile", "amx-int8", "amx-bf16", "avx512bf16", "avx512fp16");
  return emulated_processor() == nullptr && (host_isa() & kTiles) == kTiles && permit_tiles();
#else
  return false;
#endif
}

/// Every processor that kernels are compiled for in tests and that can run here.
inline std::vector<Target> runnable_targets() {
  if (emulated_processor() != nullptr) return {host_target()};
  std::vector<Target> targets = {Target{}};
  if (const Target best = host_target(); best.cpu().vector_bytes > 16) {
    Target haswell;
    haswell.cpu().mcpu = "haswell", haswell.cpu().vector_bytes = 32, haswell.cpu().fma = true;
    targets.push_back(haswell);
    if (best.cpu().vector_bytes > 32) targets.push_back(best);
  }
  return targets;
}

namespace native_detail {
/// Whether this thread, and with it those that it makes, takes denormal numbers for zero.
inline bool flushes_denormals() {
#if defined(__x86_64__)
  return (_mm_getcsr() & 0x8040) != 0;
#else
  return false;
#endif
}
inline void wait(void* team, std::uint32_t) { static_cast<std::barrier<>*>(team)->arrive_and_wait(); }
}  // namespace native_detail

/// Runs a loaded kernel on tensors, one for each argument; written arguments change in place.
inline void run_kernel(const LoadedKernel& loaded, const Kernel& kernel, std::vector<Tensor>& arguments, int workers) {
  const whet_kernel_runtime runtime = {native_detail::wait};
  std::barrier<> team(workers);
  std::vector<void*> buffers;
  for (Tensor& tensor : arguments) buffers.push_back(tensor.data());
  const Tensor shared(DType::u8, {kernel.workspace + 1});
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      Tensor own(DType::u8, {kernel.worker_workspace + 1});
      whet_kernel_args args = {};
      args.buffers = buffers.data();
      args.workspace = const_cast<void*>(shared.data());
      args.worker_workspace = own.data();
      args.runtime = &runtime;
      args.team = &team;
      args.worker = static_cast<std::uint32_t>(w);
      args.workers = static_cast<std::uint32_t>(workers);
      WHET_CHECK(loaded.entry()(&args) == 0);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Compiles, loads and runs; the result is `arguments` afterwards (written ones are fresh copies).
inline Result<std::vector<Tensor>> run_native(const Program& program, const Target& target,
                                              const std::vector<Tensor>& arguments, int workers = 1) {
  WHET_TRY(const Kernel kernel, compile_kernel(program, target));
  std::vector<Tensor> copies;
  for (const Tensor& tensor : arguments) copies.push_back(tensor.clone());
  if (emulated_processor() != nullptr) {
    WHET_RETURN_IF_ERROR(EmulatedProcessor::get().run(kernel, copies, workers, native_detail::flushes_denormals()));
    return copies;
  }
  WHET_TRY(const LoadedKernel loaded, LoadedKernel::load(kernel));
  run_kernel(loaded, kernel, copies, workers);
  return copies;
}

}  // namespace whet
