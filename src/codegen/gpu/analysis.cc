#include "codegen/gpu/analysis.h"

#include <algorithm>
#include <string>

#include "compute/names.h"
#include "program/warp_tile.h"

namespace whet {
namespace {

constexpr std::int64_t kMaxBufferBytes = std::int64_t{1} << 31;  ///< indices have 31 bits

bool has_instruction(MathFn fn, DType dtype) {
  switch (fn) {
    case MathFn::sqrt:
    case MathFn::abs:
    case MathFn::floor:
    case MathFn::ceil:
    case MathFn::round:
    case MathFn::bits_of:
    case MathFn::float_of_bits:
    case MathFn::round_tf32:
      return true;
    case MathFn::exp:
    case MathFn::rsqrt:
      return dtype == DType::f32;
    default:
      return false;
  }
}

std::int64_t block_bytes_of(const Buffer& buffer) {
  std::int64_t bytes = size_of(buffer.dtype);
  for (std::int64_t extent : buffer.extents) bytes *= extent;
  return bytes;
}

std::string gibibytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::string arch_name(const GpuLimits& limits) { return "sm_" + std::to_string(limits.arch); }

}  // namespace

struct GpuAnalysis::Walk {
  const Program& program;
  const GpuLimits& limits;
  GpuAnalysis& out;
  std::unordered_map<VarId, int> bindings = {};
  std::vector<bool> seen = {};  // by ExprRef
  GpuLaunch* launch = nullptr;
  std::vector<BufferId> sums = {};  ///< of tiles of warps
  std::optional<Error> error = {};

  ExprTable& table() { return *out.table_; }
  RegisterSlots& slots() { return *out.slots_; }
  void fail(const std::string& message, ErrorKind kind = ErrorKind::unsupported) {
    if (!error) error = Error{message, kind}.at("program `" + program.name + "`");
  }
  std::string name(BufferId id) const { return "`" + program.buffer(id).name + "`"; }

  void check_buffers() {
    for (const Buffer& buffer : program.buffers) {
      const std::int64_t bytes = block_bytes_of(buffer);
      if (buffer.scope == Scope::argument && buffer.argument < 0)
        fail("argument `" + buffer.name + "` has no position");
      if (bytes >= kMaxBufferBytes)
        fail("`" + buffer.name + "` has " + gibibytes(bytes) + "; kernels of a GPU index less than 2 GiB",
             ErrorKind::limit);
    }
  }

  void count_bindings() {
    for_each(program.body,
             [&](const Stmt& s) {
               if (const auto* loop = std::get_if<Loop>(&s->kind)) ++bindings[loop->index];
               if (const auto* let = std::get_if<Let>(&s->kind)) ++bindings[let->var];
             },
             {});
  }

  ExprRef expr(const Expr& e) {
    const ExprRef ref = table().intern(e);
    visit(ref);
    return ref;
  }

  void visit(ExprRef ref) {
    seen.resize(std::max(seen.size(), table().size()), false);
    if (seen[ref.index()]) return;
    seen[ref.index()] = true;
    const ExprInfo& info = table()[ref];
    for (ExprRef child : info.children) visit(child);
    if (const auto* call = std::get_if<Call>(&info.expr->kind)) {
      const std::string function(name_of(call->fn));
      if (!has_instruction(call->fn, info.expr->dtype))
        fail("no instruction computes `" + function + "`; expand_math must come before code generation");
      if (call->fn == MathFn::round_tf32 && !limits.mma)
        fail(arch_name(limits) + " has no instruction that computes " + function);
    }
    const auto* load = std::get_if<Load>(&info.expr->kind);
    if (load == nullptr) return;
    const BufferId buffer(load->source.value);
    if (!flat("a load of ", buffer, load->index.size())) return;
    slots().access(buffer, linear_of(table()[info.children[0]]), info.expr->lanes);
    if (load->mask.defined()) slots().keep_in_memory(buffer);
    use(buffer);
  }

  bool flat(const char* what, BufferId buffer, std::size_t indices) {
    if (indices != 1)
      fail(what + name(buffer) + " has " + std::to_string(indices) + " indices; expected one flat index");
    return indices == 1;
  }

  void use(BufferId id) {
    const Buffer& buffer = program.buffer(id);
    if (buffer.scope != Scope::block || launch == nullptr || launch->block_offset[id.index()] >= 0) return;
    launch->block_offset[id.index()] = launch->block_memory;
    launch->block_memory += (block_bytes_of(buffer) + kBlockBufferAlign - 1) / kBlockBufferAlign * kBlockBufferAlign;
  }

  // ---- The top level

  void top_level() {
    for (const Stmt& s : top_statements(program)) {
      const auto* barrier = std::get_if<Barrier>(&s->kind);
      if (const std::optional<LaunchNest> nest = launch_nest(s))
        begin_launch(*nest);
      else if (barrier == nullptr || barrier->reach != Barrier::Reach::grid)
        fail("a statement at the top is neither a launch nor a barrier of the grid");
    }
  }

  void begin_launch(const LaunchNest& nest) {
    GpuLaunch made;
    made.nest = nest;
    made.stored.resize(program.buffers.size(), false);
    made.block_offset.resize(program.buffers.size(), -1);
    bind(*nest.blocks);
    bind(*nest.threads);
    launch = &made;
    stmt(nest.body);
    launch = nullptr;
    if (made.block_memory > limits.block_memory_per_block)
      fail("a block needs " + std::to_string(made.block_memory) + " bytes of memory; " + arch_name(limits) + " has " +
               std::to_string(limits.block_memory_per_block),
           ErrorKind::limit);
    out.launches_.push_back(std::move(made));
  }

  // ---- Inside of a launch

  /// Unrolled copies of a loop may bind a variable again.
  void bind(VarId var, Interval values) {
    const auto [known, fresh] = out.variables_.emplace(var, values);
    if (fresh || values.inside(known->second)) return;
    known->second = hull(known->second, values);
    out.ranges_.clear();
  }

  void bind(const Loop& n) {
    const ExprRef min = expr(n.min), extent = expr(n.extent);
    const Interval first = out.range(min), count = out.range(extent);
    bind(n.index, {first.min, plus(first.max, plus(looser_upper(count.max, 1), -1))});
    const bool launched = n.kind == LoopKind::block || n.kind == LoopKind::thread;
    if (!launched && is_const(n.extent, 1) && bindings[n.index] == 1 && table()[min].movable())
      table().alias(n.index, min);
  }

  void bind(const Let& n) {
    const ExprRef value = expr(n.value);
    if (n.value->dtype == DType::i64) bind(n.var, out.range(value));
    if (bindings[n.var] == 1 && table()[value].movable()) table().alias(n.var, value);
  }

  void stmt(const Stmt& s) {
    if (!s.defined()) return;
    std::visit(Match{
                   [&](const Loop& n) { loop(n); },
                   [&](const Let& n) {
                     bind(n);
                     stmt(n.body);
                   },
                   [&](const Store& n) { store(n); },
                   [&](const If& n) {
                     expr(n.condition);
                     stmt(n.then_body);
                     stmt(n.else_body);
                   },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) stmt(inner);
                   },
                   [&](const Barrier& n) {
                     if (n.reach == Barrier::Reach::grid) fail("a barrier of the grid stands inside of a launch");
                   },
                   [&](const CopyGroup&) { need_async_copies(); },
                   [&](const Prefetch& n) {
                     if (flat("a prefetch of ", n.buffer, n.index.size())) expr(n.index[0]);
                   },
               },
               s->kind);
  }

  void loop(const Loop& n) {
    if (n.kind == LoopKind::vectorized || n.kind == LoopKind::unrolled)
      fail("loop `" + n.name + "` is still marked " + (n.kind == LoopKind::unrolled ? "unrolled" : "vectorized"));
    else if (n.kind != LoopKind::serial)
      fail("a loop of kind `" + std::string(word_of(n.kind)) + "`, `" + n.name + "`, stands inside of a launch");
    if (const std::optional<WarpTile> found = warp_tile(n)) return tile(*found);
    if (is_warp_wide(n.intrinsic)) return fail("a tile of warps has loops that compute something else");
    bind(n);
    stmt(n.body);
  }

  /// Four sums of each lane; the emitter reads the operands as it needs them.
  void tile(const WarpTile& t) {
    if (!limits.mma && !multiplies_bytes(t.intrinsic))  // all have one of bytes
      return fail(arch_name(limits) + " has no instruction that computes " + std::string(name_of(t.intrinsic)));
    for (const Load* operand : {t.left, t.right}) {
      const BufferId buffer(operand->source.value);
      if (!flat("a load of ", buffer, operand->index.size())) return;
      if (program.buffer(buffer).quad && operand == t.left) {
        own_operand(t);
        continue;
      }
      if (program.buffer(buffer).scope != Scope::block)
        return fail("a tile of warps reads " + name(buffer) + ", which is no memory of a block");
      use(buffer);
    }
    if (!flat("a store to ", t.store->buffer, t.store->index.size())) return;
    for (std::int64_t r = 0; r < 4; ++r) {
      const std::pair<VarId, Expr> at[] = {{t.rows->index, int_const(r / 2)}, {t.columns->index, int_const(r % 2)}};
      const ExprRef index = table().keep(substitute(t.store->index[0], at));
      visit(index);
      slots().access(t.store->buffer, linear_of(table()[index]), 1);
    }
    launch->stored[t.store->buffer.index()] = true;
    sums.push_back(t.store->buffer);
  }

  /// A lane's words of the left operand are pairs of neighbours that it has.
  void own_operand(const WarpTile& t) {
    const BufferId buffer(t.left->source.value);
    for (const Expr& index : own_pairs(t)) {
      const ExprRef pair = table().keep(index);
      visit(pair);
      slots().access(buffer, linear_of(table()[pair]), 2);
    }
    sums.push_back(buffer);
  }

  void need_async_copies() {
    if (!limits.async_copy) fail(arch_name(limits) + " has no asynchronous copies");
  }

  void store(const Store& n) {
    const Buffer& buffer = program.buffer(n.buffer);
    if (!flat("a store to ", n.buffer, n.index.size())) return;
    if (buffer.scope == Scope::argument && !buffer.written)
      fail("argument `" + buffer.name + "` is stored to but not marked as written");
    const ExprRef index = expr(n.index[0]);
    expr(n.value);
    if (n.mask.defined()) expr(n.mask);
    const int lanes = std::max(n.index[0]->lanes, n.value->lanes);
    const Linear* linear = linear_of(table()[index]);
    slots().access(n.buffer, linear, lanes);
    if (n.mask.defined() && lanes > 1 && linear != nullptr && linear->lane_stride == 0)
      slots().keep_in_memory(n.buffer);
    use(n.buffer);
    launch->stored[n.buffer.index()] = true;
    if (n.async) need_async_copies();
    if (n.async && buffer.scope != Scope::block)
      fail("an asynchronous copy goes to " + name(n.buffer) + ", which is no memory of a block");
    if (n.cross < 0 || n.cross >= kWarp)
      fail("a store to " + name(n.buffer) + " takes the value of thread ^ " + std::to_string(n.cross) +
           ", which is in another warp");
  }

  void run() {
    check_buffers();
    count_bindings();
    if (!error) top_level();
    if (error) return;
    slots().finish();
    for (BufferId buffer : sums)
      if (!slots().holds(buffer))
        return fail("the sums of a tile of warps, or its left operand, " + name(buffer) + ", are not in registers");
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Scope scope = program.buffers[b].scope;
      const bool in_memory = !slots().holds(BufferId(static_cast<std::int64_t>(b)));
      out.local_memory_ |= scope == Scope::local || (scope == Scope::registers && in_memory);
    }
  }
};

Result<GpuAnalysis> GpuAnalysis::of(const Program& program, const GpuLimits& limits) {
  GpuAnalysis out;
  out.table_ = std::make_shared<ExprTable>(program);
  out.slots_ = std::make_shared<RegisterSlots>(program);
  Walk walk{program, limits, out};
  walk.run();
  if (walk.error) return *walk.error;
  return out;
}

Interval GpuAnalysis::range(ExprRef ref) {
  if (ranges_.size() < table_->size()) ranges_.resize(table_->size());
  if (!ranges_[ref.index()]) {
    const Interval found = compute_range(ref);
    if (ranges_.size() < table_->size()) ranges_.resize(table_->size());
    ranges_[ref.index()] = found;
  }
  return *ranges_[ref.index()];
}

Interval GpuAnalysis::range(const Linear::Terms& terms) {
  Interval all = Interval::point(0);
  for (const auto& [atom, coefficient] : terms) all = all + range(atom) * coefficient;
  return all;
}

Interval GpuAnalysis::compute_range(ExprRef ref) {
  const ExprInfo& info = (*table_)[ref];
  if (info.expr->dtype != DType::i64) return Interval::of(info.expr->dtype);
  const auto child = [&](std::size_t i) { return range(info.children[i]); };
  return std::visit(Match{
                        [&](const IntConst& n) { return Interval::point(n.value); },
                        [&](const Var& n) {
                          const auto found = variables_.find(n.id);
                          return found == variables_.end() ? Interval{} : found->second;
                        },
                        [&](const Unary& n) { return n.op == UnaryOp::neg ? -child(0) : Interval{}; },
                        [&](const Binary& n) { return binary(n.op, child(0), child(1)); },
                        [&](const Select&) { return hull(child(1), child(2)); },
                        [&](const Cast&) { return child(0); },
                        [&](const Ramp& n) { return child(0) + Interval{0, info.expr->lanes - 1} * n.stride; },
                        [&](const Broadcast&) { return child(0); },
                        [&](const auto&) { return Interval{}; },
                    },
                    info.expr->kind);
}

}  // namespace whet
