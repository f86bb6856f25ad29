// Loops of tiles whose operands are read ahead of the barrier that the products before them stand behind.

#include <algorithm>
#include <set>

#include "codegen/gpu/emitter.h"

namespace whet {
namespace {

/// Registers of a thread that sums, the operands of two steps and what is copied by way of registers take at most; the rest are
/// addresses.
constexpr std::size_t kMostAhead = 208;
constexpr std::size_t kRegisterBytes = 4;
constexpr std::size_t kSumsOfTile = 4, kLeftWords = 4, kRightWords = 2;  ///< of a tile

void add_statements(const Stmt& s, std::vector<Stmt>& out) {
  if (!s.defined()) return;
  if (const Block* list = std::get_if<Block>(&s->kind)) {
    for (const Stmt& inner : list->body) add_statements(inner, out);
  } else {
    out.push_back(s);
  }
}

bool is_copy_group(const Stmt& s, CopyGroup::Kind kind) {
  const CopyGroup* group = std::get_if<CopyGroup>(&s->kind);
  return group != nullptr && group->kind == kind;
}

/// Stores from registers into block memory, which have nothing to do with the sums and meet nobody. Adds the bytes in registers.
bool is_late_store(const Program& program, const Stmt& s, BufferId sums, std::size_t& bytes) {
  bool fits = true;
  for_each(
      s,
      [&](const Stmt& part) {
        const Store* store = std::get_if<Store>(&part->kind);
        const bool plain = std::holds_alternative<If>(part->kind) || std::holds_alternative<Let>(part->kind) ||
                           std::holds_alternative<Block>(part->kind);
        fits = fits && (plain || (store != nullptr && program.buffer(store->buffer).scope == Scope::block));
      },
      [&](const Expr& e) {
        for_each(e, [&](const Expr& part) {
          const Load* load = std::get_if<Load>(&part->kind);
          if (load == nullptr) return;
          fits = fits && load->source.value != sums.value;
          const bool held = program.buffer(BufferId(load->source.value)).scope == Scope::registers;
          // A byte may take a whole register.
          const std::size_t each = is_half(part->dtype) ? 2 : kRegisterBytes;
          bytes += held ? static_cast<std::size_t>(part->lanes) * each : 0;
        });
      });
  return fits;
}

}  // namespace

/// wait; barrier; copies; commit; tiles; late stores of what was copied by way of registers. Each step of the tiles adds to all sums
/// once.
std::optional<GpuEmitter::StepLoop> GpuEmitter::step_loop(const Stmt& body) {
  StepLoop loop;
  const Stmt* rest = &body;
  while (rest->defined() && std::holds_alternative<Let>((*rest)->kind)) {
    loop.lets.push_back(&std::get<Let>((*rest)->kind));
    rest = &loop.lets.back()->body;
  }
  std::vector<Stmt> all;
  add_statements(*rest, all);
  const auto commit =
      std::find_if(all.begin(), all.end(), [](const Stmt& s) { return is_copy_group(s, CopyGroup::Kind::commit); });
  if (all.size() < 4 || commit == all.end() || commit + 1 == all.end()) return std::nullopt;
  if (!is_copy_group(all[0], CopyGroup::Kind::wait) || !std::holds_alternative<Barrier>(all[1]->kind))
    return std::nullopt;
  loop.before.assign(all.begin(), all.begin() + 2), loop.copies.assign(all.begin() + 2, commit + 1);
  std::set<std::pair<int, int>> sums;
  std::set<FragmentPlace> left, right;
  std::size_t of_step = 0;
  for (auto s = commit + 1; s != all.end(); ++s) {
    std::optional<WarpTile> tile = tile_of(*s);
    if (!tile) {
      if (loop.steps.empty()) return std::nullopt;
      loop.behind.assign(s, all.end());
      break;
    }
    const SlotPlace place = places_of_sums(*tile)[0];
    if (loop.steps.empty() || !sums.insert({place.slot, place.first}).second) {
      of_step = std::max(of_step, kLeftWords * left.size() + kRightWords * right.size());
      loop.steps.emplace_back();
      sums.clear(), left.clear(), right.clear();
      sums.insert({place.slot, place.first});
    }
    left.insert(place_of(*tile->left, tile->rows->index, *tile->depth));
    right.insert(place_of(*tile->right, tile->columns->index, *tile->depth));
    loop.steps.back().push_back(std::move(*tile));
  }
  of_step = std::max(of_step, kLeftWords * left.size() + kRightWords * right.size());
  const BufferId buffer = loop.steps.front().front().store->buffer;
  std::size_t held = 0;
  for (const Stmt& s : loop.behind)
    if (!is_late_store(program_, s, buffer, held)) return std::nullopt;
  const std::size_t registers = (held + kRegisterBytes - 1) / kRegisterBytes;
  loop.ahead = kSumsOfTile * loop.steps.front().size() + 2 * of_step + registers <= kMostAhead;
  if (!loop.ahead && held > 0) return std::nullopt;  // loads in flight would wait behind the products
  return loop;
}

std::vector<GpuEmitter::TileOperands> GpuEmitter::load_step(const std::vector<WarpTile>& tiles) {
  for (const WarpTile& t : tiles) expected_.insert(place_of(*t.right, t.columns->index, *t.depth));
  std::vector<TileOperands> all;
  for (const WarpTile& t : tiles) {
    const Frame frame(*this);
    const GpuHooks::Words left = fragment(t, true), right = fragment(t, false);
    all.push_back({left, {right[0], right[1]}});
  }
  return all;
}

void GpuEmitter::multiply_step(const std::vector<WarpTile>& tiles, const std::vector<TileOperands>& operands) {
  for (std::size_t k = 0; k < tiles.size(); ++k) multiply(tiles[k], operands[k]);
}

/// Operands of the last step are kept in stack slots until the next iteration, or the loop's end, multiplies them: LLVM makes registers
/// of these, and each word is in one of them as often as tiles share it.
GpuEmitter::KeptOperands GpuEmitter::make_kept(const std::vector<WarpTile>& tiles) {
  KeptOperands kept;
  const At at(*this, 0, &*function_->getEntryBlock().getFirstInsertionPt());
  const auto slot = [&](std::map<FragmentPlace, std::vector<Value*>>& known, FragmentPlace place, std::size_t words) {
    std::vector<Value*>& slots = known[std::move(place)];
    while (slots.size() < words) slots.push_back(b_.CreateAlloca(b_.getInt32Ty()));
    return slots;
  };
  std::map<FragmentPlace, std::vector<Value*>> left, right;
  for (const WarpTile& t : tiles)
    kept.push_back({slot(left, place_of(*t.left, t.rows->index, *t.depth), kLeftWords),
                    slot(right, place_of(*t.right, t.columns->index, *t.depth), kRightWords)});
  return kept;
}

void GpuEmitter::keep(const KeptOperands& kept, const std::vector<TileOperands>& operands) {
  for (std::size_t k = 0; k < kept.size(); ++k) {
    for (std::size_t w = 0; w < kept[k].first.size(); ++w) b_.CreateStore(operands[k].left[w], kept[k].first[w]);
    for (std::size_t w = 0; w < kept[k].second.size(); ++w) b_.CreateStore(operands[k].right[w], kept[k].second[w]);
  }
}

std::vector<GpuEmitter::TileOperands> GpuEmitter::kept_operands(const KeptOperands& kept) {
  std::vector<TileOperands> all(kept.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    for (std::size_t w = 0; w < kept[k].first.size(); ++w)
      all[k].left[w] = b_.CreateLoad(b_.getInt32Ty(), kept[k].first[w]);
    for (std::size_t w = 0; w < kept[k].second.size(); ++w)
      all[k].right[w] = b_.CreateLoad(b_.getInt32Ty(), kept[k].second[w]);
  }
  return all;
}

/// Behind the barrier the first operands of the slab are read, then the products of the slab before end, which hide how long that takes.
/// The last step's operands are in registers when the threads meet again: its products may stand behind that barrier. Where registers
/// do not hold two steps, copies are at least behind the first products, which wait for nothing but the barrier.
void GpuEmitter::steps(const StepLoop& loop, const KeptOperands& kept, Value* later) {
  for (const Let* let : loop.lets)
    if (!table_.is_alias(let->var)) bind(let->var, expr_alone(let->value));
  for (const Stmt& s : loop.before) stmt(s);
  std::vector<TileOperands> operands = load_step(loop.steps.front());
  if (!loop.ahead) {
    multiply_step(loop.steps.front(), operands);
    for (const Stmt& s : loop.copies) stmt(s);
    for (std::size_t k = 1; k < loop.steps.size(); ++k) multiply_step(loop.steps[k], load_step(loop.steps[k]));
    return;
  }
  when(later, [&] { multiply_step(loop.steps.back(), kept_operands(kept)); });
  for (const Stmt& s : loop.copies) stmt(s);
  for (std::size_t k = 0; k + 1 < loop.steps.size(); ++k) {
    std::vector<TileOperands> next = load_step(loop.steps[k + 1]);
    multiply_step(loop.steps[k], operands);
    operands = std::move(next);
  }
  keep(kept, operands);
  for (const Stmt& s : loop.behind) stmt(s);
}

}  // namespace whet
