#pragma once

// The stored plan of a compiled model (docs/formats/model.md): written by the compiler, read by the runtime, which has
// no C++ standard library. Hence plain structs at fixed offsets and a parser that allocates nothing.

#include <cstdint>

#include "whet/model_file.h"

namespace whet {

/// Of the plan. That of the file around it is WHET_MODEL_FORMAT_VERSION.
constexpr std::uint32_t kPlanVersion = 2;
constexpr std::uint64_t kPlanAlignment = 64;  ///< of the plan itself, and of every offset into arena and weights
constexpr std::uint32_t kMaxRank = 32;

/// A string: `length` bytes without zeros, at `offset` in the table of strings, and a zero behind them.
struct PlanString {
  std::uint32_t offset, length;
};

/// `count` entries at byte `offset` of the plan.
struct PlanTable {
  std::uint32_t offset, count;
};

struct PlanHeader {
  char magic[8];                ///< "whetplan"
  std::uint32_t version;        ///< kPlanVersion
  std::uint32_t header_bytes;   ///< sizeof(PlanHeader)
  std::uint64_t total_bytes;    ///< of the plan
  std::uint64_t checksum;       ///< whet_checksum of the plan with 0 here
  std::uint64_t arena_bytes;    ///< activations of one session
  std::uint64_t weights_bytes;  ///< the section of weights
  double flops;                 ///< of one inference
  double predicted_seconds;     ///< 0 where unknown
  std::uint32_t entries;        ///< kernels: the length of the table of entry points
  std::uint32_t tuned_threads;  ///< >= 1
  PlanString name, target, required_isa, records, compiler;
  PlanTable inputs, outputs;   ///< PlanTensor
  PlanTable dims;              ///< int64
  PlanTable steps;             ///< PlanStep
  PlanTable arguments;         ///< PlanArgument
  PlanTable strings;           ///< bytes
  PlanString device;           ///< what runs the kernels: "" for the CPU, else "cuda sm_80"
  PlanTable launches;          ///< PlanLaunch; empty for the CPU
  PlanTable images;            ///< PlanImage; empty for the CPU
  std::uint64_t images_bytes;  ///< the section of images
};

struct PlanTensor {
  PlanString name;
  std::uint32_t dtype;      ///< the number of DType
  std::uint32_t rank;       ///< <= kMaxRank
  std::uint32_t first_dim;  ///< its extents are dims[first_dim .. first_dim + rank)
  std::uint32_t reserved;
  std::uint64_t bytes;  ///< product of the extents times the element's size
};

enum class PlanPlace : std::uint32_t {
  arena = 0,
  weights = 1,
  input = 2,
  output = 3,
  sizes = 4,  ///< of a plan for several sizes (sized_plan.h): integers that kernels read, 64 bytes a list
};

/// `bytes` bytes at `offset` of a place; `index` says which input or output.
struct PlanArgument {
  PlanPlace place;
  std::uint32_t index;
  std::uint64_t offset;  ///< a multiple of 64
  std::uint64_t bytes;
};

enum class PlanStepKind : std::uint32_t {
  kernel = 0,  ///< call entry point `entry`, or on a device run its launches
  copy = 1,    ///< two arguments of equal size, from and to
};

enum PlanStepFlag : std::uint32_t {
  kStepParallel = 1,  ///< all workers call the kernel; else worker 0 alone
  kStepBarrier = 2,   ///< all workers meet before this step
  kStepPart = 4,      ///< on a device: writes a part of a tensor whose other parts are written by steps with this flag
  /// With kStepParallel, on the CPU: calls of the kernel never wait for each other. It may be called as each worker of
  /// any number, one after another and by any thread.
  kStepDivisible = 8,
};

struct PlanStep {
  PlanStepKind kind;
  std::uint32_t entry;
  std::uint32_t first_argument, argument_count;
  std::uint32_t flags;                       ///< PlanStepFlag
  std::uint32_t first_launch, launch_count;  ///< of a kernel on a device; none on the CPU
  std::uint32_t
      written;  ///< on a device: bit i: its argument i is written; 0, or above bit 31: any may be. 0 on the CPU
  std::uint64_t workspace_offset, workspace_bytes;  ///< workspace that all workers see, in the arena
  std::uint64_t worker_bytes;                       ///< workspace of each worker
  double flops, bytes, predicted_seconds;
  PlanString node, op;
};

enum PlanLaunchFlag : std::uint32_t {
  kLaunchEarly = 1,  ///< may start before its predecessor ends
};

/// One start of an entry on a device. The launches of a step run in order.
struct PlanLaunch {
  PlanString entry;
  std::uint32_t grid[3], block[3];               ///< blocks of the grid, threads of a block; 1 or more each
  std::uint32_t block_memory;                    ///< bytes of dynamic memory of a block
  std::uint32_t flags;                           ///< PlanLaunchFlag
  std::uint32_t first_argument, argument_count;  ///< a part of the step's arguments, counted from its first
};

enum class PlanImageFormat : std::uint32_t { ptx = 0, cubin = 1, emulated = 2 };

/// The code of all entries for one kind of device: `bytes` bytes at `offset` of the section of images.
struct PlanImage {
  PlanImageFormat format;
  std::uint32_t arch;  ///< the device's number: 80 for sm_80
  std::uint64_t offset, bytes;
};

/// A plan that has been checked: every offset, index and size below is inside what it points into.
struct ModelView {
  const PlanHeader* header = nullptr;
  const PlanTensor* inputs = nullptr;
  const PlanTensor* outputs = nullptr;
  const std::int64_t* dims = nullptr;
  const PlanStep* steps = nullptr;
  const PlanArgument* arguments = nullptr;
  const PlanLaunch* launches = nullptr;
  const PlanImage* images = nullptr;
  const char* strings = nullptr;

  const char* text(PlanString s) const { return strings + s.offset; }
};

/// Checks `bytes` and fills `view`, which points into them. `data` is 8-byte aligned. Gives 0, or -1 and a sentence.
///   sizes_bytes  of PlanPlace::sizes; 0: the plan has none
int parse_model(const void* data, std::uint64_t bytes, ModelView* view, whet_error* error,
                std::uint64_t sizes_bytes = 0);

/// The same of a plan that was parsed and whose extents and arguments have changed since. `inputs` and `outputs` are the view's,
/// and get the bytes of their extents. The rest is as it was: it is not looked at again.
int parse_again(const ModelView& view, PlanTensor* inputs, PlanTensor* outputs, std::uint64_t sizes_bytes,
                whet_error* error);

}  // namespace whet
