// Every topic of `whet explain` as JSON.

#include <gtest/gtest.h>

#include "cli/command.h"
#include "compiler/scratch.h"
#include "json/json.h"
#include "passes/optimize.h"
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
  for (const auto& [half, more] : {std::pair("f16", 1u), std::pair("bf16", 1u)})
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

}  // namespace explain_test
}  // namespace whet
