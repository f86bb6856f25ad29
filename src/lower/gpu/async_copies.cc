#include "lower/gpu/async_copies.h"

#include <algorithm>
#include <vector>

#include "lower/copy_groups.h"
#include "lower/gpu/late_stores.h"
#include "lower/rename.h"
#include "program/launch.h"

namespace whet {
namespace {

constexpr bool is_copied(std::int64_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

/// A tail that begins earlier is written twice, perhaps by two threads: while one's copy is under way the other must not.
bool overlaps(const Expr& index) {
  bool found = false;
  for_each(index, [&](const Expr& e) {
    const Binary* binary = std::get_if<Binary>(&e->kind);
    found = found || (binary && binary->op == BinaryOp::min);
  });
  return found;
}

const CopyGroup* group_of(const Stmt& s) { return std::get_if<CopyGroup>(&s->kind); }

class CopyMarker {
 public:
  CopyMarker(const Program& program, const Stmt& launch) : program_(program), stored_(program.buffers.size(), false) {
    for_each(
        launch,
        [&](const Stmt& s) {
          if (const Store* store = std::get_if<Store>(&s->kind)) stored_[store->buffer.index()] = true;
        },
        nullptr);
  }

  /// The launch with asynchronous stores; `any` tells whether it has one.
  Stmt run(const Stmt& launch, bool& any) {
    read_ahead_.assign(program_.buffers.size(), false);
    visit(launch, false);
    collecting_ = false;
    const Stmt marked = visit(launch, false);
    any = any_;
    return marked;
  }

 private:
  /// `filling`: a commit follows in the same iteration.
  Stmt visit(const Stmt& s, bool filling) {
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          if (const Block* list = std::get_if<Block>(&part->kind)) return visit_list(*list, filling);
          if (const Loop* loop = std::get_if<Loop>(&part->kind); loop && loop->kind == LoopKind::vectorized)
            lane_ = loop->index, lanes_ = *as_int(loop->extent);
          // A vector of which some lanes are left out is no copy.
          const If* guard = std::get_if<If>(&part->kind);
          if (guard && filling && lane_.valid() && uses(guard->condition, lane_)) return visit(part, false);
          const Store* store = std::get_if<Store>(&part->kind);
          if (!filling || !store) return Stmt();
          if (collecting_) {
            for_each(store->value, [&](const Expr& e) {
              if (const Load* load = std::get_if<Load>(&e->kind)) read_ahead_[load->source.index()] = true;
            });
            return Stmt();
          }
          if (!is_copy(*store)) return Stmt();
          any_ = true;
          Store async = *store;
          async.async = true;
          return make_stmt(std::move(async));
        },
        nullptr);
  }

  Stmt visit_list(const Block& list, bool filling) {
    std::vector<Stmt> out(list.body);
    bool before_commit = filling;
    for (std::size_t i = out.size(); i-- > 0;) {
      if (const CopyGroup* group = group_of(out[i]))
        before_commit = group->kind == CopyGroup::Kind::commit;
      else
        out[i] = visit(out[i], before_commit);
    }
    return block(std::move(out));
  }

  bool is_copy(const Store& store) const {
    const Buffer& to = program_.buffer(store.buffer);
    if (to.scope != Scope::block || read_ahead_[store.buffer.index()] || store.mask.defined() ||
        !is_copied(size_of(to.dtype) * (moves_with_lane(store) ? lanes_ : 1)))
      return false;
    if (std::any_of(store.index.begin(), store.index.end(), overlaps)) return false;
    // Nor is one of which some lanes are zeros.
    const Select* choice = std::get_if<Select>(&store.value->kind);
    if (choice && lane_.valid() && uses(choice->condition, lane_)) return false;
    const Load* load = copied_load(program_, store.value);
    return load && !stored_[load->source.index()];
  }

  bool moves_with_lane(const Store& store) const {
    return lane_.valid() && !store.index.empty() && uses(store.index.back(), lane_);
  }

  const Program& program_;
  std::vector<bool> stored_;      ///< by the launch
  std::vector<bool> read_ahead_;  ///< by what fills other block memory, which does not wait for copies
  VarId lane_;                    ///< of the innermost vector
  std::int64_t lanes_ = 1;        ///< that it has
  bool collecting_ = true;        ///< `read_ahead_`
  bool any_ = false;
};

}  // namespace

Result<Program> make_copies_async(Program program, const GpuLimits& limits) {
  std::vector<Stmt> parts = top_statements(program);
  bool late = false;
  for (Stmt& part : parts) {
    if (!launch_nest(part)) continue;
    bool any = false;
    const Stmt marked = CopyMarker(program, part).run(part, any);
    any = any && limits.async_copy;
    const Stmt stored = with_late_stores(program, any ? marked : part, late);
    part = any ? stored : without_copy_groups(stored);
  }
  program.body = block(std::move(parts));
  return late ? rename_apart(std::move(program)) : program;
}

}  // namespace whet
