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

constexpr int kSums = 4;  ///< i32 of a vector

/// Rounding and conversions of halves belong to the architecture; masked loads do not.
CpuFeatures features_of_aarch64(const llvm::MCSubtargetInfo& cpu) {
  const bool mixed = cpu.checkFeatures("+i8mm");
  return {.round = true,
          .half = true,
          .dot_products = mixed || cpu.checkFeatures("+dotprod"),
          .mixed_dot_products = mixed,
          .masked_loads = false,
          .dot_lanes = mixed || cpu.checkFeatures("+dotprod") ? kSums : 0,
          .product_lanes = kSums};
}

using llvm::Intrinsic::aarch64_neon_sdot;
using llvm::Intrinsic::aarch64_neon_usdot;

/// Four sums an instruction. Without an instruction for u8 times i8, 128 is taken from each factor, whose bytes then have a
/// sign, and 128 times the weights is added again.
llvm::Value* dot_product_of_aarch64(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* sums,
                                    llvm::Value* x, llvm::Value* w) {
  auto* const bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 16);
  auto* const words = llvm::FixedVectorType::get(b.getInt32Ty(), kSums);
  const int all_sums = static_cast<int>(llvm::cast<llvm::FixedVectorType>(sums->getType())->getNumElements());
  const auto dot = [&](llvm::Intrinsic::ID id, llvm::Value* sum, llvm::Value* p, llvm::Value* q) {
    return b.CreateIntrinsic(id, {words, bytes}, {sum, p, q});
  };
  llvm::Value* const top_bits = llvm::ConstantInt::get(bytes, 0x80);  // of bytes with a sign: -128
  llvm::Value* result = nullptr;
  for (int part = 0; part < all_sums / kSums; ++part) {
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
    if (all_sums == kSums) return sum;
    // Parts that are not made yet are of no account.
    std::vector<int> into;
    for (int i = 0; i < all_sums; ++i) into.push_back(i / kSums == part ? i % kSums : -1);
    llvm::Value* const wide = b.CreateShuffleVector(sum, into);
    if (result == nullptr) {
      result = wide;
      continue;
    }
    for (int i = 0; i < all_sums; ++i) into[static_cast<std::size_t>(i)] = i / kSums == part ? all_sums + i : i;
    result = b.CreateShuffleVector(result, wide, into);
  }
  return result;
}

/// The bytes of the first two rows alternately, those of the others, then pairs of these: what zip does, of registers whose
/// other bytes are of no account.
llvm::Value* join_bytes_of_aarch64(llvm::IRBuilderBase& b, const CpuFeatures&, llvm::Value*,
                                   std::span<llvm::Value* const> rows) {
  auto* const words = llvm::FixedVectorType::get(b.getInt32Ty(), kSums);
  const auto vector_of = [&](unsigned bytes) { return llvm::FixedVectorType::get(b.getIntNTy(8 * bytes), 16 / bytes); };
  const auto row = [&](std::size_t k) -> llvm::Value* {
    if (k >= rows.size()) return llvm::Constant::getNullValue(vector_of(1));
    llvm::Value* const word = b.CreateBitCast(rows[k], b.getInt32Ty());
    llvm::Value* const first = b.CreateInsertElement(llvm::PoisonValue::get(words), word, b.getInt64(0));
    return b.CreateBitCast(first, vector_of(1));
  };
  const auto alternately = [&](llvm::Value* p, llvm::Value* q, unsigned bytes) {
    const int lanes = static_cast<int>(16 / bytes);
    std::vector<int> from;
    for (int i = 0; i < lanes; ++i) from.push_back(i % 2 * lanes + i / 2);
    llvm::Type* const type = vector_of(bytes);
    return b.CreateShuffleVector(b.CreateBitCast(p, type), b.CreateBitCast(q, type), from);
  };
  llvm::Value* const low = alternately(row(0), row(1), 1);
  llvm::Value* const high =
      rows.size() > 2 ? alternately(row(2), row(3), 1) : llvm::Constant::getNullValue(vector_of(1));
  return b.CreateBitCast(alternately(low, high, 2), words);
}

llvm::Value* no_byte_order(llvm::IRBuilderBase&, const CpuFeatures&) { return nullptr; }

/// LLVM would multiply words, which takes half of the processors twice as long.
llvm::Value* product_of_aarch64(llvm::IRBuilderBase& b, llvm::Value* sums, llvm::Value* x, llvm::Value* w) {
  return b.CreateAdd(sums, b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_smull, {sums->getType()}, {x, w}));
}

bool is_aarch64_vector_register(std::string_view name) {
  return name.size() >= 2 && (name[0] == 'Q' || name[0] == 'D' || name[0] == 'Z') && name[1] >= '0' && name[1] <= '9';
}

bool is_aarch64_multiply_add(std::string_view opcode) {
  return opcode.starts_with("FMLA") || opcode.starts_with("USDOT") || opcode.starts_with("SDOT") ||
         opcode.starts_with("SMLAL");
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
                               .bf16_product = nullptr,
                               .product = product_of_aarch64,
                               .join_bytes = join_bytes_of_aarch64,
                               .byte_order = no_byte_order,
                               .look_up = nullptr,
                               .nearest_integers = nullptr,
                               .address_reach = 16384,  // of 4 bytes; 65536 of vectors
                               .multiplies_by_lane = true,
                               .stack_pointer = "SP",
                               .frame_pointer = "FP",
                               .is_vector_register = is_aarch64_vector_register,
                               .is_multiply_add = is_aarch64_multiply_add};

}  // namespace whet
