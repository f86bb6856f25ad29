#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace whet {

/// An NVIDIA GPU. Text form: `cuda -arch=sm_90 -sms=132`; `-model=h100` stands for both switches. The two decide which
/// schedules are legal and how blocks fill the device. Clocks and memory belong to the device itself (MachineRates).
struct GpuTarget {
  int arch = 80;  ///< compute capability, major times 10 plus minor; 75 or more
  int sms = 108;  ///< streaming multiprocessors
  friend bool operator==(const GpuTarget&, const GpuTarget&) = default;
};

constexpr int kWarp = 32;  ///< threads of a warp

/// What a kernel may use. Source: "Compute Capabilities" in NVIDIA's CUDA programming guide.
struct GpuLimits {
  int arch;
  int warps_per_sm, blocks_per_sm;
  int lanes_per_sm;                     ///< f32 multiply-adds of an SM in a cycle
  std::int64_t block_memory_per_sm;     ///< bytes, as the next three
  std::int64_t block_memory_per_block;  ///< with the opt-in above 48 KiB
  std::int64_t block_memory_unit;       ///< a block's memory is rounded up to it
  std::int64_t block_memory_reserved;   ///< of each block, for the system
  bool async_copy;                      ///< cp.async
  bool mma;                             ///< warp-wide products of tf32, bf16, f16 as m16n8k8 and m16n8k16
  bool dependent_launch;                ///< griddepcontrol

  // Equal for all.
  int threads_per_block = 1024;
  int registers_per_thread = 255;
  int registers_per_sm = 65536;
  int register_unit = 256;  ///< a warp's registers are rounded up to it
  int partitions = 4;       ///< of an SM; a warp's registers are in one of them
};
/// The row of the newest arch that is not above the target's.
const GpuLimits& limits_of(const GpuTarget&);
/// All rows, the oldest first.
std::span<const GpuLimits> gpu_limits();

/// How many copies of a block an SM holds at once.
struct Residency {
  int blocks = 0;                      ///< 0: not one
  int warps = 0;                       ///< of all those blocks
  const char* limited_by = "threads";  ///< "threads", "registers", "block memory" or "blocks"; the first that limits
};
/// `threads` of a block, 1 to 1024; `registers` of a thread, 0: few; `block_memory` bytes of a block, without what the
/// system reserves.
Residency residency(const GpuLimits&, int threads, int registers, std::int64_t block_memory);

/// A product of NVIDIA's. The rates are those of its data sheet: estimates for machines where no such device answers.
struct GpuModel {
  std::string_view name;  ///< the value of -model
  int arch, sms;
  double ghz;         ///< boost clock
  double memory_gbs;  ///< 10^9 bytes a second
  std::int64_t l2_bytes;
  std::int64_t memory_bytes;
};
/// By arch; of one arch the commonest first.
std::span<const GpuModel> gpu_models();
/// The model of the same arch and number of SMs, else the commonest of the same arch, else of the next older one.
const GpuModel& nearest_model(const GpuTarget&);

}  // namespace whet
