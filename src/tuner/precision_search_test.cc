#include "tuner/precision_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/testing/random_cases.h"
#include "compiler/scratch.h"
#include "device/testing/fake_devices.h"
#include "measure/testing/formula_measurer.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "records/testing/sample.h"
#include "space/space.h"
#include "tensor/compare.h"

namespace whet {
namespace precision_search_test {

using testing::ReopeningDevice;

/// Three convolutions behind each other.
Graph three_convolutions() {
  testing::GraphBuilder b;
  ValueId x = b.relu("r0", b.input("x", {1, 16, 6, 6}));
  for (const char* name : {"a", "b", "c"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
  return b.finish({x});
}

/// It multiplies by weights of this type.
bool has_weights_of(DType dtype, const ComputeDag& dag) {
  return std::ranges::any_of(dag.ops, [&](const Op& op) {
    const auto* placeholder = std::get_if<Placeholder>(&op.def);
    return placeholder != nullptr && placeholder->constant && op.dtype == dtype;
  });
}
bool has_product(const ComputeDag& dag) {
  return std::ranges::any_of(dag.ops,
                             [](const Op& op) { return !op.is_placeholder() && op.element().reducer.has_value(); });
}

/// Kernels take by a formula; answers are interpreted, and what rounding does to whole networks is made larger by `amplified`.
class PrecisionSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kSanitized) GTEST_SKIP() << "the searches over plans run the same code there";
    folder_.emplace(ScratchDirectory::make().value());
    fused_ = optimize(three_convolutions(), {}).value();
    options_.samples = "ab";
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      options_.calibration.push_back(sample(seed));
      options_.held_out.push_back(sample(100 + seed));
    }
    options_.trials_a_task = 2;
    options_.tuning.clock = [] { return 0.0; };
    options_.network.clock = [] { return 0.0; };
    options_.open = [this](const FusedGraph& fused) { return open(fused); };
    options_.accuracy.allowed = {{"", Measure::relative, 0.02}};
  }
  std::vector<Tensor> sample(std::uint64_t seed) const {
    Rng rng(seed);
    return {Tensor::random(fused_.graph.value(fused_.graph.inputs.front()).type, rng)};
  }
  static Result<std::vector<Tensor>> answers(const Graph& graph, const std::vector<Tensor>& inputs) {
    WHET_TRY(const std::vector<Tensor> values, evaluate_graph(graph, inputs));
    std::vector<Tensor> outputs;
    for (ValueId id : graph.outputs) outputs.push_back(values[id.index()]);
    return outputs;
  }
  Result<RunNetwork> open(const FusedGraph& fused) {
    ++opened_;
    const bool probe = fused.graph.inputs.size() > 1, shows = fused.graph.outputs.size() > 1;
    probes_ += probe, shown_ += shows;
    const bool chosen = !probe && !shows && networks_++ > 0;  // the first is that of f32
    return RunNetwork([this, graph = fused.graph, probe, shows,
                       chosen](const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
      WHET_TRY(std::vector<Tensor> got, answers(graph, inputs));
      probe_runs_ += probe;
      if (probe || shows) return got;
      WHET_TRY(const std::vector<Tensor> want, answers(fused_.graph, inputs));
      const bool held_out = std::ranges::any_of(
          options_.held_out, [&](const auto& one) { return one.front().data() == inputs.front().data(); });
      if (held_out && chosen && !errs_held_out_.empty()) {
        const std::size_t number = held_out_runs_++, samples = options_.held_out.size();
        const double part = err_apart_ ? std::pow(0.5, number % samples) : 1;
        const double error = part * errs_held_out_[std::min(number / samples, errs_held_out_.size() - 1)];
        for (std::int64_t i = 0; i < got[0].size(); ++i) got[0].set(i, (1 + error) * want[0].get(i));
        return got;
      }
      const double factor = held_out ? amplified_held_out_ : amplified_;
      for (std::int64_t i = 0; i < got[0].size(); ++i)
        got[0].set(i, want[0].get(i) + factor * (got[0].get(i) - want[0].get(i)));
      return got;
    });
  }

  PrecisionSearch search(double lowered = 5e-6, double network = 0.6e-3) {
    networks_ = 0, held_out_runs_ = 0;
    Result<RecordFile> file = RecordFile::open(folder_->path() + "/r.jsonl");
    const auto seconds = [=](const ComputeDag& dag) {
      if (!has_product(dag)) return 1e-6;
      if (has_weights_of(DType::i8, dag)) return lowered / 2;
      return has_weights_of(DType::bf16, dag) || has_weights_of(DType::i16, dag) ? lowered : 10e-6;
    };
    const std::vector<Task> tasks = extract_tasks(fused_, target_).value();
    for (const Task& task : tasks) {
      Record record = testing_records::timed(task.key, to_text(*default_steps(task.dag, target_)), seconds(task.dag),
                                             to_string(target_));
      record.outcome.cache = "warm";  // as the measurer measures
      EXPECT_TRUE(file->append(record).ok());
    }
    FormulaMeasurer measurer([&](const MeasureTask& task, const std::string&) {
      return Outcome{OutcomeCode::ok, "", {seconds(task.dag)}, false, 0.001, 0.001};
    });
    ReopeningDevice device([](const KernelJob&) { return 1e-6; });
    device.model_seconds = [&](const std::string& path) { return path.ends_with("usual.so") ? 1e-3 : network; };
    const Result<PrecisionSearch> found = search_precision(fused_, target_, measurer, *file, device, options_);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    const Plan* plan = file->records().last_lowered_plan_for(hash_of(fused_), to_string(target_));
    plan_ = plan == nullptr ? std::nullopt : std::optional(*plan);
    errors_in_file_ = file->records().errors().size();
    return found.ok() ? *found : PrecisionSearch();
  }

  Target target_ = parse_target("cpu -mcpu=znver4 -threads=1").value();
  std::optional<ScratchDirectory> folder_;
  FusedGraph fused_;
  PrecisionOptions options_;
  double amplified_ = 1, amplified_held_out_ = 1;
  /// What a chosen network errs by on the samples that are held out, relative L2, in place of what it does: the first time that it runs on
  /// them, the second, and the last number whenever it does later.
  std::vector<double> errs_held_out_;
  bool err_apart_ = false;  ///< of these samples each errs by half of the one before
  int networks_ = 0;
  std::size_t held_out_runs_ = 0;
  void ask_for_bytes() {
    options_.lowered = {StoredAs::u8}, options_.uniform = StoredAs::u8;
    options_.accuracy = {};
  }
  int opened_ = 0, probes_ = 0, shown_ = 0;
  std::size_t probe_runs_ = 0;
  std::optional<Plan> plan_;  ///< of the file in the end
  std::size_t errors_in_file_ = 0;
};

TEST_F(PrecisionSearchTest, LowersAllWhereTheBudgetAllowsIt) {
  const PrecisionSearch search = this->search();
  EXPECT_EQ(search.why_not, "");
  ASSERT_TRUE(search.adopted.has_value());
  EXPECT_EQ(search.lowered, 3u);
  EXPECT_LE(search.precision.share, kAimedShare);
  EXPECT_LE(search.precision.held_out_share, 1);
  EXPECT_GT(search.measured_error, 0.3 * search.predicted_error);
  EXPECT_LT(search.measured_error, 3 * search.predicted_error);
  EXPECT_EQ(plan_, search.adopted);
  EXPECT_EQ(plan_->precision->allowed, std::vector<std::string>{"2%"});
  double share = 0;
  for (const LayerPrecision& layer : search.by_layer) {
    EXPECT_EQ(layer.why.empty(), layer.is != "f32") << layer.node << " is " << layer.is << ": " << layer.why;
    share += layer.share;
  }
  EXPECT_EQ(std::ranges::count_if(search.by_layer, &LayerPrecision::lowered), 3);
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 1 + 1e-6) << "the layers use no more than the budget";
}

TEST_F(PrecisionSearchTest, ItsPlanIsTheOneThatACompileTakesWhenAsked) {
  search();
  const Result<RecordsRead> read = read_records(folder_->path() + "/r.jsonl");
  const PlannedNetwork asked = planned_lowered(fused_, read->records, target_).value();
  EXPECT_EQ(asked.note, "");
  EXPECT_FALSE(asked.kernels.empty());
  const auto is_half = [](const Value& value) { return value.type.dtype == DType::bf16; };
  EXPECT_TRUE(std::ranges::any_of(asked.fused.graph.values, is_half));
  const PlannedNetwork unasked = planned(fused_, read->records, target_).value();
  EXPECT_FALSE(std::ranges::any_of(unasked.fused.graph.values, is_half));
  EXPECT_TRUE(
      lowered_offer(fused_, read->records, target_).starts_with("in bf16 (0.60 of the time, worst held-out sample "));
  FusedGraph other = fused_;
  for (Value& value : other.graph.values)
    if (value.constant) value.constant = Tensor(value.type.dtype, value.type.shape);
  EXPECT_TRUE(planned_lowered(other, read->records, target_)
                  ->note.starts_with("the records' plan in fewer bits is of other weights (hash "));
  EXPECT_EQ(lowered_offer(other, read->records, target_), "");
}

/// bf16 errs by more than i16 here, and bytes by more than both.
TEST_F(PrecisionSearchTest, TakesWholeNumbersWhereTheyAreWorthTheirError) {
  options_.lowered = {StoredAs::bf16, StoredAs::i16, StoredAs::u8};
  const auto kernels = [&](double limit) {
    std::filesystem::remove(folder_->path() + "/r.jsonl");
    options_.accuracy.allowed.front().limit = limit;
    const PrecisionSearch search = this->search();
    EXPECT_EQ(search.why_not, "") << limit;
    EXPECT_LE(search.precision.share, kAimedShare);
    return search.lowered_to;
  };
  const auto few = kernels(0.002), many = kernels(0.1);
  EXPECT_FALSE(few.contains(StoredAs::u8)) << "bytes err by more";
  EXPECT_EQ(few.at(StoredAs::i16), 3u);
  EXPECT_EQ(many.at(StoredAs::u8), 3u);
}

TEST_F(PrecisionSearchTest, ItsPlanOfWholeNumbersCompilesWithoutTheSamples) {
  options_.lowered = {StoredAs::i16, StoredAs::u8};
  options_.accuracy.allowed.front().limit = 0.02;
  const PrecisionSearch search = this->search();
  ASSERT_TRUE(plan_.has_value()) << search.why_not;
  EXPECT_EQ(plan_->version, 5);
  EXPECT_FALSE(plan_->precision->ranges.empty());
  const Result<RecordsRead> read = read_records(folder_->path() + "/r.jsonl");
  const PlannedNetwork asked = planned_lowered(fused_, read->records, target_).value();
  EXPECT_EQ(asked.note, "");
  EXPECT_TRUE(std::ranges::any_of(asked.fused.graph.values, [](const Value& value) {
    return value.type.dtype == DType::i16 || value.type.dtype == DType::u8;
  }));
  double worst = 0;
  for (const std::vector<Tensor>& sample : options_.held_out)
    worst = std::max(worst, relative_l2((*answers(asked.fused.graph, sample))[0], (*answers(fused_.graph, sample))[0]));
  EXPECT_NEAR(worst, plan_->precision->held_out_error, 1e-9) << "these are the scales that were verified";
  EXPECT_NE(precision_report(search, options_.accuracy).find(lowered_text(search)), std::string::npos);
  // Without the ranges nothing is known of its kernels.
  Plan blind = *plan_;
  blind.precision->ranges.clear();
  Records records;
  records.add(blind);
  EXPECT_NE(planned_lowered(fused_, records, target_)->note.find("which this network does not have"),
            std::string::npos);
}

/// Kernels on bytes take longer than those of f32 here, and so does the network.
TEST_F(PrecisionSearchTest, OfBytesLowersEveryLayerThatCanWhateverItCosts) {
  ask_for_bytes();
  const PrecisionSearch search = this->search(22e-6, 1.2e-3);
  ASSERT_TRUE(search.adopted.has_value()) << search.why_not;
  EXPECT_EQ(search.why_not, "");
  EXPECT_EQ(search.lowered_to.at(StoredAs::u8), 3u);
  EXPECT_EQ(search.choices, 1);
  EXPECT_EQ(search.errors, search.layers) << "each layer's error alone is told";
  EXPECT_EQ(plan_, search.adopted);
  EXPECT_EQ(plan_->version, 6);
  EXPECT_EQ(plan_->precision->uniform, "u8");
  EXPECT_TRUE(plan_->precision->allowed.empty());
  EXPECT_GT(plan_->precision->error, 0);
  EXPECT_GT(plan_->precision->held_out_error, 0);
  const std::string report = precision_report(search, options_.accuracy);
  EXPECT_NE(report.find("1.20 of the time"), report.npos) << report;
  EXPECT_NE(report.find("whet compile --precision int8 takes it"), report.npos) << report;
  EXPECT_EQ(report.find("allowed"), report.npos) << report;
}

TEST_F(PrecisionSearchTest, OfBytesIsForWhoAsksForBytesAlone) {
  ask_for_bytes();
  search();
  const Result<RecordsRead> read = read_records(folder_->path() + "/r.jsonl");
  EXPECT_NE(planned_lowered(fused_, read->records, target_)->note, "") << "auto has no plan";
  const PlannedNetwork asked = planned_lowered(fused_, read->records, target_, "u8").value();
  EXPECT_EQ(asked.note, "");
  EXPECT_TRUE(
      std::ranges::any_of(asked.fused.graph.values, [](const Value& value) { return value.type.dtype == DType::u8; }));
  EXPECT_TRUE(lowered_offer(fused_, read->records, target_).ends_with("; --precision int8 takes it"));
}

TEST_F(PrecisionSearchTest, OfBytesIsNotAdoptedWhereItBreaksALimit) {
  ask_for_bytes();
  options_.accuracy.allowed = {{"", Measure::relative, 1e-4}};
  const PrecisionSearch strict = search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_TRUE(strict.why_not.starts_with("in bytes c_relu errs by ")) << strict.why_not;
  EXPECT_TRUE(strict.why_not.ends_with("0.01% is allowed: f32 stays; --precision auto looks for a mix of types"))
      << strict.why_not;
  options_.accuracy.allowed.front().limit = 0.2;
  amplified_held_out_ = 1000;
  const PrecisionSearch other = search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_TRUE(other.why_not.starts_with("on the held-out samples c_relu errs by ")) << other.why_not;
}

TEST_F(PrecisionSearchTest, OfBytesHasDefaultSchedulesWhereNoTimeWasLeft) {
  ask_for_bytes();
  options_.tuning.trials = 1;
  const PrecisionSearch search = this->search();
  ASSERT_TRUE(search.adopted.has_value()) << search.why_not;
  EXPECT_EQ(search.lowered_to.at(StoredAs::u8), 3u);
}

TEST_F(PrecisionSearchTest, MeasuresRangesOnce) {
  options_.lowered = {StoredAs::i16, StoredAs::u8};
  search();
  EXPECT_EQ(shown_, 1);
  const PrecisionSearch again = search();
  EXPECT_EQ(shown_, 1) << "the record file has them";
  EXPECT_EQ(again.errors, 0u);
  options_.samples = "cd";
  search();
  EXPECT_EQ(shown_, 2);
}

TEST_F(PrecisionSearchTest, MeasuresErrorsOfLayersOnEightSamplesAtTheMost) {
  while (options_.calibration.size() < 11) options_.calibration.push_back(sample(options_.calibration.size() + 1));
  const PrecisionSearch search = this->search();
  ASSERT_GT(search.errors, 0u);
  EXPECT_EQ(probe_runs_, 8 * (search.errors + 1)) << "each layer, and none";
  EXPECT_EQ(search.precision.calibration, 11) << "plans are judged by all";
}

TEST_F(PrecisionSearchTest, MeasuresErrorsFirstOfTypesThatMaySaveMost) {
  options_.lowered = {StoredAs::bf16, StoredAs::i16, StoredAs::u8};
  options_.accuracy.allowed.front().limit = 1e-6;  // nothing is chosen
  const auto order = [&](const std::string& target) {
    std::filesystem::remove(folder_->path() + "/r.jsonl");
    target_ = parse_target(target).value();
    search();
    const Result<RecordsRead> read = read_records(folder_->path() + "/r.jsonl");
    std::vector<std::string> types;
    for (const LayerError& error : read->records.errors())
      if (error.product && std::ranges::find(types, error.stored) == types.end()) types.push_back(error.stored);
    return types;
  };
  EXPECT_EQ(order("cpu -mcpu=znver4 -threads=1"), (std::vector<std::string>{"i16", "u8", "bf16"}));
  EXPECT_EQ(order("cpu -mcpu=sapphirerapids -threads=1"), (std::vector<std::string>{"i16", "bf16", "u8"}))
      << "by tiles";
}

TEST_F(PrecisionSearchTest, HasNoWholeNumbersWhereThereWasNoTimeForRanges) {
  options_.lowered = {StoredAs::i16, StoredAs::u8};
  options_.errors_deadline = -1;
  EXPECT_EQ(search().why_not, "there was no time to measure the ranges of values: f32 stays");
  options_.lowered = {StoredAs::bf16, StoredAs::i16};
  EXPECT_EQ(search().why_not, "there was no time to measure the error of a layer: f32 stays");
  EXPECT_EQ(shown_, 0);
}

TEST_F(PrecisionSearchTest, TightensUntilTheRealErrorFits) {
  amplified_ = amplified_held_out_ = 2;
  options_.accuracy.allowed.front().limit = 0.01;
  const PrecisionSearch search = this->search();
  EXPECT_GT(search.choices, 1);
  EXPECT_GT(search.first_error, kAimedShare * 0.01);
  if (search.adopted) {
    EXPECT_LE(search.precision.share, kAimedShare);
    EXPECT_LT(search.lowered, 3u);
    EXPECT_GT(search.predicted_error, 0.67 * search.measured_error) << "a choice before tells that errors are larger";
    EXPECT_LT(search.predicted_error, 1.5 * search.measured_error);
  }
}

TEST_F(PrecisionSearchTest, KeepsFloatWhenHeldOutSamplesFail) {
  amplified_held_out_ = 50;
  const PrecisionSearch search = this->search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_TRUE(search.why_not.starts_with("on the held-out samples c_relu errs by ")) << search.why_not;
  EXPECT_TRUE(search.why_not.ends_with("6 samples may be too few")) << search.why_not;
}

TEST_F(PrecisionSearchTest, TightensOnceByWhatTheHeldOutSamplesErrBy) {
  options_.accuracy.allowed.front().limit = 0.01;
  ASSERT_FALSE(search().tightened);
  std::filesystem::remove(folder_->path() + "/r.jsonl");
  amplified_held_out_ = 1.8;
  const PrecisionSearch search = this->search();
  EXPECT_TRUE(search.tightened);
  ASSERT_TRUE(search.adopted.has_value()) << search.why_not;
  EXPECT_LE(search.precision.held_out_share, 1);
  EXPECT_LT(search.aim, kAimedShare) << "the aim is lower than without";
  EXPECT_LE(search.precision.share, search.aim);
  EXPECT_NE(precision_report(search, options_.accuracy).find("tightened by what was held out"), std::string::npos);
}

TEST_F(PrecisionSearchTest, TakesATightenedPlanThatUsesAtMost85PercentOnHeldOutSamples) {
  const auto with = [&](double share) {
    std::filesystem::remove(folder_->path() + "/r.jsonl");
    errs_held_out_ = {1.2 * 0.02, share * 0.02};
    return this->search();
  };
  const PrecisionSearch within = with(0.84);
  EXPECT_TRUE(within.adopted.has_value()) << within.why_not;
  EXPECT_EQ(within.tightened, 1);
  EXPECT_NEAR(within.precision.held_out_share, 0.84, 1e-3);
  const PrecisionSearch beyond = with(0.86);
  EXPECT_FALSE(plan_.has_value());
  EXPECT_NE(beyond.why_not.find("0.86 of what is allowed, and 0.85 may be used, since other samples use more"),
            std::string::npos)
      << beyond.why_not;
}

TEST_F(PrecisionSearchTest, MakesNoChoiceAgainWhereAHeldOutAnswerIsNotFinite) {
  options_.accuracy.allowed = {{"", Measure::top1, 0}};  // which any answer keeps
  errs_held_out_ = {INFINITY};
  const PrecisionSearch search = this->search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_EQ(search.tightened, 0) << "the same plan would be chosen again";
  EXPECT_TRUE(search.why_not.starts_with("on the held-out samples an answer is not finite: f32 stays"))
      << search.why_not;
}

TEST_F(PrecisionSearchTest, DoesNotTightenWhereTheTimeIsTooShortForAnotherChoice) {
  options_.accuracy.allowed.front().limit = 0.1;
  errs_held_out_ = {1.2 * 0.1, 0.1 * 0.1};
  double seconds = 0;
  options_.network.clock = [&] { return seconds; };
  options_.on_progress = [&](const PrecisionProgress& progress) {
    if (progress.phase == PrecisionProgress::Phase::verifying) seconds += 10;
  };
  EXPECT_EQ(search().tightened, 1);
  std::filesystem::remove(folder_->path() + "/r.jsonl");
  seconds = 0, options_.network.deadline = 45;  // four choices of ten seconds do not fit behind the first
  const PrecisionSearch late = search();
  EXPECT_EQ(late.tightened, 0);
  EXPECT_TRUE(late.why_not.starts_with("on the held-out samples c_relu errs by ")) << late.why_not;
}

TEST(LowerAim, FollowsFromTheLimitsThatUseMoreThanTheyMay) {
  const auto limit = [](Measure measure, double share) { return JudgedLimit{"y", {"", measure, 0.01}, 0, share}; };
  EXPECT_DOUBLE_EQ(lower_aim({limit(Measure::relative, 0.6), limit(Measure::top1, 0.95)}, 0.7), 1);
  EXPECT_DOUBLE_EQ(lower_aim({limit(Measure::relative, 0.75), limit(Measure::top1, 0.95)}, 0.7), 0.7 / 0.75);
  EXPECT_DOUBLE_EQ(lower_aim({limit(Measure::relative, 0.75), limit(Measure::top1, 2)}, 0.7), 0.5);
  EXPECT_EQ(lower_aim({limit(Measure::relative, INFINITY)}, 0.7), 0);
}

/// The errors of the samples that calibrate are a twentieth of the limit or so.
TEST_F(PrecisionSearchTest, KeepsFloatWhereSamplesErrSoDifferentlyThatOthersMayBreakTheLimit) {
  for (std::uint64_t seed = 4; seed <= 8; ++seed) {
    options_.calibration.push_back(sample(seed));
    options_.held_out.push_back(sample(100 + seed));
  }
  options_.accuracy.allowed.front().limit = 0.1;
  errs_held_out_ = {0.069};
  const PrecisionSearch alike = search();
  EXPECT_TRUE(alike.adopted.has_value()) << alike.why_not;
  EXPECT_EQ(alike.tightened, 0);
  EXPECT_NEAR(alike.share_to_come, 0.69, 1e-3) << "the larger half errs alike";
  EXPECT_NE(precision_report(alike, options_.accuracy)
                .find("the worst of 16 others is expected to use 0.69 at most in nine of ten"),
            std::string::npos);
  std::filesystem::remove(folder_->path() + "/r.jsonl");
  err_apart_ = true;
  const PrecisionSearch apart = search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_GE(apart.tightened, 1) << "a lower aim does not help here";
  EXPECT_GT(apart.share_to_come, 1);
  EXPECT_NE(apart.why_not.find("samples err so differently that the worst of as many others may use "),
            std::string::npos)
      << apart.why_not;
}

TEST_F(PrecisionSearchTest, KeepsFloatWhereNothingIsWithinTheLimit) {
  options_.accuracy.allowed.front().limit = 1e-6;
  const PrecisionSearch search = this->search();
  EXPECT_FALSE(plan_.has_value());
  EXPECT_TRUE(search.why_not.starts_with("no layer can be lowered within 0.0001%: the least error of a layer is "))
      << search.why_not;
  EXPECT_GE(search.by_layer.size(), 3u);
  for (const LayerPrecision& layer : search.by_layer) EXPECT_EQ(layer.is, "f32") << layer.node;
}

TEST_F(PrecisionSearchTest, KeepsFloatWhereLoweredKernelsOrTheNetworkAreNoFaster) {
  EXPECT_EQ(search(11e-6).why_not, "no plan in fewer bits has a smaller sum of kernels' times: f32 stays");
  EXPECT_FALSE(plan_.has_value());
  std::filesystem::remove(folder_->path() + "/r.jsonl");
  const PrecisionSearch slower = search(5e-6, 1.2e-3);
  EXPECT_TRUE(slower.why_not.starts_with("the plan in fewer bits takes 1.2000 ms, the f32 network 1.0000 ms"))
      << slower.why_not;
}

TEST_F(PrecisionSearchTest, TakesErrorsThatItKnows) {
  const PrecisionSearch first = search();
  EXPECT_EQ(first.errors, errors_in_file_);
  EXPECT_EQ(probes_, 1);
  const PrecisionSearch second = search();
  EXPECT_EQ(second.errors, 0u);
  EXPECT_EQ(second.known_errors, first.errors);
  EXPECT_EQ(probes_, 1) << "no probe is compiled";
  options_.samples = "cd";
  EXPECT_EQ(search().known_errors, 0u) << "other samples have other errors";
}

TEST_F(PrecisionSearchTest, MeasuresAgainWhatAnOlderProgramMeasuredByAnotherRule) {
  options_.lowered = {StoredAs::bf16, StoredAs::i16};
  const PrecisionSearch first = search();
  const std::string path = folder_->path() + "/r.jsonl";
  const int shown = shown_;
  EXPECT_EQ(search().known_errors, first.errors);
  EXPECT_EQ(shown_, shown) << "ranges of the same rule are taken";
  const RecordsRead read = read_records(path).value();
  RangesOnSamples older = read.records.all_ranges_on_samples().back();
  older.rule.clear();
  for (auto& [name, range] : older.values) range.least *= 0.5, range.most *= 0.5;
  std::vector<LayerError> errors = read.records.errors();
  for (LayerError& error : errors) error.by.clear();
  std::filesystem::remove(path);
  {
    RecordFile file = RecordFile::open(path).value();
    ASSERT_TRUE(file.append(older).ok());
    for (const LayerError& error : errors) ASSERT_TRUE(file.append_error(error).ok());
  }
  const PrecisionSearch again = search();
  EXPECT_GT(shown_, shown) << "narrow ranges are not taken";
  EXPECT_EQ(again.known_errors, 0u);
  EXPECT_EQ(again.errors, first.errors);
}

TEST_F(PrecisionSearchTest, MeasuresErrorsOfOtherScalesAgainAndKeepsThoseOfBf16) {
  options_.lowered = {StoredAs::bf16, StoredAs::i16};
  const PrecisionSearch first = search();
  const std::string path = folder_->path() + "/r.jsonl";
  RangesOnSamples wider = read_records(path).value().records.all_ranges_on_samples().back();
  for (auto& [name, range] : wider.values) range.least *= 1.5, range.most *= 1.5;
  ASSERT_TRUE(RecordFile::open(path).value().append(wider).ok());
  const PrecisionSearch again = search();
  EXPECT_GT(again.known_errors, 0u) << "bf16 has no scales";
  EXPECT_GT(again.errors, 0u);
  EXPECT_EQ(again.errors + again.known_errors, first.errors);
}

TEST_F(PrecisionSearchTest, EndsAtAnInterruptAndAdoptsNothing) {
  int asked = 0;
  options_.tuning.interrupted = [&] { return ++asked > 5; };
  const PrecisionSearch search = this->search();
  EXPECT_TRUE(search.interrupted);
  EXPECT_FALSE(plan_.has_value());
}

/// Interrupted at the first, a middle and the last question of each phase, then begun again: the errors that were measured are in the file,
/// and the plan is that of a search that nobody interrupted.
TEST_F(PrecisionSearchTest, IsInterruptedAnywhereAndGoesOnFromItsRecords) {
  constexpr int kBefore = -1;
  int phase = kBefore, asked = 0;
  std::map<int, std::vector<int>> questions;  // by phase: which of them it asks
  options_.on_progress = [&](const PrecisionProgress& progress) { phase = static_cast<int>(progress.phase); };
  options_.tuning.interrupted = [&] { return questions[phase].push_back(asked++), false; };
  const PrecisionSearch whole = search();
  ASSERT_TRUE(whole.adopted.has_value()) << whole.why_not;
  ASSERT_EQ(questions.size(), 4u) << "before the errors, errors, measuring, verifying";
  std::set<int> ends;
  for (const auto& [of, own] : questions) ends.insert({own.front(), own[own.size() / 2], own.back()});
  for (const int end : ends) {
    SCOPED_TRACE(end);
    std::filesystem::remove(folder_->path() + "/r.jsonl");
    asked = 0;
    options_.tuning.interrupted = [&] { return asked++ >= end; };
    EXPECT_TRUE(search().interrupted);
    EXPECT_FALSE(plan_.has_value()) << "an interrupted search adopts nothing";
    const std::size_t kept = errors_in_file_;
    options_.tuning.interrupted = nullptr;
    const PrecisionSearch resumed = search();
    EXPECT_EQ(resumed.known_errors, kept);
    EXPECT_EQ(resumed.known_errors + resumed.errors, whole.errors);
    ASSERT_TRUE(resumed.adopted.has_value()) << resumed.why_not;
    EXPECT_EQ(resumed.adopted->kernels, whole.adopted->kernels);
  }
}

}  // namespace precision_search_test
}  // namespace whet
