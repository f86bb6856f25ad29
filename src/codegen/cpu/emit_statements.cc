#include <llvm/IR/MDBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "artifact/kernel_args.h"
#include "codegen/cpu/emitter.h"

namespace whet {
namespace {

std::int64_t align_up(std::int64_t bytes) { return (bytes + 63) & ~std::int64_t{63}; }

/// Something inside concerns all workers.
bool holds_phases(const Stmt& s) {
  bool found = false;
  for_each(
      s,
      [&](const Stmt& part) {
        const auto* loop = std::get_if<Loop>(&part->kind);
        found = found || std::holds_alternative<Barrier>(part->kind) || (loop && loop->kind == LoopKind::parallel);
      },
      nullptr);
  return found;
}

}  // namespace

Emitter::Emitter(const Program& program, Analysis& analysis, const Backend& backend, llvm::Module& module)
    : StructuredEmitter(program, analysis.table(), module.getContext(),
                        {.f16 = backend.features().half, .bf16 = backend.features().bf16}),
      analysis_(analysis),
      architecture_(backend.architecture()),
      features_(backend.features()),
      target_(backend.target()),
      context_(module.getContext()),
      module_(module),
      processor_(llvm_processor(backend.target().cpu())),
      feature_string_(backend.feature_string()),
      workspace_offset_(program.buffers.size(), 0),
      slots_(analysis.slots().size(), nullptr),
      allocas_(program.buffers.size(), nullptr) {}

void Emitter::emit_function(const std::string& symbol) {
  lay_out_workspaces();
  begin_function(symbol);
  top_level(program_.body);
  b_.CreateRet(b_.getInt32(0));
  end_level();
  check_function();
}

void Emitter::lay_out_workspaces() {
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.scope != Scope::local && buffer.scope != Scope::workspace) continue;
    std::int64_t& end = buffer.scope == Scope::local ? worker_workspace_ : workspace_;
    workspace_offset_[b] = end;
    end = align_up(end + num_elements(buffer.extents) * size_of(buffer.dtype));
  }
}

void Emitter::begin_function(const std::string& symbol) {
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("target-cpu", processor_);
  function_->addFnAttr("target-features", feature_string_);
  function_->addFnAttr("prefer-vector-width", std::to_string(std::max(128, target_.cpu().vector_bytes * 8)));
  function_->addFnAttr("min-legal-vector-width", "512");
  function_->addFnAttr("frame-pointer", "none");
  args_ = function_->getArg(0);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  begin_level(false);
  const At at = at_start_of(0);
  auto field = [&](std::size_t offset) {
    auto* load = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), args_, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return b_.CreateZExt(load, b_.getInt64Ty());
  };
  worker_ = field(offsetof(whet_kernel_args, worker));
  workers_ = field(offsetof(whet_kernel_args, workers));
  load_sizes();
}

/// The values of the program's sizes, from argument 0, known to be within their ranges.
void Emitter::load_sizes() {
  if (program_.sizes.empty()) return;
  const auto is_sizes = [](const Buffer& b) { return b.scope == Scope::argument && b.argument == 0; };
  const auto argument = std::find_if(program_.buffers.begin(), program_.buffers.end(), is_sizes);
  WHET_CHECK(argument != program_.buffers.end(), "argument 0 holds the sizes");
  Value* const base = base_pointer(BufferId(argument - program_.buffers.begin()));
  for (std::size_t k = 0; k < program_.sizes.size(); ++k) {
    const SizeRange& range = program_.sizes[k];
    auto* size = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), base, k));
    size->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    llvm::MDBuilder metadata(context_);
    size->setMetadata(llvm::LLVMContext::MD_range,
                      metadata.createRange(llvm::APInt(64, static_cast<std::uint64_t>(range.min)),
                                           llvm::APInt(64, static_cast<std::uint64_t>(range.max + 1))));
    bind(size_var(k), size);
  }
}

// ---- Levels

Level& Emitter::begin_level(bool conditional) {
  forget_tiles();
  Level& level = push_level();
  level.conditional = conditional;
  // Stands for the place until the function is complete; never executed.
  level.marker = b_.Insert(new llvm::FreezeInst(llvm::PoisonValue::get(b_.getInt1Ty())));
  return level;
}

void Emitter::end_level() {
  forget_tiles();
  current().marker->eraseFromParent();
  pop_level();
}

void Emitter::changed_by(const Effects& effects) {
  for (BufferId buffer : effects.buffers) changed(buffer);
}

void Emitter::branch(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  llvm::BasicBlock* const then_block = make_block("then");
  llvm::BasicBlock* const else_block = make_block("else");
  llvm::BasicBlock* const join = make_block("join");
  b_.CreateCondBr(condition, then_block, else_block);
  const SlotValues before = slots_;
  auto side = [&](llvm::BasicBlock* block, llvm::function_ref<void()> body) {
    b_.SetInsertPoint(block);
    slots_ = before;
    begin_level(true);
    body();
    end_level();
    llvm::BasicBlock* const end = b_.GetInsertBlock();
    b_.CreateBr(join);
    return std::make_pair(slots_, end);
  };
  const auto [then_slots, then_end] = side(then_block, then);
  const auto [else_slots, else_end] = side(else_block, otherwise);
  b_.SetInsertPoint(join);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    Value *a = then_slots[s], *b = else_slots[s];
    slots_[s] = a;
    if (a == b) continue;
    llvm::Type* type = a != nullptr ? a->getType() : b->getType();
    llvm::PHINode* phi = b_.CreatePHI(type, 2);
    phi->addIncoming(a != nullptr ? a : llvm::PoisonValue::get(type), then_end);
    phi->addIncoming(b != nullptr ? b : llvm::PoisonValue::get(type), else_end);
    slots_[s] = phi;
  }
}

// ---- The top level: what which worker runs

void Emitter::top_level(const Stmt& body) {
  std::vector<Stmt> serial;
  auto visit = [&](auto&& self, const Stmt& s) -> void {
    if (!s.defined()) return;
    if (const auto* list = std::get_if<Block>(&s->kind)) {
      for (const Stmt& inner : list->body) self(self, inner);
    } else if (const auto* n = std::get_if<Let>(&s->kind); n && holds_phases(s)) {
      flush_serial(serial);
      if (table_.is_alias(n->var)) {
        self(self, n->body);
        flush_serial(serial);
      } else {
        Value* value = expr_alone(n->value);
        begin_level(false);
        bind(n->var, value);
        self(self, n->body);
        flush_serial(serial);
        end_level();
      }
    } else if (std::holds_alternative<Barrier>(s->kind)) {
      flush_serial(serial);
      barrier();
    } else if (const auto* loop = std::get_if<Loop>(&s->kind); loop && loop->kind == LoopKind::parallel) {
      flush_serial(serial);
      parallel_loop(s);
    } else {
      serial.push_back(s);
    }
  };
  visit(visit, body);
  flush_serial(serial);
}

/// Worker 0 alone runs what is not parallel. Registers do not outlive it.
void Emitter::flush_serial(std::vector<Stmt>& serial) {
  if (serial.empty()) return;
  branch(
      b_.CreateICmpEQ(worker_, i64(0)),
      [&] {
        for (const Stmt& s : serial) stmt(s);
      },
      [] {});
  for (const Stmt& s : serial) {
    if (const auto* store = std::get_if<Store>(&s->kind))
      changed(store->buffer);
    else
      changed_by(analysis_.effects(s));
  }
  std::fill(slots_.begin(), slots_.end(), nullptr);
  serial.clear();
}

void Emitter::parallel_loop(const Stmt& s) {
  const auto& n = std::get<Loop>(s->kind);
  const auto [min, extent] = range_of(n);
  Value* begin = b_.CreateSDiv(b_.CreateMul(extent, worker_), workers_);
  Value* end = b_.CreateSDiv(b_.CreateMul(extent, b_.CreateAdd(worker_, i64(1))), workers_);
  counted_loop(n, analysis_.effects(s), b_.CreateAdd(min, begin), b_.CreateAdd(min, end), false);
  std::fill(slots_.begin(), slots_.end(), nullptr);
}

void Emitter::barrier() {
  auto load = [&](Value* base, std::size_t offset) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
  };
  Value* runtime = load(args_, offsetof(whet_kernel_args, runtime));
  Value* team = load(args_, offsetof(whet_kernel_args, team));
  Value* function = load(runtime, offsetof(whet_kernel_runtime, barrier));
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty()}, false);
  b_.CreateCall(type, function, {team, b_.CreateTrunc(worker_, b_.getInt32Ty())});
  forget_shared();
}

// ---- Statements

void Emitter::stmt(const Stmt& s) {
  if (!s.defined()) return;
  std::visit(Match{
                 [&](const Loop&) { loop(s); },
                 [&](const Let& n) { let(n); },
                 [&](const Store& n) { store(n); },
                 [&](const If&) { if_stmt(s); },
                 [&](const Block& n) { statements(n); },
                 [&](const Barrier&) { WHET_CHECK(false, "barriers stand at the top level"); },
                 [&](const CopyGroup&) { WHET_CHECK(false, "the analysis refuses asynchronous copies"); },
                 [&](const Prefetch& n) { prefetch(n); },
             },
             s->kind);
}

namespace {

/// Runs as a whole, and changes nothing but what it stores.
bool is_plain(const Stmt& s) {
  return std::holds_alternative<Store>(s->kind) || std::holds_alternative<Prefetch>(s->kind);
}

/// The statements of a block and of blocks in it.
void flatten(const Block& block, std::vector<const Stmt*>& into) {
  for (const Stmt& inner : block.body) {
    if (!inner.defined()) continue;
    if (const auto* blocks = std::get_if<Block>(&inner->kind))
      flatten(*blocks, into);
    else
      into.push_back(&inner);
  }
}

}  // namespace

/// Stores between other statements are a run: where the processor multiplies by lane, they may read scalars by four.
void Emitter::statements(const Block& block) {
  std::vector<const Stmt*> list;
  flatten(block, list);
  for (std::size_t i = 0; i < list.size();) {
    if (analysis_.has_tile_products() && !tiles_)
      if (std::optional<ZeroedSums> zeroed = find_zeroed_sums(list, i, program_, analysis_)) {
        with_tile_sums(*list[zeroed->statement], std::move(zeroed->sums), true);
        i = zeroed->statement + 1;
        continue;
      }
    std::size_t end = i;
    std::vector<const Store*> run;
    for (; end < list.size() && is_plain(*list[end]); ++end)
      if (const auto* n = std::get_if<Store>(&(*list[end])->kind)) run.push_back(n);
    if (architecture_.multiplies_by_lane && run.size() > 1)
      quads_ = find_quads(run, analysis_, program_, target_.cpu().vector_registers - 1);
    if (!run.empty()) byte_sums_ = sums_of_bytes(run);
    if (run.size() > 1) byte_words_ = find_byte_words(run, analysis_, program_);
    bytes_of_words_.assign(byte_words_.all.size(), {});
    quad_values_.assign(quads_.all.size(), nullptr);
    quad_depth_ = depth_;
    for (; i < end; ++i) stmt(*list[i]);
    quads_ = {}, byte_sums_ = {}, byte_words_ = {};
    joined_.clear();
    if (i < list.size()) stmt(*list[i++]);
  }
}

ByteSums Emitter::sums_of_bytes(const std::vector<const Store*>& run) {
  if (features_.dot_lanes > 0) return find_byte_sums(run, analysis_, program_, features_.dot_lanes, 4);
  if (features_.pair_lanes > 0) return find_byte_sums(run, analysis_, program_, features_.pair_lanes, 2);
  return find_byte_sums(run, analysis_, program_, features_.product_lanes, 1);
}

void Emitter::let(const Let& n) {
  if (table_.is_alias(n.var)) return stmt(n.body);
  Value* value = expr_alone(n.value);
  begin_level(false);
  bind(n.var, value);
  stmt(n.body);
  end_level();
}

void Emitter::if_stmt(const Stmt& s) {
  const auto& n = std::get<If>(s->kind);
  branch(expr_alone(n.condition), [&] { stmt(n.then_body); }, [&] { stmt(n.else_body); });
  changed_by(analysis_.effects(s));
}

void Emitter::store(const Store& n) {
  if (const auto found = byte_sums_.of.find(&n); found != byte_sums_.of.end())
    return byte_sum(n, byte_sums_.all[found->second]);
  if (const auto found = byte_words_.of.find(&n); found != byte_words_.of.end()) return byte_word(n, found->second);
  const Frame frame(*this);
  const ExprRef index = table_.intern(n.index[0]);
  const bool in_slots = program_.buffer(n.buffer).scope == Scope::registers && analysis_.in_slots(n.buffer);
  // A store to memory rounds to bf16 itself.
  const Cast* rounded = in_slots || n.value->dtype != DType::bf16 ? nullptr : std::get_if<Cast>(&n.value->kind);
  const Expr& kept = rounded && rounded->a->dtype == DType::f32 ? rounded->a : n.value;
  // What no lane stores is not read either: only the stored lanes' loads are known to be legal.
  Value* all = n.mask.defined() ? guarded_side(table_.intern(kept), expr(n.mask), false) : expr(kept);
  const auto [value, lanes] = stored(n, table_[index], all);
  Value* const mask = n.mask.defined() ? expr(n.mask) : nullptr;
  if (in_slots) return store_slot(analysis_.place(n.buffer, table_[index].linear, lanes), value, mask);
  store_memory(n, index, value, mask, lanes);
  changed(n.buffer);
}

void Emitter::store_slot(SlotPlace place, Value* value, Value* mask) {
  const Slot& slot = analysis_.slots()[place.slot];
  Value*& whole = slots_[place.slot];
  if (whole == nullptr) whole = llvm::PoisonValue::get(value_type(slot.dtype, slot.lanes));
  if (mask != nullptr) value = b_.CreateSelect(mask, value, part_of(whole, place.first, place.lanes));
  whole = join(whole, value, place.first, place.lanes, slot.lanes);
}

void Emitter::loop(const Stmt& s) {
  const auto& n = std::get<Loop>(s->kind);
  if (analysis_.has_tile_products() && !tiles_)
    if (std::optional<TileSums> sums = find_tile_sums(s, analysis_)) return with_tile_sums(s, *std::move(sums), false);
  if (const IntrinsicTile* found = analysis_.tile(s)) return tile(*found);
  if (table_.is_alias(n.index)) return stmt(n.body);
  const auto [min, extent] = range_of(n);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(extent);
  if (constant != nullptr && constant->getSExtValue() < 1) return;
  counted_loop(n, analysis_.effects(s), min, b_.CreateAdd(min, extent), constant != nullptr);
}

void Emitter::counted_loop(const Loop& n, const Effects& effects, Value* min, Value* end, bool never_empty) {
  changed_by(effects);
  if (never_empty) {
    do_while(n, effects, min, end);
  } else {
    branch(b_.CreateICmpSLT(min, end), [&] { do_while(n, effects, min, end); }, [] {});
  }
  changed_by(effects);
}

void Emitter::do_while(const Loop& n, const Effects& effects, Value* min, Value* end) {
  llvm::BasicBlock* const preheader = make_block("preheader");
  llvm::BasicBlock* const header = make_block("loop");
  llvm::BasicBlock* const exit = make_block("exit");
  b_.CreateBr(preheader);
  b_.SetInsertPoint(preheader);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(min, preheader);
  const SlotValues before = slots_;
  std::vector<std::pair<int, llvm::PHINode*>> carried;
  for (int slot : effects.slots) {
    const Slot& info = analysis_.slots()[slot];
    llvm::PHINode* phi = b_.CreatePHI(value_type(info.dtype, info.lanes), 2);
    phi->addIncoming(before[slot] != nullptr ? before[slot] : llvm::PoisonValue::get(phi->getType()), preheader);
    slots_[slot] = phi;
    carried.emplace_back(slot, phi);
  }
  Level& level = begin_level(false);
  level.loop_var = n.index;
  level.preheader = preheader;
  level.loop_min = min;
  bind(n.index, index);
  stmt(n.body);
  Value* next = b_.CreateAdd(index, i64(1));
  index->addIncoming(next, b_.GetInsertBlock());
  for (const auto& [phi, step] : level.bumped) phi->addIncoming(b_.CreatePtrAdd(phi, i64(step)), b_.GetInsertBlock());
  finish_slot_phis(carried, before, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), header, exit);
  end_level();
  b_.SetInsertPoint(exit);
}

/// A slot that the loop leaves alone needs no phi; neither does one that it writes before it reads.
void Emitter::finish_slot_phis(const std::vector<std::pair<int, llvm::PHINode*>>& carried, const SlotValues& before,
                               llvm::BasicBlock* latch) {
  std::vector<std::pair<int, llvm::PHINode*>> changed;
  for (const auto& [slot, phi] : carried) {
    if (slots_[slot] != phi) {
      changed.emplace_back(slot, phi);
      continue;
    }
    Value* same = before[slot] != nullptr ? before[slot] : llvm::PoisonValue::get(phi->getType());
    phi->replaceAllUsesWith(same);
    std::replace(slots_.begin(), slots_.end(), static_cast<Value*>(phi), same);
    phi->eraseFromParent();
  }
  for (const auto& [slot, phi] : changed) phi->addIncoming(slots_[slot], latch);
  for (const auto& [slot, phi] : changed)
    if (phi->use_empty() && std::find(slots_.begin(), slots_.end(), phi) == slots_.end()) phi->eraseFromParent();
}

}  // namespace whet
