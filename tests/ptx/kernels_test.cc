// Default kernels of small tasks as PTX: the interpreter of PTX, the emulated device and the task's own evaluation agree.

#include <gtest/gtest.h>

#include <tuple>

#include "codegen/compile.h"
#include "codegen/testing/emulated.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "passes/optimize.h"
#include "ptx/run_kernel.h"
#include "space/gpu/attention_stream.h"
#include "space/space.h"
#include "space/testing/attention_texts.h"
#include "space/testing/byte_texts.h"
#include "space/testing/product_texts.h"
#include "target/precision.h"
#include "task/task.h"

namespace whet {
namespace {

const char* const kDense = R"(
a = PLACEHOLDER [70, 96]
b = PLACEHOLDER [96, 40] const
bias = PLACEHOLDER [40] const
c(i, j) += (a[i, r]*b[r, j]) for i in 70, j in 40, r in 96
out(i, j) = max((c[i, j] + bias[j]), 0f) for i in 70, j in 40
return out
)";
/// Few sums of many terms, which parts of the sum add up in a second launch.
const char* const kLongSum = R"(
a = PLACEHOLDER [24, 768]
b = PLACEHOLDER [768, 24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 24, j in 24, r in 768
return c
)";
const char* const kFirstLayer = R"(
x = PLACEHOLDER [1, 13, 11, 3]
w = PLACEHOLDER [5, 5, 3, 16] const
pad(n, y, z, c) = select((y >= 2) && (y < 15) && (z >= 2) && (z < 13), x[n, (y - 2), (z - 2), c], 0f) for n in 1, y in 17, z in 15, c in 3  # pad
conv(n, oh, ow, oc) += (pad[n, (oh*2 + rh), (ow*2 + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 7, ow in 6, oc in 16, rh in 5, rw in 5, rc in 3  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)";
const char* const kDepthwise = R"(
x = PLACEHOLDER [1, 9, 9, 12]
w = PLACEHOLDER [3, 3, 12] const
bias = PLACEHOLDER [12] const
pad(n, y, z, c) = select((y >= 1) && (y < 10) && (z >= 1) && (z < 10), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 11, z in 11, c in 12  # pad n:batch y:row z:column c:channel
dw(n, oh, ow, c) += (pad[n, (oh + rh), (ow + rw), c]*w[rh, rw, c]) for n in 1, oh in 9, ow in 9, c in 12, rh in 3, rw in 3  # depthwise n:batch oh:row ow:column c:channel rh:tap rw:tap
out(n, oh, ow, c) = max((dw[n, oh, ow, c] + bias[c]), 0f) for n in 1, oh in 9, ow in 9, c in 12
return out
)";
const char* const kMaxPool = R"(
x = PLACEHOLDER [1, 10, 10, 8]
pad(n, y, z, c) = select((y >= 1) && (y < 11) && (z >= 1) && (z < 11), x[n, (y - 1), (z - 1), c], -inff) for n in 1, y in 12, z in 12, c in 8  # pad n:batch y:row z:column c:channel
p(n, y, z, c) max= pad[n, ((y*2) + rh), ((z*2) + rw), c] for n in 1, y in 5, z in 5, c in 8, rh in 3, rw in 3  # pool n:batch y:row z:column c:channel rh:tap rw:tap
return p
)";
const char* const kSoftmax = R"(
x = PLACEHOLDER [6, 70]
m(i) max= x[i, r] for i in 6, r in 70
e(i, j) = exp((x[i, j] - m[i])) for i in 6, j in 70
s(i) += e[i, r] for i in 6, r in 70
y(i, j) = (e[i, j]*(1f/s[i])) for i in 6, j in 70
return y
)";
const char* const kLayerNorm = R"(
x = PLACEHOLDER [5, 48]
g = PLACEHOLDER [48] const
s(i, k) += x[i, r] for i in 5, k in 1, r in 48
m(i, k) = (s[i, k]*0.0208f) for i in 5, k in 1
d(i, j) = (x[i, j] - m[i, 0]) for i in 5, j in 48
q(i, j) = (d[i, j]*d[i, j]) for i in 5, j in 48
v(i, k) += q[i, r] for i in 5, k in 1, r in 48
y(i, j) = ((d[i, j]/sqrt((v[i, 0] + 1f)))*g[j]) for i in 5, j in 48
return y
)";
const char* const kMean = R"(
x = PLACEHOLDER [1, 9, 9, 20]
s(n, y, z, c) += x[n, r, q, c] for n in 1, y in 1, z in 1, c in 20, r in 9, q in 9  # reduce
m(n, y, z, c) = (s[n, y, z, c]*0.0123f) for n in 1, y in 1, z in 1, c in 20
return m
)";
const char* const kFunctions = R"(
x = PLACEHOLDER [7, 33]
e(i, j) = (x[i, j]*(erf((x[i, j]*0.7f)) + 1f)) for i in 7, j in 33
t(i, j) = tanh((e[i, j]*3f)) for i in 7, j in 33
z(i, j) = (t[i, j] + exp(x[i, j])) for i in 7, j in 33
y(i, j) = (z[i, j] + floor((x[i, j]*9f))) for i in 7, j in 33
return y
)";
const char* const kTurned = "x = PLACEHOLDER [19, 33]\ny(i, j) = x[j, i] for i in 33, j in 19\nreturn y\n";

struct Case {
  const char* name;
  std::string text;
  double halves = 0;  ///< what the rounding of tensors of f16 adds to the error
};
std::vector<Case> cases() {
  return {{"dense", kDense},
          {"long sum", kLongSum},
          {"convolution", testing::convolution_text(7, 16, 24)},
          {"first layer", kFirstLayer},
          {"depthwise", kDepthwise},
          {"max pool", kMaxPool},
          {"softmax", kSoftmax},
          {"layer norm", kLayerNorm},
          {"mean", kMean},
          {"functions", kFunctions},
          {"transpose", kTurned},
          {"attention", testing::heads_text(2, 24, 40, 32)},
          {"masked attention", testing::masked_heads_text(16)},
          {"dense of halves", testing::half_dense_text(33, 30, 50), 4e-3},
          {"convolution of halves", testing::half_convolution_text(7, 16, 12), 4e-3},
          {"scaled convolution of halves", testing::scaled_halves_text(9, 64, 24, 2), 4e-3},
          {"scaled convolution of bf16", testing::with_bf16(testing::scaled_halves_text(9, 64, 24, 1)), 3e-2},
          {"dense of bf16", testing::with_bf16(testing::half_dense_text(33, 30, 50)), 3e-2},
          {"convolution of bf16", testing::with_bf16(testing::half_convolution_text(7, 16, 12)), 3e-2},
          {"attention of halves", testing::half_heads_text(1, 24, 40, 32), 4e-3},
          {"attention of bf16", testing::with_bf16(testing::half_heads_text(1, 24, 40, 32)), 3e-2},
          {"dense of bytes", testing::byte_dense_text(30, 64, 24)},
          {"convolution of bytes", testing::byte_convolution_text(7, 16, 12)}};
}

struct Made {
  ComputeDag dag;
  Lowered lowered;
  Kernel kernel;
};
Made make(const std::string& text, const Target& target, Precision precision) {
  ComputeDag dag = parse_dag(text).value();
  const Steps steps = default_steps(dag, target, {.precision = precision}).value();
  Lowered lowered = lower(*replay(dag, steps), target).value();
  Kernel kernel = compile_kernel(lowered.program, target).value();
  return {std::move(dag), std::move(lowered), std::move(kernel)};
}

/// In several orders of warps and landings of copies. Gives what the last one counted.
ptx::Tally expect_agreement(const Case& task, const Target& target, Precision precision) {
  const Made made = make(task.text, target, precision);
  Rng rng(5);
  const std::vector<Tensor> inputs = testing::random_inputs(made.dag, rng);
  const std::vector<Tensor> arguments = testing::arguments_of(made.lowered, made.dag, inputs).value();
  const std::vector<Tensor> want = evaluate(made.dag, inputs).value();
  const auto emulated = run_emulated(made.lowered.program, target, arguments);
  EXPECT_TRUE(emulated.ok()) << emulated.error().message;
  const double most = 2e-5 + task.halves + tolerance_of(precision);
  ptx::Tally tally;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Result<ptx::KernelRun> run = ptx::run_kernel(made.kernel, arguments, {.seed = seed});
    EXPECT_TRUE(run.ok()) << run.error().message << "\n" << made.kernel.code;
    if (!run.ok()) return tally;
    EXPECT_LE(testing::worst_output(made.lowered, want, run->arguments), most) << "of the evaluation";
    for (std::size_t i = 0; i < arguments.size(); ++i)
      EXPECT_LE(compare(run->arguments[i], (*emulated)[i]).relative, most) << "of emulation, argument " << i;
    tally = run->tally;
  }
  return tally;
}

TEST(PtxKernels, OfDefaultSchedulesDoWhatTheirTasksSay) {
  for (const char* arch : {"sm_75", "sm_80", "sm_90"})
    for (const Case& task : cases()) {
      SCOPED_TRACE(std::string(task.name) + " for " + arch);
      expect_agreement(task, *parse_target(std::string("cuda -arch=") + arch), Precision::f32);
    }
}

TEST(PtxKernels, OnTensorCoresDoWhatTheirTasksSay) {
  const Target target = *parse_target("cuda -arch=sm_80");
  int on_tensor_cores = 0;
  for (const Precision precision : {Precision::tf32, Precision::f16, Precision::bf16})
    for (const Case& task : cases()) {
      if (task.halves > 0) continue;
      SCOPED_TRACE(std::string(task.name) + " in " + std::string(name_of(precision)));
      on_tensor_cores += ptx::instructions_of(expect_agreement(task, target, precision), "mma.sync") > 0;
    }
  EXPECT_GE(on_tensor_cores, 3 * 3);
}

/// Powers of two are one instruction, and so is nothing else that a softmax has.
TEST(PtxKernels, OfEverySoftmaxHaveExponentialsOfOneInstruction) {
  int softmaxes = 0;
  const auto expect_powers = [&](const char* arch, Precision precision) {
    for (const Case& task : cases()) {
      if (task.text.find("softmax") == std::string::npos && std::string(task.name) != "softmax") continue;
      const Made made = make(task.text, *parse_target(std::string("cuda -arch=") + arch), precision);
      EXPECT_NE(made.kernel.code.find("ex2.approx"), std::string::npos) << task.name << " for " << arch;
      ++softmaxes;
    }
  };
  for (const char* arch : {"sm_75", "sm_90"}) expect_powers(arch, Precision::f32);
  for (const Precision precision : {Precision::tf32, Precision::f16, Precision::bf16})
    expect_powers("sm_80", precision);
  EXPECT_EQ(softmaxes, 5 * 5);
}

/// 2,048 keys of depth 128: no memory holds their scores, and the answers are right.
TEST(PtxKernels, OfAttentionsOfAnyLengthDoWhatTheirTasksSay) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const auto expect_right = [&](const ComputeDag& dag, const std::optional<Sketch>& sketch, double most) {
    ASSERT_TRUE(sketch.has_value());
    const DesignSpace space(dag, {*sketch});
    const Lowered lowered = lower(space.schedule(space.default_candidate())->tree, target).value();
    const Kernel kernel = compile_kernel(lowered.program, target).value();
    EXPECT_EQ(kernel.workspace, 0);
    EXPECT_EQ(kernel.launches.size(), 1u);
    Rng rng(5);
    const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
    const std::vector<Tensor> arguments = testing::arguments_of(lowered, dag, inputs).value();
    const std::vector<Tensor> want = evaluate(dag, inputs).value();
    const auto emulated = run_emulated(lowered.program, target, arguments);
    ASSERT_TRUE(emulated.ok()) << sketch->name << ": " << emulated.error().message;
    EXPECT_LE(testing::worst_output(lowered, want, *emulated), most);
    const Result<ptx::KernelRun> run = ptx::run_kernel(kernel, arguments);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_LE(testing::worst_output(lowered, want, run->arguments), most);
  };
  const std::string text = testing::half_heads_text(1, 16, 2048, 128);
  const ComputeDag halves = *parse_dag(text), bf16 = *parse_dag(testing::with_bf16(text));
  expect_right(halves, half_attention_stream_sketch(halves, target), 4e-3);
  expect_right(bf16, half_attention_stream_sketch(bf16, target), 3e-2);
  const ComputeDag dag = *parse_dag(testing::heads_text(1, 16, 2048, 128));
  for (const Precision precision : {Precision::tf32, Precision::f16, Precision::bf16})
    expect_right(dag, attention_stream_sketch(dag, target, precision), 2e-5 + tolerance_of(precision));
}

/// 128 heads of 2,048 queries and keys of depth 128, whose scores are 2 GiB: one launch, which keeps none of them.
TEST(PtxKernels, OfManyLongHeadsHaveNoWorkspace) {
  const std::string halves = testing::half_heads_text(128, 2048, 2048, 128);
  const std::string floats = testing::heads_text(128, 2048, 2048, 128);
  for (const char* arch : {"sm_80", "sm_90"})
    for (const auto& [text, precision] :
         {std::pair(halves, Precision::f32), std::pair(testing::with_bf16(halves), Precision::f32),
          std::pair(floats, Precision::tf32), std::pair(floats, Precision::f16), std::pair(floats, Precision::bf16)}) {
      SCOPED_TRACE(std::string(name_of(precision)) + " for " + arch);
      const Made made = make(text, *parse_target(std::string("cuda -arch=") + arch), precision);
      EXPECT_EQ(made.kernel.workspace, 0);
      EXPECT_EQ(made.kernel.launches.size(), 1u);
      EXPECT_NE(made.kernel.code.find("mma.sync"), std::string::npos);
    }
}

/// Tiles of 16 x 8 sums, none of them beside the result, and matrices that lie in 32 banks.
TEST(PtxKernels, OfProductsOnTensorCoresMultiplyNoMoreThanTheyMust) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const Case rounded = {"dense", R"(
a = PLACEHOLDER [128, 128]
b = PLACEHOLDER [128, 128] const
c(i, j) += (a[i, r]*b[r, j]) for i in 128, j in 128, r in 128
return c
)"};
  const Case halves = {"dense of halves", testing::half_dense_text(128, 128, 128), 4e-3};
  for (const auto& [task, precision, depth] :
       {std::tuple(rounded, Precision::tf32, 8), std::tuple(halves, Precision::f32, 16)}) {
    const ptx::Tally tally = expect_agreement(task, target, precision);
    EXPECT_EQ(ptx::instructions_of(tally, "mma.sync"), 128 * 128 * 128 / (16 * 8 * depth)) << task.name;
    const ptx::Wavefronts matrices = ptx::wavefronts_of(tally, "ldmatrix");
    EXPECT_GT(matrices.least, 0) << task.name;
    EXPECT_EQ(matrices.taken, matrices.least) << task.name;
    EXPECT_EQ(ptx::instructions_of(tally, "ld.shared"), 0) << "operands are matrices, on both sides";
  }
}

/// A product of f16 by the default schedule with other choices; what its launches counted.
ptx::Tally count_halves(const Choices& choices) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const ComputeDag dag = parse_dag(testing::half_dense_text(128, 128, 128)).value();
  const DesignSpace space = make_space(dag, target);
  Candidate c = space.default_candidate();
  EXPECT_EQ(c.sketch, "mma_half");
  for (const auto& [name, choice] : choices) c.choices[name] = choice;
  EXPECT_TRUE(space.contains(c).ok()) << space.contains(c).error().message;
  const Scheduled scheduled = space.schedule(c).value();
  const Lowered lowered = lower(scheduled.tree, target).value();
  Rng rng(5);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  const std::vector<Tensor> arguments = testing::arguments_of(lowered, dag, inputs).value();
  const Result<ptx::KernelRun> run = ptx::run_kernel(compile_kernel(lowered.program, target).value(), arguments);
  EXPECT_TRUE(run.ok()) << run.error().message;
  EXPECT_LE(testing::worst_output(lowered, evaluate(dag, inputs).value(), run->arguments), 4e-3);
  return run->tally;
}
const Choices kWideTile = {{"rows", {2, 32}}, {"columns", {2, 32}}, {"depth", {32}}, {"stages", {3}}, {"split", {1}}};

/// Parts of rows change places, so that nothing is between them: matrices meet in no bank.
TEST(PtxKernels, OfSwizzledRowsHaveNoBankConflict) {
  for (const std::int64_t depth : {32, 64}) {
    Choices choices = kWideTile;
    choices["pad"] = {-1, -1}, choices["depth"] = {depth};
    const ptx::Tally tally = count_halves(choices);
    const ptx::Wavefronts matrices = ptx::wavefronts_of(tally, "ldmatrix");
    EXPECT_GT(matrices.least, 0);
    EXPECT_EQ(matrices.taken, matrices.least) << depth;
  }
}

/// Four matrices at once: a left tile's, or those of two right tiles. The lanes of a row exchange words, so that each stores a row of one of
/// four tiles or, where a warp has two tiles side by side, half of one.
TEST(PtxKernels, OfHalvesMoveFourMatricesAndSixteenBytes) {
  const ptx::Tally tally = count_halves(kWideTile);
  EXPECT_EQ(ptx::instructions_of(tally, "ldmatrix.sync.aligned.m8n8.x2"), 0);
  const std::int64_t steps = 4 * 4 * (128 / 16);  // of warps
  EXPECT_EQ(ptx::instructions_of(tally, "ldmatrix"), steps * 4);
  EXPECT_EQ(ptx::instructions_of(tally, "st.global.v4"), 128 * 128 / (8 * 32));
  EXPECT_EQ(ptx::instructions_of(tally, "st.global"), 128 * 128 / (8 * 32));
  EXPECT_EQ(ptx::instructions_of(tally, "shfl.sync"), 128 * 128 / (2 * 32));
  Choices narrow = kWideTile;
  narrow["columns"] = {4, 16};
  const ptx::Tally halves = count_halves(narrow);
  EXPECT_EQ(ptx::instructions_of(halves, "st.global.v2"), 128 * 128 / (4 * 32));
  EXPECT_EQ(ptx::instructions_of(halves, "shfl.sync"), 128 * 128 / (4 * 32));
}

/// Blocks of each launch, as their networks have them. What they do not compute stays as it was in both.
void expect_network(const char* network, const Target& target, Precision precision) {
  constexpr std::uint32_t kBlocks[] = {0, 13};
  const bool halves = precision == Precision::f16, bf16 = precision == Precision::bf16;
  const FusedGraph fused = optimize(zoo_model(network).value(), {.halves = halves, .bf16_tensors = bf16}).value();
  Rng rng(3);
  const std::vector<Task> tasks = extract_tasks(fused, target).value();
  for (const Task& task : tasks) {
    SCOPED_TRACE(std::string(network) + ", " + task.name + " in " + std::string(name_of(precision)));
    const Steps steps = default_steps(task.dag, target, {.precision = precision}).value();
    const Lowered lowered = lower(*replay(task.dag, steps), target, task.within).value();
    const Kernel kernel = compile_kernel(lowered.program, target).value();
    std::vector<Tensor> arguments;
    for (const KernelArgument& argument : lowered.arguments)  // integers may be places in other tensors
      arguments.push_back(is_float(argument.type.dtype) ? Tensor::random(argument.type, rng)
                                                        : Tensor(argument.type.dtype, argument.type.shape));
    const auto emulated = run_emulated(lowered.program, target, arguments, {.workers = 2, .blocks = kBlocks});
    ASSERT_TRUE(emulated.ok()) << emulated.error().message;
    const Result<ptx::KernelRun> run = ptx::run_kernel(kernel, arguments, {.blocks = kBlocks});
    ASSERT_TRUE(run.ok()) << run.error().message << "\n" << kernel.code;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      EXPECT_LE(compare(run->arguments[i], (*emulated)[i]).relative, bf16     ? 3e-2
                                                                     : halves ? 4e-3
                                                                              : 1e-4)
          << "argument " << i;
  }
}

TEST(PtxKernels, OfNetworksDoWhatTheEmulatedDeviceDoes) {
  const Target target = *parse_target("cuda -arch=sm_80");
  for (const char* network : {"resnet-18", "bert-mini", "vit-small"})
    for (const Precision precision : {Precision::f32, Precision::tf32, Precision::f16, Precision::bf16})
      expect_network(network, target, precision);
}

}  // namespace
}  // namespace whet
