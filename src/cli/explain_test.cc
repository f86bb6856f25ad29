// Every topic of `whet explain` as JSON.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "alternatives/alternatives.h"
#include "cli/command.h"
#include "compiler/scratch.h"
#include "json/json.h"
#include "passes/optimize.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "records/testing/sample.h"
#include "space/space.h"
#include "task/task.h"
#include "workflow/model.h"

namespace whet {
namespace explain_test {

/// A record of the default schedule of the first task of zoo:mlp.
class ExplainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Target target = parse_target(kTarget).value();
    const FusedGraph fused = load_fused({.model = "zoo:mlp"}, {}, {}).value();
    const Task task = extract_tasks(fused, target)->front();
    Record record = testing_records::timed(task.key, to_text(*default_steps(task.dag, target)), 1e-3, kTarget);
    RecordFile file = RecordFile::open(records_).value();
    ASSERT_TRUE(file.append(record).ok());
  }
  /// What is printed of a topic; null where it is no JSON.
  Json ask(std::vector<std::string> words) const {
    words.insert(words.begin(), {"whet", "explain"});
    words.emplace_back("--json");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    const int code =
        run_command_line({{"explain", "Explains", make_explain}}, static_cast<int>(argv.size()), argv.data());
    const std::string text = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, kDone) << text;
    const Result<Json> json = parse_json(text);
    EXPECT_TRUE(json.ok()) << text;
    return json.ok() ? *json : Json();
  }
  std::vector<std::string> of_records(std::vector<std::string> words) const {
    words.insert(words.end(), {"--model", "zoo:mlp", "--records", records_, "--target", kTarget});
    return words;
  }

  static constexpr const char* kTarget = "cpu -mcpu=haswell -threads=1";
  ScratchDirectory folder_ = ScratchDirectory::make().value();
  std::string records_ = folder_.path() + "/r.jsonl";
};

TEST_F(ExplainTest, ErrorIsAListOfOutcomes) {
  const Json one = ask({"error", "crash"});
  ASSERT_EQ(one.items().size(), 1u);
  EXPECT_EQ(one.items()[0]["code"].integer(), 9);
  EXPECT_FALSE(one.items()[0]["meaning"].string().empty());
  EXPECT_EQ(std::ssize(ask({"error"}).items()), kOutcomeCodes);
}
TEST_F(ExplainTest, ProgressAndMetricsAreTexts) {
  EXPECT_TRUE(ask({"progress"})["text"].string().starts_with("While tuning"));
  EXPECT_TRUE(ask({"metrics"})["text"].string().starts_with("latency"));
}
TEST_F(ExplainTest, TaskHasItsLimitsAndItsBestCandidates) {
  const Json task = ask(of_records({"task", "0"}));
  EXPECT_EQ(task["id"].integer(), 0);
  EXPECT_EQ(task["schedules"].integer(), 1);
  ASSERT_EQ(task["best"].items().size(), 1u);
  EXPECT_EQ(task["best"].items()[0]["seconds"].number(), 1e-3);
  EXPECT_EQ(task["best"].items()[0]["candidate"].string(), "00c0ffee");
}
TEST_F(ExplainTest, CandidateHasItsRecordLoopsPassesAndCode) {
  const Json candidate = ask(of_records({"candidate", "00c0", "--passes", "--code"}));
  EXPECT_EQ(candidate["record"]["tree"].string(), "00c0ffee");
  EXPECT_FALSE(candidate["loops"].string().empty());
  EXPECT_FALSE(candidate["passes"].items().empty());
  EXPECT_NE(candidate["code"].string().find("bytes of code"), std::string::npos);
}
TEST_F(ExplainTest, PassesHaveALineForEachRun) {
  const Json answer = ask({"passes", "--model", "zoo:mlp"});
  const auto& passes = answer["passes"].items();
  const auto asked_for = [](const Pass& pass) { return pass.option != nullptr && !(PassOptions().*pass.option); };
  ASSERT_EQ(passes.size() + static_cast<std::size_t>(std::ranges::count_if(graph_passes(), asked_for)),
            graph_passes().size())
      << "fewer bits are not asked for";
  for (const auto& [half, more] : {std::pair("f16", 2u), std::pair("bf16", 1u)})
    EXPECT_EQ(ask({"passes", "--model", "zoo:mlp", "--precision", half})["passes"].items().size(),
              passes.size() + more);
  const std::size_t imported = load_graph({.model = "zoo:mlp"})->nodes.size();
  EXPECT_EQ(passes.front()["operators_before"].integer(), static_cast<std::int64_t>(imported));
  for (std::size_t i = 0; i < passes.size(); ++i) {
    EXPECT_EQ(passes[i]["pass"].string(), graph_passes()[i].name);
    EXPECT_GE(passes[i]["seconds"].number(), 0);
    if (i == 0) continue;
    EXPECT_EQ(passes[i]["operators_before"].integer(), passes[i - 1]["operators_after"].integer());
  }
  EXPECT_EQ(answer["groups"].integer(), std::ssize(load_fused({.model = "zoo:mlp"})->groups));
}
TEST_F(ExplainTest, LayoutIsAListOfNodesAndOneNode) {
  const Json all = ask({"layout", "--model", "zoo:mlp"});
  ASSERT_FALSE(all.items().empty());
  const std::string node = all.items()[0]["node"].string();
  const Json one = ask({"layout", node, "--model", "zoo:mlp"});
  EXPECT_EQ(one["node"].string(), node);
  EXPECT_TRUE(one["orders"].items().empty()) << "no convolution, no pool";
}
TEST_F(ExplainTest, LayoutAndCoverWithRecordsHaveTheSums) {
  for (const char* topic : {"layout", "cover"}) {
    const Json plan = ask(of_records({topic}));
    EXPECT_GT(plan["usual_seconds"].number(), 0);
    EXPECT_TRUE(plan["optimal"].boolean());
  }
  const Json kernels = ask(of_records({"layout"}))["kernels"];
  ASSERT_FALSE(kernels.items().empty());
  const Json node = ask(of_records({"layout", kernels.items()[0]["node"].string()}));
  ASSERT_FALSE(node["kernels"].items().empty());
  EXPECT_GT(node["kernels"].items()[0]["network_seconds"].number(), 0);
}

/// With records the model is read as a library has it: ranges for each value of a list, not each pair for itself.
TEST_F(ExplainTest, SizesWithRecordsAreThoseOfTheLibrary) {
  const std::string file = folder_.path() + "/own.dag";
  std::ofstream(file) << "x = PLACEHOLDER [b, n]\ny(i, j) = neg(x[i, j]) for i in b, j in n\nreturn y\n";
  std::vector<std::string> words = {"sizes",   "--model",   file,     "--sizes",  "b={2,4}", "--sizes",
                                    "n=2..60", "--records", records_, "--target", kTarget};
  const Json both = ask(words);
  EXPECT_EQ(both["points"].integer(), 2 * 59);
  ASSERT_GE(both["variants"].items().size(), 2u);
  EXPECT_LE(both["variants"].items().size(), 6u) << "none is of one pair";
  EXPECT_FALSE(both["variants"].items()[0]["pieces"].items().empty());
  words[6] = "n={3,5}";
  EXPECT_EQ(ask(words)["note"].string(), "Each of these sizes is compiled for itself, by the records of that size");
}

/// Records of zoo:mlp whose lowered kernels take half of the usual ones' time; each layer alone errs by 0.5%.
class ExplainPrecision : public ExplainTest {
 protected:
  void SetUp() override {
    RecordFile file = RecordFile::open(records_).value();
    for (const Alternative& each : alternatives_.all) {
      if (each.task < 0) continue;
      const Task& task = alternatives_.tasks[static_cast<std::size_t>(each.task)];
      const double seconds = each.kind == AlternativeKind::lowered ? 5e-6 : 10e-6;
      const std::string steps = to_text(*default_steps(task.dag, target_));
      ASSERT_TRUE(file.append(testing_records::timed(task.key, steps, seconds, to_string(target_))).ok());
    }
    for (const Alternative& each : alternatives_.all) {
      if (!each.rounds_product) continue;
      LayerError error;
      error.graph = hash_of(fused_), error.weights = hash_of_constants(fused_), error.samples = "s";
      error.node = node_of(each), error.error = error.worst = 5e-3;
      error.target = to_string(target_), error.whet = "0.1.0", error.at = "2026-12-01T00:00:00Z";
      ASSERT_TRUE(file.append_error(error).ok());
      layers_.insert(error.node);
    }
  }
  std::string node_of(const Alternative& each) const {
    return fused_.graph.value(each.fragment.writes.front().value).name;
  }
  std::vector<std::string> words(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "precision");
    more.insert(more.end(), {"--model", "zoo:mlp", "--records", records_, "--target", to_string(target_)});
    return more;
  }
  /// The plan of one lowered layer, within a budget of 1% as it was chosen.
  std::string adopt_one() {
    const auto one = std::ranges::find_if(
        alternatives_.all, [](const Alternative& a) { return a.rounds_product && a.name == "bf16 -> nhwc"; });
    Plan plan{.version = 4, .graph = hash_of(fused_), .name = "mlp", .target = to_string(target_)};
    plan.kernels = {{fused_.graph.value(one->fragment.reads.front().value).name, "nhwc -> bf16", true},
                    {node_of(*one), one->name, false}};
    plan.precision = PlanPrecision{.samples = "s", .weights = hash_of_constants(fused_), .allowed = {"1%"}};
    plan.precision->budget = 1e-4, plan.precision->calibration = plan.precision->held_out = 2;
    plan.whet = "0.1.0", plan.at = "2026-12-01T00:00:00Z";
    RecordFile file = RecordFile::open(records_).value();
    EXPECT_TRUE(file.append_plan(plan).ok());
    return node_of(*one);
  }

  Target target_ = parse_target("cpu -mcpu=znver4 -threads=1").value();
  FusedGraph fused_ = load_fused({.model = "zoo:mlp"}, {}, {}).value();
  Alternatives alternatives_ =
      find_alternatives(fused_, target_, {.covers = false, .lowered = {StoredAs::bf16}}).value();
  std::set<std::string> layers_;
};

TEST_F(ExplainPrecision, HasARowALayer) {
  const Json answer = ask(words());
  EXPECT_FALSE(answer["adopted"].boolean());
  ASSERT_GE(answer["layers"].items().size(), layers_.size());
  for (const Json& layer : answer["layers"].items()) {
    EXPECT_EQ(layer["is"].string(), "f32");
    EXPECT_FALSE(layer["why"].string().empty());
  }
}
TEST_F(ExplainPrecision, HasTheKernelsOfOneLayerAndWhatOtherBudgetsGive) {
  const std::string node = adopt_one();
  const Json answer = ask(words({node}));
  EXPECT_TRUE(answer["adopted"].boolean());
  ASSERT_EQ(answer["layers"].items().size(), 1u);
  const Json& layer = answer["layers"].items()[0];
  EXPECT_EQ(layer["is"].string(), "bf16 -> nhwc");
  EXPECT_NEAR(layer["share"].number(), 0.25, 1e-9);
  ASSERT_FALSE(layer["kernels"].items().empty());
  for (const Json& kernel : layer["kernels"].items()) EXPECT_NEAR(kernel["error"].number(), 5e-3, 1e-9);
  EXPECT_GE(answer["lowered_at_twice"].integer(), answer["lowered_at_half"].integer());
  EXPECT_LE(answer["at_twice"].number(), answer["at_half"].number());
}
TEST_F(ExplainPrecision, SaysWhatCannotBe) {
  const auto error = [&](const std::vector<std::string>& asked) {
    std::vector<std::string> all = {"whet", "explain"};
    all.insert(all.end(), asked.begin(), asked.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    ::testing::internal::CaptureStderr();
    const int code =
        run_command_line({{"explain", "Explains", make_explain}}, static_cast<int>(argv.size()), argv.data());
    std::fflush(stderr);
    EXPECT_NE(code, kDone);
    return ::testing::internal::GetCapturedStderr();
  };
  const auto says = [&](const std::vector<std::string>& asked, const std::string& part) {
    const std::string said = error(asked);
    EXPECT_NE(said.find(part), said.npos) << said;
  };
  says(words({"nowhere"}), "is no layer with a product, nor one for which a kernel rounds");
  ModelOptions pictures{.model = "zoo:squeezenet_v1.1"};
  pictures.image = 32;
  const FusedGraph other = load_fused(pictures, {}, {}).value();
  LayerError error_of_one;
  error_of_one.graph = hash_of(other), error_of_one.weights = hash_of_constants(other), error_of_one.samples = "s";
  error_of_one.node = "some", error_of_one.target = to_string(target_);
  ASSERT_TRUE(RecordFile::open(records_)->append_error(error_of_one).ok());
  const auto pool = std::ranges::find_if(other.groups, [&](const Group& group) {
    return std::holds_alternative<PoolOperator>(other.graph.node(group.nodes.front()).op);
  });
  ASSERT_NE(pool, other.groups.end());
  const std::string node = other.graph.value(pool->outputs.front()).name;
  says({"precision", node, "--model", "zoo:squeezenet_v1.1", "--image", "32", "--records", records_, "--target",
        to_string(target_)},
       node + " multiplies nothing and its kernels round nothing");
  RecordFile empty = RecordFile::open(folder_.path() + "/empty.jsonl").value();
  says({"precision", "--model", "zoo:mlp", "--records", empty.path(), "--target", to_string(target_)},
       "there are neither errors of this network's layers nor a plan in fewer bits for this target: whet tune "
       "--precision auto --samples S --max-error E, or --precision int8 --samples S, measures them");
}

}  // namespace explain_test
}  // namespace whet
