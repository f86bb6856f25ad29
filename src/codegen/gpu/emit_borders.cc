// Borders of padded tensors in loops of tiles. Which taps of a window lie outside of the tensor is known in front of the loop: a word has
// a bit for each row of taps and for each column of them, which is set where that lies outside. In the loop a copy asks for its two bits
// at once, in place of two sums and four comparisons, and the word is what a thread keeps of its pixel's coordinates.

#include <algorithm>
#include <map>

#include "codegen/gpu/emitter.h"

namespace whet {
namespace {

constexpr std::int64_t kBorderBits = 32;      ///< of the word
constexpr std::int64_t kMostTapsOfAxis = 16;  ///< values of one term: so that two of them fit
/// Comparisons that all iterations are spared for one in front of the loop, which also chooses and joins a bit.
constexpr std::int64_t kLeastSpared = 4;

constexpr bool is_order(BinaryOp op) {
  return op == BinaryOp::lt || op == BinaryOp::le || op == BinaryOp::gt || op == BinaryOp::ge;
}

}  // namespace

std::int64_t GpuEmitter::iterations_of_tiles(const Loop& n) {
  const std::int64_t* const extent = as_int(n.extent);
  bool has_tiles = false;
  for_each(
      n.body,
      [&](const Stmt& s) {
        const Loop* const loop = std::get_if<Loop>(&s->kind);
        has_tiles = has_tiles || (loop != nullptr && is_warp_wide(loop->intrinsic));
      },
      nullptr);
  return has_tiles && extent != nullptr ? *extent : 0;
}

std::optional<GpuEmitter::BorderTest> GpuEmitter::border_test(const ExprInfo& condition, std::size_t loop) {
  const Binary* const n = std::get_if<Binary>(&condition.expr->kind);
  if (n == nullptr || !is_order(n->op) || n->a->dtype != DType::i64) return std::nullopt;
  const Linear* const difference = linear_of(table_[table_.keep(n->a - n->b)]);
  if (difference == nullptr) return std::nullopt;
  // a <= b is a - b - 1 < 0, and a > b is a - b - 1 >= 0.
  const bool or_equal = n->op == BinaryOp::le || n->op == BinaryOp::gt;
  BorderTest test{.below = n->op == BinaryOp::lt || n->op == BinaryOp::le,
                  .constant = difference->constant - (or_equal ? 1 : 0)};
  for (const auto& term : difference->terms) {
    if (home_of(table_[term.first].vars) < loop) {
      test.fixed.push_back(term);
    } else if (test.changing.valid()) {
      return std::nullopt;
    } else {
      test.changing = term.first, test.factor = term.second;
    }
  }
  if (!test.changing.valid() || test.fixed.empty() || !is_narrow(test.changing)) return std::nullopt;
  const Interval values = analysis_.range(test.changing);
  if (*values.max - *values.min >= kMostTapsOfAxis) return std::nullopt;
  const Interval moved = values * test.factor + Interval::point(test.constant);
  if (!in_32_bits(moved) || !in_32_bits(-moved) || !in_32_bits(analysis_.range(test.fixed))) return std::nullopt;
  return test;
}

void GpuEmitter::split_border(ExprRef condition, std::size_t loop, Border& border) {
  const ExprInfo& info = table_[condition];
  const Binary* const n = std::get_if<Binary>(&info.expr->kind);
  if (n != nullptr && n->op == BinaryOp::logical_and) {
    for (const ExprRef part : info.children) split_border(part, loop, border);
  } else if (home_of(info.vars) < loop) {
    border.fixed.push_back(condition);
  } else if (std::optional<BorderTest> test = border_test(info, loop)) {
    border.tests.push_back(*std::move(test));
  } else {
    border.others.push_back(condition);
  }
}

/// Where the word would cost more than it spares, or does not hold all values, false.
bool GpuEmitter::lay_out_border(Border& border, std::int64_t iterations) {
  std::int64_t bits = 0;
  for (const BorderTest& test : border.tests) {
    const Interval values = analysis_.range(test.changing);
    if (border.first_bit.emplace(test.changing, bits - *values.min).second) bits += *values.max - *values.min + 1;
  }
  if (bits > kBorderBits) return false;
  for (const BorderTest& test : border.tests) {
    const Interval values = analysis_.range(test.changing), fixed = analysis_.range(test.fixed);
    for (std::int64_t value = *values.min; value <= *values.max; ++value) {
      const std::int64_t limit = -(test.factor * value + test.constant);
      const std::uint32_t bit = 1u << (border.first_bit.at(test.changing) + value);
      const bool all_below = fixed.max && *fixed.max < limit, none_below = fixed.min && *fixed.min >= limit;
      if (!all_below && !none_below)
        border.limits.push_back({&test, limit, bit});
      else if (all_below != test.below)
        border.always |= bit;
    }
  }
  return std::ssize(border.limits) * kLeastSpared <= iterations * std::ssize(border.tests);
}

/// In front of the loop.
GpuEmitter::Value* GpuEmitter::border_word(const Border& border) {
  std::size_t home = 0;
  for (const BorderTest& test : border.tests) home = std::max(home, home_of(test.fixed));
  for (const ExprRef condition : border.fixed) home = std::max(home, home_of(table_[condition].vars));
  const At at = before_loops(home);
  llvm::Type* const i32 = b_.getInt32Ty();
  Value* word = b_.getInt32(border.always);
  for (const BorderLimit& limit : border.limits) {
    Value* const sum = b_.CreateTrunc(offset(limit.test->fixed), i32);
    Value* const number = llvm::ConstantInt::getSigned(i32, limit.value);
    Value* const is_outside = limit.test->below ? b_.CreateICmpSGE(sum, number) : b_.CreateICmpSLT(sum, number);
    word = b_.CreateOr(b_.CreateSelect(is_outside, b_.getInt32(limit.bit), b_.getInt32(0)), word);
  }
  for (const ExprRef condition : border.fixed) word = b_.CreateSelect(emit(condition), word, b_.getInt32(~0u));
  return word;
}

GpuEmitter::Value* GpuEmitter::border(ExprRef condition, std::size_t loop) {
  const ExprInfo& info = table_[condition];
  const std::int64_t iterations = levels_[loop]->iterations;
  if (iterations == 0 || info.expr->dtype != DType::boolean || info.expr->lanes != 1) return nullptr;
  Border border;
  split_border(condition, loop, border);
  if (border.tests.size() < 2 || !lay_out_border(border, iterations)) return nullptr;
  Value* const word = border_word(border);
  Value* here = nullptr;
  for (const auto& [changing, first] : border.first_bit) {
    Value* place = resize(emit(changing), true);
    if (first != 0) place = b_.CreateAdd(place, llvm::ConstantInt::getSigned(place->getType(), first));
    Value* const bit = b_.CreateShl(b_.getInt32(1), place);
    here = here == nullptr ? bit : b_.CreateOr(here, bit);
  }
  Value* inside = b_.CreateICmpEQ(b_.CreateAnd(word, here), b_.getInt32(0));
  for (const ExprRef other : border.others) inside = b_.CreateAnd(inside, emit(other));
  return inside;
}

}  // namespace whet
