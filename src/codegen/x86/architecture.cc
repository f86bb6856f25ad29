#include "codegen/x86/architecture.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/TargetSelect.h>

#include "codegen/x86/accumulate.h"
#include "codegen/x86/byte_products.h"
#include "codegen/x86/tile_unit.h"

namespace whet {
namespace {

/// The passes that are kept are worth their time in some kernel, or are needed.
constexpr const char* kLeftOutForX86[] = {
    // Our addresses are pointers bumped once a loop already; the result is slower and takes several times the time.
    "Canonicalize Freeze Instructions in Loops",
    "Loop Strength Reduction",
    // Constants and addresses are where they belong already.
    "Constant Hoisting",
    // Each block's repetitions are gone by then, and values that several blocks need are computed before them.
    "Machine Common Subexpression Elimination",
    // They look for what kernels do not hold: lifetimes of stack slots, tiles, integers in vectors that would be masks,
    // comparisons of memory, exceptions, thread-local variables, funclets.
    "Merge disjoint stack slots",
    "Tile Register Pre-configure",
    "X86 Domain Reassignment Pass",
    "X86 Partial Reduction",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Exception handling preparation",
    "Prepare callbr",
    "TLS Variable Hoist",
    "Local Dynamic TLS Access Clean-up",
    "Contiguously Lay Out Funclets",
};

void initialize() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86Disassembler();
}

CpuFeatures features(const llvm::MCSubtargetInfo& cpu) {
  // Those of 16 sums have a form of 8, which needs avx512vl.
  const bool halves = cpu.checkFeatures("+avx512vl");
  const bool wide = halves && cpu.checkFeatures("+avx512vnni"), vnni = wide || cpu.checkFeatures("+avxvnni");
  const bool pairs = cpu.checkFeatures("+avx512bw"), half_pairs = cpu.checkFeatures("+avx2");
  return {.round = cpu.checkFeatures("+sse4.1"),
          .half = cpu.checkFeatures("+f16c"),
          .bf16 = halves && cpu.checkFeatures("+avx512bf16"),
          .bf16_products = halves && cpu.checkFeatures("+avx512bf16"),
          .dot_products = vnni,
          .mixed_dot_products = vnni,
          .masked_loads = cpu.checkFeatures("+avx2"),
          .dot_lanes = wide   ? 16
                       : vnni ? 8
                              : 0,
          .pair_lanes = pairs        ? 16
                        : half_pairs ? 8
                                     : 4,
          .permutes_bytes = cpu.checkFeatures("+avx512vbmi"),
          .permutes_words = cpu.checkFeatures("+avx512bw")};
}

bool is_vector_register(std::string_view name) {
  return name.starts_with("XMM") || name.starts_with("YMM") || name.starts_with("ZMM") || name.starts_with("TMM");
}

bool is_multiply_add(std::string_view opcode) {
  return opcode.starts_with("VFMADD") || opcode.starts_with("VPDPBUSD") || opcode.starts_with("VDPBF16PS") ||
         opcode.starts_with("VPDPWSSD") || opcode.starts_with("TDPB");
}

}  // namespace

const Architecture kX86 = {.triple = "x86_64-unknown-linux-gnu",
                           .name = "x86-64",
                           .initialize = initialize,
                           .left_out = kLeftOutForX86,
                           .features = features,
                           .make_accumulate_pass = make_accumulate_pass,
                           .dot_product = dot_product_of_x86,
                           .dot_product_vector_bytes = 32,
                           .pair_product = pair_product_of_x86,
                           .bf16_product = bf16_product_of_x86,
                           .product = nullptr,
                           .tile_unit = &kAmx,
                           .join_bytes = join_bytes_of_x86,
                           .byte_order = byte_order_of_x86,
                           .look_up = look_up_of_x86,
                           .nearest_integers = nearest_integers_of_x86,
                           .address_reach = 0,
                           .multiplies_by_lane = false,
                           .stack_pointer = "RSP",
                           .frame_pointer = "RBP",
                           .is_vector_register = is_vector_register,
                           .is_multiply_add = is_multiply_add};

}  // namespace whet
