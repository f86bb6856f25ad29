#include "codegen/aarch64/architecture.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/TargetSelect.h>

namespace whet {
namespace {

/// As for x86 (x86/architecture.cc), without the passes that AArch64 does not have.
constexpr const char* kLeftOutForAArch64[] = {
    "Canonicalize Freeze Instructions in Loops",
    "Loop Strength Reduction",
    "Constant Hoisting",
    "Machine Common Subexpression Elimination",
    "Merge disjoint stack slots",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Exception handling preparation",
    "Prepare callbr",
    "TLS Variable Hoist",
    "Contiguously Lay Out Funclets",
};

void initialize_aarch64() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64Disassembler();
}

/// Rounding and conversions of halves belong to the architecture; masked loads do not.
CpuFeatures features_of_aarch64(const llvm::MCSubtargetInfo& cpu) {
  const bool mixed = cpu.checkFeatures("+i8mm");
  return {.round = true,
          .half = true,
          .dot_products = mixed || cpu.checkFeatures("+dotprod"),
          .mixed_dot_products = mixed,
          .masked_loads = false};
}

using llvm::Intrinsic::aarch64_neon_sdot;
using llvm::Intrinsic::aarch64_neon_usdot;

/// Four sums an instruction. Without an instruction for u8 times i8, 128 is taken from each factor, whose bytes then have a
/// sign, and 128 times the weights is added again.
llvm::Value* dot_product_of_aarch64(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* sums,
                                    llvm::Value* x, llvm::Value* w) {
  auto* const bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 16);
  auto* const words = llvm::FixedVectorType::get(b.getInt32Ty(), 4);
  const auto dot = [&](llvm::Intrinsic::ID id, llvm::Value* sum, llvm::Value* p, llvm::Value* q) {
    return b.CreateIntrinsic(id, {words, bytes}, {sum, p, q});
  };
  llvm::Value* const top_bits = llvm::ConstantInt::get(bytes, 0x80);  // of bytes with a sign: -128
  llvm::Value* result = nullptr;
  for (int part = 0; part < 4; ++part) {
    const int lanes[] = {4 * part, 4 * part + 1, 4 * part + 2, 4 * part + 3};
    const auto take = [&](llvm::Value* all) { return b.CreateShuffleVector(all, lanes); };
    llvm::Value* const factors = b.CreateBitCast(take(x), bytes);
    llvm::Value* const weights = b.CreateBitCast(take(w), bytes);
    llvm::Value* sum = take(sums);
    if (features.mixed_dot_products) {
      sum = dot(aarch64_neon_usdot, sum, factors, weights);
    } else {
      sum = dot(aarch64_neon_sdot, sum, b.CreateXor(factors, top_bits), weights);
      sum = b.CreateSub(sum, dot(aarch64_neon_sdot, llvm::Constant::getNullValue(words), top_bits, weights));
    }
    // Parts that are not made yet are of no account.
    std::vector<int> into;
    for (int i = 0; i < 16; ++i) into.push_back(i / 4 == part ? i % 4 : -1);
    llvm::Value* const wide = b.CreateShuffleVector(sum, into);
    if (result == nullptr) {
      result = wide;
      continue;
    }
    for (int i = 0; i < 16; ++i) into[static_cast<std::size_t>(i)] = i / 4 == part ? 16 + i : i;
    result = b.CreateShuffleVector(result, wide, into);
  }
  return result;
}

bool is_aarch64_vector_register(std::string_view name) {
  return name.size() >= 2 && (name[0] == 'Q' || name[0] == 'D' || name[0] == 'Z') && name[1] >= '0' && name[1] <= '9';
}

bool is_aarch64_multiply_add(std::string_view opcode) {
  return opcode.starts_with("FMLA") || opcode.starts_with("USDOT") || opcode.starts_with("SDOT");
}

}  // namespace

const Architecture kAArch64 = {.triple = "aarch64-unknown-linux-gnu",
                               .name = "AArch64",
                               .initialize = initialize_aarch64,
                               .left_out = kLeftOutForAArch64,
                               .features = features_of_aarch64,
                               .make_accumulate_pass = nullptr,  // FMLA's addend is its result
                               .dot_product = dot_product_of_aarch64,
                               .dot_product_vector_bytes = 16,
                               .pair_product = nullptr,
                               .join_bytes = nullptr,
                               .byte_order = nullptr,
                               .nearest_integers = nullptr,
                               .address_reach = 16384,  // of 4 bytes; 65536 of vectors
                               .multiplies_by_lane = true,
                               .stack_pointer = "SP",
                               .frame_pointer = "FP",
                               .is_vector_register = is_aarch64_vector_register,
                               .is_multiply_add = is_aarch64_multiply_add};

}  // namespace whet
