#pragma once

#include <span>

#include "codegen/llvm/architecture.h"

namespace whet {

/// Architecture::dot_product by VNNI: vpdpbusd of 16 sums, or of 8.
llvm::Value* dot_product_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                                llvm::Value* w);
/// Architecture::pair_product: vpmaddwd.
llvm::Value* pair_product_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                                 llvm::Value* w);
/// Architecture::bf16_product: vdpbf16ps.
llvm::Value* bf16_product_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                                 llvm::Value* w);
/// Architecture::join_bytes: one permutation where the processor permutes bytes of a whole vector.
llvm::Value* join_bytes_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* order,
                               std::span<llvm::Value* const> rows);
/// Architecture::look_up: two permutations of 128 bytes each, of bytes or of pairs of them, of which a shift takes one.
llvm::Value* look_up_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value* table, llvm::Value* bytes);
/// Architecture::byte_order: the indices of that permutation.
llvm::Value* byte_order_of_x86(llvm::IRBuilderBase&, const CpuFeatures&);
/// Architecture::nearest_integers: vcvtps2dq.
llvm::Value* nearest_integers_of_x86(llvm::IRBuilderBase&, const CpuFeatures&, llvm::Value*);

}  // namespace whet
