#include "codegen/x86/byte_products.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace whet {
namespace {

/// Words of a vector of 64 bytes.
constexpr int kWords = 16;

int lanes_in(const llvm::Value* vector) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
}

llvm::Value* part_of(llvm::IRBuilderBase& b, llvm::Value* all, int first, int lanes) {
  std::vector<int> taken(static_cast<std::size_t>(lanes));
  std::iota(taken.begin(), taken.end(), first);
  return lanes_in(all) == lanes ? all : b.CreateShuffleVector(all, taken);
}

llvm::Value* joined(llvm::IRBuilderBase& b, llvm::Value* first, llvm::Value* second) {
  std::vector<int> all(2 * static_cast<std::size_t>(lanes_in(first)));
  std::iota(all.begin(), all.end(), 0);
  return b.CreateShuffleVector(first, second, all);
}

/// `compute` of the halves of vectors that have more than `most` lanes.
template <typename Compute>
llvm::Value* by_parts(llvm::IRBuilderBase& b, int most, llvm::Value* sums, llvm::Value* x, llvm::Value* w,
                      const Compute& compute) {
  const int lanes = lanes_in(sums), half = lanes / 2;
  if (lanes <= most) return compute(sums, x, w);
  const auto of_half = [&](int first) {
    return by_parts(b, most, part_of(b, sums, first, half), part_of(b, x, first, half), part_of(b, w, first, half),
                    compute);
  };
  llvm::Value* low = of_half(0);
  return joined(b, low, of_half(half));
}

}  // namespace

llvm::Value* dot_product_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* sums, llvm::Value* x,
                                llvm::Value* w) {
  return by_parts(b, features.dot_lanes, sums, x, w, [&](llvm::Value* sum, llvm::Value* p, llvm::Value* q) {
    const auto id = lanes_in(sum) == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                    : lanes_in(sum) == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                         : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    return b.CreateIntrinsic(id, {}, {sum, p, q});
  });
}

llvm::Value* pair_product_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* sums, llvm::Value* x,
                                 llvm::Value* w) {
  return by_parts(b, features.pair_lanes, sums, x, w, [&](llvm::Value* sum, llvm::Value* p, llvm::Value* q) {
    const int lanes = lanes_in(sum);
    auto* const halves = llvm::FixedVectorType::get(b.getInt16Ty(), static_cast<unsigned>(2 * lanes));
    const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                 : llvm::Intrinsic::x86_sse2_pmadd_wd;
    return b.CreateAdd(sum, b.CreateIntrinsic(id, {}, {b.CreateBitCast(p, halves), b.CreateBitCast(q, halves)}));
  });
}

/// Of 16 sums or 8: what has avx512_bf16 has vectors of 64 bytes.
llvm::Value* bf16_product_of_x86(llvm::IRBuilderBase& b, const CpuFeatures&, llvm::Value* sums, llvm::Value* x,
                                 llvm::Value* w) {
  const int lanes = lanes_in(sums);
  auto* const pairs = llvm::FixedVectorType::get(b.getBFloatTy(), static_cast<unsigned>(2 * lanes));
  const auto id =
      lanes == kWords ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512 : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256;
  return b.CreateIntrinsic(id, {}, {sums, b.CreateBitCast(x, pairs), b.CreateBitCast(w, pairs)});
}

/// LLVM does not see that the indices are constant. It would make permutations of two vectors of this one and the inserted
/// rows, which take processors three times as long.
llvm::Value* byte_order_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features) {
  if (!features.permutes_bytes) return nullptr;
  std::vector<llvm::Constant*> from;
  for (int i = 0; i < 4 * kWords; ++i) from.push_back(b.getInt8(static_cast<std::uint8_t>(i % 4 * kWords + i / 4)));
  llvm::Constant* const order = llvm::ConstantVector::get(from);
  auto* const type = llvm::FunctionType::get(order->getType(), {order->getType()}, false);
  return b.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", false), {order});
}

llvm::Value* join_bytes_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* order,
                               std::span<llvm::Value* const> rows) {
  const int lanes = lanes_in(rows[0]);
  auto* const words = llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes));
  if (!features.permutes_bytes || lanes != kWords || rows.size() < 3) {
    llvm::Value* all = nullptr;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      llvm::Value* row = b.CreateZExt(rows[k], words);
      if (k > 0) row = b.CreateShl(row, llvm::ConstantInt::get(words, 8 * k));
      all = all == nullptr ? row : b.CreateOr(all, row);
    }
    return all;
  }
  llvm::Value* const none = llvm::Constant::getNullValue(rows[0]->getType());
  llvm::Value* const low = joined(b, rows[0], rows[1]);
  llvm::Value* const high = joined(b, rows[2], rows.size() > 3 ? rows[3] : none);
  llvm::Value* const bytes =
      b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_qi_512, {}, {joined(b, low, high), order});
  return b.CreateBitCast(bytes, words);
}

namespace {

/// The first lanes of a vector, and any behind them.
llvm::Value* resized(llvm::IRBuilderBase& b, llvm::Value* vector, int to) {
  std::vector<int> from(static_cast<std::size_t>(to), -1);
  for (int i = 0; i < std::min(to, lanes_in(vector)); ++i) from[static_cast<std::size_t>(i)] = i;
  return lanes_in(vector) == to ? vector : b.CreateShuffleVector(vector, from);
}

/// One of four vectors of 64 bytes of a table.
llvm::Value* quarter_of(llvm::IRBuilderBase& b, llvm::Value* table, int quarter, llvm::Type* type) {
  constexpr std::uint64_t kVector = 64;
  llvm::Value* const at = b.CreatePtrAdd(table, b.getInt64(kVector * static_cast<std::uint64_t>(quarter)));
  llvm::LoadInst* const load = b.CreateAlignedLoad(type, at, llvm::Align(1));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
  return load;
}

llvm::Value* look_up_bytes(llvm::IRBuilderBase& b, llvm::Value* table, llvm::Value* bytes) {
  auto* const type = llvm::FixedVectorType::get(b.getInt8Ty(), 64);
  llvm::Value* const at = resized(b, bytes, 64);
  const auto half = [&](int k) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                             {quarter_of(b, table, k, type), at, quarter_of(b, table, k + 1, type)});
  };
  llvm::Value* const is_high = b.CreateICmpSLT(at, llvm::Constant::getNullValue(type));
  return resized(b, b.CreateSelect(is_high, half(2), half(0)), lanes_in(bytes));
}

llvm::Value* look_up_words(llvm::IRBuilderBase& b, llvm::Value* table, llvm::Value* bytes) {
  auto* const type = llvm::FixedVectorType::get(b.getInt16Ty(), 32);
  const auto word = [&](std::uint64_t value) { return llvm::ConstantInt::get(type, value); };
  llvm::Value* const wide = b.CreateZExt(resized(b, bytes, 32), type);
  llvm::Value* const at = b.CreateLShr(wide, word(1));
  const auto half = [&](int k) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_hi_512, {},
                             {quarter_of(b, table, k, type), at, quarter_of(b, table, k + 1, type)});
  };
  llvm::Value* const pair = b.CreateSelect(b.CreateICmpUGE(wide, word(128)), half(2), half(0));
  llvm::Value* const byte = b.CreateLShr(pair, b.CreateShl(b.CreateAnd(wide, word(1)), word(3)));
  return resized(b, b.CreateTrunc(byte, llvm::FixedVectorType::get(b.getInt8Ty(), 32)), lanes_in(bytes));
}

}  // namespace

llvm::Value* look_up_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* table,
                            llvm::Value* bytes) {
  const int lanes = lanes_in(bytes);
  if (lanes < 8 || lanes > 64 || !(features.permutes_bytes || features.permutes_words)) return nullptr;
  if (features.permutes_bytes) return look_up_bytes(b, table, bytes);
  if (lanes <= 32) return look_up_words(b, table, bytes);
  return joined(b, look_up_words(b, table, part_of(b, bytes, 0, 32)),
                look_up_words(b, table, part_of(b, bytes, 32, 32)));
}

llvm::Value* nearest_integers_of_x86(llvm::IRBuilderBase& b, const CpuFeatures& features, llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  if (lanes == 4) return b.CreateIntrinsic(llvm::Intrinsic::x86_sse2_cvtps2dq, {}, {value});
  if (lanes == 8 && features.pair_lanes >= 8)
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvt_ps2dq_256, {}, {value});
  if (lanes != 16 || features.pair_lanes < 16) return nullptr;
  constexpr int kRoundAsSet = 4;
  llvm::Value* const none = llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getInt32Ty(), lanes));
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
                           {value, none, b.getInt16(0xffff), b.getInt32(kRoundAsSet)});
}

}  // namespace whet
