#include "program/interpret_launch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/rng.h"
#include "program/evaluate_expr.h"
#include "program/launch.h"
#include "program/launch_memory.h"
#include "program/statement_lines.h"
#include "target/gpu.h"

namespace whet {
namespace {

/// Runs the statements of the blocks of one launch, all threads of a block together.
class LaunchInterpreter : ExprEvaluator {
 public:
  LaunchInterpreter(const Program& program, const StatementLines& lines, const LaunchNest& launch, int number_of_launch,
                    LaunchMemory& memory, Rng& rng)
      : ExprEvaluator(program, launch.size),
        lines_(lines),
        launch_(launch),
        number_(number_of_launch),
        memory_(memory),
        rng_(rng),
        order_(static_cast<std::size_t>(launch.size)) {
    std::iota(order_.begin(), order_.end(), 0);
    thread_index_ = order_;
    memory.begin_launch(launch.size, [this](std::int64_t thread, const std::string& does) { report(thread, does); });
  }

  /// Runs a block; false after an error.
  bool block(std::int64_t index) {
    block_ = index;
    for (std::size_t t = order_.size() - 1; t > 0; --t)
      std::swap(order_[t], order_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(t) + 1))]);
    memory_.begin_block();
    bind(launch_.blocks->index, index);
    bind(launch_.threads->index, thread_index_.data());
    execute(launch_.body, nullptr);
    if (!failed()) memory_.end_block();
    return !failed();
  }

  const std::string& error() const { return error_; }

 private:
  /// The threads that run a statement; null: all.
  using Threads = const std::uint8_t*;

  // ---- Statements

  void execute(const Stmt& s, Threads on) {
    if (failed() || !s.defined()) return;
    if (!std::holds_alternative<Block>(s->kind)) memory_.begin_line(lines_.of(s));
    std::visit(Match{
                   [&](const Loop& n) { loop(n, on); },
                   [&](const Let& n) {
                     bind(n.var, n.value, {on, nullptr});
                     execute(n.body, on);
                   },
                   [&](const Store& n) { store(n, on); },
                   [&](const If& n) { branch(n, on); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) execute(inner, on);
                   },
                   [&](const Barrier& n) { barrier(n, on); },
                   [&](const CopyGroup& n) { group(n, on); },
                   [&](const Prefetch&) {},
               },
               s->kind);
  }

  void loop(const Loop& n, Threads on) {
    const bool here = n.kind == LoopKind::serial || n.kind == LoopKind::unrolled || n.kind == LoopKind::vectorized;
    if (!here) return fail("the " + std::string(word_of(n.kind)) + " loop '" + n.name + "' stands inside a launch");
    if (is_warp_wide(n.intrinsic) && !is_of_whole_warps(on)) return;
    const bool was_in_tile = std::exchange(in_tile_, in_tile_ || is_warp_wide(n.intrinsic));
    iterate(n, on);
    in_tile_ = was_in_tile;
  }

  void iterate(const Loop& n, Threads on) {
    const Scratch::Frame frame(scratch_);
    auto* min = scratch_.take<std::int64_t>(threads_);
    auto* extent = scratch_.take<std::int64_t>(threads_);
    const bool same_min = integers_of(n.min, on, min), same_extent = integers_of(n.extent, on, extent);
    if (failed() || !n.body.defined()) return;
    if (same_min && same_extent) {
      for (std::int64_t k = 0, i = min[0]; k < extent[0] && !failed(); ++k, ++i) {
        bind(n.index, i);
        execute(n.body, on);
      }
      return;
    }
    auto* active = scratch_.take<std::uint8_t>(threads_);
    for (std::int64_t k = 0; !failed(); ++k) {
      bool any = false;
      for (std::int64_t t = 0; t < threads_; ++t) any |= active[t] = (!on || on[t]) && k < extent[t];
      if (!any) break;
      bind(n.index, min);
      execute(n.body, active);
      for (std::int64_t t = 0; t < threads_; ++t) min[t] += active[t];
    }
  }

  /// The threads of a warp compute a tile together.
  bool is_of_whole_warps(Threads on) {
    for (std::int64_t t = 0; on && t < threads_; ++t) {
      if (on[t] == on[t / kWarp * kWarp]) continue;
      report(t, "is in a warp of which a part alone computes a tile: " + here());
      return false;
    }
    return true;
  }

  /// The scalar by thread; whether it is the same for all threads that take part. Then all cells have it.
  bool integers_of(const Expr& e, Threads on, std::int64_t* out) {
    const Scratch::Frame frame(scratch_);
    if (e->lanes != 1) return fail("a bound or condition is a vector"), true;
    const Value value = eval(e, {on, nullptr});
    std::int64_t first = 0;
    bool found = false, same = true;
    for (std::int64_t t = 0; t < threads_; ++t) {
      out[t] = 0;
      if (on && !on[t]) continue;
      out[t] = value.at(t).i;
      if (!found) first = out[t];
      found = true;
      same = same && out[t] == first;
    }
    if (same) std::fill_n(out, threads_, first);
    return same;
  }

  void branch(const If& n, Threads on) {
    const Scratch::Frame frame(scratch_);
    auto* yes = scratch_.take<std::int64_t>(threads_);
    if (integers_of(n.condition, on, yes)) return execute(yes[0] != 0 ? n.then_body : n.else_body, on);
    auto* active = scratch_.take<std::uint8_t>(threads_);
    for (const bool side : {true, false}) {
      for (std::int64_t t = 0; t < threads_; ++t) active[t] = (!on || on[t]) && (yes[t] != 0) == side;
      execute(side ? n.then_body : n.else_body, active);
    }
  }

  void barrier(const Barrier& n, Threads on) {
    if (n.reach == Barrier::Reach::grid) return fail("a grid barrier stands inside a launch");
    if (on) {
      const auto* missing = std::find(on, on + threads_, 0);
      if (missing != on + threads_)
        return report(missing - on, "does not reach a barrier that others reach: " + here());
    }
    memory_.barrier();
  }

  void group(const CopyGroup& n, Threads on) {
    for (std::int64_t t = 0; t < threads_; ++t) {
      if (on && !on[t]) continue;
      if (n.kind == CopyGroup::Kind::commit) {
        memory_.commit(t);
      } else {
        memory_.wait(t, n.pending);
      }
    }
  }

  void store(const Store& n, Threads on) {
    const Scratch::Frame frame(scratch_);
    const int lanes = n.value->lanes;
    Wanted active{on, nullptr};
    const bool any = !n.mask.defined() || narrow(n.mask, lanes, active);
    if (failed() || !any) return;
    const Buffer& buffer = program_.buffer(n.buffer);
    if (buffer.scope == Scope::argument && !buffer.written)
      return fail("stores to the argument '" + buffer.name + "', which it does not write");
    if (n.cross != 0 && !crosses(n, active)) return;
    BufferId source;
    const std::int64_t* const sources = n.async ? starts_copy(n, lanes, source) : nullptr;
    if (failed()) return;
    const Value value = eval(n.value, active);
    sources_ = nullptr;
    auto* at = scratch_.take<std::int64_t>(threads_ * lanes);
    if (failed() || !locate("store to", n.buffer, n.index, lanes, active, at)) return;
    for (const std::int64_t t : order_) {
      if (!active.thread(t)) continue;
      for (int k = 0; k < lanes; ++k) {
        const std::int64_t cell = t * lanes + k;
        if (active.cells && !active.cells[cell]) continue;
        const Cell kept = stored(buffer.dtype, value.at(t ^ n.cross, k));
        if (sources) {
          memory_.start_copy(n.buffer, at[cell], source, sources[cell], t, kept);
        } else {
          memory_.store(n.buffer, at[cell], t, kept);
        }
      }
    }
  }

  /// Whether whole warps take part in a store of other threads' values.
  bool crosses(const Store& n, const Wanted& active) {
    const Scope scope = program_.buffer(n.buffer).scope;
    const bool by_thread = scope == Scope::local || scope == Scope::registers;
    if (n.cross < 0 || n.cross >= kWarp || !by_thread || n.async || active.cells) {
      fail("takes the value of another warp's thread, or not into registers, or under a mask of lanes: " + here());
      return false;
    }
    for (std::int64_t t = 0; t < threads_; ++t) {
      if (active.thread(t) == active.thread(t / kWarp * kWarp)) continue;
      report(t, "is in a warp of which a part alone exchanges values: " + here());
      return false;
    }
    return true;
  }

  /// From here on `read` notes by cell which element is copied; -1: none. Null after an error.
  const std::int64_t* starts_copy(const Store& n, int lanes, BufferId& source) {
    const Load* load = copied_load(program_, n.value);
    if (!load || program_.buffer(n.buffer).scope != Scope::block) {
      fail("an asynchronous store is no copy into block memory: " + here());
      return nullptr;
    }
    source = BufferId(load->source.value);
    sources_ = scratch_.take<std::int64_t>(threads_ * lanes);
    std::fill_n(sources_, threads_ * lanes, -1);
    return sources_;
  }

  void read(BufferId id, const std::int64_t* at, int lanes, const Wanted& wanted, Cell* out) override {
    if (sources_) wanted.each(threads_, lanes, [&](std::int64_t, int, std::int64_t c) { sources_[c] = at[c]; });
    wanted.each(threads_, lanes,
                [&](std::int64_t t, int, std::int64_t c) { out[c] = memory_.read(id, at[c], t, in_tile_); });
  }

  // ---- Messages

  std::string place_of(std::int64_t thread) const override {
    return "launch " + std::to_string(number_) + ", block " + std::to_string(block_) + ", interval " +
           std::to_string(memory_.interval()) + ": thread " + std::to_string(thread);
  }

  void report(std::int64_t thread, const std::string& does) {
    if (!failed()) error_ = place_of(thread) + " " + does;
  }

  /// The statement that runs.
  std::string here() const { return lines_.text_of(memory_.line()); }

  const StatementLines& lines_;
  const LaunchNest& launch_;
  const int number_;
  LaunchMemory& memory_;
  Rng& rng_;
  std::int64_t block_ = 0;
  std::vector<std::int64_t> order_, thread_index_;
  bool in_tile_ = false;
  std::int64_t* sources_ = nullptr;  ///< where `read` notes its elements, by cell; null: nowhere
};

std::vector<std::int64_t> order_of_blocks(std::int64_t grid, InterpretOptions::BlockOrder order, Rng& rng) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(grid));
  std::iota(blocks.begin(), blocks.end(), 0);
  if (order == InterpretOptions::BlockOrder::backward) std::reverse(blocks.begin(), blocks.end());
  if (order == InterpretOptions::BlockOrder::shuffled)
    for (std::size_t k = blocks.size(); k > 1; --k)
      std::swap(blocks[k - 1], blocks[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(k)))]);
  return blocks;
}

}  // namespace

Status interpret_launches(const Program& program, std::vector<Tensor>& arguments, const InterpretOptions& options) {
  const auto error = [&](const std::string& what) { return Error{"program '" + program.name + "': " + what}; };
  const StatementLines lines(program);
  Rng rng(options.seed);
  WHET_TRY(LaunchMemory memory, LaunchMemory::make(program, lines, arguments, rng));
  int number = 0;
  for (const Stmt& s : top_statements(program)) {
    if (const auto* barrier = std::get_if<Barrier>(&s->kind); barrier && barrier->reach == Barrier::Reach::grid) {
      memory.grid_barrier();
      continue;
    }
    const std::optional<LaunchNest> launch = launch_nest(s);
    if (!launch) return error("a statement beside launches is neither a launch nor a grid barrier");
    if (launch->grid > kMostCells) return error("a grid is too large to interpret");
    LaunchInterpreter interpreter(program, lines, *launch, number++, memory, rng);
    for (const std::int64_t block : order_of_blocks(launch->grid, options.blocks, rng))
      if (!interpreter.block(block)) return error(interpreter.error());
  }
  return ok_status();
}

}  // namespace whet
