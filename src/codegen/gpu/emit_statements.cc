#include <algorithm>

#include "codegen/gpu/emitter.h"

namespace whet {

GpuEmitter::GpuEmitter(const Program& program, GpuAnalysis& analysis, GpuHooks& hooks, llvm::Module& module)
    : StructuredEmitter(program, analysis.table(), module.getContext(), {.f16 = hooks.has_half()}),
      analysis_(analysis),
      hooks_(hooks),
      module_(module),
      workspace_offset_(program.buffers.size(), 0) {
  for (const Buffer& buffer : program.buffers)
    if (buffer.scope == Scope::argument) arguments_ = std::max(arguments_, buffer.argument + 1);
}

Status GpuEmitter::emit_launches(const std::vector<std::string>& entries) {
  lay_out_workspace();
  for (std::size_t i = 0; i < entries.size(); ++i) launch(analysis_.launches()[i], entries[i]);
  if (error_) return *error_;
  return ok_status();
}

void GpuEmitter::fail(const std::string& message) {
  if (!error_) error_ = Error{message, ErrorKind::unsupported}.at("program `" + program_.name + "`");
}

void GpuEmitter::lay_out_workspace() {
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.scope != Scope::workspace) continue;
    workspace_offset_[b] = workspace_;
    const std::int64_t bytes = num_elements(buffer.extents) * size_of(buffer.dtype);
    workspace_ += (bytes + kArgumentAlign - 1) / kArgumentAlign * kArgumentAlign;
  }
}

void GpuEmitter::launch(const GpuLaunch& launch, const std::string& entry) {
  launch_ = &launch;
  function_ = hooks_.begin(b_, module_,
                           {entry, launch.nest.grid, launch.nest.size, arguments_, launch.nest.blocks->min_blocks});
  levels_.clear();
  push_level();
  bindings_.clear();
  bases_.assign(program_.buffers.size(), nullptr);
  versions_.assign(program_.buffers.size(), ++last_version_);
  slots_.clear();
  expected_.clear(), branches_ = 0;
  for (const Slot& slot : analysis_.slots().all()) slots_.push_back(b_.CreateAlloca(slot_type(slot), b_.getInt32(1)));
  bind(launch.nest.blocks->index, hooks_.block(b_));
  bind(launch.nest.threads->index, hooks_.thread(b_));
  stmt(launch.nest.body);
  hooks_.end(b_);
  check_function();
}

// ---- What memory holds

void GpuEmitter::changed_by(const Stmt& s) {
  bool meets = false;
  for_each(
      s,
      [&](const Stmt& part) {
        if (const auto* store = std::get_if<Store>(&part->kind)) changed(store->buffer);
        meets = meets || std::holds_alternative<Barrier>(part->kind) || std::holds_alternative<CopyGroup>(part->kind);
      },
      nullptr);
  if (meets) forget_shared();  // other threads, or copies that land
}

// ---- Statements

void GpuEmitter::stmt(const Stmt& s) {
  if (!s.defined()) return;
  std::visit(Match{
                 [&](const Loop& n) {
                   changed_by(n.body);
                   loop(n);
                   changed_by(n.body);
                 },
                 [&](const Let& n) { let(n); },
                 [&](const Store& n) { store(n); },
                 [&](const If& n) {
                   if_stmt(n);
                   changed_by(s);
                 },
                 [&](const Block& n) {
                   expect_tiles(n);
                   for (std::size_t i = 0; i < n.body.size();) {
                     const std::size_t together = store_together(std::span(n.body).subspan(i));
                     if (together == 0) stmt(n.body[i]);
                     i += std::max<std::size_t>(1, together);
                   }
                 },
                 [&](const Barrier&) {
                   hooks_.barrier(b_);
                   forget_shared();
                 },
                 [&](const CopyGroup& n) {
                   if (n.kind == CopyGroup::Kind::commit) return hooks_.commit(b_);
                   hooks_.wait(b_, n.pending);
                   forget_shared();
                 },
                 [&](const Prefetch& n) {
                   const Frame frame(*this);
                   const ExprInfo& index = table_[table_.intern(n.index[0])];
                   const Scope scope = program_.buffer(n.buffer).scope;
                   if (index.is_linear && (scope == Scope::argument || scope == Scope::workspace))
                     hooks_.prefetch(b_, address(n.buffer, index.linear));
                 },
             },
             s->kind);
}

void GpuEmitter::let(const Let& n) {
  if (!table_.is_alias(n.var)) bind(n.var, expr_alone(n.value));
  stmt(n.body);
}

void GpuEmitter::if_stmt(const If& n) {
  Value* const condition = expr_alone(n.condition);
  llvm::BasicBlock* const then_block = make_block("then");
  llvm::BasicBlock* const else_block = n.else_body.defined() ? make_block("else") : nullptr;
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(condition, then_block, else_block != nullptr ? else_block : join);
  const auto side = [&](llvm::BasicBlock* start, const Stmt& body) {
    b_.SetInsertPoint(start);
    push_level();
    ++branches_;
    stmt(body);
    --branches_;
    pop_level();
    b_.CreateBr(join);
  };
  side(then_block, n.then_body);
  if (else_block != nullptr) side(else_block, n.else_body);
  b_.SetInsertPoint(join);
}

void GpuEmitter::when(Value* condition, llvm::function_ref<void()> body) {
  if (condition == nullptr) return body();
  llvm::BasicBlock* const then_block = make_block("then");
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(condition, then_block, join);
  b_.SetInsertPoint(then_block);
  body();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

void GpuEmitter::loop(const Loop& n) {
  if (const std::optional<WarpTile> found = warp_tile(n)) return tile(*found);
  if (const std::optional<ThreadDot> found = thread_dot(n); found && dot(*found)) return;
  if (table_.is_alias(n.index)) return stmt(n.body);
  auto [min, extent] = range_of(n);
  const Interval first = analysis_.range(table_.intern(n.min)), count = analysis_.range(table_.intern(n.extent));
  if (count.inside({{}, 0})) return;
  const Interval counter = {first.min, plus(first.max, looser_upper(count.max, 0))};
  const bool narrow = in_32_bits(first) && in_32_bits(count) && in_32_bits(counter);
  min = resize(min, narrow);
  Value* const end = b_.CreateAdd(min, resize(extent, narrow));
  const bool is_same = as_int(n.min) != nullptr && as_int(n.extent) != nullptr;  // for all threads
  branches_ += is_same ? 0 : 1;
  if (count.inside({1, {}})) {
    do_while(n, min, end);
    branches_ -= is_same ? 0 : 1;
    return;
  }
  llvm::BasicBlock* const body = make_block("some");
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(b_.CreateICmpSLT(min, end), body, join);
  b_.SetInsertPoint(body);
  push_level();
  do_while(n, min, end);
  pop_level();
  branches_ -= is_same ? 0 : 1;
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

/// The counter also takes the value `end`, which the index in the body never has: it may be wider.
void GpuEmitter::do_while(const Loop& n, Value* min, Value* end) {
  llvm::BasicBlock* const preheader = make_block("preheader");
  llvm::BasicBlock* const header = make_block("loop");
  llvm::BasicBlock* const exit = make_block("exit");
  b_.CreateBr(preheader);
  b_.SetInsertPoint(preheader);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* const index = b_.CreatePHI(min->getType(), 2);
  index->addIncoming(min, preheader);
  push_level().preheader = preheader;
  current().iterations = iterations_of_tiles(n);
  bind(n.index, resize(index, is_narrow(table_.keep(var(n.index, n.name)))));
  const std::optional<StepLoop> slab = step_loop(n.body);
  const KeptOperands kept = slab && slab->ahead ? make_kept(slab->steps.back()) : KeptOperands();
  if (slab)
    steps(*slab, kept, b_.CreateICmpNE(index, min));
  else
    stmt(n.body);
  pop_level();
  Value* const next = b_.CreateAdd(index, llvm::ConstantInt::get(index->getType(), 1));
  index->addIncoming(next, b_.GetInsertBlock());
  hooks_.keep_loop(b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit));
  b_.SetInsertPoint(exit);
  if (slab && slab->ahead) multiply_step(slab->steps.back(), kept_operands(kept));
}

// ---- Stores

void GpuEmitter::store(const Store& n) {
  const Frame frame(*this);
  if (n.async && copy(n)) return changed(n.buffer);
  const ExprRef index = table_.intern(n.index[0]);
  if (analysis_.slots().holds(n.buffer) && n.index[0]->lanes == n.value->lanes) {
    const SlotPlace place = analysis_.slots().place(n.buffer, table_[index].linear, n.value->lanes);
    const bool packed = is_packed(analysis_.slots().all()[static_cast<std::size_t>(place.slot)]);
    if (Value* const bits = packed ? moved_bits(n) : nullptr) return store_bits(place, bits, nullptr);
  }
  Value* mask = n.mask.defined() ? expr(n.mask) : nullptr;
  if (mask != nullptr && splatted(mask) != nullptr) mask = splatted(mask);
  // What no lane stores is not read either: only the stored lanes' loads are known to be legal. What another thread takes
  // is computed in any case.
  const bool guarded = mask != nullptr && n.cross == 0;
  // What is stored in memory in 16 bits is rounded there.
  const Cast* rounded =
      n.cross == 0 && !analysis_.slots().holds(n.buffer) ? std::get_if<Cast>(&n.value->kind) : nullptr;
  const Expr& kept = rounded && is_half(n.value->dtype) && rounded->a->dtype == DType::f32 ? rounded->a : n.value;
  Value* value = guarded ? guarded_side(table_.intern(kept), mask, false) : expr(kept);
  if (n.value->dtype == DType::i64) value = resize(value, false);
  if (n.cross != 0) value = exchanged(value, n.cross, n.value->lanes);
  const Stored lanes = stored(n, table_[index], value);
  if (analysis_.slots().holds(n.buffer))
    return store_slot(analysis_.slots().place(n.buffer, table_[index].linear, lanes.lanes), lanes.value, mask);
  store_memory(n.buffer, index, lanes.value, mask, lanes.lanes);
  changed(n.buffer);
}

void GpuEmitter::store_slot(SlotPlace place, Value* value, Value* mask) {
  const Slot& slot = analysis_.slots().all()[static_cast<std::size_t>(place.slot)];
  store_bits(place, is_packed(slot) ? to_memory(value, slot.dtype, place.lanes) : value, mask);
}

void GpuEmitter::store_bits(SlotPlace place, Value* value, Value* mask) {
  const Slot& slot = analysis_.slots().all()[static_cast<std::size_t>(place.slot)];
  Value* const memory = slots_[static_cast<std::size_t>(place.slot)];
  const bool is_part = place.lanes != slot.lanes;
  Value* const whole = is_part || mask != nullptr ? b_.CreateLoad(slot_type(slot), memory) : nullptr;
  if (mask != nullptr) value = b_.CreateSelect(mask, value, part_of(whole, place.first, place.lanes));
  b_.CreateStore(is_part ? join(whole, value, place.first, place.lanes, slot.lanes) : value, memory);
}

/// buffer[index] = load, or load where a condition holds, else 0. False for smaller elements of which nothing is known to lie at
/// a multiple of four bytes: they are stored like anything else, which is a copy that has landed at once.
bool GpuEmitter::copy(const Store& n) {
  const auto refuse = [&](const std::string& why) {
    fail("the asynchronous copy to `" + program_.buffer(n.buffer).name + "` " + why);
    return true;
  };
  Expr value = n.value;
  Expr condition;
  if (const auto* choice = std::get_if<Select>(&value->kind)) {
    if (!is_zero(choice->if_false)) return refuse("stores another value than zero where nothing is read");
    condition = choice->condition, value = choice->if_true;
  }
  const auto* from = std::get_if<Load>(&value->kind);
  const Scope scope = from == nullptr ? Scope::local : program_.buffer(BufferId(from->source.value)).scope;
  if (scope != Scope::argument && scope != Scope::workspace)
    return refuse("stores something else than one load of an argument or of the workspace");
  const BufferId source(from->source.value);
  const int lanes = value->lanes;
  const std::int64_t bytes = element_bytes(n.buffer);
  const ExprRef to = table_.intern(n.index[0]), read = table_.intern(from->index[0]);
  if (program_.buffer(source).dtype != program_.buffer(n.buffer).dtype || n.cross != 0)
    return refuse("changes the value");
  if (!table_[to].is_linear || !table_[read].is_linear) return refuse("has lanes that are not evenly spaced");
  const auto bits = [&](const Expr& e) -> Value* {
    if (!e.defined()) return nullptr;
    Value* const mask = expr(e);
    return splatted(mask) != nullptr ? splatted(mask) : mask;
  };
  Value *const stored = bits(n.mask), *valid = bits(condition);
  valid = both(valid, bits(from->mask), lanes);
  // As wide as both sides are aligned.
  const Linear &here = table_[to].linear, &there = table_[read].linear;
  const bool differ =
      (stored != nullptr && stored->getType()->isVectorTy()) || (valid != nullptr && valid->getType()->isVectorTy());
  const bool together = !differ && here.lane_stride == 1 && there.lane_stride == 1;
  const std::int64_t align = std::min(alignment(n.buffer, here), alignment(source, there));
  int width = 1;
  while (together && std::int64_t{width} * 2 * bytes <= align && lanes % (width * 2) == 0) width *= 2;
  if (width * bytes < 4) return false;
  Linear target = here, origin = there;
  for (int first = 0; first < lanes; first += width) {
    Value *const to_pointer = address(n.buffer, target), *const from_pointer = address(source, origin);
    Value* const is_valid = mask_of(valid, first, 1);  // where it is not, nothing is read: the address may be any
    when(mask_of(stored, first, 1),
         [&] { hooks_.copy(b_, to_pointer, from_pointer, static_cast<int>(width * bytes), is_valid); });
    target.constant += width * here.lane_stride, origin.constant += width * there.lane_stride;
  }
  return true;
}

/// Words of 32 bits are exchanged; wider values are two.
GpuEmitter::Value* GpuEmitter::exchanged(Value* value, int mask, int lanes) {
  return by_lane(value, lanes, [&](Value* lane) -> Value* {
    llvm::Type* const type = lane->getType();
    const unsigned size = type->getPrimitiveSizeInBits();
    llvm::Type* const bits = b_.getIntNTy(size);
    Value* const whole = b_.CreateBitCast(lane, bits);
    if (size <= 32) {
      Value* const word = hooks_.exchange(b_, b_.CreateZExt(whole, b_.getInt32Ty()), mask);
      return b_.CreateBitCast(b_.CreateTrunc(word, bits), type);
    }
    Value* const low = hooks_.exchange(b_, b_.CreateTrunc(whole, b_.getInt32Ty()), mask);
    Value* const high = hooks_.exchange(b_, b_.CreateTrunc(b_.CreateLShr(whole, 32), b_.getInt32Ty()), mask);
    Value* const upper = b_.CreateShl(b_.CreateZExt(high, bits), 32);  // compilers order arguments as they like
    Value* const joined = b_.CreateOr(b_.CreateZExt(low, bits), upper);
    return b_.CreateBitCast(joined, type);
  });
}

}  // namespace whet
