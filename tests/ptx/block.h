#pragma once

// Internal to tests/ptx.

#include <array>
#include <optional>

#include "base/rng.h"
#include "ptx/machine.h"
#include "ptx/shadow.h"

namespace whet::ptx {

/// The buffers of a launch, each in the middle of a window of addresses.
class GlobalMemory {
 public:
  explicit GlobalMemory(const std::vector<GlobalBuffer>& buffers) : buffers_(buffers) {
    for (const GlobalBuffer& buffer : buffers)
      used_.emplace_back(static_cast<std::size_t>(buffer.bytes / kLineBytes + 1));
  }

  static std::uint64_t address_of(std::size_t buffer) {
    return kGlobalWindow + buffer * kBufferWindow + kBufferWindow / 2;
  }
  static bool holds(std::uint64_t address) { return address >= kGlobalWindow; }
  /// Null where the bytes are not inside of one buffer; then `why` says where they are.
  std::byte* at(std::uint64_t address, std::int64_t bytes, std::string& why) const;
  /// A read past the coherent caches needs memory that the launch does not change. False where it does. Of one aligned access.
  bool note(std::uint64_t address, bool stores, bool read_only);
  const std::string& name_at(std::uint64_t address) const { return buffers_[index_of(address)].name; }

 private:
  static constexpr std::int64_t kLineBytes = 16;
  struct Used {
    bool stored = false, read_only = false;
  };
  static std::size_t index_of(std::uint64_t address) { return (address - kGlobalWindow) / kBufferWindow; }
  std::vector<GlobalBuffer> buffers_;
  std::vector<std::vector<Used>> used_;  ///< by buffer and line
};

/// An asynchronous copy of one lane.
struct AsyncCopy {
  int lane = 0, group = 0;
  std::int64_t to = 0;  ///< in block memory
  const std::byte* from = nullptr;
  std::int64_t bytes = 0, valid = 0;  ///< `valid` of the bytes are copied, the others become 0
  bool landed = false;
};

/// Lanes that are at one instruction.
struct Part {
  std::size_t at = 0;
  std::uint32_t lanes = ~0u;
  bool asleep = false;  ///< it tried to wait, and others go on first
};

/// A wgmma under way, of one of the four warps: 16 rows.
struct GroupProduct {
  const Instruction* in = nullptr;
  int group = 0;
  bool adds = false;
  /// Addresses of elements, by row of the left operand or column of the right one, and along the depth.
  std::vector<std::vector<std::uint64_t>> left, right;
  std::vector<std::array<std::uint64_t, kLanes>> words;  ///< the left operand where it is in registers
  std::vector<std::array<std::uint64_t, kLanes>> sums;   ///< before; empty: those that a product in front of it leaves
};

struct Warp {
  std::size_t number = 0;
  std::vector<std::uint64_t> slots;  ///< by slot and lane
  std::vector<Part> parts;           ///< by their places
  bool at_barrier = false;
  Clock clock;
  std::vector<AsyncCopy> copies;
  std::array<int, kLanes> committed = {};  ///< groups
  std::vector<GroupProduct> products;
  int committed_products = 0;
  std::int64_t registers = 0;    ///< that each of its threads may have
  std::vector<std::byte> local;  ///< by lane

  bool ended() const { return parts.empty(); }
  std::uint64_t* slot(int number_of_slot) { return slots.data() + static_cast<std::size_t>(number_of_slot) * kLanes; }
};

/// Where warps meet by arriving and waiting. Its phase ends when all have arrived and all bytes have landed.
struct MemoryBarrier {
  std::uint32_t arrivals = 0, left = 0, phase = 0;
  std::int64_t bytes = 0;
  Clock arriving, ended;  ///< what the warps of this phase, and those of the last one, knew
};

/// A copy to block memory by no thread, which a memory barrier counts the bytes of.
struct BulkCopy {
  std::size_t warp = 0;
  Clock clock;
  std::uint64_t barrier = 0;
  std::vector<std::uint64_t> places;  ///< addresses of 16 bytes each
  std::vector<std::byte> data;
};
constexpr std::int64_t kChunkBytes = 16;

/// Exchanges the 16-byte parts of rows of 32, 64 or 128 bytes, as TMA and wgmma do.
constexpr std::uint64_t swizzled(std::uint64_t address, std::int64_t row_bytes) {
  const auto parts = static_cast<std::uint64_t>(row_bytes / kChunkBytes);
  return parts < 2 ? address : address ^ ((address >> 7 & (parts - 1)) << 4);
}

/// A block of a launch.
class Block {
 public:
  Block(const Entry&, const Grid&, const std::vector<Argument>&, GlobalMemory&, const RunOptions&,
        std::int64_t& instructions_left);
  Status run(std::uint32_t block);
  void add_to(Tally&) const;

 private:
  enum class Step : std::uint8_t { on, pause };
  struct Gathering {
    std::vector<std::size_t> warps;
  };

  // block.cc
  void begin(Warp&, std::uint32_t block);
  Step step(Warp&);
  std::optional<std::size_t> choose(Warp&);
  void branch(Warp&, std::size_t part, const Instruction&, std::uint32_t active);
  void leave(Warp&, std::size_t part, std::uint32_t active);
  static void arrange(Warp&);
  void meet(Warp&, const Instruction&);
  bool change_registers(Warp&, const Instruction&);
  bool execute(Warp&, const Instruction&, std::uint32_t lanes);
  std::string stuck() const;
  /// Says where it is. Gives false.
  bool fail(const Warp&, const Instruction&, const std::string& what);

  // arithmetic.cc
  static bool compute(Warp&, const Instruction&, std::uint32_t lanes);

  // memory.cc
  enum class Access : std::uint8_t { read, write };
  std::byte* place(Warp&, const Instruction&, int lane, std::uint64_t address, std::int64_t bytes, Access);
  bool load(Warp&, const Instruction&, std::uint32_t lanes);
  bool store(Warp&, const Instruction&, std::uint32_t lanes);
  bool begin_copies(Warp&, const Instruction&, std::uint32_t lanes);
  void commit_copies(Warp&, std::uint32_t lanes);
  void wait_for_copies(Warp&, const Instruction&, std::uint32_t lanes);
  void land(AsyncCopy&);
  void count_wavefronts(const Instruction&, std::span<const std::uint64_t> addresses, std::int64_t bytes);

  // memory_barriers.cc
  bool use_memory_barrier(Warp&, const Instruction&, std::uint32_t lanes);
  void end_phase(MemoryBarrier&);

  // bulk_copies.cc
  bool begin_bulk_copies(Warp&, const Instruction&, std::uint32_t lanes);
  bool collect_bytes(Warp&, const Instruction&, int lane, BulkCopy&);
  bool collect_tile(Warp&, const Instruction&, int lane, BulkCopy&);
  bool collect_pixels(Warp&, const Instruction&, int lane, BulkCopy&);
  const TensorMap* map_of(std::uint64_t address) const;
  bool collect_row(Warp&, const Instruction&, const TensorMap&, std::vector<std::int64_t> at, std::int64_t elements,
                   std::uint64_t to, BulkCopy&);
  void land_one();

  // matrices.cc
  bool load_matrices(Warp&, const Instruction&);
  static void multiply_tile(Warp&, const Instruction&);
  static void shuffle(Warp&, const Instruction&);

  // group_products.cc
  bool begin_group_product(Warp&, const Instruction&);
  static void hide_sums(Warp&);
  void end_group_products(Warp&, std::int64_t pending);
  void end_group_product(Warp&, const GroupProduct&);

  static std::uint64_t address(Warp& warp, const Address& a, int lane) {
    const std::uint64_t base = warp.slot(a.slot)[lane];
    return (a.narrow ? base & 0xffffffffu : base) + static_cast<std::uint64_t>(a.offset);
  }

  const Entry& entry_;
  const Grid grid_;
  const std::vector<Argument>& arguments_;
  GlobalMemory& global_;
  const RunOptions& options_;
  std::int64_t& left_;
  Rng rng_;
  std::uint32_t number_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::byte> memory_;  ///< of the block
  std::optional<Shadow> shadow_;
  std::map<std::int64_t, Gathering> barriers_;
  std::map<std::uint64_t, MemoryBarrier> memory_barriers_;
  std::vector<BulkCopy> bulk_copies_;
  std::int64_t registers_ = 0;  ///< of the block that no warp has
  std::int64_t events_ = 0;     ///< what others may wait for
  std::string error_;
  std::vector<std::int64_t> counts_;  ///< by kind
  std::vector<Wavefronts> wavefronts_;
};

}  // namespace whet::ptx
