// Convolutions on tensor cores: whether a pixel that is copied lies in the padding is a bit that was made in front of the loop.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "codegen/compile.h"
#include "codegen/testing/emulated.h"
#include "lower/lower.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "ptx/run_kernel.h"
#include "space/gpu/mma.h"
#include "space/space.h"
#include "space/testing/byte_texts.h"
#include "space/testing/product_texts.h"
#include "target/precision.h"

namespace whet {
namespace ptx_borders_test {

struct Window {
  int taps = 1, stride = 1, dilation = 1, before = 0, after = 0;  ///< the last two: elements of padding

  int padded(int extent) const { return before + extent + after; }
  int results(int extent) const { return (padded(extent) - (taps - 1) * dilation - 1) / stride + 1; }
  std::string place(const char* result, const char* tap) const {
    const auto times = [](const char* name, int factor) {
      return factor == 1 ? std::string(name) : fmt::format("({}*{})", name, factor);
    };
    return fmt::format("({} + {})", times(result, stride), times(tap, dilation));
  }
};

/// Of two pictures, in f32.
struct Convolution {
  const char* name;
  int rows, columns, channels, filters;
  Window down, across;

  std::string text() const {
    const std::string axes =
        fmt::format("n in 2, oh in {}, ow in {}, oc in {}", down.results(rows), across.results(columns), filters);
    return fmt::format(
        "x = PLACEHOLDER [2, {0}, {1}, {2}]\n"
        "w = PLACEHOLDER [{3}, {4}, {2}, {5}] const\n"
        "pad(n, y, z, c) = select((y >= {6}) && (y < {7}) && (z >= {8}) && (z < {9}), "
        "x[n, (y - {6}), (z - {8}), c], 0f) for n in 2, y in {10}, z in {11}, c in {2}  # pad\n"
        "conv(n, oh, ow, oc) += (pad[n, {12}, {13}, rc]*w[rh, rw, rc, oc]) "
        "for {14}, rh in {3}, rw in {4}, rc in {2}  # conv\n"
        "return conv\n",
        rows, columns, channels, down.taps, across.taps, filters, down.before, down.before + rows, across.before,
        across.before + columns, down.padded(rows), across.padded(columns), down.place("oh", "rh"),
        across.place("ow", "rw"), axes);
  }
  /// Operands of f16; sums are f32.
  std::string text_of_halves() const {
    std::string changed = text();
    const auto replace = [&](const std::string& from, const std::string& to) {
      const std::size_t at = changed.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      changed.replace(at, from.size(), to);
    };
    replace(fmt::format("{}]\nw", channels), fmt::format("{}] f16\nw", channels));
    replace("] const", "] f16 const");
    replace("pad(n, y, z, c) =", "pad(n, y, z, c): f16 =");
    replace(", 0f)", ", 0h)");
    replace("(pad[", "(f32(pad[");
    replace("]*w[rh, rw, rc, oc])", "])*f32(w[rh, rw, rc, oc]))");
    return changed;
  }
};

constexpr Window kThree = {.taps = 3, .before = 1, .after = 1};
const Convolution kConvolutions[] = {
    {"3x3", 9, 10, 32, 24, kThree, kThree},
    {"channels that steps do not divide", 9, 7, 48, 16, kThree, kThree},
    {"5x5 of stride 2", 11, 13, 32, 16, {5, 2, 1, 2, 2}, {5, 2, 1, 2, 2}},
    {"dilated", 9, 10, 64, 16, {3, 1, 2, 2, 2}, {3, 1, 2, 2, 2}},
    {"1x7", 6, 12, 64, 16, {}, {7, 1, 1, 3, 3}},
    {"padding behind alone", 12, 10, 64, 16, {3, 2, 1, 0, 1}, {3, 2, 1, 0, 1}},
    {"padding before alone", 7, 9, 64, 16, {3, 1, 1, 2, 0}, {3, 1, 1, 1, 0}},
    {"7x7", 9, 8, 16, 16, {7, 1, 1, 3, 3}, {7, 1, 1, 3, 3}},
    {"padding that is wider than the picture", 2, 3, 32, 16, {5, 1, 1, 4, 4}, {5, 1, 1, 4, 4}},
};

/// The loop that copies and multiplies tiles.
struct SlabLoop {
  int guarded = 0;  ///< copies of what may lie in the padding
  int comparisons = 0, divisions = 0, multiplications = 0;
  int bits = 0;  ///< shifts by what a register has
};
SlabLoop slab_loop(const ptx::Entry& entry) {
  std::set<int> literals;
  for (const ptx::Fill& fill : entry.fills)
    if (fill.kind == ptx::Fill::Kind::literal) literals.insert(fill.slot);
  SlabLoop found;
  for (std::size_t end = 0; end < entry.code.size(); ++end) {
    const ptx::Instruction& branch = entry.code[end];
    if (branch.op != ptx::Op::branch || branch.target > static_cast<int>(end)) continue;
    SlabLoop loop;
    bool copies = false, multiplies = false;
    for (auto k = static_cast<std::size_t>(branch.target); k < end; ++k) {
      const ptx::Instruction& i = entry.code[k];
      copies = copies || i.op == ptx::Op::copy, multiplies = multiplies || i.op == ptx::Op::multiply_tile;
      loop.guarded += i.op == ptx::Op::copy && !i.operands.empty();
      loop.comparisons += i.op == ptx::Op::compare;
      loop.divisions += i.op == ptx::Op::divide || i.op == ptx::Op::remainder;
      loop.multiplications += (i.op == ptx::Op::multiply && !ptx::is_float(i.type)) || i.op == ptx::Op::multiply_add ||
                              i.op == ptx::Op::multiply_high || i.op == ptx::Op::multiply_wide;
      loop.bits += i.op == ptx::Op::shift_left && !literals.contains(i.operands.back());
    }
    if (copies && multiplies) found = loop;
  }
  return found;
}

/// Of tiles with that number of rows a warp, two warps by two; 64 terms a step are one tap.
SlabLoop loop_of_rows(std::int64_t rows) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const Convolution convolution = {"", 16, 24, 64, 64, kThree, kThree};
  const ComputeDag dag = parse_dag(convolution.text_of_halves()).value();
  const std::optional<Sketch> sketch = mma_half_sketch(dag, target);
  EXPECT_TRUE(sketch.has_value());
  const DesignSpace space(dag, {*sketch});
  Candidate c = space.default_candidate();
  for (const auto& [name, choice] : Choices{{"rows", {2, rows}},
                                            {"columns", {2, 32}},
                                            {"depth", {64}},
                                            {"stages", {3}},
                                            {"split", {1}},
                                            {"min_blocks", {0}}})
    c.choices[name] = choice;
  EXPECT_TRUE(space.contains(c).ok()) << space.contains(c).error().message;
  const Lowered lowered = lower(space.schedule(c)->tree, target).value();
  const Kernel kernel = compile_kernel(lowered.program, target).value();
  const ptx::Module module = ptx::parse(kernel.code).value();
  EXPECT_EQ(kernel.code.find(".local"), std::string::npos);
  return slab_loop(*module.find(kernel.launches[0].entry));
}

/// Beside the bits of the copies: the loop's end, whether a slab is left to copy, and whether one is left to multiply. Rows and columns of
/// pixels are computed in front of the loop: what the loop multiplies and divides is the number of the step.
TEST(PtxBorders, OfConvolutionsOnTensorCoresAreOneComparisonACopy) {
  const SlabLoop wide = loop_of_rows(64), narrow = loop_of_rows(32);
  EXPECT_EQ(wide.guarded, 8);
  EXPECT_EQ(narrow.guarded, 4);
  for (const SlabLoop& loop : {wide, narrow}) {
    EXPECT_EQ(loop.divisions, 0);
    EXPECT_LE(loop.comparisons, loop.guarded + 6);
    EXPECT_EQ(loop.bits, 2) << "a row and a column of taps";
    EXPECT_LE(loop.multiplications, 24);
  }
  EXPECT_LE(wide.multiplications - narrow.multiplications, wide.guarded - narrow.guarded)
      << "one a copy, for its address";
}

struct Reference {
  ComputeDag dag;
  std::vector<Tensor> inputs, want;
};
Reference reference(const std::string& text) {
  ComputeDag dag = parse_dag(text).value();
  Rng rng(3);
  std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  std::vector<Tensor> want = evaluate(dag, inputs).value();
  return {std::move(dag), std::move(inputs), std::move(want)};
}

/// Two candidates of the sketch with that number of terms a step; gives the number of their loops that have bits.
int expect_right(const Reference& task, const std::optional<Sketch>& sketch, std::int64_t depth, double most) {
  EXPECT_TRUE(sketch.has_value());
  if (!sketch) return 0;
  const Target target = *parse_target("cuda -arch=sm_80");
  const DesignSpace space(task.dag, {*sketch});
  Rng rng(3);
  int tried = 0, with_bits = 0;
  for (int k = 0; k < 4000 && tried < 2; ++k) {
    Candidate c = space.sample(rng);
    c.choices["depth"] = {depth}, c.choices["stages"] = {2 + k % 2}, c.choices["split"] = {1};
    if (!space.contains(c).ok()) continue;
    ++tried;
    SCOPED_TRACE(to_json(c));
    const Lowered lowered = lower(space.schedule(c)->tree, target).value();
    const Kernel kernel = compile_kernel(lowered.program, target).value();
    const std::vector<Tensor> arguments = testing::arguments_of(lowered, task.dag, task.inputs).value();
    const auto emulated = run_emulated(lowered.program, target, arguments, {.workers = 2});
    EXPECT_TRUE(emulated.ok()) << emulated.error().message;
    if (emulated.ok()) {
      EXPECT_LE(testing::worst_output(lowered, task.want, *emulated), most);
    }
    const Result<ptx::KernelRun> run = ptx::run_kernel(kernel, arguments);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (run.ok()) {
      EXPECT_LE(testing::worst_output(lowered, task.want, run->arguments), most);
    }
    const ptx::Module module = ptx::parse(kernel.code).value();
    with_bits += slab_loop(*module.find(kernel.launches[0].entry)).bits > 0;
  }
  EXPECT_EQ(tried, 2) << sketch->name;
  return with_bits;
}

TEST(PtxBorders, OfEveryWindowAreWhatTheTaskSays) {
  const Target target = *parse_target("cuda -arch=sm_80");
  int with_bits = 0;
  for (const Convolution& convolution : kConvolutions) {
    SCOPED_TRACE(convolution.name);
    const Reference halves = reference(convolution.text_of_halves());
    with_bits += expect_right(halves, mma_half_sketch(halves.dag, target), 32, 4e-3);
    const Reference floats = reference(convolution.text());
    for (const Precision precision : {Precision::tf32, Precision::f16})
      with_bits += expect_right(floats, mma_sketch(floats.dag, target, precision), 32, 2e-5 + tolerance_of(precision));
  }
  const Reference bytes = reference(testing::byte_convolution_text(9, 64, 24));
  with_bits += expect_right(bytes, mma_bytes_sketch(bytes.dag, target), 64, 2e-5);
  EXPECT_GE(with_bits, 2 * std::ssize(kConvolutions));
}

/// Two iterations are spared less than the word costs.
TEST(PtxBorders, OfFewStepsAreCompared) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const Reference task = reference(testing::half_convolution_text(8, 8, 16));
  const std::optional<Sketch> sketch = mma_half_sketch(task.dag, target);
  ASSERT_TRUE(sketch.has_value());
  EXPECT_EQ(expect_right(task, sketch, 64, 4e-3), 0);
}

}  // namespace ptx_borders_test
}  // namespace whet
