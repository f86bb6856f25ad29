#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "codegen/gpu/emitter.h"

namespace whet {

GpuEmitter::GpuEmitter(const Program& program, GpuAnalysis& analysis, GpuHooks& hooks, llvm::Module& module)
    : ValueEmitter(module.getContext(), hooks.has_half()),
      program_(program),
      analysis_(analysis),
      table_(analysis.table()),
      hooks_(hooks),
      module_(module),
      workspace_offset_(program.buffers.size(), 0) {
  for (const Buffer& buffer : program.buffers)
    if (buffer.scope == Scope::argument) arguments_ = std::max(arguments_, buffer.argument + 1);
}

Status GpuEmitter::emit(const std::vector<std::string>& entries) {
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
    std::int64_t bytes = element_bytes(BufferId(static_cast<std::int64_t>(b)));
    for (std::int64_t extent : buffer.extents) bytes *= extent;
    workspace_ += (bytes + kArgumentAlign - 1) / kArgumentAlign * kArgumentAlign;
  }
}

void GpuEmitter::launch(const GpuLaunch& launch, const std::string& entry) {
  launch_ = &launch;
  function_ = hooks_.begin(b_, module_,
                           {entry, launch.nest.grid, launch.nest.size, arguments_, launch.nest.blocks->min_blocks});
  levels_.clear();
  levels_.push_back(std::make_unique<Level>());
  depth_ = 0;
  bindings_.clear();
  bases_.assign(program_.buffers.size(), nullptr);
  versions_.assign(program_.buffers.size(), ++last_version_);
  slots_.clear();
  for (const Slot& slot : analysis_.slots().all())
    slots_.push_back(b_.CreateAlloca(value_type(slot.dtype, slot.lanes), b_.getInt32(1)));
  bind(launch.nest.blocks->index, hooks_.block(b_));
  bind(launch.nest.threads->index, hooks_.thread(b_));
  stmt(launch.nest.body);
  hooks_.end(b_);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  WHET_CHECK(!llvm::verifyFunction(*function_, &stream), problem.c_str());
}

llvm::BasicBlock* GpuEmitter::make_block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}

// ---- What memory holds

void GpuEmitter::forget(const Stmt& changed) {
  bool meets = false;
  for_each(
      changed,
      [&](const Stmt& s) {
        if (const auto* store = std::get_if<Store>(&s->kind)) versions_[store->buffer.index()] = ++last_version_;
        meets = meets || std::holds_alternative<Barrier>(s->kind) || std::holds_alternative<CopyGroup>(s->kind);
      },
      nullptr);
  if (meets) forget_shared();
}

/// Other threads, or copies that land, may have changed it.
void GpuEmitter::forget_shared() {
  for (std::size_t b = 0; b < versions_.size(); ++b)
    if (!is_fixed(BufferId(static_cast<std::int64_t>(b)))) versions_[b] = ++last_version_;
}

// ---- Statements

void GpuEmitter::stmt(const Stmt& s) {
  if (!s.defined()) return;
  std::visit(Match{
                 [&](const Loop& n) {
                   forget(n.body);
                   loop(n);
                   forget(n.body);
                 },
                 [&](const Let& n) { let(n); },
                 [&](const Store& n) { store(n); },
                 [&](const If& n) {
                   if_stmt(n);
                   forget(s);
                 },
                 [&](const Block& n) {
                   for (const Stmt& inner : n.body) stmt(inner);
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
                   memo_.emplace_back();
                   const ExprInfo& index = table_[table_.intern(n.index[0])];
                   const Scope scope = program_.buffer(n.buffer).scope;
                   if (index.is_linear && (scope == Scope::argument || scope == Scope::workspace))
                     hooks_.prefetch(b_, address(n.buffer, index.linear));
                   memo_.pop_back();
                 },
             },
             s->kind);
}

void GpuEmitter::let(const Let& n) {
  if (!table_.is_alias(n.var)) {
    memo_.emplace_back();
    bind(n.var, expr(n.value));
    memo_.pop_back();
  }
  stmt(n.body);
}

void GpuEmitter::if_stmt(const If& n) {
  memo_.emplace_back();
  Value* const condition = expr(n.condition);
  memo_.pop_back();
  llvm::BasicBlock* const then_block = make_block("then");
  llvm::BasicBlock* const else_block = n.else_body.defined() ? make_block("else") : nullptr;
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(condition, then_block, else_block != nullptr ? else_block : join);
  const auto side = [&](llvm::BasicBlock* start, const Stmt& body) {
    b_.SetInsertPoint(start);
    levels_.push_back(std::make_unique<Level>());
    ++depth_;
    stmt(body);
    --depth_;
    levels_.pop_back();
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
  memo_.emplace_back();
  const ExprRef from = table_.intern(n.min), times = table_.intern(n.extent);
  Value *min = emit(from), *extent = emit(times);
  memo_.pop_back();
  const Interval first = analysis_.range(from), count = analysis_.range(times);
  if (count.inside({{}, 0})) return;
  const Interval counter = {first.min, plus(first.max, looser_upper(count.max, 0))};
  const bool narrow = in_32_bits(first) && in_32_bits(count) && in_32_bits(counter);
  min = resize(min, narrow);
  Value* const end = b_.CreateAdd(min, resize(extent, narrow));
  if (count.inside({1, {}})) return do_while(n, min, end);
  llvm::BasicBlock* const body = make_block("some");
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(b_.CreateICmpSLT(min, end), body, join);
  b_.SetInsertPoint(body);
  levels_.push_back(std::make_unique<Level>());
  ++depth_;
  do_while(n, min, end);
  --depth_;
  levels_.pop_back();
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
  levels_.push_back(std::make_unique<Level>());
  ++depth_;
  levels_.back()->preheader = preheader;
  bind(n.index, resize(index, is_narrow(table_.keep(var(n.index, n.name)))));
  stmt(n.body);
  --depth_;
  levels_.pop_back();
  Value* const next = b_.CreateAdd(index, llvm::ConstantInt::get(index->getType(), 1));
  index->addIncoming(next, b_.GetInsertBlock());
  hooks_.keep_loop(b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit));
  b_.SetInsertPoint(exit);
}

// ---- Stores

void GpuEmitter::store(const Store& n) {
  memo_.emplace_back();
  if (n.async && copy(n)) {
    memo_.pop_back();
    versions_[n.buffer.index()] = ++last_version_;
    return;
  }
  const ExprRef index = table_.intern(n.index[0]);
  const ExprInfo& place = table_[index];
  const int lanes = std::max(n.index[0]->lanes, n.value->lanes);
  Value* mask = n.mask.defined() ? expr(n.mask) : nullptr;
  if (mask != nullptr && splatted(mask) != nullptr) mask = splatted(mask);
  // What no lane stores is not read either: only the stored lanes' loads are known to be legal. What another thread takes
  // is computed in any case.
  const bool guarded = mask != nullptr && n.cross == 0;
  // What is stored in memory as f16 is rounded there.
  const Cast* rounded =
      n.cross == 0 && !analysis_.slots().holds(n.buffer) ? std::get_if<Cast>(&n.value->kind) : nullptr;
  const Expr& kept = rounded && n.value->dtype == DType::f16 && rounded->a->dtype == DType::f32 ? rounded->a : n.value;
  Value* value = guarded ? guarded_side(table_.intern(kept), mask, false) : expr(kept);
  if (n.value->dtype == DType::i64) value = resize(value, false);
  if (n.cross != 0) value = exchanged(value, n.cross, n.value->lanes);
  const bool one_element = place.is_linear && place.linear.lane_stride == 0 && lanes > 1 && mask == nullptr;
  if (one_element && value->getType()->isVectorTy())
    value = b_.CreateExtractElement(value, i64(lanes - 1));  // the last
  if (!one_element && n.value->lanes != lanes) value = splat(value, lanes);
  const int stored = one_element ? 1 : lanes;
  if (analysis_.slots().holds(n.buffer)) {
    store_slot(analysis_.slots().place(n.buffer, place.linear, stored), value, mask);
  } else {
    store_memory(n.buffer, index, value, mask, stored);
    versions_[n.buffer.index()] = ++last_version_;
  }
  memo_.pop_back();
}

void GpuEmitter::store_slot(SlotPlace place, Value* value, Value* mask) {
  const Slot& slot = analysis_.slots().all()[static_cast<std::size_t>(place.slot)];
  Value* const memory = slots_[static_cast<std::size_t>(place.slot)];
  const bool is_part = place.lanes != slot.lanes;
  Value* const whole = is_part || mask != nullptr ? b_.CreateLoad(value_type(slot.dtype, slot.lanes), memory) : nullptr;
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
    const auto is_zero = [](Expr e) {
      if (const auto* same = std::get_if<Broadcast>(&e->kind)) e = same->a;
      const auto* number = std::get_if<FloatConst>(&e->kind);
      return (number != nullptr && number->value == 0) || is_const(e, 0);
    };
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
    Value* const to_pointer = address(n.buffer, target);
    Value* from_pointer = address(source, origin);
    Value* const is_valid = mask_of(valid, first, 1);
    if (is_valid != nullptr) from_pointer = b_.CreateSelect(is_valid, from_pointer, base_pointer(source));
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
