#include "codegen/gpu/host_hooks.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "artifact/emulated_block.h"

namespace whet {
namespace {

class HostHooks : public GpuHooks {
 public:
  bool has_half() const override { return false; }
  bool starts_early() const override { return false; }

  llvm::Function* begin(Builder& b, llvm::Module& module, const GpuLaunchShape& shape) override {
    function_ = llvm::Function::Create(llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, shape.entry, module);
    function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    places_ = {};
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function_));
    return function_;
  }
  void end(Builder& b) override { b.CreateRet(b.getInt32(0)); }

  Value* block(Builder& b) override { return field(b, b.getInt32Ty(), offsetof(whet_block, block)); }
  Value* thread(Builder& b) override { return field(b, b.getInt32Ty(), offsetof(whet_block, thread)); }
  Value* argument(Builder& b, int position) override {
    Value* const list = field(b, b.getPtrTy(), offsetof(whet_block, arguments));
    return invariant(b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), list, position)));
  }
  Value* block_memory(Builder& b) override { return field(b, b.getPtrTy(), offsetof(whet_block, memory)); }

  void barrier(Builder& b) override { call(b, b.getVoidTy(), offsetof(whet_block, barrier), {}); }
  void copy(Builder& b, Value* to, Value* from, int bytes, Value* valid) override {
    Value* const all = b.getInt32(bytes);
    Value* const read = valid == nullptr ? all : b.CreateSelect(valid, all, b.getInt32(0));
    call(b, b.getVoidTy(), offsetof(whet_block, copy), {to, from, all, read});
  }
  void commit(Builder& b) override { call(b, b.getVoidTy(), offsetof(whet_block, commit), {}); }
  void wait(Builder& b, int pending) override {
    call(b, b.getVoidTy(), offsetof(whet_block, wait), {b.getInt32(pending)});
  }
  Value* exchange(Builder& b, Value* bits, int mask) override {
    return call(b, b.getInt32Ty(), offsetof(whet_block, exchange), {bits, b.getInt32(mask)});
  }

  /// The product of two f32 is exact in f64.
  Value* fma(Builder& b, Value* x, Value* y, Value* z) override {
    const auto wide = [&](Value* value) { return b.CreateFPExt(value, b.getDoubleTy()); };
    return b.CreateFPTrunc(b.CreateFAdd(b.CreateFMul(wide(x), wide(y)), wide(z)), b.getFloatTy());
  }
  /// 2^x = 2^whole · 2^part with part in -0.5 .. 0.5; 2^whole in two factors, so that it overflows and vanishes where the
  /// result does. The polynomial is the Taylor series of 2^part, 5e-9 of it.
  Value* exp2(Builder& b, Value* x) override {
    llvm::Type* const f32 = b.getFloatTy();
    const auto number = [&](double value) { return llvm::ConstantFP::get(f32, value); };
    Value* bounded = b.CreateSelect(b.CreateFCmpOGT(x, number(160)), number(160), x);
    bounded = b.CreateSelect(b.CreateFCmpOLT(bounded, number(-160)), number(-160), bounded);
    Value* const whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, bounded);
    Value* const part = b.CreateFSub(bounded, whole);
    Value* sum = number(1.525273380405984e-5);
    for (const double term : {1.540353039338161e-4, 1.333355814642844e-3, 9.618129107628477e-3, 5.550410866482158e-2,
                              2.402265069591007e-1, 6.931471805599453e-1, 1.0})
      sum = b.CreateFAdd(b.CreateFMul(sum, part), number(term));
    Value* const exponent = b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {b.getInt32Ty(), f32}, {whole});
    Value* const half = b.CreateAShr(exponent, 1);
    for (Value* power : {half, b.CreateSub(exponent, half)})
      sum = b.CreateFMul(sum, b.CreateBitCast(b.CreateShl(b.CreateAdd(power, b.getInt32(127)), 23), f32));
    return sum;
  }
  Value* rsqrt(Builder& b, Value* x) override {
    return b.CreateFDiv(llvm::ConstantFP::get(b.getFloatTy(), 1), b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
  }

  Value* extreme(Builder&, bool, Value*, Value*) override { return nullptr; }

  Words load_rows(Builder& b, Value* row) override { return matrices(b, offsetof(whet_block, load_rows), row); }
  Words load_two_rows(Builder& b, Value* row) override { return two_of(load_rows(b, row)); }
  Words load_turned_rows(Builder& b, Value* row) override {
    return matrices(b, offsetof(whet_block, load_turned_rows), row);
  }
  Words load_two_turned_rows(Builder& b, Value* row) override { return two_of(load_turned_rows(b, row)); }
  Value* dot(Builder& b, Intrinsic intrinsic, Value* left, Value* right, Value* sum) override {
    const auto byte = [&](Value* word, unsigned k, bool is_signed) {
      Value* const top = b.CreateShl(word, 24 - 8 * k);
      return is_signed ? b.CreateAShr(top, 24) : b.CreateLShr(top, 24);
    };
    for (unsigned k = 0; k < 4; ++k)
      sum = b.CreateAdd(sum, b.CreateMul(byte(left, k, intrinsic == Intrinsic::dp4a_s8), byte(right, k, true)));
    return sum;
  }
  Words multiply(Builder& b, Intrinsic intrinsic, const Words& left, const std::array<Value*, 2>& right,
                 const Words& sums) override {
    const Intrinsic of = multiplies_halves(intrinsic) ? Intrinsic::mma_f16
                         : multiplies_bf16(intrinsic) ? Intrinsic::mma_bf16
                                                      : intrinsic;
    const auto kind = static_cast<std::uint32_t>(of) - static_cast<std::uint32_t>(Intrinsic::mma_tf32);
    static_assert(static_cast<int>(Intrinsic::mma_u8) - static_cast<int>(Intrinsic::mma_tf32) == WHET_TILE_U8);
    const auto kept = [&](const auto& words, std::size_t which) {
      Value* const memory = place(b, which);
      for (unsigned i = 0; i < words.size(); ++i)
        b.CreateStore(words[i], b.CreateConstInBoundsGEP1_32(b.getInt32Ty(), memory, i));
      return memory;
    };
    Value *const of_left = kept(left, 0), *const of_right = kept(right, 1), *const of_sums = kept(sums, 2);
    call(b, b.getVoidTy(), offsetof(whet_block, multiply), {b.getInt32(kind), of_left, of_right, of_sums});
    return words_at(b, of_sums, sums[0]->getType());
  }
  /// Adding to the bits carries into the exponent as rounding does.
  Value* tf32_bits(Builder& b, Value* x) override {
    Value* const bits = b.CreateBitCast(x, b.getInt32Ty());
    return b.CreateSelect(is_finite(b, x), b.CreateAnd(b.CreateAdd(bits, b.getInt32(1u << 12)), b.getInt32(~0u << 13)),
                          bits);
  }
  Value* pair_bits(Builder& b, Intrinsic intrinsic, Value* first, Value* second) override {
    if (intrinsic == Intrinsic::mma_f16) return nullptr;
    return b.CreateOr(bf16_bits(b, first), b.CreateShl(bf16_bits(b, second), 16));
  }

  void keep_loop(llvm::BranchInst*) override {}
  void prefetch(Builder&, Value*) override {}

 private:
  /// An f32 rounded to bf16, in the low half.
  static Value* bf16_bits(Builder& b, Value* x) {
    Value* const bits = b.CreateBitCast(x, b.getInt32Ty());
    Value* const odd = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
    Value* const rounded = b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
    return b.CreateLShr(b.CreateSelect(is_finite(b, x), rounded, bits), 16);
  }

  Words matrices(Builder& b, std::size_t offset, Value* row) {
    Value* const words = place(b, 2);
    call(b, b.getVoidTy(), offset, {row, words});
    return words_at(b, words, b.getInt32Ty());
  }
  static Words two_of(const Words& words) { return {words[0], words[1], nullptr, nullptr}; }

  /// Four words of this thread: what it gives as left and right operand, and what it gets.
  Value* place(Builder& b, std::size_t which) {
    if (places_[which] == nullptr) {
      const Builder::InsertPointGuard guard(b);
      llvm::BasicBlock& entry = function_->getEntryBlock();
      b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
      places_[which] = b.CreateAlloca(llvm::ArrayType::get(b.getInt32Ty(), 4));
    }
    return places_[which];
  }
  static Words words_at(Builder& b, Value* memory, llvm::Type* type) {
    Words words;
    for (unsigned i = 0; i < words.size(); ++i)
      words[i] = b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(b.getInt32Ty(), memory, i));
    return words;
  }
  static Value* is_finite(Builder& b, Value* x) {
    return b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                           llvm::ConstantFP::getInfinity(b.getFloatTy()));
  }
  static Value* invariant(llvm::LoadInst* load) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
    return load;
  }
  Value* field(Builder& b, llvm::Type* type, std::size_t offset) {
    return invariant(b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function_->getArg(0), offset)));
  }
  Value* call(Builder& b, llvm::Type* result, std::size_t offset, std::vector<Value*> operands) {
    Value* const callee = field(b, b.getPtrTy(), offset);
    operands.insert(operands.begin(), function_->getArg(0));
    std::vector<llvm::Type*> types;
    for (Value* operand : operands) types.push_back(operand->getType());
    return b.CreateCall(llvm::FunctionType::get(result, types, false), callee, operands);
  }

  llvm::Function* function_ = nullptr;
  std::array<Value*, 3> places_ = {};
};

}  // namespace

std::unique_ptr<GpuHooks> make_host_hooks() { return std::make_unique<HostHooks>(); }

}  // namespace whet
