// Faults in emitted PTX, one at a time: a wait or a barrier less, a count, a stride or an offset that is another one. The interpreter
// refuses each with a sentence, or gives other answers.

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "codegen/compile.h"
#include "codegen/testing/gpu_kernels.h"
#include "lower/lower.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "ptx/run_kernel.h"
#include "space/space.h"
#include "space/testing/product_texts.h"
#include "tensor/compare.h"

namespace whet {
namespace {

struct Mutant {
  std::string kind, line, code;
};

struct Fault {
  const char* kind;
  std::regex line;  ///< its second part is a number where the fault adds to it
  int adds = 0;     ///< 0: the line is left out
};
const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults = {
      {"wait", std::regex(R"((.*cp\.async\.wait_group\s+)(\d+)(;))"), 1},
      {"barrier", std::regex(R"(.*bar\.sync.*)")},
      {"commit", std::regex(R"(.*cp\.async\.commit_group.*)")},
      {"count", std::regex(R"((.*setp\.\w+\.\w+\s+%p\d+, %\w+, )(-?\d+)(;))"), 1},
      {"stride", std::regex(R"((.*(?:mad\.lo|mul\.lo|mul\.wide)\.\w+\s+%\w+, %\w+, )(-?\d+)(.*;))"), 4},
      {"offset", std::regex(R"((.*\[%\w+\+)(\d+)(\].*;))"), 16}};
  return kFaults;
}

std::vector<Mutant> mutants_of(const std::string& code) {
  std::vector<std::string> lines;
  std::istringstream text(code);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const Fault& fault : faults()) {
      std::smatch parts;
      if (!std::regex_match(lines[i], parts, fault.line)) continue;
      const std::string changed =
          fault.adds == 0 ? ""
                          : parts[1].str() + std::to_string(std::stoll(parts[2].str()) + fault.adds) + parts[3].str();
      std::string mutant;
      for (std::size_t k = 0; k < lines.size(); ++k) mutant += (k == i ? changed : lines[k]) + "\n";
      mutants.push_back({fault.kind, std::to_string(i + 1) + ": " + lines[i], mutant});
    }
  return mutants;
}

/// An index that is 0 has any stride, and a limit that no thread comes to may be another one: of those some faults are none.
bool may_be_none(const std::string& kind) { return kind == "count" || kind == "stride"; }

void expect_found(Kernel kernel, const std::vector<Tensor>& arguments) {
  const Result<ptx::KernelRun> right = ptx::run_kernel(kernel, arguments);
  ASSERT_TRUE(right.ok()) << right.error().message;
  std::string unseen, harmless;
  std::size_t tried = 0, survived = 0;
  for (const Mutant& mutant : mutants_of(kernel.code)) {
    kernel.code = mutant.code;
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 3 && !found; ++seed) {
      const Result<ptx::KernelRun> run =
          ptx::run_kernel(kernel, arguments, {.seed = seed, .most_instructions = 2'000'000});
      found = !run.ok();
      for (std::size_t i = 0; i < arguments.size() && !found; ++i)
        found = !(compare(run->arguments[i], right->arguments[i]).relative < 1e-6);
    }
    tried += may_be_none(mutant.kind);
    survived += may_be_none(mutant.kind) && !found;
    if (!found) (may_be_none(mutant.kind) ? harmless : unseen) += mutant.kind + " in line " + mutant.line + "\n";
  }
  EXPECT_EQ(unseen, "");
  EXPECT_LE(3 * survived, tried) << harmless;
}

std::vector<Tensor> random_arguments(const Program& program) {
  Rng rng(3);
  std::vector<Tensor> arguments;
  for (const Buffer& buffer : program.buffers)
    if (buffer.scope == Scope::argument) arguments.push_back(Tensor::random({buffer.dtype, buffer.extents}, rng));
  return arguments;
}

TEST(PtxMutants, OfPipelinedProductsAreFound) {
  const Program program = gemm_kernel(128, 128, 48);
  const Kernel kernel = compile_kernel(program, *parse_target("cuda -arch=sm_80")).value();
  std::map<std::string, int> kinds;
  for (const Mutant& mutant : mutants_of(kernel.code)) ++kinds[mutant.kind];
  for (const Fault& fault : faults()) EXPECT_GT(kinds[fault.kind], 0) << fault.kind;
  expect_found(kernel, random_arguments(program));
}

TEST(PtxMutants, OfDefaultKernelsAreFound) {
  const Target target = *parse_target("cuda -arch=sm_80");
  const std::pair<std::string, Precision> kTasks[] = {
      {testing::convolution_text(7, 16, 24), Precision::f32},
      {"a = PLACEHOLDER [64, 128]\nb = PLACEHOLDER [128, 64] const\nc(i, j) += (a[i, r]*b[r, j]) for i in 64, j in 64, "
       "r in 128\nreturn c\n",
       Precision::tf32},
      {testing::half_dense_text(32, 32, 96), Precision::f32}};
  for (const auto& [text, precision] : kTasks) {
    const ComputeDag dag = parse_dag(text).value();
    const Lowered lowered =
        lower(*replay(dag, default_steps(dag, target, {.precision = precision}).value()), target).value();
    const Kernel kernel = compile_kernel(lowered.program, target).value();
    Rng rng(5);
    SCOPED_TRACE(text);
    expect_found(kernel, testing::arguments_of(lowered, dag, testing::random_inputs(dag, rng)).value());
  }
}

}  // namespace
}  // namespace whet
