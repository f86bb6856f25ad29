#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/checkout.h"
#include "codegen/compile.h"
#include "compiler/choose.h"
#include "device/local/zygote.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "measure/device_measurer.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "program_text.h"
#include "records/record_file.h"
#include "task/task.h"
#include "tensor/compare.h"
#include "toy.h"
#include "tuner/tuner.h"

namespace whet::toy {
namespace {

Zygote* zygote = nullptr;

TEST(Toy, ProgramsAreReadAsTheyWereWritten) {
  int read = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Result<Lowered> lowered = lower(*replay(dag, testing::random_steps(dag, rng, 20)), target());
    if (!lowered.ok()) continue;
    const std::string text = write_program(lowered->program);
    const Result<Program> back = read_program(text);
    ASSERT_TRUE(back.ok()) << back.error().message << "\n" << text;
    EXPECT_EQ(write_program(*back), text);
    ++read;
  }
  EXPECT_GE(read, 40);
}

TEST(Toy, GoesFromTuningToCompilingToRunning) {
  const std::string stem = ::testing::TempDir() + "whet_toy_" + std::to_string(getpid());
  const std::string records_path = stem + ".jsonl", model_path = stem + ".model";
  Graph graph = *zoo_model("mlp", {});
  const FusedGraph fused = *optimize(graph, {});
  const Target toy = *parse_target("toy");
  const std::vector<whet::Task> tasks = *extract_tasks(fused, toy);

  // Tune.
  BuilderPool builders(*zygote, 1);
  const std::unique_ptr<Device> device = *whet::make_device(toy, {});
  DeviceMeasurer measurer(builders, {device.get()}, {});
  {
    RecordFile file = *RecordFile::open(records_path);
    TuneOptions options;
    options.trials = 12;
    const Result<TuneProgress> progress = tune(tasks, toy, measurer, file, options, [](const TuneProgress&) {});
    ASSERT_TRUE(progress.ok()) << progress.error().message;
    for (const TaskProgress& task : progress->tasks) EXPECT_GT(task.trials, task.failed) << task.name;
    for (const FailureGroup& f : progress->failures) ADD_FAILURE() << f.message;
  }
  const RecordsRead read = *read_records(records_path);
  const Records& records = read.records;
  for (const whet::Task& task : tasks) {
    const std::optional<RecordChoice> best = records.best(task.key, task.within, toy, {});
    ASSERT_TRUE(best) << task.name;
    EXPECT_EQ(best->record->target, "toy");
    EXPECT_EQ(best->record->outcome.device, "toy");
  }

  // Compile.
  const Result<CompileReport> report = compile_model(fused, &records, toy, model_path);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(summary(*report), "4 of 4 tasks from records, 0 by default schedules");
  const SizedNetwork several{{{"data.0", 0, 0, {1}}}, 0, [&](std::size_t) -> Result<FusedGraph> { return fused; }};
  EXPECT_EQ(compile_sizes(several, best_of(&records, toy), toy, model_path).error().message,
            "a library for target \"" + to_string(toy) +
                "\" is for one size: give it by --shape, and compile a library a size");

  // Run.
  Rng rng(1);
  const Tensor input = Tensor::random({DType::f32, {1, 784}}, rng);
  const Result<std::vector<Tensor>> outputs = run_model(model_path, {input});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const std::vector<Tensor> values = *evaluate_graph(graph, {input});
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_LT(compare(outputs->front(), values[graph.outputs[0].index()]).relative, 1e-5);
  std::remove(records_path.c_str());
  std::remove(model_path.c_str());
}

/// No file of the rooms knows the toy: what knows it is this folder, whose tables.cc has its rows.
TEST(Toy, IsKnownToNoFileOutsideItsFolder) {
  std::vector<std::string> knowing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(checkout_path("src"))) {
    if (!entry.is_regular_file() || entry.path().string().ends_with("_test.cc")) continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find("toy") != std::string::npos) knowing.push_back(entry.path());
  }
  EXPECT_EQ(knowing, std::vector<std::string>());
}

}  // namespace
}  // namespace whet::toy

int main(int argc, char** argv) {
  whet::Result<whet::Zygote> started = whet::Zygote::start();
  if (!started.ok()) return 1;
  whet::toy::zygote = &*started;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
