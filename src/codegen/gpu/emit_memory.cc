#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

#include "codegen/gpu/emitter.h"
#include "program/swizzle.h"

namespace whet {
namespace {

constexpr std::int64_t kAccessBytes = 16;  ///< the widest access of a thread

}  // namespace

bool is_zero(const Expr& e) {
  const Broadcast* same = std::get_if<Broadcast>(&e->kind);
  return is_const(same != nullptr ? same->a : e, 0);
}

// ---- Lanes

GpuEmitter::Value* GpuEmitter::splatted(Value* mask) {
  return mask->getType()->isVectorTy() ? llvm::getSplatValue(mask) : mask;
}

GpuEmitter::Value* GpuEmitter::mask_of(Value* mask, int first, int lanes) {
  if (mask == nullptr) return nullptr;
  Value* const same = splatted(mask);
  return same != nullptr ? same : part_of(mask, first, lanes);
}

GpuEmitter::Value* GpuEmitter::both(Value* a, Value* b, int lanes) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const bool wide = a->getType()->isVectorTy() || b->getType()->isVectorTy();
  const auto even = [&](Value* mask) { return wide && !mask->getType()->isVectorTy() ? splat(mask, lanes) : mask; };
  return b_.CreateAnd(even(a), even(b));
}

GpuEmitter::Value* GpuEmitter::effective_mask(Value* own, int lanes) {
  Value* const lane = lane_mask_ == nullptr || lanes > 1 ? lane_mask_ : b_.CreateOrReduce(lane_mask_);
  return both(both(own, lane, lanes), guard_, lanes);
}

// ---- Loads

GpuEmitter::Value* GpuEmitter::load(ExprRef ref, const ExprInfo& info, const Load& n) {
  const BufferId buffer(n.source.value);
  const ExprInfo& index = table_[info.children[0]];
  const int lanes = info.expr->lanes;
  const DType dtype = info.expr->dtype;
  if (analysis_.slots().holds(buffer))
    return load_slot(analysis_.slots().place(buffer, index.linear, lanes), dtype, lanes);
  const bool reusable = guard_ == nullptr && lane_mask_ == nullptr && index.movable() &&
                        (!n.mask.defined() || table_[info.children[1]].movable());
  const std::int64_t version = versions_[buffer.index()];
  for (std::size_t d = depth_ + 1; reusable && d-- > 0;) {
    const auto found = levels_[d]->loads.find(ref);
    if (found != levels_[d]->loads.end() && found->second.version == version) return found->second.value;
  }
  Value* own = n.mask.defined() ? emit(info.children[1]) : nullptr;
  if (own != nullptr && splatted(own) != nullptr) own = splatted(own);
  Value* value = load_memory(buffer, info.children[0], lanes, effective_mask(own, lanes));
  value = from_memory(value, dtype, lanes);
  if (own != nullptr) value = b_.CreateSelect(own, value, llvm::Constant::getNullValue(value->getType()));
  value = sized(ref, value);
  if (reusable) current().loads[ref] = {value, version};
  return value;
}

GpuEmitter::Value* GpuEmitter::load_slot(SlotPlace place, DType dtype, int lanes) {
  const Slot& slot = analysis_.slots().all()[static_cast<std::size_t>(place.slot)];
  Value* const whole = b_.CreateLoad(slot_type(slot), slots_[static_cast<std::size_t>(place.slot)]);
  WHET_CHECK(dtype == slot.dtype);
  Value* const value = lanes_at(place, slot, whole, lanes);
  return is_packed(slot) ? from_memory(value, dtype, lanes) : value;
}

bool GpuEmitter::is_packed(const Slot& slot) const { return is_half(slot.dtype) && !program_.buffer(slot.buffer).quad; }

llvm::Type* GpuEmitter::slot_type(const Slot& slot) {
  return is_packed(slot) ? memory_type(slot.dtype, slot.lanes) : value_type(slot.dtype, slot.lanes);
}

GpuEmitter::Value* GpuEmitter::moved_bits(const Store& n) {
  const Select* choice = std::get_if<Select>(&n.value->kind);
  if (choice != nullptr && !is_zero(choice->if_false)) return nullptr;
  const Load* from = std::get_if<Load>(&(choice != nullptr ? choice->if_true : n.value)->kind);
  if (from == nullptr || from->mask.defined() || n.mask.defined() || n.cross != 0) return nullptr;
  const BufferId source(from->source.value);
  if (analysis_.slots().holds(source)) return nullptr;
  const int lanes = n.value->lanes;
  Value* condition = choice != nullptr ? expr(choice->condition) : nullptr;
  if (condition != nullptr && splatted(condition) != nullptr) condition = splatted(condition);
  Value* const bits = load_memory(source, table_.intern(from->index[0]), lanes, effective_mask(condition, lanes));
  return condition == nullptr ? bits : b_.CreateSelect(condition, bits, llvm::Constant::getNullValue(bits->getType()));
}

GpuEmitter::Value* GpuEmitter::load_memory(BufferId buffer, ExprRef index, int lanes, Value* mask) {
  llvm::Type* const element = memory_type(program_.buffer(buffer).dtype);
  const ExprInfo& info = table_[index];
  if (lanes > 1 && info.is_linear && info.linear.lane_stride == 0) {  // one element
    Value* const any = mask == nullptr ? nullptr : splatted(mask) ? splatted(mask) : b_.CreateOrReduce(mask);
    return splat(load_at(buffer, element, address(buffer, info.linear), element_bytes(buffer), any), lanes);
  }
  Value* all = nullptr;
  each_part(buffer, index, lanes, mask != nullptr && splatted(mask) == nullptr,
            [&](int first, int count, Value* pointer, std::int64_t align) {
              Value* const part = load_at(buffer, widen(element, count), pointer, align, mask_of(mask, first, count));
              all = join(all, part, first, count, lanes);
            });
  return all;
}

/// Reads the buffer's first element where `mask` is false: `pointer` may then be outside of the buffer.
GpuEmitter::Value* GpuEmitter::load_at(BufferId buffer, llvm::Type* type, Value* pointer, std::int64_t align,
                                       Value* mask) {
  if (mask != nullptr) pointer = b_.CreateSelect(mask, pointer, base_pointer(buffer));
  llvm::LoadInst* const load = b_.CreateAlignedLoad(type, pointer, llvm::Align(static_cast<std::uint64_t>(align)));
  if (is_fixed(buffer)) load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

bool GpuEmitter::is_fixed(BufferId id) const {
  const Buffer& buffer = program_.buffer(id);
  if (hooks_.starts_early())
    return buffer.constant;  // the launch in front may still store to others when this one starts
  return (buffer.scope == Scope::argument || buffer.scope == Scope::workspace) && !launch_->stored[id.index()];
}

// ---- Stores

void GpuEmitter::store_memory(BufferId buffer, ExprRef index, Value* value, Value* mask, int lanes) {
  const DType dtype = program_.buffer(buffer).dtype;
  if (dtype == DType::i64) value = resize(value, false);
  value = stored_as(dtype, value, lanes);
  each_part(buffer, index, lanes, mask != nullptr && splatted(mask) == nullptr,
            [&](int first, int count, Value* pointer, std::int64_t align) {
              Value* const part = part_of(value, first, count);
              when(mask_of(mask, first, count),
                   [&] { b_.CreateAlignedStore(part, pointer, llvm::Align(static_cast<std::uint64_t>(align))); });
            });
}

/// Two f32 become two f16 or bf16 by one instruction, where there is one.
GpuEmitter::Value* GpuEmitter::stored_as(DType dtype, Value* value, int lanes) {
  if (!is_half(dtype) || lanes % 2 != 0) return to_memory(value, dtype, lanes);
  const Intrinsic rounding = dtype == DType::f16 ? Intrinsic::mma_f16 : Intrinsic::mma_bf16;
  Value* words = llvm::PoisonValue::get(widen(b_.getInt32Ty(), lanes / 2));
  for (int i = 0; i < lanes; i += 2) {
    Value* const pair = hooks_.pair_bits(b_, rounding, b_.CreateExtractElement(value, i64(i)),
                                         b_.CreateExtractElement(value, i64(i + 1)));
    if (pair == nullptr) return to_memory(value, dtype, lanes);
    words = lanes == 2 ? pair : b_.CreateInsertElement(words, pair, i64(i / 2));
  }
  return b_.CreateBitCast(words, memory_type(dtype, lanes));
}

namespace {

/// A store of what a lane has of a row of a tile, in two bytes each, which nothing stands between and that of the next tile.
const Store* plain_pair(const Program& program, const Stmt& s) {
  const Store* store = std::get_if<Store>(&s->kind);
  if (store == nullptr || store->mask.defined() || store->cross != 0 || store->async || store->value->lanes != 2)
    return nullptr;
  const Buffer& buffer = program.buffer(store->buffer);
  const bool is_far = buffer.scope == Scope::argument || buffer.scope == Scope::workspace;
  const Ramp* ramp = std::get_if<Ramp>(&store->index[0]->kind);
  if (!is_half(buffer.dtype) || !is_far || ramp == nullptr || ramp->stride != 1) return nullptr;
  bool reads_it = false;
  for_each(store->value, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    reads_it = reads_it || (load != nullptr && load->source.value == store->buffer.value);
  });
  return reads_it ? nullptr : store;
}

}  // namespace

std::size_t GpuEmitter::store_together(std::span<const Stmt> list) {
  for (const std::size_t tiles : {4, 2})
    if (list.size() >= tiles && store_tiles(list.first(tiles))) return tiles;
  return 0;
}

/// Thread 4g + q of a warp's tiles has the columns 2q and 2q + 1 of row g of each. Two bytes each, a row of a tile is half a sector. The
/// threads of a row exchange words until each has neighbours of one tile: of four tiles its whole row, of two tiles half of it.
bool GpuEmitter::store_tiles(std::span<const Stmt> list) {
  constexpr std::int64_t kTileColumns = 8, kQuad = 4, kPair = 2, kWord = 4;
  if (branches_ > 0) return false;
  std::vector<const Store*> stores;
  for (const Stmt& s : list) {
    const Store* store = plain_pair(program_, s);
    if (store == nullptr || store->buffer != std::get<Store>(list[0]->kind).buffer) return false;
    stores.push_back(store);
  }
  const auto tiles = std::ssize(list);
  const BufferId buffer = stores[0]->buffer;
  const ExprInfo& first = table_[table_.intern(stores[0]->index[0])];
  for (std::int64_t k = 0; k < tiles; ++k) {
    const ExprInfo& index = table_[table_.intern(stores[static_cast<std::size_t>(k)]->index[0])];
    if (!index.is_linear || index.linear.terms != first.linear.terms ||
        index.linear.constant - first.linear.constant != k * kTileColumns)
      return false;
  }
  const Expr thread = var(launch_->nest.threads->index, "t");
  const ExprRef quad = table_.keep(floormod(thread, kQuad));
  std::int64_t units = first.linear.constant;
  bool is_of_tiles = false;
  for (const auto& [atom, factor] : first.linear.terms)
    if (atom == quad)
      is_of_tiles = factor == kPair;
    else
      units = std::gcd(units, factor);
  if (!is_of_tiles || units * element_bytes(buffer) % (tiles * kWord) != 0) return false;
  const Expr place = std::get<Ramp>(stores[0]->index[0]->kind).base + floormod(thread, tiles) * (kTileColumns - kPair);
  const ExprInfo& moved = table_[table_.keep(place)];
  if (!moved.is_linear) return false;

  const Frame frame(*this);
  std::vector<Value*> words;
  for (const Store* store : stores) {
    const Cast* rounded = std::get_if<Cast>(&store->value->kind);
    const Expr& kept = rounded != nullptr && rounded->a->dtype == DType::f32 ? rounded->a : store->value;
    words.push_back(b_.CreateBitCast(stored_as(program_.buffer(buffer).dtype, expr(kept), kPair), b_.getInt32Ty()));
  }
  turn_words(words, thread);
  Value* all = llvm::PoisonValue::get(widen(b_.getInt32Ty(), static_cast<int>(tiles)));
  for (std::size_t k = 0; k < words.size(); ++k)
    all = b_.CreateInsertElement(all, words[k], i64(static_cast<std::int64_t>(k)));
  b_.CreateAlignedStore(all, address(buffer, moved.linear), llvm::Align(static_cast<std::uint64_t>(tiles * kWord)));
  changed(buffer);
  return true;
}

/// Word k of the thread with the number q among its neighbours, of which there are as many as words, becomes word q of number k. A bit of
/// these numbers at a time: threads that differ in it exchange the words whose number has the other value of it.
void GpuEmitter::turn_words(std::vector<Value*>& words, const Expr& thread) {
  for (std::size_t bit = words.size() / 2; bit > 0; bit /= 2) {
    const auto mask = static_cast<std::int64_t>(bit);
    Value* const has_bit = emit(table_.keep(floormod(thread, 2 * mask) >= int_const(mask)));
    for (std::size_t k = 0; k < words.size(); ++k) {
      if ((k & bit) != 0) continue;
      Value *&without = words[k], *&with = words[k + bit];
      Value* const got = hooks_.exchange(b_, b_.CreateSelect(has_bit, without, with), static_cast<int>(mask));
      without = b_.CreateSelect(has_bit, got, without);
      with = b_.CreateSelect(has_bit, with, got);
    }
  }
}

/// An access is as wide as its place is known to be aligned; what lies apart, or has a mask of its own, is accessed one
/// by one.
void GpuEmitter::each_part(BufferId buffer, ExprRef index, int lanes, bool by_lane, Part part) {
  const ExprInfo& info = table_[index];
  const std::int64_t bytes = element_bytes(buffer);
  if (!info.is_linear) {
    Value* const indices = emit(index);
    llvm::Type* const element = memory_type(program_.buffer(buffer).dtype);
    for (int i = 0; i < lanes; ++i) {
      Value* const at = resize(lanes == 1 ? indices : b_.CreateExtractElement(indices, i64(i)), false);
      Value* const place =
          program_.buffer(buffer).swizzle == 0
              ? b_.CreateGEP(element, base_pointer(buffer), at)
              : b_.CreatePtrAdd(base_pointer(buffer),
                                swizzled(buffer, b_.CreateTrunc(b_.CreateMul(at, i64(bytes)), b_.getInt32Ty())));
      part(i, 1, place, bytes);
    }
    return;
  }
  const std::int64_t align = alignment(buffer, info.linear);
  const bool together = !by_lane && info.linear.lane_stride == 1;
  Linear at = info.linear;
  int width = 1;
  while (together && std::int64_t{width} * 2 * bytes <= std::min(align, kAccessBytes) && lanes % (width * 2) == 0)
    width *= 2;
  for (int first = 0; first < lanes; first += width) {
    // LLVM joins neighbouring loads as far as they are aligned, those of smaller elements by way of memory.
    part(first, width, address(buffer, at), bytes < 4 ? width * bytes : alignment(buffer, at));
    at.constant += width * info.linear.lane_stride;
  }
}

/// Of the first lane, in bytes: a power of two.
std::int64_t GpuEmitter::alignment(BufferId buffer, const Linear& index) {
  std::int64_t units = index.constant;
  for (const auto& [atom, coefficient] : index.terms) units = std::gcd(units, coefficient);
  const std::int64_t bytes = units * element_bytes(buffer);
  return bytes == 0 ? kAccessBytes : std::min(bytes & -bytes, kAccessBytes);
}

// ---- Addresses

GpuEmitter::Value* GpuEmitter::swizzled(BufferId buffer, Value* bytes) {
  const Buffer& of = program_.buffer(buffer);
  const Swizzle s{of.swizzle, of.row_bytes};
  const auto number = [&](std::int64_t value) { return b_.getInt32(static_cast<std::uint32_t>(value)); };
  Value* const row = b_.CreateAnd(b_.CreateLShr(bytes, number(s.shift())), number(s.parts() - 1));
  return b_.CreateSExt(b_.CreateXor(bytes, b_.CreateShl(row, number(4))), b_.getInt64Ty());
}

/// What moves by whole periods stays apart: it changes in loops, and the rest is where no loop changes it.
GpuEmitter::Value* GpuEmitter::swizzled_address(BufferId buffer, const Linear& index) {
  const Buffer& of = program_.buffer(buffer);
  const Swizzle s{of.swizzle, of.row_bytes};
  const std::int64_t bytes = element_bytes(buffer), constant = index.constant * bytes;
  const std::int64_t inside = constant & (s.period() - 1);
  Linear::Terms whole, rest;
  for (const auto& term : index.terms) (term.second * bytes % s.period() == 0 ? whole : rest).push_back(term);
  Value* const base = pointer(buffer, whole);
  if (rest.empty()) return b_.CreatePtrAdd(base, i64(constant - inside + s.place(inside)));
  const auto make = [&] {
    Value* const in_bytes =
        b_.CreateMul(b_.CreateTrunc(offset(rest), b_.getInt32Ty()), b_.getInt32(static_cast<std::uint32_t>(bytes)));
    return swizzled(buffer, b_.CreateAdd(in_bytes, b_.getInt32(static_cast<std::uint32_t>(inside))));
  };
  Value* place = nullptr;
  if (std::any_of(rest.begin(), rest.end(), [&](const auto& term) { return !table_[term.first].movable(); })) {
    place = make();
  } else {
    const std::size_t home = home_of(rest);
    const FragmentPlace key(static_cast<std::int32_t>(buffer.value), rest, inside);
    for (std::size_t d = depth_ + 1; d-- > home && place == nullptr;)
      if (const auto found = levels_[d]->swizzled.find(key); found != levels_[d]->swizzled.end()) place = found->second;
    if (place == nullptr) {
      const At at = before_loops(home);
      place = current().swizzled[key] = make();
    }
  }
  Value* const varying = b_.CreatePtrAdd(base, place);
  return constant == inside ? varying : b_.CreatePtrAdd(varying, i64(constant - inside));
}

GpuEmitter::Value* GpuEmitter::address(BufferId buffer, const Linear& index) {
  if (program_.buffer(buffer).swizzle > 0) return swizzled_address(buffer, index);
  Value* const varying = pointer(buffer, index.terms);
  return index.constant == 0 ? varying : b_.CreatePtrAdd(varying, i64(index.constant * element_bytes(buffer)));
}

/// base + Σ terms. What changes in inner loops alone is added to a pointer that is before them.
GpuEmitter::Value* GpuEmitter::pointer(BufferId buffer, const Linear::Terms& terms) {
  if (terms.empty()) return base_pointer(buffer);
  llvm::Type* const element = memory_type(program_.buffer(buffer).dtype);
  const auto make = [&](const auto& is_inner) {
    Linear::Terms outer, inner;
    for (const auto& term : terms) (is_inner(term.first) ? inner : outer).push_back(term);
    Value* const base = pointer(buffer, outer);
    return b_.CreateGEP(element, base, offset(inner));
  };
  const auto is_loaded = [&](ExprRef atom) { return !table_[atom].movable(); };
  if (std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return is_loaded(term.first); }))
    return make(is_loaded);
  const std::size_t home = home_of(terms);
  const auto key = std::make_pair(buffer.value, terms);
  for (std::size_t d = depth_ + 1; d-- > home;)
    if (const auto found = levels_[d]->pointers.find(key); found != levels_[d]->pointers.end()) return found->second;
  const At at = before_loops(home);
  return current().pointers[key] = make([&](ExprRef atom) { return home_of(table_[atom].vars) == home; });
}

/// Σ terms in elements, as an i64.
GpuEmitter::Value* GpuEmitter::offset(const Linear::Terms& terms) {
  const Interval range = analysis_.range(terms);
  bool narrow = in_32_bits(range);
  for (const auto& [atom, coefficient] : terms)
    narrow = narrow && is_narrow(atom) && in_32_bits(Interval::point(coefficient));
  Value* sum = nullptr;
  for (const auto& [atom, coefficient] : terms) {
    Value* value = resize(emit(atom), narrow);
    if (coefficient != 1) value = b_.CreateMul(value, llvm::ConstantInt::getSigned(value->getType(), coefficient));
    sum = sum == nullptr ? value : b_.CreateAdd(sum, value);
  }
  if (!narrow) return sum;
  return range.inside({0, {}}) ? b_.CreateZExt(sum, b_.getInt64Ty(), "", true) : b_.CreateSExt(sum, b_.getInt64Ty());
}

GpuEmitter::Value* GpuEmitter::base_pointer(BufferId id) {
  Value*& base = bases_[id.index()];
  if (base != nullptr) return base;
  const Buffer& buffer = program_.buffer(id);
  At at(*this, 0, &*function_->getEntryBlock().getFirstInsertionPt());
  const auto part = [&](Value* memory, std::int64_t bytes) {
    return bytes == 0 ? memory : b_.CreatePtrAdd(memory, i64(bytes));
  };
  switch (buffer.scope) {
    case Scope::argument:
      return base = hooks_.argument(b_, buffer.argument);
    case Scope::workspace:
      return base = part(hooks_.argument(b_, arguments_), workspace_offset_[id.index()]);
    case Scope::block:
      return base = part(hooks_.block_memory(b_), launch_->block_offset[id.index()]);
    default:
      break;
  }
  const auto elements = static_cast<std::uint64_t>(num_elements(buffer.extents));
  auto* const memory = b_.CreateAlloca(llvm::ArrayType::get(memory_type(buffer.dtype), elements));
  memory->setAlignment(llvm::Align(kAccessBytes));
  return base = memory;
}

}  // namespace whet
