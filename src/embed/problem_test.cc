#include "embed/problem.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "device/cpu/opened_model.h"

namespace whet::problem_test {
namespace {

constexpr const char* kDouble = "x = PLACEHOLDER [1, 8]\ny(i, j) = (x[i, j] + x[i, j]) for i in 1, j in 8\nreturn y\n";

/// Of a program whose whet is nowhere.
class Problems : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Problem>> load(const Problem::Load& load) {
    return Problem::load(shop_, std::make_shared<Notes>(), load);
  }
  std::unique_ptr<Problem> mlp() { return std::move(*load({.path = "zoo:mlp"})); }

  std::shared_ptr<Workshop> shop_ = std::make_shared<Workshop>("/nowhere/whet");
};

TEST_F(Problems, ListTheTasksOfAModel) {
  const Json tasks = parse_json(mlp()->tasks().value()).value();
  EXPECT_GT(tasks["tasks"].items().size(), 1u);
  EXPECT_EQ(tasks["tasks"].items().front()["id"].integer(), 0);
}

TEST_F(Problems, AreReadFromMemory) {
  const auto own = load({.bytes = kDouble, .name = "../folder/double.dag"});
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(parse_json((*own)->tasks().value()).value()["tasks"].items().size(), 1u);
  EXPECT_FALSE(load({.bytes = "no model at all"}).ok());
}

TEST_F(Problems, MayBeginWithoutAModel) {
  const auto none = load({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->tasks().value(), R"({"tasks":[]})");
  EXPECT_EQ((*none)->tune({}, {}).error().message,
            "tune: the problem has no model; measure the tasks that requests define by problem_ask");
  EXPECT_EQ((*none)->compile({.output = "m.so"}).error().message, "compile: the problem has no model");
}

TEST_F(Problems, CompileWithoutTheProgram) {
  const std::string output = ::testing::TempDir() + "/embedded_" + std::to_string(getpid()) + ".so";
  const auto compiled = mlp()->compile({.output = output, .options = R"({"threads": 1})"});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(parse_json(*compiled).value()["output"].string(), output);
  EXPECT_TRUE(OpenedModel::open(output).ok());
  std::filesystem::remove(output);
}

TEST_F(Problems, SayWhatIsMissing) {
  const std::string missing = "/nowhere/whet is no program; expected the path of whet in tuner_options.program";
  EXPECT_EQ(mlp()->tune({.trials = 1}, {}).error().message, missing);
  EXPECT_EQ(mlp()->ask(R"({"do": "tasks"})").error().message, missing);
  EXPECT_EQ(mlp()->explain("metrics", "").error().message, missing);
  EXPECT_EQ(mlp()->compile({}).error().message, "compile: output is missing; give the path of the library to write");
  EXPECT_NE(load({.path = "nowhere.onnx"}).error().message.find("nowhere.onnx"), std::string::npos);
}

TEST_F(Problems, RefuseWhatDoesNotGoTogether) {
  EXPECT_EQ(mlp()->tune({.seconds = 1, .options = R"({"minutes": 1})"}, {}).error().message,
            "tune: seconds and minutes are both given; give one of the two");
  EXPECT_EQ(mlp()->tune({.options = R"({"per-task": true, "scheduler": "round-robin"})"}, {}).error().message,
            "tune: scheduler counts only without per-task");
  EXPECT_EQ(load({.path = "zoo:mlp", .options = R"({"number": 3})"}).error().message,
            "load: --number and --min-repeat-ms count only with --repeat; give --repeat too");
}

TEST_F(Problems, ExplainTopicsOnly) {
  EXPECT_EQ(mlp()->explain("taks", "").error().message,
            "explain: there is no topic \"taks\"; the topics are error, progress, metrics, task, candidate, passes, "
            "layout, cover, sizes; did you mean \"task\"?");
  EXPECT_EQ(mlp()->explain("task", "[]").error().message, "explain: options are []; expected a JSON object");
  EXPECT_EQ(read_records_as_text(*shop_, "r.jsonl", "bets").error().message,
            "records: there is no query \"bets\"; expected best, stats, show; did you mean \"best\"?");
}

}  // namespace
}  // namespace whet::problem_test
