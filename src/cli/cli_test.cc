#include <gtest/gtest.h>

#include <limits>

#include "cli/command.h"
#include "cli/layouts.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/tune_json.h"

namespace whet {
namespace cli_test {

struct Fruit {
  std::string kind = "apple";
  int number = 0;
  std::vector<std::string> sizes;
};
Fruit eaten;

CommandAction make_eat(Arguments& arguments) {
  auto fruit = std::make_shared<Fruit>();
  arguments.choice("--kind", fruit->kind, {"apple", "pear"}, "Kind");
  arguments.add("--number", fruit->number, 0, 9, "How many");
  arguments.add("--sizes", fruit->sizes, "Of what");
  return [fruit] {
    eaten = *fruit;
    return kDone;
  };
}

struct Answer {
  int code;
  std::string error;
};

Answer call(std::vector<std::string> words) {
  words.insert(words.begin(), "whet");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const int code = run_command_line({{"eat", "Eats fruit", make_eat}, {"sleep", "Sleeps", make_eat}},
                                    static_cast<int>(argv.size()), argv.data());
  ::testing::internal::GetCapturedStdout();
  return {code, ::testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, RunsTheCommandWithItsOptions) {
  EXPECT_EQ(call({"eat", "--kind", "pear", "--number=3"}).code, kDone);
  EXPECT_EQ(eaten.kind, "pear");
  EXPECT_EQ(eaten.number, 3);
}
TEST(CommandLine, TakesSizesAsAShellWritesBracesOut) {
  EXPECT_EQ(call({"eat", "--sizes", "x.0=1", "x.0=2", "x.0=16", "--number", "4"}).code, kDone);
  EXPECT_EQ(eaten.sizes, (std::vector<std::string>{"x.0=1", "x.0=2", "x.0=16"}));
}
TEST(CommandLine, SuggestsTheNearestCommandOptionOrValue) {
  EXPECT_EQ(call({"aet"}).error, "whet: unknown command \"aet\"; did you mean \"eat\"?\n");
  EXPECT_EQ(call({"eat", "--numbr", "3"}).error, "whet: eat: unknown option --numbr; did you mean \"--number\"?\n");
  EXPECT_EQ(call({"eat", "--kind=peer"}).error,
            "whet: --kind: \"peer\" is none of apple, pear; did you mean \"pear\"?\n");
  EXPECT_EQ(call({"aet"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--numbr", "3"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--kind=peer"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--number=many"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "an", "apple"}).code, kWrongUse);
  EXPECT_EQ(call({}).code, kWrongUse);
}
TEST(CommandLine, RefusesWhatStandsInFrontOfACommand) {
  EXPECT_EQ(call({"aet", "sleep"}).error, "whet: unknown command \"aet\"; did you mean \"eat\"?\n");
  EXPECT_EQ(call({"--numbr", "sleep"}).code, kWrongUse);
}
TEST(CommandLine, AnswersTheWordsOfTvm) {
  EXPECT_EQ(call({"tvmc", "eat"}).error,
            "whet: unknown command \"tvmc\"; its tune, compile and run are commands of whet, as in `whet tune MODEL` "
            "(docs/from_tvm.md)\n");
  EXPECT_EQ(call({"eat", "--n_trial=5"}).error,
            "whet: eat: unknown option --n_trial; TVM's number of trials is `whet tune --trials N`, of all tasks "
            "together\n");
  EXPECT_EQ(call({"eat", "-mcpu=znver4"}).error,
            "whet: eat: unknown option -mcpu; a target is one text in quotes, as in --target \"cpu -mcpu=znver4 "
            "-threads=4\"\n");
}
TEST(CommandLine, HelpIsNoFailure) {
  EXPECT_EQ(call({"--help"}).code, kDone);
  EXPECT_EQ(call({"eat", "--help"}).code, kDone);
  EXPECT_EQ(call({"--version"}).code, kDone);
}

TEST(ModelName, IsThatOfItsFile) {
  EXPECT_EQ(ModelOptions{.model = "zoo:resnet-18"}.name(), "resnet-18");
  EXPECT_EQ(ModelOptions{.model = "a/b.c/squeezenet1_1.onnx"}.name(), "squeezenet1_1");
  EXPECT_EQ(ModelOptions{.model = "models/saved/"}.name(), "saved");
}

TEST(ParseShapes, ReadsNamesAndExtents) {
  const auto shapes = *parse_shapes({"data=1x3x224x224", "a=b=7"});
  EXPECT_EQ(shapes.at("data"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(shapes.at("a=b"), (Shape{7}));
}
TEST(ParseShapes, SaysWhatAShapeLooksLike) {
  for (const char* text :
       {"", "data", "data=", "data=1x", "data=0x3", "data=-1", "=3", "data=3y4", "data=99999999999999999999"}) {
    ASSERT_FALSE(parse_shapes({text}).ok()) << text;
    EXPECT_EQ(parse_shapes({text}).error().message,
              "--shape is \"" + std::string(text) +
                  "\"; expected an input's name and positive extents, like data=1x3x224x224");
  }
}
TEST(ChooseTarget, TakesThreadsFromTheTargetTheOptionOrTheMachine) {
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=haswell -threads=1"})->target.threads, 1);
  EXPECT_EQ(choose_target({.threads = 1})->target.threads, 1);
  EXPECT_EQ(choose_target({})->target.threads, static_cast<int>(usable_cores().cpus.size()));
  EXPECT_FALSE(choose_target({.threads = 1000}).ok());
  EXPECT_FALSE(choose_target({.target = "gpu"}).ok());
}
TEST(ChooseTarget, DoesNotAskThisMachineAboutProcessorsOfOtherArchitectures) {
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=cortex-a72 -threads=96"})->target.threads, 96);
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=cortex-a72", .threads = 96})->target.threads, 96);
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=cortex-a72"})->target.threads, 1);
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=cortex-a72", .cores = "little"})->target.cpu().cores, CoreKind::little);
  EXPECT_EQ(choose_target({.target = "cpu -mcpu=cortex-a72", .cores = "0-3"}).error().message,
            "--cores is \"0-3\"; expected big, little or prime for cortex-a72, which is no processor of this machine");
}

TEST(MatchInputs, GoesByNameThenByOrderThenFills) {
  const TensorType type{DType::f32, {2}};
  const std::vector<InputSlot> slots = {{"a", type}, {"b", type}, {"c", type}};
  const Tensor one = Tensor::of<double>(DType::f32, {2}, {1, 1}), two = Tensor::of<double>(DType::f32, {2}, {2, 2});
  const auto inputs = *match_inputs(slots, {{{"b", one}}, {two}}, "zeros", 0);
  EXPECT_EQ(inputs[0].get(0), 2);
  EXPECT_EQ(inputs[1].get(0), 1);
  EXPECT_EQ(inputs[2].get(0), 0);
}
TEST(MatchInputs, SaysWhatIsMissingWrongOrTooMuch) {
  const std::vector<InputSlot> slots = {{"data", {DType::f32, {2}}}};
  const Tensor right(DType::f32, {2}), wrong(DType::i64, {3});
  EXPECT_EQ(match_inputs(slots, {}, "", 0).error().message,
            "input data f32[2] is missing; give --input data=FILE.npy, or --fill random");
  EXPECT_EQ(match_inputs(slots, {{}, {wrong}}, "", 0).error().message,
            "input data: i64[3] was given; the model takes f32[2]");
  EXPECT_EQ(match_inputs(slots, {{{"dta", right}}, {right}}, "", 0).error().message,
            "--input: the model has no input \"dta\"; it takes data; did you mean \"data\"?");
  EXPECT_EQ(match_inputs(slots, {{}, {right, right}}, "", 0).error().message,
            "--input: 2 unnamed tensors were given; the model has 1 input");
  EXPECT_EQ(match_inputs(slots, {{}, {Tensor(DType::f32, {3})}}, "", 0).error().message,
            "input data: f32[3] was given; the model takes f32[2]");
  const std::vector<InputSlot> imported = {{"data", {DType::f32, {2}}, true}};
  EXPECT_EQ(
      match_inputs(imported, {{}, {Tensor(DType::f32, {3})}}, "", 0).error().message,
      "input data: f32[3] was given; the model takes f32[2]; where the file leaves dimensions open, --shape data=3 "
      "binds them");
  EXPECT_EQ(match_inputs(imported, {{}, {Tensor(DType::f32, {0})}}, "", 0).error().message,
            "input data: f32[0] was given; the model takes f32[2]")
      << "no extent is 0";
}

TEST(Table, StandsInColumnsWhateverTheAlphabet) {
  Table table({{"ID"}, {"Name", false}});
  table.add({"1", "größer"});
  table.add({"10", "–"});
  EXPECT_EQ(table.to_text(), "| ID | Name   |\n|  1 | größer |\n| 10 | –      |\n");
  EXPECT_EQ(shortened("größer", 4), "grö…");
  EXPECT_EQ(shortened("klein", 5), "klein");
  EXPECT_EQ(shortened_inside("größer als", 5), "gr…ls");
  EXPECT_EQ(shortened_inside("klein", 5), "klein");
}
TEST(StoredText, CutsTheLongNamesOfCovers) {
  EXPECT_EQ(stored_text({}), "nhwc");
  Alternative copy{.kind = AlternativeKind::transform};
  copy.name = "merged: a+b -> nhwc";
  EXPECT_EQ(stored_text(copy), "copy merged: a+b -> nhwc");
  Alternative chain{.kind = AlternativeKind::cover};
  chain.name = "chain: " + std::string(60, 'a') + "+" + std::string(60, 'b');
  EXPECT_EQ(width_of(stored_text(chain)), 80u);
}

TEST(PlanReport, IsOfLayoutsAndCovers) {
  PlanSearch search;
  search.plans.best.resize(1);
  EXPECT_EQ(plan_report(search).substr(0, 34), "Layouts and covers: 0 alternatives");
}
TEST(PlanReport, SaysWhyAPlanWasNotTaken) {
  PlanSearch search;
  search.plans.best.resize(1);
  search.alternatives = search.tasks = 1, search.trials = 1;
  EXPECT_EQ(
      plan_report(search),
      "Layouts and covers: 1 alternative of 1 task; 0 of these tasks measured in 1 trial and 0.0 s, not all that is "
      "hoped for was measured\n"
      "  plan by sums   0.0000 ms, the usual one 0.0000 ms; bound 0.0000 ms\n"
      "  no plan of kernels that were measured is shorter than the usual one\n"
      "  chosen         the usual kernels\n");
  PlanSearch::Tried& tried = search.tried.emplace_back();
  tried.kernels = 1, tried.network_seconds = 0.996e-3, tried.usual_network_seconds = 1e-3;
  search.has_excess = false;
  const std::string report = plan_report(search);
  EXPECT_NE(
      report.find("\n  in the network 0.9960 ms with 1 other kernel, the usual plan 1.0000 ms alternately; not taken: "
                  "1% in the median of seven is asked; it had 0.4%\n"),
      std::string::npos)
      << report;
  EXPECT_NE(report.find("\n  priced without what the network takes longer than its kernels"), std::string::npos);
}

TEST(Numbers, KeepThreeDigits) {
  EXPECT_EQ(si(0), "0");
  EXPECT_EQ(si(3.64e9), "3.640 G");
  EXPECT_EQ(si(999.9e3), "1.000 M");
  EXPECT_EQ(short_number(56.789), "56.79");
  EXPECT_EQ(with_unit(510, "FLOP"), "510 FLOP");
  EXPECT_EQ(with_unit(63.3e6, "FLOP"), "63.30 MFLOP");
}
TEST(Numbers, SayHowFarATimeIsFromWhatWasExpected) {
  EXPECT_EQ(off_text(1.016, 1, 1), "+1.6%");
  EXPECT_EQ(off_text(0.9, 1, 0), "-10%");
  EXPECT_EQ(off_text(25.94, 1, 1), "25.94 times as long");
  EXPECT_EQ(busy_text("The median", 3.2, 1).substr(0, 39), "The median is 3.200 times the fastest: ");
}

TuneProgress two_tasks() {
  TuneProgress progress;
  TaskProgress conv{
      .name = "conv2d 1x7x7x512", .weight = 2, .flops = 2e8, .best_seconds = 1e-3, .default_seconds = 2e-3};
  conv.trials = 40, conv.failed = 1;
  TaskProgress dense{.name = "dense 1x1000", .id = 1, .weight = 1, .flops = 1e6};
  dense.best_seconds = dense.default_seconds = std::numeric_limits<double>::infinity();
  progress.tasks = {conv, dense};
  progress.trials = 40, progress.allowed_trials = 100, progress.seconds = 10;
  progress.task = 0, progress.next_task = 1, progress.round_best_seconds = 2e-3;
  return progress;
}

TEST(Screen, ShowsWhereEveryTaskStands) {
  EXPECT_EQ(progress_table(two_tasks(), 400, 0).to_text(),
            "| ID | Task             | Latency (ms) | Speed (GFLOPS) | % peak | Weight | Trials | Failed |\n"
            "|  0 | conv2d 1x7x7x512 |       1.0000 |          200.0 |    50% |      2 |     40 |      1 |\n"
            "|  1 | dense 1x1000     |            – |              – |      – |      1 |      0 |      0 |\n");
  EXPECT_EQ(progress_lines(two_tasks(), 0),
            "Estimated total latency: 2.000 ms (1 of 2 tasks) (default 4.000 ms)   Trials: 40/100   "
            "Used time: 10 s   ETA: 15 s   Next ID: 1   Remaining gain: 0.0000 ms\n");
}
TEST(Screen, PrintsALineARoundOnAPipe) {
  EXPECT_EQ(round_line(two_tasks()),
            "[Task  1/2]  Current/Best:  100.00/ 200.00 GFLOPS | 1.0000 ms | Trials: 40 (1 failed) | total 2.000 ms | "
            "10.0 s  "
            "ID 0 conv2d 1x7x7x512");
}
TEST(Screen, ShowsTheClassicLineOfOneTaskAfterTheOther) {
  TuneProgress progress = two_tasks();
  progress.tasks[0].measured = progress.tasks[0].allowed = 40;
  progress.tasks[0].seconds = 12.345;
  progress.tasks[0].done = true;
  EXPECT_EQ(task_line(progress),
            "[Task  1/2]  Current/Best:  100.00/ 200.00 GFLOPS | Progress: (40/40) | 12.35 s Done.  ID 0 "
            "conv2d 1x7x7x512");
}
TEST(Screen, KeepsTheCostliestTasksWhereTheTerminalIsLow) {
  const std::string table = progress_table(two_tasks(), 0, 1).to_text();
  EXPECT_NE(table.find("conv2d"), std::string::npos);
  EXPECT_EQ(table.find("dense"), std::string::npos);
  EXPECT_NE(table.find("and 1 more"), std::string::npos);
}
TEST(Screen, KeepsItsNumbersOnANarrowTerminal) {
  TuneProgress progress = two_tasks();
  progress.tasks[0].name = "transpose+conv2d+bias+relu 1x112x112x64 k7 s2 p3";
  const Table::Text narrow = progress_table(progress, 400, 0).fitted(80);
  EXPECT_EQ(narrow.titles + narrow.rows,
            "|    |                  | Latency |    Speed |    % |        |        |        |\n"
            "| ID | Task             |    (ms) | (GFLOPS) | peak | Weight | Trials | Failed |\n"
            "|  0 | transpos…7 s2 p3 |  1.0000 |    200.0 |  50% |      2 |     40 |      1 |\n"
            "|  1 | dense 1x1000     |       – |        – |    – |      1 |      0 |      0 |\n");
  EXPECT_EQ(progress_lines(progress, 80),
            "Estimated total latency: 2.000 ms (1 of 2 tasks) (default 4.000 ms)\n"
            "Trials: 40/100   Used time: 10 s   ETA: 15 s   Next ID: 1\n"
            "Remaining gain: 0.0000 ms\n");
  const Table::Text tiny = progress_table(progress, 400, 0).fitted(50);
  EXPECT_NE(tiny.rows.find("(no room for: Weight, Trials, Failed)\n"), std::string::npos) << tiny.rows;
}
TEST(Screen, EndsWithWhatTuningBrought) {
  const std::string report = closing_report(two_tasks(), 400, {{{"compute", 5e-4, ""}}, {}}, 3);
  EXPECT_NE(report.find("2.00x"), std::string::npos);
  EXPECT_NE(report.find("compute 50%"), std::string::npos);
  EXPECT_NE(report.find("(building 0.0 s in 3 processes, running"), std::string::npos);
  EXPECT_NE(report.find("1 task was not reached and runs on default schedules\n"), std::string::npos);
  EXPECT_NE(report.find("default 4.000 ms -> tuned 2.000 ms (1 of 2 tasks)\n"), std::string::npos);
  EXPECT_NE(report.find("40 trials in 10.0 s"), std::string::npos);
}

/// A task whose default schedule does not run has a tuned time alone.
TEST(Screen, ComparesSumsOverTheSameTasks) {
  TuneProgress progress = two_tasks();
  progress.tasks[1].best_seconds = 3e-3, progress.tasks[1].trials = 1;
  EXPECT_NE(
      closing_report(progress, 400, {}, 1)
          .find("Sum of weight x latency: default 4.000 ms -> tuned 2.000 ms (1 of 2 tasks); 1 task without a time by "
                "the default schedule takes 3.000 ms\n"),
      std::string::npos)
      << closing_report(progress, 400, {}, 1);
  EXPECT_EQ(progress_lines(progress, 0).substr(0, 81),
            "Estimated total latency: 5.000 ms (of 1 task: default 4.000 -> 2.000 ms)   Trials");
  progress.tasks[0].default_seconds = std::numeric_limits<double>::infinity();
  EXPECT_NE(closing_report(progress, 400, {}, 1)
                .find("Sum of weight x latency: tuned 5.000 ms; no task has a time by its default schedule\n"),
            std::string::npos);
  EXPECT_NE(closing_report({}, 400, {}, 1).find("The model has no tasks: there is nothing to tune\n0 trials in"),
            std::string::npos);
}
TEST(Screen, SaysWhereGainsAreOfDifferentMinutes) {
  TuneProgress progress = two_tasks();
  EXPECT_EQ(closing_report(progress, 400, {}, 1).find("not measured alternately"), std::string::npos);
  progress.uncompared = 1;
  EXPECT_NE(
      closing_report(progress, 400, {}, 1)
          .find(
              "\nOf 1 task default and best were not measured alternately at the end, since no time was left: its gain "
              "is of different minutes of the machine\n"),
      std::string::npos);
}
TEST(Screen, DoubtsAPeakThatATaskIsFarAbove) {
  EXPECT_EQ(closing_report(two_tasks(), 50, {}, 1).find("times the peak"), std::string::npos);
  EXPECT_NE(closing_report(two_tasks(), 20, {}, 1).find("A task reaches 10.0 times the peak of 20.0 GFLOPS, which was"),
            std::string::npos);
}
TEST(Screen, CountsOneTrialAsOne) {
  TuneProgress progress = two_tasks();
  progress.trials = 1;
  progress.failures = {{OutcomeCode::crash, "signal 11", 1}};
  const std::string report = closing_report(progress, 400, {}, 1);
  EXPECT_NE(report.find("\n1 trial in 10.0 s"), std::string::npos) << report;
  EXPECT_NE(report.find("Failed 1 time with"), std::string::npos) << report;
  EXPECT_NE(report.find("in 1 process, running"), std::string::npos) << report;
}

NetworkTruth network() {
  NetworkTruth truth;
  truth.untuned_seconds = 2e-3;
  truth.tuned = {1e-3, 0.95e-3, 0.9e-3};
  truth.tasks_seconds = 0.9e-3, truth.beside_tasks_seconds = 0.99e-3;
  return truth;
}
TEST(NetworkReport, HoldsTheNetworkAgainstItsPrediction) {
  EXPECT_EQ(network_report(network()),
            "The network, measured alternately: untuned 2 ms -> tuned 1 ms (2.00x); fastest 0.95 ms, predicted 0.9 "
            "(+5.6%)\n"
            "Its tasks, measured alternately with it: sum 0.9 ms, fastest inference 0.99 (+10.0%)\n");
}
TEST(NetworkReport, SaysWhatBytesItCosts) {
  NetworkTruth truth = network();
  truth.untuned_weights_bytes = 46'800'000, truth.tuned.weights_bytes = 97'000'000;
  EXPECT_NE(network_report(truth).find("\nIts weights: untuned 46.8 MB -> tuned 97.0 MB\n"), std::string::npos);
}
TEST(Screen, SaysWhereTheProcessorsLay) {
  TuneProgress progress = two_tasks();
  progress.placements.see({78}, 0);
  progress.placements.see({80}, 4);
  EXPECT_EQ(closing_report(progress, 400, {}, 1).find("The processors lay"), std::string::npos) << "they stayed";
  progress.placements.see({330}, 4);
  progress.placements.see({330}, 10);
  EXPECT_NE(
      closing_report(progress, 400, {}, 1)
          .find("The processors lay near (78 ns there and back) 40% of the time, far (330 ns there and back) 60%: "
                "schedules were chosen"),
      std::string::npos);
  EXPECT_EQ(moved_text(progress.placements),
            "The processors moved, as a host moves those of a virtual machine: near (78 ns there and back) 40% of the "
            "time, far (330 ns there and back) 60%. A time belongs to a placement: the fastest schedules are measured "
            "again");
}
TEST(NetworkReport, PrintsNoRatioOfTimesThatSayNothing) {
  NetworkTruth busy = network();
  busy.disturbed = busy.disturbed_beside_tasks = true;
  busy.tuned.fastest_seconds = busy.beside_tasks_seconds = 23e-3;
  EXPECT_EQ(
      network_report(busy),
      "The network, measured alternately: untuned 2 ms -> tuned 1 ms; fastest 23 ms, predicted 0.9\n"
      "Its tasks, measured alternately with it: sum 0.9 ms, fastest inference 23\n"
      "  These times are far from the predicted ones, or from each other: another program runs, or the machine is "
      "shared (whet doctor); nothing is concluded from them\n");
  busy.disturbed = false;
  EXPECT_NE(network_report(busy).find("how much longer it takes than its kernels is not known\n"), std::string::npos);
  NetworkTruth same = network();
  same.same_schedules = true;
  EXPECT_NE(network_report(same).find("tuned 1 ms: by the same schedules, so that the difference is chance;"),
            std::string::npos);
}

TEST(NetworkReport, SaysWhatUntunedIsWhereARecordBaseKnowsMore) {
  NetworkTruth known = network();
  known.base = "cpu-512 2026.12 (41 networks)";
  EXPECT_NE(
      network_report(known).find("predicted 0.9 (+5.6%)\n  Untuned is as whet compile makes it without records, by "
                                 "base cpu-512 2026.12 (41 networks)\n"),
      std::string::npos)
      << network_report(known);
  known.default_seconds = 3e-3;
  EXPECT_NE(network_report(known).find("networks); by default schedules it takes 3 ms\n"), std::string::npos);
}

AlternativeOptions asked(const std::string& layouts) {
  const Result<AlternativeOptions> options =
      LayoutOptions{.layouts = layouts}.alternatives(*parse_target("cpu -mcpu=haswell -threads=2"));
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.error().message);
  return options.ok() ? *options : AlternativeOptions();
}

TEST(LayoutOptions, PadAnyChannelsOfBlocksThatAreNamed) {
  EXPECT_TRUE(asked("nhwc").forms.empty());
  const std::vector<ActivationLayout> all = asked("search").forms;
  EXPECT_EQ(all, forms_for(*parse_target("cpu -mcpu=haswell -threads=2")));
  EXPECT_TRUE(asked("search").padded.empty());
  EXPECT_EQ(asked("search,nchw64c").forms, all);
  EXPECT_EQ(asked("search,nchw64c").padded, std::vector<ActivationLayout>{{64}});
  EXPECT_EQ(asked("nchw16c,nchw").forms, (std::vector<ActivationLayout>{{16}, kChannelsFirst}));
}
TEST(LayoutOptions, AreWordsAndForms) {
  const auto refused = LayoutOptions{.layouts = "nchw16c,"}.alternatives(*parse_target("cpu -mcpu=haswell"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "--layouts has \"\"; expected search, nhwc, nchw or blocks like nchw16c");
}

}  // namespace cli_test
}  // namespace whet
