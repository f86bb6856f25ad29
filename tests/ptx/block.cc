#include "ptx/block.h"

#include <algorithm>

namespace whet::ptx {
namespace {

constexpr std::byte kUnknown{0xff};  ///< a NaN of every width
constexpr int kMostSlice = 12;       ///< a warp runs up to 2^11 instructions before another one does
constexpr int kMostIdle = 2000;      ///< slices in which nothing happens that a warp may wait for
constexpr int kLeastWork = 16;       ///< instructions in a row: a warp that waits in a loop pauses before
constexpr std::uint32_t kMostThreads = 1024, kMostBarriers = 16;
constexpr std::int64_t kRegistersOfSm = 65536, kRegisterUnit = 8, kFewestRegisters = 24, kMostRegisters = 256;

/// What each thread of a block has at first, where the block has an SM for itself.
std::int64_t first_registers(std::uint32_t threads) {
  return std::min(kMostRegisters, kRegistersOfSm / threads / kRegisterUnit * kRegisterUnit);
}

bool starts(const std::string& text, std::string_view start) { return std::string_view(text).starts_with(start); }

}  // namespace

std::int64_t instructions_of(const Tally& tally, std::string_view start) {
  std::int64_t sum = 0;
  for (const auto& [kind, count] : tally.instructions) sum += starts(kind, start) ? count : 0;
  return sum;
}
Wavefronts wavefronts_of(const Tally& tally, std::string_view start) {
  Wavefronts sum;
  for (const auto& [kind, one] : tally.block_memory)
    if (starts(kind, start)) sum.taken += one.taken, sum.least += one.least;
  return sum;
}
void add(Tally& sum, const Tally& tally) {
  for (const auto& [kind, count] : tally.instructions) sum.instructions[kind] += count;
  for (const auto& [kind, one] : tally.block_memory)
    sum.block_memory[kind].taken += one.taken, sum.block_memory[kind].least += one.least;
}

Result<Tally> run(const Entry& entry, const Grid& grid, const std::vector<Argument>& arguments,
                  const RunOptions& options) {
  const std::string where = "entry `" + entry.name + "`: ";
  if (arguments.size() != entry.parameters.size())
    return Error{where + std::to_string(arguments.size()) + " arguments for " +
                 std::to_string(entry.parameters.size()) + " parameters"};
  std::vector<GlobalBuffer> buffers(arguments.size());  // a tensor map's memory has no pointer
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const GlobalBuffer* const buffer = std::get_if<GlobalBuffer>(&arguments[i]);
    if ((buffer == nullptr) != (entry.parameters[i].bytes == kTensorMapBytes))
      return Error{where + "`" + entry.parameters[i].name + "` and its argument are not both a tensor map"};
    if (buffer != nullptr) buffers[i] = *buffer;
  }
  if (grid.threads % kLanes != 0 || grid.threads == 0 || grid.threads > kMostThreads)
    return Error{where + std::to_string(grid.threads) + " threads are no whole warps, or more than 1024"};
  if (entry.most_threads > 0 && grid.threads > static_cast<std::uint32_t>(entry.most_threads))
    return Error{where + std::to_string(grid.threads) + " threads; .maxntid is " + std::to_string(entry.most_threads)};
  if (grid.block_memory < 0 || grid.block_memory > static_cast<std::int64_t>(kSharedBytes - kSharedWindow))
    return Error{where + std::to_string(grid.block_memory) + " bytes of block memory are more than a block has"};
  GlobalMemory global(buffers);
  Tally tally;
  std::int64_t left = options.most_instructions;
  const auto run_block = [&](std::uint32_t block) -> Status {
    Block one(entry, grid, arguments, global, options, left);
    const Status status = one.run(block);
    one.add_to(tally);
    return status;
  };
  if (options.blocks.empty()) {
    for (std::uint32_t block = 0; block < grid.blocks; ++block) WHET_RETURN_IF_ERROR(run_block(block));
  } else {
    for (const std::uint32_t block : options.blocks)
      if (block < grid.blocks) WHET_RETURN_IF_ERROR(run_block(block));
  }
  return tally;
}

Block::Block(const Entry& entry, const Grid& grid, const std::vector<Argument>& arguments, GlobalMemory& global,
             const RunOptions& options, std::int64_t& instructions_left)
    : entry_(entry),
      grid_(grid),
      arguments_(arguments),
      global_(global),
      options_(options),
      left_(instructions_left),
      rng_(options.seed),
      warps_(grid.threads / kLanes),
      memory_(static_cast<std::size_t>(grid.block_memory), kUnknown),
      counts_(entry.kinds.size()),
      wavefronts_(entry.kinds.size()) {
  if (options.judges_races) shadow_.emplace(grid.block_memory, warps_.size());
}

void Block::begin(Warp& warp, std::uint32_t block) {
  warp.number = static_cast<std::size_t>(&warp - warps_.data());
  warp.slots.assign(static_cast<std::size_t>(entry_.slots) * kLanes, ~std::uint64_t{0});
  warp.parts = {Part{}};
  warp.clock.assign(warps_.size(), 0);
  warp.clock[warp.number] = 1;
  warp.registers = first_registers(grid_.threads);
  warp.local.assign(static_cast<std::size_t>(entry_.local_bytes) * kLanes, kUnknown);
  for (const Fill& fill : entry_.fills)
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      warp.slot(fill.slot)[lane] = fill.kind == Fill::Kind::thread    ? warp.number * kLanes + lane
                                   : fill.kind == Fill::Kind::block   ? block
                                   : fill.kind == Fill::Kind::threads ? grid_.threads
                                   : fill.kind == Fill::Kind::blocks  ? grid_.blocks
                                                                      : fill.value;
}

Status Block::run(std::uint32_t block) {
  number_ = block;
  rng_ = Rng(options_.seed * 0x2545f4914f6cdd1dull + block);
  for (Warp& warp : warps_) begin(warp, block);
  std::vector<Warp*> ready;
  for (int idle = 0; error_.empty();) {
    ready.clear();
    for (Warp& warp : warps_)
      if (!warp.ended() && !warp.at_barrier) ready.push_back(&warp);
    const bool ended = std::all_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.ended(); });
    if (ended) break;
    const bool waits = ready.empty() || idle > kMostIdle;
    if (waits && bulk_copies_.empty()) return Error{"block " + std::to_string(block) + ": " + stuck()};
    if (waits || (!bulk_copies_.empty() && !rng_.chance(options_.late))) land_one(), idle = 0;
    if (ready.empty()) continue;
    Warp& warp = *ready[static_cast<std::size_t>(rng_.below(std::ssize(ready)))];
    const std::int64_t slice = std::int64_t{1} << rng_.below(kMostSlice), events = events_;
    std::int64_t steps = 0;
    while (steps < slice && error_.empty() && step(warp) == Step::on) ++steps;
    idle = steps < kLeastWork && events == events_ ? idle + 1 : 0;
  }
  if (error_.empty() && !bulk_copies_.empty())
    error_ = "block " + std::to_string(block) + " ends with a bulk copy that no thread waited for";
  if (!error_.empty()) return Error{error_};
  return ok_status();
}

/// One instruction of one part of the warp.
Block::Step Block::step(Warp& warp) {
  const std::optional<std::size_t> chosen = choose(warp);
  if (!chosen) return Step::pause;
  Part& part = warp.parts[*chosen];
  if (part.at >= entry_.code.size()) {
    leave(warp, *chosen, part.lanes);
    return warp.ended() ? Step::pause : Step::on;
  }
  const Instruction& in = entry_.code[part.at];
  if (--left_ < 0) {
    fail(warp, in, "the launch runs more than " + std::to_string(options_.most_instructions) + " instructions");
    return Step::pause;
  }
  std::uint32_t active = part.lanes;
  if (in.guard >= 0) {
    const std::uint64_t* const guard = warp.slot(in.guard);
    for (int lane = 0; lane < kLanes; ++lane)
      if ((guard[lane] != 0) != in.guard_is) active &= ~(1u << lane);
  }
  if (is_collective(in.op) && active != 0 && active != ~0u) {
    fail(warp, in, "a part of the warp comes here, where all 32 lanes must meet");
    return Step::pause;
  }
  if (active != 0) ++counts_[static_cast<std::size_t>(in.kind)];
  if (in.op == Op::branch) {
    branch(warp, *chosen, in, active);
  } else if (in.op == Op::leave) {
    leave(warp, *chosen, active);
  } else {
    ++part.at;
    if (active != 0 && !execute(warp, in, active)) return Step::pause;
    if (warp.parts.size() > 1) arrange(warp);
  }
  return warp.ended() || warp.at_barrier ? Step::pause : Step::on;
}

/// The part that is furthest behind, so that the others are met again. Where all must meet a part waits for the others.
std::optional<std::size_t> Block::choose(Warp& warp) {
  if (warp.parts.size() == 1 && !warp.parts[0].asleep) return 0;
  bool any_asleep = false;
  for (std::size_t i = 0; i < warp.parts.size(); ++i) {
    const Part& part = warp.parts[i];
    any_asleep |= part.asleep;
    const bool waits = part.at < entry_.code.size() && is_collective(entry_.code[part.at].op) && warp.parts.size() > 1;
    if (!part.asleep && !waits) return i;
  }
  for (Part& part : warp.parts) part.asleep = false;
  if (!any_asleep)
    fail(warp, entry_.code[warp.parts[0].at], "a part of the warp comes here, where all 32 lanes must meet");
  return {};
}

void Block::branch(Warp& warp, std::size_t index, const Instruction& in, std::uint32_t active) {
  Part& part = warp.parts[index];
  const std::uint32_t others = part.lanes & ~active;
  const Part taken{static_cast<std::size_t>(in.target), active};
  if (others == 0) {
    part = taken;
  } else {
    part.lanes = others, ++part.at;
    if (active != 0) warp.parts.push_back(taken);
  }
  if (warp.parts.size() > 1) arrange(warp);
}

void Block::leave(Warp& warp, std::size_t index, std::uint32_t active) {
  Part& part = warp.parts[index];
  for (const AsyncCopy& copy : warp.copies)
    if ((active >> copy.lane & 1) != 0) {
      error_ = "block " + std::to_string(number_) + ", thread " +
               std::to_string(warp.number * kLanes + static_cast<std::size_t>(copy.lane)) +
               " ends with copies that it never waited for";
      return;
    }
  part.lanes &= ~active, ++part.at;
  if (part.lanes == 0) warp.parts.erase(warp.parts.begin() + static_cast<std::ptrdiff_t>(index));
  if (warp.parts.size() > 1) arrange(warp);
  if (!warp.ended()) return;
  ++events_;
  if (!warp.products.empty() && error_.empty())
    error_ = "block " + std::to_string(number_) + ", warp " + std::to_string(warp.number) +
             " ends with products that it never waited for";
}

/// Parts that are at one place are one part.
void Block::arrange(Warp& warp) {
  std::sort(warp.parts.begin(), warp.parts.end(), [](const Part& a, const Part& b) { return a.at < b.at; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < warp.parts.size(); ++i) {
    if (warp.parts[i].at == warp.parts[kept].at)
      warp.parts[kept].lanes |= warp.parts[i].lanes, warp.parts[kept].asleep |= warp.parts[i].asleep;
    else
      warp.parts[++kept] = warp.parts[i];
  }
  warp.parts.resize(kept + 1);
}

bool Block::execute(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  switch (in.op) {
    case Op::load:
      return load(warp, in, lanes);
    case Op::store:
      return store(warp, in, lanes);
    case Op::copy:
      return begin_copies(warp, in, lanes);
    case Op::copy_commit:
      return commit_copies(warp, lanes), true;
    case Op::copy_wait:
      return wait_for_copies(warp, in, lanes), true;
    case Op::mbarrier_init:
    case Op::mbarrier_arrive:
    case Op::mbarrier_expect:
    case Op::mbarrier_wait:
      return use_memory_barrier(warp, in, lanes);
    case Op::bulk_copy:
    case Op::tensor_copy:
    case Op::pixel_copy:
      return begin_bulk_copies(warp, in, lanes);
    case Op::barrier:
      return meet(warp, in), error_.empty();
    case Op::load_matrices:
    case Op::load_turned_matrices:
      return load_matrices(warp, in);
    case Op::multiply_tile:
      return multiply_tile(warp, in), true;
    case Op::group_multiply:
      return begin_group_product(warp, in);
    case Op::group_commit:
      return ++warp.committed_products, true;
    case Op::group_wait:
      return end_group_products(warp, in.number), true;
    case Op::shuffle:
      return shuffle(warp, in), true;
    case Op::give_registers:
    case Op::take_registers:
      return change_registers(warp, in);
    case Op::prefetch:
    case Op::nothing:
      return true;
    default:
      return compute(warp, in, lanes) || fail(warp, in, "the interpreter has no meaning for this type");
  }
}

/// bar.sync: of all threads, or of as many as the second operand says.
void Block::meet(Warp& warp, const Instruction& in) {
  const auto number = static_cast<std::uint32_t>(warp.slot(in.operands[0])[0]);
  const std::uint32_t threads =
      in.operands.size() > 1 ? static_cast<std::uint32_t>(warp.slot(in.operands[1])[0]) : grid_.threads;
  if (number >= kMostBarriers || threads == 0 || threads % kLanes != 0 || threads > grid_.threads) {
    fail(warp, in,
         "barrier " + std::to_string(number) + " of " + std::to_string(threads) + " threads is none of the block");
    return;
  }
  Gathering& gathering = barriers_[number];
  warp.at_barrier = true;
  gathering.warps.push_back(warp.number);
  if (gathering.warps.size() < threads / kLanes) return;
  Clock all = warp.clock;
  for (const std::size_t w : gathering.warps) hear(all, warps_[w].clock);
  for (const std::size_t w : gathering.warps) {
    warps_[w].clock = all;
    ++warps_[w].clock[w];
    warps_[w].at_barrier = false;
  }
  gathering = {};
  ++events_;
}

/// setmaxnreg: what a warp gives is the block's, and a warp that wants more than that waits.
bool Block::change_registers(Warp& warp, const Instruction& in) {
  if (in.number < kFewestRegisters || in.number > kMostRegisters || in.number % kRegisterUnit != 0)
    return fail(warp, in, std::to_string(in.number) + " registers; expected a multiple of 8 from 24 to 256");
  const std::int64_t more = in.number - warp.registers;
  if (in.op == Op::give_registers ? more > 0 : more < 0)
    return fail(warp, in, "a thread has " + std::to_string(warp.registers) + " registers");
  if (more * kLanes > registers_) {
    --counts_[static_cast<std::size_t>(in.kind)];
    --warp.parts[0].at, warp.parts[0].asleep = true;
    return true;
  }
  registers_ -= more * kLanes, warp.registers = in.number;
  ++events_;
  return true;
}

std::string Block::stuck() const {
  const auto name = [](const Warp& warp) { return "warp " + std::to_string(warp.number); };
  for (const Warp& warp : warps_) {
    if (warp.ended()) continue;
    const std::size_t at = warp.parts[0].at;
    const int line = at > 0 ? entry_.code[at - 1].line : 0;
    if (!warp.at_barrier && at < entry_.code.size() && entry_.code[at].op == Op::take_registers)
      return name(warp) + " waits in line " + std::to_string(entry_.code[at].line) + " for " +
             std::to_string(entry_.code[at].number) + " registers of " + std::to_string(warp.registers) +
             " that a thread has; the block has " + std::to_string(registers_) + " left";
    if (!warp.at_barrier)
      return name(warp) + " waits near line " + std::to_string(line) + " for a phase that does not end";
    for (const Warp& other : warps_)
      if (!other.at_barrier)
        return name(warp) + " waits at the barrier of line " + std::to_string(line) + " that " + name(other) +
               " does not come to";
    return name(warp) + " waits at the barrier of line " + std::to_string(line) + ", and others at another one";
  }
  return "no warp goes on";
}

bool Block::fail(const Warp& warp, const Instruction& in, const std::string& what) {
  if (error_.empty())
    error_ = "block " + std::to_string(number_) + ", warp " + std::to_string(warp.number) + ", line " +
             std::to_string(in.line) + ", `" + entry_.kinds[static_cast<std::size_t>(in.kind)] + "`: " + what;
  return false;
}

void Block::add_to(Tally& tally) const {
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (counts_[k] > 0) tally.instructions[entry_.kinds[k]] += counts_[k];
    if (wavefronts_[k].taken == 0) continue;
    Wavefronts& sum = tally.block_memory[entry_.kinds[k]];
    sum.taken += wavefronts_[k].taken, sum.least += wavefronts_[k].least;
  }
}

}  // namespace whet::ptx
