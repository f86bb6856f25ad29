#include "tuner/network.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "device/testing/fake_devices.h"
#include "device/testing/processes.h"
#include "measure/testing/formula_measurer.h"
#include "passes/optimize.h"
#include "records/testing/sample.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace network_test {

using testing::DyingDevice;
using testing::FormulaDevice;
using testing::LyingDevice;
using testing::ReopeningDevice;

Zygote& zygote() {
  static Zygote zygote = std::move(Zygote::start()).value();
  return zygote;
}
/// Before anything starts a thread.
const bool kStarted = (zygote(), true);

/// One matrix product; the records say of its schedules what the test likes.
class Settle : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitized) GTEST_SKIP() << "no thread here that other tests of the tuner do not have";
    folder_.emplace(ScratchDirectory::make().value());
    Rng rng(1);
    Graph graph;
    graph.name = "product";
    graph.inputs = {graph.add_value("x", {DType::f32, {64, 256}})};
    const ValueId w = graph.add_constant("w", Tensor::random({DType::f32, {256, 256}}, rng));
    graph.outputs = {graph.add_node("product", MatMulOperator{}, {graph.inputs[0], w}).value()};
    fused_ = optimize(graph, {}).value();
    task_ = extract_tasks(fused_, target_).value()[0];
    default_ = to_text(default_steps(task_.dag, target_).value());
    options_.inputs = {Tensor::random({DType::f32, {64, 256}}, rng)};
    options_.burst_seconds = 0.005;
  }
  RecordFile records(const std::vector<std::pair<std::string, double>>& times) {
    RecordFile file = RecordFile::open(folder_->path() + "/r.jsonl").value();
    for (const auto& [steps, seconds] : times) {
      const Record record = testing_records::timed(task_.key, steps, seconds, to_string(target_));
      EXPECT_TRUE(file.append(record).ok());
    }
    return file;
  }
  std::string best(const RecordFile& file) const {
    return file.records().best(task_.key, task_.within, target_)->record->steps;
  }

  std::string file_text() const {
    std::ifstream file(folder_->path() + "/r.jsonl");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Target target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  std::unique_ptr<Device> device_ = make_device(target_, {.zygote = &zygote()}).value();
  std::optional<ScratchDirectory> folder_;
  FusedGraph fused_;
  Task task_;
  std::string default_;
  const std::string naive_;  ///< no step: dozens of times slower
  NetworkOptions options_;
};

TEST_F(Settle, GoesBackToTheDefaultWhereTheNetworkIsFasterSo) {
  // Measured alone, the naive program seemed to gain 4%. (The times are seconds, so that no hiccup of the machine is a disturbance.)
  RecordFile file = records({{default_, 10}, {naive_, 9.6}});
  ASSERT_EQ(best(file), naive_);
  NetworkTruth truth;
  for (int tries = 0; tries < 5 && truth.back_to_default.empty(); ++tries)  // a busy machine may leave it undecided
    truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  if (truth.disturbed) GTEST_SKIP() << "the machine is too busy to conclude anything";
  EXPECT_EQ(truth.back_to_default, std::vector<std::string>{task_.name});
  EXPECT_DOUBLE_EQ(truth.tuned.predicted_seconds, 10);
  EXPECT_LT(truth.tuned.seconds, 1);
  EXPECT_EQ(best(file), default_) << "from now on";
}

TEST_F(Settle, KeepsWhatTheRecordsRankFirstWhereNothingIsFaster) {
  RecordFile file = records({{naive_, 12}, {default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  EXPECT_TRUE(truth.back_to_default.empty());
  EXPECT_DOUBLE_EQ(truth.tuned.predicted_seconds, 10);
  EXPECT_EQ(file.records().size(), 2u);
}

TEST_F(Settle, BeginsNothingThatCannotEndBeforeTheDeadline) {
  RecordFile file = records({{default_, 10}});
  options_.clock = [] { return 7.0; };
  options_.deadline = 7.2;
  const NetworkTruth truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  EXPECT_GT(truth.needed_seconds, 0.2);
  EXPECT_EQ(truth.untuned_seconds, 0);
  EXPECT_EQ(truth.compile_seconds, 0) << "nothing was compiled";
}
TEST_F(Settle, ComparesWithTheUntunedNetworkAloneWhereNoMoreFits) {
  RecordFile file = records({{naive_, 10.1}, {default_, 10}});
  double time = 0;
  options_.clock = [&] { return time += 1; };  // a compile takes a second: it asks before and behind
  options_.deadline = 6.5;
  const NetworkTruth truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  EXPECT_EQ(truth.needed_seconds, 0);
  EXPECT_GT(truth.untuned_seconds, 0);
  EXPECT_TRUE(truth.swaps.empty());
  EXPECT_EQ(truth.compile_seconds, 1);
}
TEST_F(Settle, TimesTheTasksAloneInTurnWithTheNetwork) {
  FormulaMeasurer alone = FormulaMeasurer::timing([&](const std::string& steps) { return steps == default_ ? 3 : 4; });
  options_.measurer = &alone;
  RecordFile file = records({{naive_, 12}, {default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  EXPECT_DOUBLE_EQ(truth.tasks_seconds, 3);
  EXPECT_GT(truth.beside_tasks_seconds, 0);
  EXPECT_GT(alone.comparisons, 1);
}
TEST_F(Settle, SaysNothingOfTasksOfWhichOneCannotBeTimed) {
  FormulaMeasurer broken([](const MeasureTask&, const std::string&) { return Outcome{OutcomeCode::crash, "", {}}; });
  options_.measurer = &broken;
  RecordFile file = records({{default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, *device_, options_).value();
  EXPECT_EQ(truth.tasks_seconds, 0);
  EXPECT_GT(truth.tuned.seconds, 0);
}

TEST_F(Settle, AdoptsWhatTheDeviceTimesFaster) {
  FormulaDevice device([](const KernelJob&) { return 1.0; });
  device.model_seconds = [](const std::string& path) { return path.ends_with("/1.so") ? 9.0 : 10.0; };  // the untuned
  RecordFile file = records({{default_, 10}, {naive_, 9.6}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, device, options_).value();
  EXPECT_EQ(truth.back_to_default, std::vector<std::string>{task_.name});
  EXPECT_EQ(truth.tuned.seconds, 9);
  EXPECT_EQ(best(file), default_);
}
TEST_F(Settle, RanksNothingFirstByATimeOfAnotherPlacement) {
  FormulaDevice device([](const KernelJob&) { return 1.0; });
  device.model_seconds = [](const std::string& path) { return path.ends_with("/1.so") ? 9.0 : 10.0; };  // the untuned
  RecordFile file = records({});
  const auto add = [&](const std::string& steps, double seconds, double round_trip_ns) {
    Record record = testing_records::timed(task_.key, steps, seconds, to_string(target_));
    record.outcome.placement = {round_trip_ns};
    EXPECT_TRUE(file.append(record).ok());
  };
  add(naive_, 9.6, 330);
  add(default_, 8, 78);
  ASSERT_EQ(best(file), naive_) << "nothing says what the default schedule takes there";
  const NetworkTruth truth = settle_in_network(fused_, target_, file, device, options_).value();
  EXPECT_EQ(truth.untuned_seconds, 9);
  EXPECT_EQ(truth.tuned.seconds, 10) << "a compile goes on as it did";
  EXPECT_TRUE(truth.back_to_default.empty());
  EXPECT_EQ(best(file), naive_);
  EXPECT_EQ(file.records().size(), 2u);
}
TEST_F(Settle, RanksASecondCandidateFirstThatMakesTheNetworkClearlyFaster) {
  for (const double seconds : {9.98, 9.8}) {
    FormulaDevice device([](const KernelJob&) { return 1.0; });
    device.model_seconds = [&](const std::string& path) { return path.ends_with("/3.so") ? seconds : 10.0; };
    RecordFile file = records({{default_, 10}, {naive_, 10.1}});
    const NetworkTruth truth = settle_in_network(fused_, target_, file, device, options_).value();
    const bool clearly = seconds == 9.8;
    ASSERT_EQ(truth.swaps.size(), 1u);
    EXPECT_EQ(truth.swaps[0].task, task_.name);
    EXPECT_EQ(truth.swaps[0].seconds, seconds);
    EXPECT_EQ(truth.swaps[0].adopted, clearly);
    EXPECT_EQ(truth.tuned.seconds, clearly ? seconds : 10);
    EXPECT_EQ(best(file), clearly ? naive_ : default_);
    EXPECT_EQ(file.records().size(), clearly ? 3u : 2u);
    EXPECT_EQ(file.records().all().back().ranks_as, clearly ? 10 : 0) << "the time of the one that it replaces";
    std::filesystem::remove(folder_->path() + "/r.jsonl");
  }
}
/// Where a process has its memory makes a model fast in it, each time that it is asked.
TEST_F(Settle, DoesNotTakeTheLuckOfAProcessForAFasterModel) {
  ReopeningDevice device([](const KernelJob&) { return 1.0; });
  device.model_seconds = [&](const std::string& path) {
    return path.ends_with("/1.so") && device.processes == 0 ? 9.0 : 10.0;  // the untuned
  };
  RecordFile file = records({{default_, 10}, {naive_, 9.6}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, device, options_).value();
  EXPECT_TRUE(truth.back_to_default.empty());
  EXPECT_EQ(truth.tuned.seconds, 10);
  EXPECT_EQ(truth.untuned_seconds, 10) << "the lucky process does not count";
  EXPECT_EQ(best(file), naive_);
  EXPECT_GE(device.processes, 2);
}
/// A record base knows another schedule of the task.
class SettleWithABase : public Settle {
 protected:
  void SetUp() override {
    Settle::SetUp();
    if (IsSkipped()) return;
    const DesignSpace space = make_space(task_.dag, target_);
    for (const Candidate& candidate : space.seeds())
      if (known_.empty() || known_ == default_) known_ = to_text(*space.steps(candidate));
    ASSERT_NE(known_, default_);
    options_.choose = [this](const Records* records) {
      ScheduleSource source = best_of(records, target_);
      source.base = "own 2026.12 (1 network)";
      source.transferred = [this](const Task&) { return TransferredSchedule{known_, "a net", 1, 2, ""}; };
      return source;
    };
  }
  /// Of the network as tuned, untuned, and by default schedules.
  NetworkTruth settle(RecordFile& file, double tuned, double untuned, double by_default) {
    FormulaDevice device([](const KernelJob&) { return 1.0; });
    device.model_seconds = [=](const std::string& path) {
      return path.ends_with("/1.so") ? untuned : path.ends_with("/2.so") ? by_default : tuned;
    };
    return settle_in_network(fused_, target_, file, device, options_).value();
  }
  std::string known_;
};

TEST_F(SettleWithABase, ComparesWithWhatACompileWithoutRecordsMakes) {
  RecordFile file = records({{naive_, 10}, {default_, 12}});
  const NetworkTruth truth = settle(file, 8, 9, 10);
  EXPECT_EQ(truth.base, "own 2026.12 (1 network)");
  EXPECT_EQ(truth.untuned_seconds, 9);
  EXPECT_EQ(truth.default_seconds, 10);
  EXPECT_EQ(truth.tuned.seconds, 8);
  EXPECT_FALSE(truth.same_schedules);
  EXPECT_EQ(file.records().size(), 2u);
}
TEST_F(SettleWithABase, RanksWhatTheBaseKnowsFirstWhereTheNetworkIsFasterSo) {
  RecordFile file = records({{naive_, 10}, {default_, 12}, {known_, 10.3}});
  const NetworkTruth truth = settle(file, 8, 7, 10);
  EXPECT_EQ(truth.back_to_default, std::vector<std::string>{task_.name});
  EXPECT_EQ(truth.tuned.seconds, 7);
  EXPECT_EQ(truth.untuned_seconds, 7);
  EXPECT_EQ(best(file), known_);
  EXPECT_TRUE(truth.same_schedules) << "from now on";
}
TEST_F(SettleWithABase, TheTunedNetworkRunsUnmeasuredTasksByWhatTheBaseKnows) {
  RecordFile file = records({});
  EXPECT_TRUE(settle(file, 8, 8, 10).same_schedules);
}
TEST_F(SettleWithABase, OnlyComparesWithAnUntunedNetworkOfOtherKernels) {
  const FusedGraph chained = fused_;
  options_.untuned = &chained;
  RecordFile file = records({{naive_, 10}, {known_, 10.3}});
  const NetworkTruth truth = settle(file, 8, 7, 10);
  EXPECT_EQ(truth.untuned_seconds, 7);
  EXPECT_EQ(truth.tuned.seconds, 8);
  EXPECT_EQ(best(file), naive_);
}
TEST_F(Settle, WritesNothingWhereTheDeviceDies) {
  for (int at = 0; at < 6; ++at) {
    FormulaDevice inner([](const KernelJob&) { return 1.0; });
    DyingDevice device(inner, at);
    RecordFile file = records({{default_, 10}, {naive_, 9.6}});
    const std::string before = file_text();
    const auto truth = settle_in_network(fused_, target_, file, device, options_);
    EXPECT_EQ(truth.ok() ? "" : truth.error().message, at < 2 ? "the device does not answer" : "") << at;
    EXPECT_EQ(file_text(), before);
    std::filesystem::remove(folder_->path() + "/r.jsonl");
  }
}
TEST_F(Settle, WritesNothingWhereTheDeviceLies) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    FormulaDevice inner([](const KernelJob&) { return 1.0; });
    LyingDevice device(inner, seed, 1);
    RecordFile file = records({{default_, 10}, {naive_, 9.6}});
    const std::string before = file_text();
    const auto truth = settle_in_network(fused_, target_, file, device, options_);
    ASSERT_FALSE(truth.ok());
    EXPECT_EQ(truth.error().message, "the device's times of the models make no sense");
    EXPECT_EQ(file_text(), before);
    std::filesystem::remove(folder_->path() + "/r.jsonl");
  }
}
TEST_F(Settle, KeepsModelsOpenFromOneCallToTheNext) {
  std::vector<ModelLibrary> files;
  for (int i = 0; i < 2; ++i) {
    files.push_back({folder_->path() + "/" + std::to_string(i) + ".so"});
    ASSERT_TRUE(compile_model(fused_, nullptr, target_, files.back().path).ok());
  }
  const ModelRun run{{}, options_.inputs, 0.001, 2};
  for (int call = 0; call < 2; ++call) {
    const auto times = device_->time_models(files, run);
    ASSERT_TRUE(times.ok()) << times.error().message;
    EXPECT_EQ(times->at(1).bursts.size(), 2u);
    for (const ModelLibrary& file : files) std::filesystem::remove(file.path);  // what is open stays
  }
  ASSERT_TRUE(device_->time_models({files[0]}, run).ok());
  const auto closed = device_->time_models(files, run);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().message.find("1.so"), std::string::npos) << closed.error().message;
  ASSERT_TRUE(compile_model(fused_, nullptr, target_, files[0].path).ok());
  EXPECT_FALSE(device_->time_models({files[0]}, {}).ok()) << "an input is missing";
  EXPECT_TRUE(device_->time_models({files[0]}, run).ok()) << "after a failure";
}

/// The process that times models; 0 while there is none.
pid_t models_process() {
  const std::string parent = std::to_string(zygote().pid());
  std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
    if (name == "whet-models") return child;
  }
  return 0;
}

TEST_F(Settle, TimesModelsInANewProcessWhenTheOldOneDiedWhileIdle) {
  const ModelLibrary file{folder_->path() + "/model.so"};
  ASSERT_TRUE(compile_model(fused_, nullptr, target_, file.path).ok());
  const ModelRun run{{}, options_.inputs, 0.001, 1};
  ASSERT_TRUE(device_->time_models({file}, run).ok());
  const pid_t idle = models_process();
  ASSERT_GT(idle, 0);
  kill(idle, SIGKILL);
  ASSERT_TRUE(testing::gone(idle));
  const auto times = device_->time_models({file}, run);
  EXPECT_TRUE(times.ok()) << times.error().message;
  EXPECT_NE(models_process(), idle);
}
TEST_F(Settle, TimesModelsInANewProcessWhenTheOldOneDiesBeforeItReadsTheOrder) {
  const ModelLibrary file{folder_->path() + "/model.so"};
  ASSERT_TRUE(compile_model(fused_, nullptr, target_, file.path).ok());
  const ModelRun run{{}, options_.inputs, 0.001, 1};
  ASSERT_TRUE(device_->time_models({file}, run).ok());
  const testing::StoppedThenKilled stopped(models_process());
  const auto times = device_->time_models({file}, run);
  EXPECT_TRUE(times.ok()) << times.error().message;
}
TEST_F(Settle, SaysByWhichSignalAModelEndedWhileItWasTimed) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer answers the signal itself";
#endif
#endif
  const ModelLibrary file{folder_->path() + "/model.so"};
  ASSERT_TRUE(compile_model(fused_, nullptr, target_, file.path).ok());
  const ModelRun forever{{}, options_.inputs, 600, 1};
  std::thread killer([] {
    while (models_process() == 0 || testing::ticks_of(models_process()) < 20)
      usleep(1000);  // it runs the model by then
    kill(models_process(), SIGBUS);
  });
  const auto times = device_->time_models({file}, forever);
  killer.join();
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.error().message, "a compiled model crashed: SIGBUS");
  EXPECT_TRUE(device_->time_models({file}, {{}, options_.inputs, 0.001, 1}).ok());
}

/// `c` for a comparison of the tasks, `s` for one of the network: the first takes a second, the next one two.
struct LastWord {
  std::vector<double> round_trips;  ///< as they are asked for
  double needed_at_last = 0;
  bool interrupted_at_last = false;
  std::string order;
  std::size_t asked = 0;
  NetworkTruth run(double compared_in) {
    return settle_in_placement(
               {compared_in}, [&] { return ProcessorPlacement{round_trips.at(asked++)}; },
               [&] { return order += "c", ok_status(); },
               [&]() -> Result<NetworkTruth> {
                 order += "s";
                 NetworkTruth truth;
                 truth.tuned.seconds = static_cast<double>(std::ranges::count(order, 's'));
                 if (truth.tuned.seconds > 1) truth.needed_seconds = needed_at_last;
                 if (truth.tuned.seconds > 1 && interrupted_at_last) return NetworkTruth();
                 return truth;
               })
        .value();
  }
};
TEST(LastWord, IsSaidOnceWhereTheProcessorsStay) {
  for (const double round_trip : {0.0, 78.0}) {
    LastWord word{{round_trip, round_trip}};
    const NetworkTruth truth = word.run(round_trip);
    EXPECT_EQ(word.order, "s");
    EXPECT_EQ(truth.placement, ProcessorPlacement{round_trip});
  }
}
TEST(LastWord, IsSaidWhereTheTasksWereCompared) {
  LastWord word{{330, 330}};
  EXPECT_EQ(word.run(78).placement, ProcessorPlacement{330});
  EXPECT_EQ(word.order, "cs");
}
TEST(LastWord, IsSaidAgainWhereTheProcessorsMoveMeanwhile) {
  LastWord word{{78, 330}};
  const NetworkTruth truth = word.run(78);
  EXPECT_EQ(word.order, "scs") << "and once more at most";
  EXPECT_EQ(truth.tuned.seconds, 2);
  EXPECT_EQ(truth.placement, ProcessorPlacement{330});
}
TEST(LastWord, StaysTheFirstWhereNoTimeIsLeft) {
  LastWord word{{78, 330}, 3};
  const NetworkTruth truth = word.run(78);
  EXPECT_EQ(word.order, "scs");
  EXPECT_EQ(truth.tuned.seconds, 1);
  EXPECT_EQ(truth.placement, ProcessorPlacement{78});
  EXPECT_EQ(truth.needed_seconds, 0);
}

TEST(LastWord, StaysTheFirstWhereTheSecondIsInterrupted) {
  LastWord word{{78, 330}, 0, true};
  EXPECT_EQ(word.run(78).tuned.seconds, 1);
  EXPECT_EQ(word.order, "scs");
}

TEST(FasterThan, IsClearlyFasterAndBelievablySo) {
  const TimedModel tuned{1, 0.95, 0.9};
  const TimedRival untuned{{2, 1.9}, 1};
  const auto with = [&](TimedRival other) { return faster_than(tuned, {untuned, other}); };
  EXPECT_EQ(with({{0.9, 0.85}, 1}), 1u);
  EXPECT_EQ(with({{0.999, 0.9}, 1}), std::nullopt) << "within the noise";
  EXPECT_EQ(with({{0.9, 0.85}, 1, 0.05}), std::nullopt) << "saves more than the task takes";
  EXPECT_EQ(with({{0.96, 0.9}, 1, 0.05}), 1u);
  EXPECT_EQ(with({{0.9, 0.85}, 0.9}), std::nullopt) << "the tuned one was as fast meanwhile";
  EXPECT_EQ(faster_than(tuned, {{{0.8, 0.8}, 1}, {{0.9, 0.9}, 1}}), 0u) << "untuned is the fastest";
}
TEST(FasterThan, OfEqualTimesTakesTheSmallerLibrary) {
  const TimedModel tuned{1, 0.95, 0.9, 160'000'000};
  const auto with = [&](double seconds, std::int64_t bytes) {
    return faster_than(tuned, {{{seconds, seconds, 0, bytes}, 1}});
  };
  EXPECT_EQ(with(1.015, 97'000'000), 0u);
  EXPECT_EQ(with(1.03, 97'000'000), std::nullopt);
  EXPECT_EQ(with(1.015, 150'000'000), std::nullopt) << "as large";
  EXPECT_EQ(with(0.99, 150'000'000), 0u);
  EXPECT_EQ(with(0.99, 200'000'000), std::nullopt) << "larger";
  EXPECT_EQ(with(0.97, 200'000'000), 0u);
  EXPECT_EQ(with(0.99, 0), 0u) << "of a size that is not known";
}
TEST(FasterThan, ConcludesNothingFromDisturbedTimes) {
  EXPECT_TRUE(is_disturbed({2, 1, 1})) << "the median is far from the fastest";
  EXPECT_TRUE(is_disturbed({2, 1.9, 1})) << "the fastest is far from the prediction";
  EXPECT_FALSE(is_disturbed({1.2, 1.1, 1}));
  EXPECT_FALSE(is_disturbed({1.2, 1.1, 0})) << "nothing was predicted";
  EXPECT_EQ(faster_than({2, 1, 1}, {{{0.5, 0.5, 0.5}, 2}}), std::nullopt);
}

}  // namespace network_test
}  // namespace whet
