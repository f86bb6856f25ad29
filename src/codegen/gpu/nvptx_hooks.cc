#include "codegen/gpu/nvptx_hooks.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/gpu/analysis.h"

namespace whet {
namespace {

constexpr unsigned kGlobal = 1, kShared = 3;  // address spaces

/// LLVM marks kernels by metadata; later versions want attributes. It is done here alone.
void mark_kernel(llvm::Function& function, std::int64_t threads, std::int64_t min_blocks) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Type* const i32 = llvm::Type::getInt32Ty(context);
  const auto annotate = [&](const char* name, std::int64_t value) {
    llvm::Metadata* parts[] = {
        llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, name),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(i32, static_cast<std::uint64_t>(value)))};
    function.getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, parts));
  };
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  annotate("kernel", 1);
  annotate("maxntidx", threads);
  if (min_blocks > 0) annotate("minctasm", min_blocks);
}

class NvptxHooks : public GpuHooks {
 public:
  NvptxHooks(const GpuLimits& limits, bool starts_early)
      : from_sm_80_(limits.mma), from_sm_90_(limits.arch >= 90), starts_early_(starts_early) {}
  bool has_half() const override { return true; }
  bool starts_early() const override { return starts_early_; }

  llvm::Function* begin(Builder& b, llvm::Module& module, const GpuLaunchShape& shape) override {
    shape_ = shape;
    llvm::Type* const pointer = b.getPtrTy(kGlobal);
    const std::vector<llvm::Type*> parameters(static_cast<std::size_t>(shape.arguments) + 1, pointer);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), parameters, false),
                                       llvm::Function::ExternalLinkage, shape.entry, module);
    for (llvm::Argument& argument : function_->args()) {
      argument.addAttr(llvm::Attribute::NoAlias);
      argument.addAttr(llvm::Attribute::getWithAlignment(b.getContext(), llvm::Align(256)));
    }
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    mark_kernel(*function_, shape.threads, shape.min_blocks);
    memory_ = module.getGlobalVariable("block_memory");
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function_));
    if (starts_early_) meet_other_launches(b);
    return function_;
  }
  void end(Builder& b) override { b.CreateRetVoid(); }

  Value* block(Builder& b) override { return number(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, shape_.blocks); }
  Value* thread(Builder& b) override { return number(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, shape_.threads); }
  Value* argument(Builder&, int position) override { return function_->getArg(static_cast<unsigned>(position)); }

  /// The launch gives its size: ptxas refuses more than 48 KiB of a known size.
  Value* block_memory(Builder& b) override {
    if (memory_ == nullptr) {
      auto* const type = llvm::ArrayType::get(b.getInt8Ty(), 0);
      memory_ = new llvm::GlobalVariable(*function_->getParent(), type, false, llvm::GlobalValue::ExternalLinkage,
                                         nullptr, "block_memory", nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
      memory_->setAlignment(llvm::Align(kBlockMemoryAlign));
    }
    return memory_;
  }

  void barrier(Builder& b) override { b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

  /// What is copied once is not kept in the first cache: 16 bytes go past it.
  void copy(Builder& b, Value* to, Value* from, int bytes, Value* valid) override {
    using namespace llvm::Intrinsic;
    std::vector<Value*> operands = {to, from};
    if (valid != nullptr) operands.push_back(b.CreateSelect(valid, b.getInt32(bytes), b.getInt32(0)));
    const bool whole = valid == nullptr;
    const ID id = bytes == 16  ? whole ? nvvm_cp_async_cg_shared_global_16 : nvvm_cp_async_cg_shared_global_16_s
                  : bytes == 8 ? whole ? nvvm_cp_async_ca_shared_global_8 : nvvm_cp_async_ca_shared_global_8_s
                  : whole      ? nvvm_cp_async_ca_shared_global_4
                               : nvvm_cp_async_ca_shared_global_4_s;
    b.CreateIntrinsic(id, {}, operands);
  }
  void commit(Builder& b) override { b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {}); }
  void wait(Builder& b, int pending) override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {b.getInt32(pending)});
  }

  Value* exchange(Builder& b, Value* bits, int mask) override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {b.getInt32(~0u), bits, b.getInt32(mask), b.getInt32(kWarp - 1)});
  }

  Value* fma(Builder& b, Value* x, Value* y, Value* z) override {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {b.getFloatTy()}, {x, y, z});
  }
  Value* exp2(Builder& b, Value* x) override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {x});
  }
  Value* rsqrt(Builder& b, Value* x) override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, {}, {x});
  }

  Value* extreme(Builder& b, bool larger, Value* x, Value* y) override {
    if (!from_sm_80_) return nullptr;
    return b.CreateBinaryIntrinsic(larger ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x, y);
  }

  Words load_rows(Builder& b, Value* row) override {
    return matrices(b, llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16, row, 4);
  }
  Words load_two_rows(Builder& b, Value* row) override {
    return matrices(b, llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16, row, 2);
  }
  Words load_turned_rows(Builder& b, Value* row) override {
    return matrices(b, llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16, row, 4);
  }
  Words load_two_turned_rows(Builder& b, Value* row) override {
    return matrices(b, llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16, row, 2);
  }
  Value* dot(Builder& b, Intrinsic intrinsic, Value* left, Value* right, Value* sum) override {
    auto* const type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty(), b.getInt32Ty(), b.getInt32Ty()}, false);
    const char* const text =
        intrinsic == Intrinsic::dp4a_u8 ? "dp4a.u32.s32 $0, $1, $2, $3;" : "dp4a.s32.s32 $0, $1, $2, $3;";
    llvm::CallInst* const dot = b.CreateCall(llvm::InlineAsm::get(type, text, "=r,r,r,r", false), {left, right, sum});
    dot->setDoesNotAccessMemory(), dot->setDoesNotThrow();  // so that loads on both sides of it are joined
    dot->addFnAttr(llvm::Attribute::WillReturn);
    return dot;
  }
  Words multiply(Builder& b, Intrinsic intrinsic, const Words& left, const std::array<Value*, 2>& right,
                 const Words& sums) override {
    using namespace llvm::Intrinsic;
    if (!from_sm_80_) return multiply_by_quarters(b, intrinsic, left, right, sums);
    const bool half = multiplies_halves(intrinsic);
    const ID id = [&] {
      switch (intrinsic) {
        case Intrinsic::mma_f16:
        case Intrinsic::mma_half:
          return nvvm_mma_m16n8k16_row_col_f32_f32;
        case Intrinsic::mma_bf16:
        case Intrinsic::mma_half_bf16:
          return nvvm_mma_m16n8k16_row_col_bf16;
        case Intrinsic::mma_s8:
          return nvvm_mma_m16n8k32_row_col_s8;
        case Intrinsic::mma_u8:
          return nvvm_mma_m16n8k32_row_col_u8_s8;
        default:
          return nvvm_mma_m16n8k8_row_col_tf32;
      }
    }();
    std::vector<Value*> operands(left.begin(), left.end());
    operands.insert(operands.end(), right.begin(), right.end());
    auto* const pair = llvm::FixedVectorType::get(b.getHalfTy(), 2);
    for (Value*& word : operands)
      if (half) word = b.CreateBitCast(word, pair);
    operands.insert(operands.end(), sums.begin(), sums.end());
    return parts_of(b, b.CreateIntrinsic(id, {}, operands));
  }
  /// From sm_90 on one instruction, which rounds halves to even. Before, cvt.rna becomes four: its two do the same to a number that is
  /// not below the least normal one. x with half a unit of its own exponent added has, without the bits that tf32 lacks, the rounded
  /// bits, and so have infinity and NaN.
  Value* tf32_bits(Builder& b, Value* x) override {
    if (from_sm_90_) {
      auto* const type = llvm::FunctionType::get(b.getInt32Ty(), {b.getFloatTy()}, false);
      llvm::CallInst* const rounded =
          b.CreateCall(llvm::InlineAsm::get(type, "cvt.rn.tf32.f32 $0, $1;", "=r,f", false), {x});
      rounded->setDoesNotAccessMemory(), rounded->setDoesNotThrow();
      rounded->addFnAttr(llvm::Attribute::WillReturn);
      return rounded;
    }
    constexpr std::uint32_t kSignAndExponent = 0xff800000;
    Value* const bits = b.CreateBitCast(x, b.getInt32Ty());
    Value* const power = b.CreateBitCast(b.CreateAnd(bits, b.getInt32(kSignAndExponent)), b.getFloatTy());
    return b.CreateBitCast(fma(b, power, llvm::ConstantFP::get(b.getFloatTy(), 0x1p-11), x), b.getInt32Ty());
  }
  Value* pair_bits(Builder& b, Intrinsic intrinsic, Value* first, Value* second) override {
    if (!from_sm_80_) return nullptr;
    const llvm::Intrinsic::ID id =
        intrinsic == Intrinsic::mma_f16 ? llvm::Intrinsic::nvvm_ff2f16x2_rn : llvm::Intrinsic::nvvm_ff2bf16x2_rn;
    return b.CreateBitCast(b.CreateIntrinsic(id, {}, {second, first}), b.getInt32Ty());
  }

  /// ptxas unrolls loops of known extent whatever their size.
  void keep_loop(llvm::BranchInst* branch) override {
    llvm::LLVMContext& context = branch->getContext();
    llvm::Metadata* const off = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, off});
    loop->replaceOperandWith(0, loop);
    branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }

  void prefetch(Builder& b, Value* pointer) override {
    auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(kGlobal)}, false);
    b.CreateCall(llvm::InlineAsm::get(type, "prefetch.global.L2 [$0];", "l", true), {pointer});
  }

 private:
  /// The next launch is let in behind the wait, so that no more than one waits on an SM beside the one that works.
  static void meet_other_launches(Builder& b) {
    auto* const type = llvm::FunctionType::get(b.getVoidTy(), false);
    for (const char* instruction : {"griddepcontrol.wait;", "griddepcontrol.launch_dependents;"})
      b.CreateCall(llvm::InlineAsm::get(type, instruction, "~{memory}", true), {});
  }

  /// Words of the left operand are rows 0 to 7 and 8 to 15 of the first half of the depth, then of the second one; those of the
  /// right one the halves. So each pair of words is an operand of the smaller instruction, of 8 x 8 sums of 16 products.
  Words multiply_by_quarters(Builder& b, Intrinsic intrinsic, const Words& left, const std::array<Value*, 2>& right,
                             Words sums) {
    const llvm::Intrinsic::ID id = intrinsic == Intrinsic::mma_u8 ? llvm::Intrinsic::nvvm_mma_m8n8k16_row_col_u8_s8
                                                                  : llvm::Intrinsic::nvvm_mma_m8n8k16_row_col_s8;
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t rows = 0; rows < 2; ++rows) {
        Value*& first = sums[2 * rows];
        Value*& second = sums[2 * rows + 1];
        Value* const both = b.CreateIntrinsic(id, {}, {left[2 * half + rows], right[half], first, second});
        first = b.CreateExtractValue(both, 0), second = b.CreateExtractValue(both, 1);
      }
    return sums;
  }

  static Words matrices(Builder& b, llvm::Intrinsic::ID id, Value* row, unsigned count) {
    Value* const loaded = b.CreateIntrinsic(id, {b.getPtrTy(kShared)}, {row});
    Words words = {};
    for (unsigned i = 0; i < count; ++i) words[i] = b.CreateExtractValue(loaded, i);
    return words;
  }

  static Words parts_of(Builder& b, Value* all) {
    Words parts;
    for (unsigned i = 0; i < parts.size(); ++i) parts[i] = b.CreateExtractValue(all, i);
    return parts;
  }

  Value* number(Builder& b, llvm::Intrinsic::ID id, std::int64_t end) {
    llvm::CallInst* const value = b.CreateIntrinsic(id, {}, {});
    value->setMetadata(llvm::LLVMContext::MD_range,
                       llvm::MDBuilder(b.getContext())
                           .createRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<std::uint64_t>(end))));
    return value;
  }

  bool from_sm_80_;  ///< it rounds pairs, and has tiles of bytes of 16 x 8 sums of 32 products; older ones 8 x 8 of 16
  bool from_sm_90_;  ///< it rounds to tf32 by one instruction
  bool starts_early_;
  GpuLaunchShape shape_;
  llvm::Function* function_ = nullptr;
  llvm::GlobalVariable* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<GpuHooks> make_nvptx_hooks(const GpuLimits& limits, bool starts_early) {
  return std::make_unique<NvptxHooks>(limits, starts_early);
}

}  // namespace whet
