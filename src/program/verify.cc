#include "program/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include "program/context.h"
#include "program/launch.h"
#include "program/swizzle.h"
#include "program/verify_access.h"
#include "program/verify_launch.h"
#include "program/verify_state.h"
#include "program/verify_warp.h"

namespace whet {
namespace {

/// While it lives, statements are under these conditions and bounds.
struct Control {
  Control(VerifyState& state, std::initializer_list<const Expr*> what) : state(state), before(state.varying.size()) {
    if (!state.launch) return;
    for (const Expr* e : what)
      if (state.varies(*e)) state.varying.push_back(*e);
  }
  ~Control() { state.varying.resize(before); }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  bool varies() const { return state.varying.size() > before; }
  VerifyState& state;
  const std::size_t before;
};

/// The rules of buffers and statements. Walks the program.
class ProgramVerifier {
 public:
  ProgramVerifier(const Program& program, const VerifyOptions& options) : state_(program, options), accesses_(state_) {}

  Status run() {
    sizes();
    buffers();
    if (state_.options.launches) {
      for (const Stmt& s : top_statements(state_.program)) launch(s);
    } else if (state_.program.body.defined()) {
      stmt(state_.program.body, true);
    }
    if (!state_.failed()) return ok_status();
    return Error{"program '" + state_.program.name + "': " + state_.error, state_.kind};
  }

 private:
  /// Ranges, and an argument for the values.
  void sizes() {
    const std::vector<SizeRange>& sizes = state_.program.sizes;
    if (sizes.empty()) return;
    if (const Status right = verify(sizes); !right.ok()) return state_.fail(right.error().message);
    const auto& buffers = state_.program.buffers;
    const auto values = std::find_if(buffers.begin(), buffers.end(),
                                     [](const Buffer& b) { return b.scope == Scope::argument && b.argument == 0; });
    state_.need(values != buffers.end() && values->dtype == DType::i64 &&
                    values->extents == Shape{static_cast<std::int64_t>(sizes.size())} && !values->written,
                [&] { return "argument 0 is not the i64 values of " + std::to_string(sizes.size()) + " sizes"; });
  }

  /// The functions of a buffer's extents: of an argument's, and within the largest extents.
  void functions(const Buffer& b) {
    if (b.sizes.empty()) return;
    state_.need(b.scope == Scope::argument && b.sizes.size() == b.extents.size(),
                [&] { return "buffer '" + b.name + "' has sizes, and is no argument or has other extents"; });
    for (std::size_t d = 0; d < b.sizes.size() && !state_.failed(); ++d) {
      const Expr& size = b.sizes[d];
      if (!size.defined()) continue;
      const auto what = [&] { return "extent " + std::to_string(d) + " of '" + b.name + "'"; };
      const Status right = check_size_expr(size, state_.program.sizes.size());
      if (!right.ok()) return state_.fail(what() + " is " + right.error().message);
      if (size->dtype != DType::i64) return state_.fail(what() + " is no i64");
      const Interval range = state_.facts.bounds(size);
      state_.need(range.min && *range.min >= 0 && range.max && *range.max <= b.extents[d],
                  [&] { return what() + " is not proven to be inside 0 .. " + std::to_string(b.extents[d]); });
    }
  }

  void buffers() {
    std::set<int> arguments;
    for (const Buffer& b : state_.program.buffers) {
      for (std::int64_t extent : b.extents)
        state_.need(extent >= 0, [&] { return "buffer '" + b.name + "' has a negative extent"; });
      functions(b);
      state_.need(!b.quad || (b.scope == Scope::registers && !b.extents.empty() && b.extents.back() % 8 == 0), [&] {
        return "buffer '" + b.name + "' is of four lanes, and is not in registers in rows of whole eights";
      });
      if (b.swizzle > 0) {
        state_.need(b.scope == Scope::block,
                    [&] { return "buffer '" + b.name + "' is swizzled outside of block memory"; });
        state_.need(is_swizzle(b.swizzle, b.row_bytes) &&
                        num_elements(b.extents) * size_of(b.dtype) % std::max<std::int64_t>(b.row_bytes, 1) == 0,
                    [&] {
                      return "buffer '" + b.name + "' has rows of " + std::to_string(b.row_bytes) +
                             " bytes; a swizzle of " + std::to_string(b.swizzle) + " wants " + kSwizzledRows;
                    });
      }
      if (b.scope != Scope::argument) continue;
      state_.need(b.argument >= 0, [&] { return "buffer '" + b.name + "' is an argument without a number"; });
      state_.need(arguments.insert(b.argument).second,
                  [&] { return "two buffers are argument " + std::to_string(b.argument); });
      state_.need(!(b.constant && b.written), [&] { return "argument '" + b.name + "' is constant, and written"; });
    }
  }

  void stmt(const Stmt& s, bool top) {
    if (state_.failed() || !s.defined()) return;
    std::visit(Match{
                   [&](const Loop& n) { loop(n, top); },
                   [&](const Let& n) { let(n, top); },
                   [&](const Store& n) { accesses_.store(n); },
                   [&](const If& n) { branch(n); },
                   [&](const Block& n) {
                     for (const Stmt& inner : n.body) stmt(inner, top);
                   },
                   [&](const Barrier& n) { barrier(n, top); },
                   [&](const CopyGroup& n) { verify_group(state_, n); },
                   [&](const Prefetch& n) { accesses_.prefetch(n); },
               },
               s->kind);
  }

  void loop(const Loop& n, bool top) {
    accesses_.index_scalar(n.min, "the first index of loop '" + n.name + "'");
    accesses_.index_scalar(n.extent, "the extent of loop '" + n.name + "'");
    if (state_.failed()) return;
    const bool expanded = n.kind == LoopKind::vectorized || n.kind == LoopKind::unrolled;
    state_.need(!expanded || as_int(n.extent),
                [&] { return "the extent of loop '" + n.name + "' is not constant: " + state_.text(n.extent); });
    state_.need(!expanded || !state_.options.lowered,
                [&] { return "loop '" + n.name + "' is still to be vectorized or unrolled"; });
    state_.need(n.kind != LoopKind::parallel || top,
                [&] { return "the parallel loop '" + n.name + "' is inside another statement"; });
    state_.need(!state_.launch || expanded || n.kind == LoopKind::serial,
                [&] { return "the " + std::string(word_of(n.kind)) + " loop '" + n.name + "' is inside a launch"; });
    state_.bind(n.index, n.name, DType::i64, 1);
    if (state_.failed()) return;
    const auto mark = state_.facts.mark();
    const Control control(state_, {&n.min, &n.extent});
    state_.vars[n.index.index()].varies = control.varies();
    const std::int64_t lanes = state_.vector;
    if (n.kind == LoopKind::vectorized) state_.vector *= *as_int(n.extent);
    enter(state_.facts, n);
    if (state_.launch && is_warp_wide(n.intrinsic)) verify_tile(state_, n);
    const bool in_tile = std::exchange(state_.in_tile, state_.in_tile || (state_.launch && is_warp_wide(n.intrinsic)));
    stmt(n.body, false);
    state_.in_tile = in_tile;
    state_.facts.rewind(mark);
    state_.unbind(n.index);
    state_.vector = lanes;
  }

  void let(const Let& n, bool top) {
    if (!n.value.defined()) return state_.fail("let '" + n.name + "' has no value");
    accesses_.expr(n.value);
    state_.bind(n.var, n.name, n.value->dtype, n.value->lanes);
    if (state_.failed()) return;
    if (state_.launch) {
      state_.vars[n.var.index()].varies = state_.varies(n.value);
      if (!has_load(n.value)) state_.vars[n.var.index()].value = state_.over_indices(n.value);
    }
    const auto mark = state_.facts.mark();
    enter(state_.facts, n);
    stmt(n.body, top);
    state_.facts.rewind(mark);
    state_.unbind(n.var);
  }

  void branch(const If& n) {
    if (!n.condition.defined()) return state_.fail("an if has no condition");
    state_.need(n.condition->dtype == DType::boolean && n.condition->lanes == 1,
                [&] { return "the condition of an if is no boolean scalar: " + state_.text(n.condition); });
    accesses_.expr(n.condition);
    if (state_.failed()) return;
    const Control control(state_, {&n.condition});
    const auto mark = state_.facts.mark();
    enter_if(state_.facts, n.condition);
    stmt(n.then_body, false);
    state_.facts.rewind(mark);
    enter_else(state_.facts, n.condition);
    stmt(n.else_body, false);
    state_.facts.rewind(mark);
  }

  void barrier(const Barrier& n, bool top) {
    if (state_.launch && n.reach == Barrier::Reach::block) return verify_together(state_, "a barrier");
    state_.need(top && (!state_.options.launches || n.reach == Barrier::Reach::grid), [&] {
      return top ? "a barrier of threads is outside of a launch" : "a barrier is inside another statement";
    });
  }

  void launch(const Stmt& s) {
    if (state_.failed()) return;
    if (std::holds_alternative<Barrier>(s->kind)) return barrier(std::get<Barrier>(s->kind), true);
    const std::optional<LaunchNest> nest = verify_launch(state_, s);
    if (!nest) return;
    const Loop &blocks = *nest->blocks, &threads = *nest->threads;
    for (const Loop* n : {&blocks, &threads}) state_.bind(n->index, n->name, DType::i64, 1);
    if (state_.failed()) return;
    state_.vars[threads.index.index()].varies = true;
    state_.launch = &*nest;
    const auto mark = state_.facts.mark();
    enter(state_.facts, blocks);
    enter(state_.facts, threads);
    stmt(nest->body, false);
    state_.facts.rewind(mark);
    state_.launch = nullptr;
    for (const Loop* n : {&blocks, &threads}) state_.unbind(n->index);
  }

  VerifyState state_;
  AccessRules accesses_;
};

}  // namespace

Status verify(const Program& program, const VerifyOptions& options) { return ProgramVerifier(program, options).run(); }

}  // namespace whet
