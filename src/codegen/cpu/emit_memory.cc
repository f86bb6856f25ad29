#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <map>
#include <optional>

#include "artifact/kernel_args.h"
#include "codegen/cpu/emitter.h"

namespace whet {

// ---- Loads

Emitter::Value* Emitter::load(ExprRef ref, const ExprInfo& info, const Load& n) {
  const BufferId buffer(n.source.value);
  const ExprInfo& index = table_[info.children[0]];
  if (program_.buffer(buffer).scope == Scope::registers && analysis_.in_slots(buffer))
    return load_slot(analysis_.place(buffer, index.linear, info.expr->lanes), info.expr->dtype, info.expr->lanes);
  if (Value* lane = lane_of_quad(ref)) return lane;
  Value* own_mask = n.mask.defined() ? emit(info.children[1]) : nullptr;
  Value* mask = effective_mask(own_mask, info.expr->lanes);
  const std::int64_t version = versions_[buffer.index()];
  const bool same_mask = mask == nullptr || (mask == own_mask && table_[info.children[1]].movable());
  const bool reusable = same_mask && index.movable();
  // A value that was loaded long ago would be kept in a register that accumulators need: it is loaded again.
  const std::int64_t reach = target_.cpu().vector_registers / 4;
  copy_ = 0;
  for (std::size_t d = depth_ + 1; reusable && d-- > 0;) {
    const auto found = levels_[d]->loads.find(ref);
    if (found == levels_[d]->loads.end() || found->second.version != version) continue;
    if (loads_ - found->second.last_use <= reach) {
      found->second.last_use = loads_;
      return found->second.value;
    }
    copy_ = found->second.copy + 1;
    break;
  }
  ++loads_;
  const int copy = copy_;
  Value* value = load_memory(info, n, index.is_linear ? &index.linear : nullptr, mask);
  value = from_memory(value, info.expr->dtype, info.expr->lanes);
  if (own_mask != nullptr && info.expr->lanes == 1)
    value = b_.CreateSelect(own_mask, value, llvm::Constant::getNullValue(value->getType()));
  if (reusable) current().loads[ref] = {value, version, loads_, copy};
  return value;
}

Emitter::Value* Emitter::lane_of_quad(ExprRef load) {
  const auto found = quads_.lanes.find(load);
  // Before a loop around the run, and under a condition, a scalar is loaded alone.
  if (found == quads_.lanes.end() || depth_ != quad_depth_ || guard_ != nullptr || lane_mask_ != nullptr)
    return nullptr;
  const Quad& quad = quads_.all[found->second.quad];
  Value*& value = quad_values_[found->second.quad];
  copy_ = 0;
  if (value == nullptr) value = load_contiguous(quad.buffer, address(quad.buffer, quad.first), 4, nullptr);
  return b_.CreateExtractElement(value, i64(found->second.lane));
}

Emitter::Value* Emitter::load_slot(SlotPlace place, DType dtype, int lanes) {
  const Slot& slot = analysis_.slots()[place.slot];
  Value* whole = slots_[place.slot];
  if (whole == nullptr) return llvm::PoisonValue::get(value_type(dtype, lanes));
  return lanes_at(place, slot, whole, lanes);
}

Emitter::Value* Emitter::load_memory(const ExprInfo& info, const Load& n, const Linear* index, Value* mask) {
  const BufferId buffer(n.source.value);
  const int lanes = info.expr->lanes;
  if (index == nullptr) {
    if (Value* found = load_from_table(buffer, info.children[0], lanes)) return found;
    Value* permuted = mask == nullptr ? load_permuted(buffer, info.children[0], lanes) : nullptr;
    return permuted != nullptr ? permuted : load_gather(buffer, info.children[0], lanes, mask);
  }
  Value* at = address(buffer, *index);
  if (lanes == 1) return load_one(buffer, at, mask);
  if (index->lane_stride == 1) return load_contiguous(buffer, at, lanes, mask);
  if (mask != nullptr) return load_gather(buffer, info.children[0], lanes, mask);
  if (index->lane_stride == 0) return splat(load_one(buffer, at, nullptr), lanes);
  if (index->lane_stride == 2 || (index->lane_stride > 2 && permutes(buffer, index->lane_stride, lanes)))
    return load_every(buffer, at, static_cast<int>(index->lane_stride), lanes);
  return load_lanes(buffer, at, index->lane_stride, lanes);
}

Emitter::Value* Emitter::load_contiguous(BufferId buffer, Value* pointer, int lanes, Value* mask) {
  llvm::Type* type = memory_type(program_.buffer(buffer).dtype, lanes);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(buffer)));
  if (mask == nullptr) return mark(b_.CreateAlignedLoad(type, pointer, align), buffer);
  return b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type));
}

namespace {

/// An index as the same scalar for all lanes and what each lane adds to it.
struct Lanes {
  std::vector<ExprRef> scalars;
  std::vector<std::int64_t> offsets;
};

/// The lanes of a vector without variables.
std::optional<std::vector<std::int64_t>> constant_lanes(const Expr& e) {
  const auto lanes = static_cast<std::size_t>(e->lanes);
  std::vector<std::int64_t> values(lanes);
  if (const Broadcast* same = std::get_if<Broadcast>(&e->kind)) {
    const std::int64_t* value = as_int(same->a);
    if (value == nullptr) return std::nullopt;
    std::fill(values.begin(), values.end(), *value);
    return values;
  }
  if (const Ramp* ramp = std::get_if<Ramp>(&e->kind)) {
    const std::int64_t* base = as_int(ramp->base);
    if (base == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < lanes; ++i) values[i] = *base + static_cast<std::int64_t>(i) * ramp->stride;
    return values;
  }
  const Binary* binary = std::get_if<Binary>(&e->kind);
  const bool known = binary != nullptr && (binary->op == BinaryOp::mul || binary->op == BinaryOp::floordiv ||
                                           binary->op == BinaryOp::floormod);
  if (!known) return std::nullopt;
  const auto a = constant_lanes(binary->a), b = constant_lanes(binary->b);
  if (!a || !b) return std::nullopt;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (binary->op != BinaryOp::mul && (*b)[i] <= 0) return std::nullopt;
    const std::int64_t rest = binary->op == BinaryOp::mul ? 0 : floor_mod((*a)[i], (*b)[i]);
    values[i] = binary->op == BinaryOp::mul        ? (*a)[i] * (*b)[i]
                : binary->op == BinaryOp::floormod ? rest
                                                   : ((*a)[i] - rest) / (*b)[i];
  }
  return values;
}

/// Adds the summands of `index` to `found`; false where one is neither the same in all lanes nor constant.
bool split_lanes(const ExprTable& table, ExprRef index, Lanes& found) {
  const ExprInfo& info = table[index];
  if (const Binary* sum = std::get_if<Binary>(&info.expr->kind); sum != nullptr && sum->op == BinaryOp::add)
    return split_lanes(table, info.children[0], found) && split_lanes(table, info.children[1], found);
  if (const auto values = constant_lanes(info.expr)) {
    for (std::size_t i = 0; i < values->size(); ++i) found.offsets[i] += (*values)[i];
    return true;
  }
  if (!std::holds_alternative<Broadcast>(info.expr->kind) || !table[info.children[0]].is_linear) return false;
  found.scalars.push_back(info.children[0]);
  return true;
}

}  // namespace

Emitter::Value* Emitter::load_permuted(BufferId buffer, ExprRef index, int lanes) {
  Lanes parts{{}, std::vector<std::int64_t>(static_cast<std::size_t>(lanes), 0)};
  if (!split_lanes(table_, index, parts)) return nullptr;
  const auto [least, most] = std::minmax_element(parts.offsets.begin(), parts.offsets.end());
  const std::int64_t first = *least, span = *most - first + 1;
  if (span > lanes) return nullptr;
  std::map<ExprRef, std::int64_t> terms;
  Linear linear;
  linear.constant = first;
  for (ExprRef scalar : parts.scalars) {
    const Linear& summand = table_[scalar].linear;
    linear.constant += summand.constant;
    for (const auto& [atom, coefficient] : summand.terms) terms[atom] += coefficient;
  }
  for (const auto& [atom, coefficient] : terms)
    if (coefficient != 0) linear.terms.emplace_back(atom, coefficient);
  // All of the vector that they lie in is read where buffer and index consist of such; else what lies behind the last of
  // them may lie behind the buffer too.
  const std::int64_t within = floor_mod(linear.constant, lanes);
  const std::int64_t elements = num_elements(program_.buffer(buffer).extents);
  const bool whole =
      within + span <= lanes && elements % lanes == 0 &&
      std::all_of(linear.terms.begin(), linear.terms.end(), [&](const auto& term) { return term.second % lanes == 0; });
  if (whole) linear.constant -= within;
  std::vector<llvm::Constant*> read;
  std::vector<int> from;
  for (int i = 0; i < lanes; ++i) {
    read.push_back(b_.getInt1(i < span));
    from.push_back(static_cast<int>(parts.offsets[static_cast<std::size_t>(i)] - first + (whole ? within : 0)));
  }
  Value* mask = whole || span == lanes ? nullptr : llvm::ConstantVector::get(read);
  return b_.CreateShuffleVector(load_contiguous(buffer, address(buffer, linear), lanes, mask), from);
}

/// Every index lies in the table, so that masked lanes may read as well.
Emitter::Value* Emitter::load_from_table(BufferId buffer, ExprRef index, int lanes) {
  constexpr std::int64_t kTable = 256;
  const std::int64_t elements = num_elements(program_.buffer(buffer).extents);
  if (lanes == 1 || element_bytes(buffer) != 1 || elements != kTable || !is_fixed(buffer)) return nullptr;
  Expr bytes = table_[index].expr;
  for (const Cast* cast = std::get_if<Cast>(&bytes->kind); cast && bytes->dtype != DType::u8;
       cast = std::get_if<Cast>(&bytes->kind))
    bytes = cast->a;
  if (bytes->dtype != DType::u8 || bytes->lanes != lanes) return nullptr;
  Value* const at = emit(table_.intern(bytes));
  if (architecture_.look_up != nullptr)
    if (Value* found = architecture_.look_up(b_, features_, base_pointer(buffer), at)) return found;
  Value* vector = llvm::PoisonValue::get(memory_type(program_.buffer(buffer).dtype, lanes));
  for (int i = 0; i < lanes; ++i) {
    Value* const place = b_.CreateZExt(b_.CreateExtractElement(at, i64(i)), b_.getInt64Ty());
    vector =
        b_.CreateInsertElement(vector, load_one(buffer, b_.CreatePtrAdd(base_pointer(buffer), place), nullptr), i64(i));
  }
  return vector;
}

/// One instruction puts any lanes of two vectors anywhere, and masked stores are cheap: elements a few apart are better
/// moved by whole vectors.
bool Emitter::permutes(BufferId buffer, std::int64_t stride, int lanes) const {
  return target_.cpu().vector_bytes >= 64 && element_bytes(buffer) >= 4 && lanes >= 4 && stride >= 2 && stride <= 4;
}

/// Elements 0, s, 2s, ... by s loads that together end with the last of them.
Emitter::Value* Emitter::load_every(BufferId buffer, Value* pointer, int stride, int lanes) {
  Value* picked = load_contiguous(buffer, pointer, lanes, nullptr);
  for (int k = 1; k < stride; ++k) {
    const int start = k + 1 < stride ? k * lanes : (stride - 1) * (lanes - 1);
    Value* part = load_contiguous(buffer, b_.CreatePtrAdd(pointer, i64(start * element_bytes(buffer))), lanes, nullptr);
    std::vector<int> from(static_cast<std::size_t>(lanes), -1);
    for (int i = 0; i < lanes; ++i) {
      const int at = i * stride;
      if (at < k * lanes)
        from[i] = k == 1 ? at : i;
      else if (at < start + lanes)
        from[i] = lanes + at - start;
    }
    picked = b_.CreateShuffleVector(picked, part, from);
  }
  return picked;
}

Emitter::Value* Emitter::load_lanes(BufferId buffer, Value* pointer, std::int64_t stride, int lanes) {
  Value* vector = llvm::PoisonValue::get(memory_type(program_.buffer(buffer).dtype, lanes));
  for (int i = 0; i < lanes; ++i) {
    Value* at = b_.CreatePtrAdd(pointer, i64(i * stride * element_bytes(buffer)));
    vector = b_.CreateInsertElement(vector, load_one(buffer, at, nullptr), i64(i));
  }
  return vector;
}

/// One element. Where `mask` is false nothing may be read at `pointer`; the buffer's beginning is read instead.
Emitter::Value* Emitter::load_one(BufferId buffer, Value* pointer, Value* mask) {
  llvm::Type* type = memory_type(program_.buffer(buffer).dtype);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(buffer)));
  if (mask != nullptr) {
    if (mask->getType()->isVectorTy()) mask = b_.CreateOrReduce(mask);
    pointer = b_.CreateSelect(mask, pointer, base_pointer(buffer));
  }
  return mark(b_.CreateAlignedLoad(type, pointer, align), buffer);
}

Emitter::Value* Emitter::load_gather(BufferId buffer, ExprRef index, int lanes, Value* mask) {
  llvm::Type* type = memory_type(program_.buffer(buffer).dtype, lanes);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(buffer)));
  llvm::Type* element = memory_type(program_.buffer(buffer).dtype);
  Value* pointers = b_.CreateGEP(element, base_pointer(buffer), emit(index));
  if (lanes == 1) return load_one(buffer, pointers, mask);
  return b_.CreateMaskedGather(type, pointers, align, mask, llvm::Constant::getNullValue(type));
}

Emitter::Value* Emitter::effective_mask(Value* own, int lanes) {
  Value* mask = own;
  auto both = [&](Value* other) { mask = mask == nullptr ? other : b_.CreateAnd(mask, other); };
  const bool wide = lanes > 1;
  if (lane_mask_ != nullptr) both(wide ? lane_mask_ : b_.CreateOrReduce(lane_mask_));
  if (guard_ != nullptr) both(wide ? splat(guard_, lanes) : guard_);
  return mask;
}

// ---- Stores

void Emitter::store_memory(const Store& n, ExprRef index, Value* value, Value* mask, int lanes) {
  const Buffer& buffer = program_.buffer(n.buffer);
  value = to_memory(value, buffer.dtype, lanes);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(n.buffer)));
  const ExprInfo& info = table_[index];
  if (lanes > 1 && mask != nullptr && !mask->getType()->isVectorTy()) mask = splat(mask, lanes);
  if (lanes == 1 || (info.is_linear && info.linear.lane_stride == 1)) {
    Value* at = info.is_linear ? address(n.buffer, info.linear)
                               : b_.CreateGEP(memory_type(buffer.dtype), base_pointer(n.buffer), emit(index));
    if (mask == nullptr) {
      b_.CreateAlignedStore(value, at, align);
    } else if (lanes > 1) {
      b_.CreateMaskedStore(value, at, align, mask);
    } else {
      branch(mask, [&] { b_.CreateAlignedStore(value, at, align); }, [] {});
    }
    return;
  }
  if (mask == nullptr && info.is_linear) {
    if (permutes(n.buffer, info.linear.lane_stride, lanes)) return store_every(n.buffer, info.linear, value, lanes);
    Value* first = address(n.buffer, info.linear);
    for (int i = 0; i < lanes; ++i) {
      Value* at = b_.CreatePtrAdd(first, i64(i * info.linear.lane_stride * element_bytes(n.buffer)));
      b_.CreateAlignedStore(b_.CreateExtractElement(value, i64(i)), at, align);
    }
    return;
  }
  Value* pointers = b_.CreateGEP(memory_type(buffer.dtype), base_pointer(n.buffer), emit(index));
  b_.CreateMaskedScatter(value, pointers, align, mask);
}

/// Elements s apart by s masked stores. Those of neighbours (channels of the same pixels) go to the same places, so
/// that all of them lie in whole cache lines if one does.
void Emitter::store_every(BufferId buffer, const Linear& index, Value* value, int lanes) {
  const int stride = static_cast<int>(index.lane_stride);
  const int shift = static_cast<int>(floor_mod(index.constant, stride));
  Linear start = index;
  start.constant -= shift;
  Value* const first = address(buffer, start);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(buffer)));
  for (int k = 0; k < stride; ++k) {
    std::vector<int> from(static_cast<std::size_t>(lanes), -1);
    std::vector<llvm::Constant*> taken;
    for (int i = 0; i < lanes; ++i) {
      const int at = k * lanes + i - shift;
      const bool stored = at >= 0 && at % stride == 0;
      if (stored) from[i] = at / stride;
      taken.push_back(b_.getInt1(stored));
    }
    Value* at = b_.CreatePtrAdd(first, i64(std::int64_t{k} * lanes * element_bytes(buffer)));
    b_.CreateMaskedStore(b_.CreateShuffleVector(value, from), at, align, llvm::ConstantVector::get(taken));
  }
}

/// Into the nearest cache, for reading.
void Emitter::prefetch(const Prefetch& n) {
  const Frame frame(*this);
  Value* at = address(n.buffer, table_[table_.intern(n.index[0])].linear);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {at, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
}

// ---- Addresses

/// Distances that no load reaches are parts of the pointer, outside all loops.
Emitter::Value* Emitter::address(BufferId buffer, const Linear& index) {
  const std::int64_t bytes = index.constant * element_bytes(buffer), reach = architecture_.address_reach;
  const bool near = reach == 0 || (bytes >= -256 && bytes < reach);
  const std::int64_t far = near ? 0 : bytes - floor_mod(bytes, reach);
  Value* varying = pointer({buffer, index.terms, far});
  return bytes == far ? varying : b_.CreatePtrAdd(varying, i64(bytes - far));
}

/// base + far + Σ terms, made level by level from the outside, so that each level adds only what varies in it.
Emitter::Value* Emitter::pointer(const PointerKey& key) {
  const auto& [buffer, terms, far] = key;
  if (terms.empty() && far == 0) return base_pointer(buffer);
  const auto is_movable = [&](const auto& term) { return table_[term.first].movable(); };
  if (!std::all_of(terms.begin(), terms.end(), is_movable)) {
    Linear::Terms known, loaded;
    for (const auto& term : terms) (is_movable(term) ? known : loaded).push_back(term);
    Value* base = pointer({buffer, known, far});
    return b_.CreatePtrAdd(base, add_terms(nullptr, loaded, element_bytes(buffer)));
  }
  const std::size_t home = home_of(terms);
  auto& pointers = levels_[home]->pointers;
  if (const auto found = pointers.find(key); found != pointers.end()) return found->second;
  Value* made = bumped_pointer(key, home);
  return pointers[key] = made;
}

Emitter::Value* Emitter::bumped_pointer(const PointerKey& key, std::size_t home) {
  Level& level = *levels_[home];
  const auto& [buffer, terms, far] = key;
  if (terms.empty()) {
    Value* base = base_pointer(buffer);
    const At at = at_start_of(home);
    return b_.CreatePtrAdd(base, i64(far));
  }
  Linear::Terms outer, here;
  std::int64_t step = 0;  // bytes an iteration of this level's loop
  for (const auto& term : terms) {
    const ExprInfo& info = table_[term.first];
    const auto* var = std::get_if<Var>(&info.expr->kind);
    if (level.preheader != nullptr && var != nullptr && var->id == level.loop_var) {
      step = term.second * element_bytes(buffer);
    } else {
      (home_of(info.vars) == home ? here : outer).push_back(term);
    }
  }
  Value* base = pointer({buffer, outer, far});
  if (step != 0) {
    llvm::PHINode* phi;
    {
      const At at(*this, home, level.preheader->getTerminator());
      base = b_.CreatePtrAdd(base, b_.CreateMul(level.loop_min, i64(step)));
      b_.SetInsertPoint(level.marker->getParent(), level.marker->getParent()->begin());
      phi = b_.CreatePHI(b_.getPtrTy(), 2);
    }
    phi->addIncoming(base, level.preheader);
    level.bumped.emplace_back(phi, step);
    base = phi;
  }
  if (here.empty()) return base;
  const At at = at_start_of(home);
  return b_.CreatePtrAdd(base, add_terms(nullptr, here, element_bytes(buffer)));
}

Emitter::Value* Emitter::base_pointer(BufferId id) {
  const Buffer& buffer = program_.buffer(id);
  if (buffer.scope == Scope::registers) return allocate(id);
  const PointerKey key = {id, {}, 0};
  Level& function = *levels_.front();
  if (const auto found = function.pointers.find(key); found != function.pointers.end()) return found->second;
  const At at = at_start_of(0);
  auto load = [&](Value* base, std::size_t offset) {
    auto* pointer = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
    pointer->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return pointer;
  };
  Value* base;
  if (buffer.scope == Scope::argument) {
    Value* buffers = load(args_, offsetof(whet_kernel_args, buffers));
    base = load(buffers, static_cast<std::size_t>(buffer.argument) * sizeof(void*));
  } else {
    base = load(args_, buffer.scope == Scope::local ? offsetof(whet_kernel_args, worker_workspace)
                                                    : offsetof(whet_kernel_args, workspace));
    base = b_.CreatePtrAdd(base, i64(workspace_offset_[id.index()]));
  }
  return function.pointers[key] = base;
}

Emitter::Value* Emitter::allocate(BufferId id) {
  Value*& memory = allocas_[id.index()];
  if (memory != nullptr) return memory;
  const Buffer& buffer = program_.buffer(id);
  const At at(*this, 0, &*function_->getEntryBlock().begin());
  auto* stack = b_.CreateAlloca(memory_type(buffer.dtype), i64(num_elements(buffer.extents)));
  stack->setAlignment(llvm::Align(64));
  return memory = stack;
}

// ---- Elements in memory

/// Tells the scheduler that nothing in the kernel changes this memory, so that no store holds the load back.
/// Instruction selection makes one load of equal ones in a block; where we loaded vectors again on purpose, other flags
/// keep the copies apart (an unaligned load ignores `nontemporal` otherwise; not every type may carry it).
llvm::Instruction* Emitter::mark(llvm::Instruction* load, BufferId id) {
  const bool floats = load->getType()->isVectorTy() && load->getType()->isFPOrFPVectorTy();
  if (floats && (copy_ & 1) != 0) {
    auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
    load->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, {one}));
  }
  if (is_fixed(id) && (!floats || (copy_ & 2) == 0))
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

}  // namespace whet
