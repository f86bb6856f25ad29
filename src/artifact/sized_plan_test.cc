#include "artifact/sized_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "artifact/sized_model_plan.h"
#include "base/rng.h"
#include "base/testing/checkout.h"

namespace whet {
namespace sized_plan_test {

/// y[n, m] = kernel(x[n, m], w).
ModelPlan plan_at(std::int64_t n, std::int64_t m) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(n * m * 4);
  ModelPlan plan;
  plan.name = "small";
  plan.target = "cpu -mcpu=x86-64 -threads=2";
  plan.records = "0 of 1 task from records, 1 by default schedules";
  plan.compiler = "whet 0.1.0";
  plan.entries = 6;
  plan.tuned_threads = 2;
  plan.arena_bytes = (bytes + 63) / 64 * 64;
  plan.weights_bytes = 128;
  plan.flops = static_cast<double>(n * m);
  plan.inputs = {{"x", 0, {n, m}, bytes}};
  plan.outputs = {{"y", 0, {n, m}, bytes}};
  ModelPlan::Step step;
  step.entry = static_cast<std::uint32_t>(n % 6);
  step.arguments = {{PlanPlace::input, 0, 0, bytes}, {PlanPlace::weights, 0, 0, 128}, {PlanPlace::output, 0, 0, bytes}};
  step.node = "Dense_0";
  step.op = "dense";
  plan.steps = {step};
  return plan;
}

SizedModelPlan six_plans() {
  SizedModelPlan plan;
  plan.sizes = {{"x.0", 0, 0, {1, 2, 8}}, {"m", 0, 1, {3, 16}}};
  for (std::size_t v = 0; v < variant_count(plan.sizes); ++v) {
    const std::vector<std::int64_t> at = values_at(plan.sizes, v);
    plan.variants.push_back(plan_at(at[0], at[1]));
  }
  plan.usual = 1;
  return plan;
}

/// y[n, 16] = kernel(x[n, 16], w), through a view of the arena from row n/2 on; n is one value in 1, and 2..64.
SizedModelPlan ranged_plan() {
  SizedModelPlan plan;
  plan.sizes = {{"n", 0, 0, {}, 1, 64, 1}};
  plan.variants = {plan_at(1, 16), plan_at(64, 16)};
  ModelPlan::Step& step = plan.variants[1].steps[0];
  step.arguments.push_back({PlanPlace::sizes, 0, 0, 8});
  step.arguments.push_back({PlanPlace::arena, 0, 2048, 64});
  plan.boxes = {{0, {1}, {1}}, {1, {2}, {64}}};
  PlanFunctions changing;
  changing.slots = 1;
  changing.numbers = {{PlanNumberOp::size, 0, 0},     {PlanNumberOp::constant, 0, 64}, {PlanNumberOp::mul, 1, 0},
                      {PlanNumberOp::constant, 0, 2}, {PlanNumberOp::floordiv, 3, 0},  {PlanNumberOp::mul, 1, 4}};
  changing.fields = {{PlanFieldKind::extent, 0, 0},    {PlanFieldKind::extent, 2, 0}, {PlanFieldKind::bytes, 0, 2},
                     {PlanFieldKind::bytes, 2, 2},     {PlanFieldKind::value, 0, 0},  {PlanFieldKind::offset, 4, 5},
                     {PlanFieldKind::step_flops, 0, 2}};
  plan.functions = {{}, changing};
  return plan;
}

/// A stored plan in memory that is aligned as the runtime asks for it.
struct Parsed {
  explicit Parsed(const std::string& stored) : words(stored.size() / 8) {
    std::memcpy(words.data(), stored.data(), stored.size());
    ok = parse_sizes(words.data(), stored.size(), &view, &error) == 0;
  }
  /// The plan of a variant at values of the sizes, "" or why it is none.
  std::string at(std::uint32_t variant, const std::vector<std::int64_t>& values) {
    ModelView plan;
    if (parse_variant(view, variant, nullptr, &plan, &error) != 0) return error.message;
    memory.assign(plan_at_bytes(view, variant, plan) / 8 + 1, 0);
    return plan_at(view, variant, plan, values.data(), memory.data(), &now, &error) == 0 ? "" : error.message;
  }
  std::vector<std::uint64_t> words, memory;
  SizedView view;
  PlanAt now;
  whet_error error;
  bool ok = false;
};

constexpr std::size_t kChecksumAt = 24;
void put_checksum(char* plan, std::size_t bytes) {
  std::memset(plan + kChecksumAt, 0, 8);
  const std::uint64_t sum = whet_checksum(plan, bytes);
  std::memcpy(plan + kChecksumAt, &sum, 8);
}

/// Puts the right checksums on a changed plan: those of its variants, where they are in it, then its own.
void seal(std::string& stored) {
  SizedPlanHeader header;
  std::memcpy(&header, stored.data(), sizeof header);
  for (std::uint64_t v = 0; v < header.variants.count && v < 100; ++v) {
    const std::uint64_t at = header.variants.offset + v * sizeof(PlanVariant);
    if (at + sizeof(PlanVariant) > stored.size()) break;
    PlanVariant variant;
    std::memcpy(&variant, stored.data() + at, sizeof variant);
    if (variant.offset < stored.size() && variant.bytes <= stored.size() - variant.offset && variant.bytes > 64)
      put_checksum(stored.data() + variant.offset, variant.bytes);
  }
  put_checksum(stored.data(), stored.size());
}

std::string error_of(const std::string& stored) {
  const Result<SizedModelPlan> plan = read_sized_plan(stored);
  return plan.ok() ? "no error" : plan.error().message;
}
std::string error_after(void (*change)(SizedModelPlan&)) {
  SizedModelPlan plan = six_plans();
  change(plan);
  return error_of(write_sized_plan(plan));
}

TEST(SizedPlan, ReadsBackWhatWasWritten) {
  const Result<SizedModelPlan> plan = read_sized_plan(write_sized_plan(six_plans()));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(to_text(*plan), to_text(six_plans()));
  const std::string text = to_text(*plan);
  EXPECT_TRUE(
      text.starts_with("size x.0, dimension 0 of input 0: 1, 2, 8\n"
                       "size m, dimension 1 of input 0: 3, 16\n"
                       "at x.0 = 1, m = 3\n"
                       "model small for cpu -mcpu=x86-64 -threads=2, tuned for 2 threads\n"))
      << text;
  EXPECT_NE(text.find("at x.0 = 1, m = 16, the usual\n"), std::string::npos) << text;
  EXPECT_NE(text.find("input x dtype 0 [8x16] 512 bytes\n"), std::string::npos) << text;
}

TEST(SizedPlan, OfOneSizeIsThePlanItself) {
  const ModelPlan plan = plan_at(4, 4);
  EXPECT_EQ(write_sized_plan({{}, {plan}, 0}), write_plan(plan));
  const Result<SizedModelPlan> read = read_sized_plan(write_plan(plan));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->sizes.empty());
  EXPECT_EQ(to_text(*read), to_text(plan));
}

TEST(SizedPlan, IsRefusedByARuntimeThatKnowsOneSizeOnly) {
  const Result<ModelPlan> plan = read_plan(write_sized_plan(six_plans()));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "the model's plan has version 3; this runtime reads version 2 (compile the model again)");
}

TEST(SizedPlan, ReadsAndWritesItsGoldenFile) {
  const std::string path = checkout_path("src/artifact/testdata/plan_v3.bin");
  if (std::getenv("WHET_REWRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << write_sized_plan(six_plans());
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_TRUE(golden.str() == write_sized_plan(six_plans())) << "the writer changed: raise the version, or restore it";
  EXPECT_EQ(error_of(golden.str()), "no error");
}

TEST(SizedPlan, KnowsTheValuesOfItsVariants) {
  const Parsed parsed(write_sized_plan(six_plans()));
  ASSERT_TRUE(parsed.ok) << parsed.error.message;
  ASSERT_EQ(parsed.view.variant_count(), 6u);
  EXPECT_EQ(parsed.view.usual(), 1u);
  EXPECT_EQ(parsed.view.usual_values()[1], 16);
  for (std::uint32_t v = 0; v < 6; ++v) EXPECT_EQ(variant_of(parsed.view, values_at(six_plans().sizes, v).data()), v);
  const std::int64_t none[] = {3, 3};
  EXPECT_EQ(variant_of(parsed.view, none), 6u);
}

TEST(SizedPlan, OfARangeHasItsNumbersAtEverySize) {
  Parsed parsed(write_sized_plan(ranged_plan()));
  ASSERT_TRUE(parsed.ok) << parsed.error.message;
  for (std::int64_t n = 2; n <= 64; ++n) {
    ASSERT_EQ(variant_of(parsed.view, &n), 1u);
    ASSERT_EQ(parsed.at(1, {n}), "");
    const ModelView& plan = parsed.now.view;
    EXPECT_EQ(plan.dims[plan.outputs[0].first_dim], n);
    EXPECT_EQ(plan.inputs[0].bytes, static_cast<std::uint64_t>(n * 64));
    EXPECT_EQ(plan.arguments[2].bytes, static_cast<std::uint64_t>(n * 64));
    EXPECT_EQ(plan.arguments[4].offset, static_cast<std::uint64_t>(n / 2 * 64));
    EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(parsed.now.sizes), n);
    EXPECT_EQ(plan.steps[0].flops, static_cast<double>(64 * n));
  }
  EXPECT_EQ(parsed.at(1, {130}).substr(0, 39), "the model's plan: argument 4 is place 0");
}

TEST(SizedPlan, OfARangeReadsBackWhatWasWritten) {
  const std::string stored = write_sized_plan(ranged_plan());
  const Result<SizedModelPlan> plan = read_sized_plan(stored);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(write_sized_plan(*plan) == stored);
  EXPECT_EQ(to_text(*plan), to_text(ranged_plan()));
  const std::string text = to_text(*plan);
  EXPECT_TRUE(text.starts_with("size n, dimension 0 of input 0: 1..64\nat n = 1, the usual\n")) << text;
  EXPECT_TRUE(
      text.ends_with("number 4 = number 0 div number 3\n"
                     "number 5 = number 4 * number 1\n"
                     "extent 0 = number 0\n"
                     "extent 2 = number 0\n"
                     "bytes of argument 0 = number 2\n"
                     "bytes of argument 2 = number 2\n"
                     "value 0 = number 0\n"
                     "offset of argument 4 = number 5\n"
                     "flops of step 0 = number 2\n"
                     "slots 1\n"))
      << text;
}

std::string range_error_after(void (*change)(SizedModelPlan&)) {
  SizedModelPlan plan = ranged_plan();
  change(plan);
  return error_of(write_sized_plan(plan));
}

TEST(SizedPlan, OfARangeRefusesWhatIsNoFunction) {
  constexpr const char* kNumber = "expected a constant, one of the 1 sizes, or arithmetic of numbers before it";
  for (const auto change : {+[](SizedModelPlan& p) { p.functions[1].numbers[4].b = 0; },
                            +[](SizedModelPlan& p) { p.functions[1].numbers[3].a = 0; },
                            +[](SizedModelPlan& p) { p.functions[1].numbers[2].b = 2; },
                            +[](SizedModelPlan& p) { p.functions[1].numbers[0].a = 1; },
                            +[](SizedModelPlan& p) { p.functions[1].numbers[5].a = -1; }})
    EXPECT_TRUE(range_error_after(change).ends_with(kNumber)) << range_error_after(change);
  constexpr const char* kField = "expected one of the plan's, and one of 6 numbers";
  for (const auto change : {+[](SizedModelPlan& p) { p.functions[1].fields[0].index = 4; },
                            +[](SizedModelPlan& p) { p.functions[1].fields[2].index = 5; },
                            +[](SizedModelPlan& p) { p.functions[1].fields[4].index = 8; },
                            +[](SizedModelPlan& p) { p.functions[1].fields[6].index = 1; },
                            +[](SizedModelPlan& p) { p.functions[1].fields[5].number = 6; }})
    EXPECT_TRUE(range_error_after(change).ends_with(kField)) << range_error_after(change);
  EXPECT_EQ(range_error_after([](SizedModelPlan& p) { p.functions[1].fields.clear(); }),
            "the model's plan: kernels of variant 1 read sizes; expected one whose numbers change, on the CPU");
  EXPECT_EQ(range_error_after([](SizedModelPlan& p) { p.boxes[1].high[0] = 65; }),
            "the model's plan: box 1 has values from 2 on, for variant 1; expected some of each size, and one of the 2 "
            "variants");
}

TEST(SizedPlan, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(
      error_after([](SizedModelPlan& p) { p.variants.pop_back(); }),
      "the model's plan: box 5 has values from 25 on, for variant 5; expected some of each size, and one of the 5 "
      "variants");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.usual = 6; }),
            "the model's plan has 6 variants, of which 6 is the usual one; expected one with sizes");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.sizes[0].values = {1, 8, 2}; }),
            "the model's plan: size 0 has 3 values from 0 on; expected positive ones, ascending, among the 29 "
            "stored, or a range");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { std::swap(p.variants[0], p.variants[5]); }),
            "the model's plan: the inputs of variant 0 have other sizes than its place says");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.sizes[1].dimension = 2; }),
            "the model's plan: the inputs of variant 1 have other sizes than its place says");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[3].weights_bytes = 256; }),
            "the model's plan: variant 3 has other kernels, weights, inputs or outputs than the usual one; expected "
            "other extents alone");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[3].outputs[0].name = "z"; }),
            "the model's plan: variant 3 has other kernels, weights, inputs or outputs than the usual one; expected "
            "other extents alone");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[2].steps[0].entry = 6; }),
            "the model's plan: step 0 is of kind 0 and calls entry point 6; there are 6 entry points");
}

TEST(SizedPlan, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string stored = write_sized_plan(six_plans());
  for (std::size_t size = 0; size < stored.size(); ++size) EXPECT_FALSE(read_sized_plan(stored.substr(0, size)).ok());
  for (std::size_t at = 0; at < stored.size(); ++at) {
    std::string changed = stored;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    EXPECT_FALSE(read_sized_plan(changed).ok()) << at;
  }
}

TEST(SizedPlan, NeverCrashesOnGarbageBehindRightChecksums) {
  const std::string six = write_sized_plan(six_plans()), ranged = write_sized_plan(ranged_plan());
  Rng rng(1);
  int accepted = 0, of_the_sizes = 0, evaluated = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string changed = round % 2 ? ranged : six;
    for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
      const std::int64_t most = rng.chance(0.3) ? std::int64_t{sizeof(SizedPlanHeader)} : std::ssize(changed);
      changed[static_cast<std::size_t>(rng.below(most))] = static_cast<char>(rng.chance(0.3) ? 0xff : rng.next());
    }
    seal(changed);
    const Result<SizedModelPlan> plan = read_sized_plan(changed);
    if (plan.ok()) accepted += !to_text(*plan).empty();
    if (plan.ok() && plan->variants.size() > 1 && plan->functions[1].slots < 100)
      evaluated += Parsed(changed).at(1, {rng.between(1, 64), 3, 3, 3}).empty();
    if (!plan.ok()) of_the_sizes += plan.error().message.find("variant") != std::string::npos;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(of_the_sizes, 0);
  EXPECT_GT(evaluated, 0);
}

}  // namespace sized_plan_test
}  // namespace whet
