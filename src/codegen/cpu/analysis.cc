#include "codegen/cpu/analysis.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/compile.h"
#include "compute/names.h"

namespace whet {
namespace {

/// The functions that code generation has instructions for, on every target or on some.
bool has_instruction(MathFn fn) {
  switch (fn) {
    case MathFn::sqrt:
    case MathFn::abs:
    case MathFn::floor:
    case MathFn::ceil:
    case MathFn::round:
    case MathFn::bits_of:
    case MathFn::float_of_bits:
      return true;
    default:
      return false;
  }
}

template <typename T>
void insert_sorted(std::vector<T>& list, const T& value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

void merge(Effects& to, const Effects& from) {
  for (int slot : from.slots) insert_sorted(to.slots, slot);
  for (BufferId buffer : from.buffers) insert_sorted(to.buffers, buffer);
}

}  // namespace

struct Analysis::Walk {
  const Program& program;
  const Target& target;
  Analysis& out;
  std::unordered_map<VarId, int> bindings = {};
  std::vector<int> seen = {};  // by ExprRef: the last statement that holds it
  int statement = 0;
  std::optional<Error> error = {};

  ExprTable& table() { return *out.table_; }
  RegisterSlots& slots() { return *out.slots_; }
  void fail(const std::string& message, ErrorKind kind = ErrorKind::unsupported) {
    if (!error) error = Error{message, kind}.at("program `" + program.name + "`");
  }

  void count_bindings() {
    for_each(program.body,
             [&](const Stmt& s) {
               if (const auto* loop = std::get_if<Loop>(&s->kind)) ++bindings[loop->index];
               if (const auto* let = std::get_if<Let>(&s->kind)) ++bindings[let->var];
             },
             {});
  }

  std::int64_t vectors(const ExprNode& node) const {
    const std::int64_t bytes = node.lanes * std::max<std::int64_t>(size_of(node.dtype), 1);
    return node.lanes == 1 ? 1 : (bytes + target.cpu().vector_bytes - 1) / target.cpu().vector_bytes;
  }

  /// Interns an expression; counts and checks what it holds.
  ExprRef expr(const Expr& e) {
    const ExprRef ref = table().intern(e);
    visit(ref);
    return ref;
  }

  void visit(ExprRef ref) {
    seen.resize(std::max(seen.size(), table().size()), -1);
    if (seen[ref.index()] == statement) return;
    const bool first = seen[ref.index()] == -1;
    seen[ref.index()] = statement;
    const ExprInfo& info = table()[ref];
    if (info.movable() && !first) return;                           // computed once
    out.instructions_ += info.is_linear ? 1 : vectors(*info.expr);  // indices become addresses
    for (ExprRef child : info.children) visit(child);
    if (const auto* call = std::get_if<Call>(&info.expr->kind); call && !has_instruction(call->fn))
      fail("no instruction computes `" + std::string(name_of(call->fn)) +
           "`; expand_math must come before code generation");
    if (const auto* load = std::get_if<Load>(&info.expr->kind)) {
      if (load->index.size() != 1)
        return fail("a load of `" + program.buffer(BufferId(load->source.value)).name + "` has " +
                    std::to_string(load->index.size()) + " indices; expected one flat index");
      slots().access(BufferId(load->source.value), linear_of(table()[info.children[0]]), info.expr->lanes);
      // Masked loads, and masked stores of several lanes to one element, are rare; the stack serves them.
      if (load->mask.defined()) slots().keep_in_memory(BufferId(load->source.value));
    }
  }

  Effects stmt(const Stmt& s, bool top) {
    if (!s.defined()) return {};
    Effects effects = std::visit(Match{
                                     [&](const Loop& n) { return loop(s, n, top); },
                                     [&](const Let& n) { return let(n, top); },
                                     [&](const Store& n) { return store(n); },
                                     [&](const If& n) {
                                       ++statement;
                                       expr(n.condition);
                                       ++out.instructions_;
                                       Effects both = stmt(n.then_body, false);
                                       merge(both, stmt(n.else_body, false));
                                       return both;
                                     },
                                     [&](const Block& n) {
                                       Effects all;
                                       for (const Stmt& inner : n.body) merge(all, stmt(inner, top));
                                       return all;
                                     },
                                     [&](const Barrier&) {
                                       if (!top) fail("a barrier is inside a loop or a condition");
                                       return Effects{};
                                     },
                                     [&](const CopyGroup&) {
                                       fail("a CPU has no asynchronous copies");
                                       return Effects{};
                                     },
                                     [&](const Prefetch& n) {
                                       ++statement;
                                       if (n.index.size() != 1)
                                         fail("a prefetch of `" + program.buffer(n.buffer).name + "` has " +
                                              std::to_string(n.index.size()) + " indices; expected one flat index");
                                       else
                                         expr(n.index[0]);
                                       ++out.instructions_;
                                       return Effects{};
                                     },
                                 },
                                 s->kind);
    if (!std::holds_alternative<Store>(s->kind)) out.effects_[s.operator->()] = effects;
    return effects;
  }

  /// Whether the target has the intrinsic's way; loops else.
  bool has(const IntrinsicTile& tile) const {
    return !is_tile_product(tile.intrinsic) ||
           (tile.intrinsic == Intrinsic::tile_u8 ? target.cpu().byte_tiles : target.cpu().bf16_tiles);
  }

  /// Tiles are loaded from memory and stored to it.
  Effects tile_product(const Stmt& s, IntrinsicTile found) {
    out.instructions_ += 16;
    out.tile_products_ = true;
    for (const TileOperand& operand : found.operands) slots().keep_in_memory(operand.buffer);
    Effects effects;
    effects.buffers = {found.operands[0].buffer};
    out.tiles_.emplace(s.operator->(), std::move(found));
    return effects;
  }

  /// Rows of the operands in registers are accesses; nothing inside is looked at further.
  Effects tile(const Stmt& s, IntrinsicTile found) {
    if (is_tile_product(found.intrinsic)) return tile_product(s, std::move(found));
    const Element& element = op_of(found.intrinsic).element();
    const std::int64_t rows = element.axes.front().extent;
    const int lanes = static_cast<int>(element.axes.back().extent);
    out.instructions_ += 8 * rows;
    for (std::size_t k = 0; k < found.operands.size(); ++k) {
      const TileOperand& operand = found.operands[k];
      if (k > 0 || !operand.base.terms.empty()) {
        slots().keep_in_memory(operand.buffer);
        continue;
      }
      for (std::int64_t row = 0; row < (element.axes.size() > 1 ? rows : 1); ++row) {
        const Linear index = {{}, operand.base.constant + row * operand.strides[0], 1};
        slots().access(operand.buffer, &index, lanes);
      }
    }
    Effects effects;
    effects.buffers = {found.operands[0].buffer};
    out.tiles_.emplace(s.operator->(), std::move(found));
    return effects;
  }

  Effects loop(const Stmt& s, const Loop& n, bool top) {
    if (n.kind == LoopKind::vectorized || n.kind == LoopKind::unrolled)
      fail("loop `" + n.name + "` is still marked " + (n.kind == LoopKind::unrolled ? "unrolled" : "vectorized"));
    if (n.kind > LoopKind::unrolled) fail("loop `" + n.name + "` is bound to a GPU's blocks or threads");
    if (n.kind == LoopKind::parallel) {
      out.parallel_ = true;
      if (!top) fail("parallel loop `" + n.name + "` is inside another loop or a condition");
    }
    ++statement;
    if (std::optional<IntrinsicTile> found = recognise_tile(n, table()); found && has(*found))
      return tile(s, *std::move(found));
    const ExprRef min = expr(n.min);
    expr(n.extent);
    out.instructions_ += 4;
    const bool once = is_const(n.extent, 1) && n.kind != LoopKind::parallel;
    if (once && bindings[n.index] == 1 && table()[min].movable()) table().alias(n.index, min);
    return stmt(n.body, false);
  }

  Effects let(const Let& n, bool top) {
    ++statement;
    const ExprRef value = expr(n.value);
    if (bindings[n.var] == 1 && table()[value].movable()) table().alias(n.var, value);
    return stmt(n.body, top);
  }

  Effects store(const Store& n) {
    ++statement;
    const Buffer& buffer = program.buffer(n.buffer);
    if (n.index.size() != 1) {
      fail("a store to `" + buffer.name + "` has " + std::to_string(n.index.size()) +
           " indices; expected one flat index");
      return {};
    }
    if (buffer.scope == Scope::argument && !buffer.written)
      fail("argument `" + buffer.name + "` is stored to but not marked as written");
    const ExprRef index = expr(n.index[0]);
    expr(n.value);
    if (n.mask.defined()) expr(n.mask);
    out.instructions_ += vectors(*n.value);
    const int lanes = std::max(n.index[0]->lanes, n.value->lanes);
    const ExprInfo& info = table()[index];
    slots().access(n.buffer, linear_of(info), lanes);
    if (n.mask.defined() && lanes > 1 && info.linear.lane_stride == 0) slots().keep_in_memory(n.buffer);
    Effects effects;
    effects.buffers = {n.buffer};
    return effects;
  }

  /// Replaces the buffers that are kept in slots by their slots. (All slots of a buffer: a loop that writes one element
  /// of a tile nearly always writes all, and a phi that changes nothing costs nothing.)
  void refine(Effects& effects) const {
    std::erase_if(effects.buffers, [&](BufferId buffer) {
      if (!out.in_slots(buffer)) return false;
      for (int slot : out.slots_->of(buffer)) insert_sorted(effects.slots, slot);
      return true;
    });
  }

  void run() {
    count_bindings();
    stmt(program.body, true);
    if (error) return;
    slots().finish();
    for (auto& [node, effects] : out.effects_) refine(effects);  // slots are known only now
    if (out.instructions_ > kMaxInstructions)
      fail("about " + std::to_string(out.instructions_) + " instructions, more than the limit of " +
               std::to_string(kMaxInstructions) + "; unroll less",
           ErrorKind::limit);
  }
};

Result<Analysis> Analysis::of(const Program& program, const Target& target) {
  Analysis out;
  out.table_ = std::make_shared<ExprTable>(program);
  out.slots_ = std::make_shared<RegisterSlots>(program);
  Walk walk{program, target, out};
  walk.run();
  if (walk.error) return *walk.error;
  return out;
}

}  // namespace whet
