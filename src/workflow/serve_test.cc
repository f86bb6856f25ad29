#include "workflow/serve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/code_format.h"
#include "base/rng.h"
#include "compute/anchor.h"
#include "measure/testing/formula_measurer.h"

namespace whet::serve_test {
namespace {

constexpr const char* kDense = R"(x = PLACEHOLDER [1, 64]
w = PLACEHOLDER [64, 32] const
dense(i, j) += (x[i, k]*w[k, j]) for i in 1, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)";

/// One task, measured by a formula: longer schedules are slower, those with "unroll" have wrong answers.
class Serving : public ::testing::Test {
 protected:
  Serving() : path_(::testing::TempDir() + "/serve_" + std::to_string(getpid()) + ".jsonl") {
    std::filesystem::remove(path_);
    file_.emplace(RecordFile::open(path_).value());
    const ComputeDag dag = testing_dag();
    Task task{workload_key(dag), "dense 1x32", dag, 3, {0}};
    server_.emplace(std::vector<Task>{task}, parse_target("cpu -mcpu=haswell -threads=1").value(), SpaceOptions{}, 7,
                    measurer_, *file_);
  }
  ~Serving() override { std::filesystem::remove(path_); }

  static ComputeDag testing_dag() {
    const Result<ComputeDag> dag = parse_dag(kDense);
    WHET_CHECK(dag.ok(), dag.error().message.c_str());
    return *dag;
  }
  Json ask(const std::string& line) { return parse_json(server_->answer(line)).value(); }
  std::string error(const std::string& line) { return ask(line)["error"].string_or(""); }

  std::string path_;
  std::optional<RecordFile> file_;
  FormulaMeasurer measurer_{[](const MeasureTask&, const std::string& steps) {
                              return Outcome{OutcomeCode::ok, "", {1e-6 * static_cast<double>(steps.size() + 1)}};
                            },
                            [](const std::string& steps) { return steps.find("unroll") != std::string::npos; }};
  std::optional<TaskServer> server_;
};

TEST_F(Serving, GreetsWithItsVersion) {
  const Json greeting = parse_json(server_->greeting()).value();
  EXPECT_EQ(greeting["v"].integer(), kServeVersion);
  EXPECT_EQ(greeting["tasks"].integer(), 1);
}
TEST_F(Serving, TellsWhatWasGoodForSimilarTasks) {
  EXPECT_TRUE(ask(R"({"do": "transfers", "task": 0})")["transfers"].items().empty()) << "nothing is known";
  const Target target = parse_target("cpu -mcpu=haswell -threads=1").value();
  const ComputeDag dag = testing_dag();
  const DesignSpace space = make_space(dag, target);
  const std::vector<Candidate> seeds = space.seeds();
  const Candidate good = *std::ranges::find_if(seeds, [&](const Candidate& seed) {
    return to_text(space.steps(seed).value()) != to_text(space.steps(space.default_candidate()).value());
  });
  const BaseOrigin origin{"net",   to_string(target), "X", codegen_version(CodeFormat::native_object),
                          "0.2.0", "2026-12-01"};
  const BaseTask taught{anchor_of(dag).value(), 0, {{0, good, space.extents(good.sketch), 2}}};
  server_.emplace(std::vector<Task>{{workload_key(dag), "dense", dag, 1, {0}}}, target, SpaceOptions{}, 7, measurer_,
                  *file_,
                  std::make_shared<const RecordBase>("own", "2026.12", std::vector{origin}, std::vector{taught}));
  EXPECT_EQ(parse_json(server_->greeting()).value()["base"].string(), "own 2026.12 (1 network)");
  const Json reply = ask(R"({"do": "transfers", "task": 0})");
  ASSERT_EQ(reply["transfers"].items().size(), 1u);
  const Json& transfer = reply["transfers"].items().front();
  EXPECT_EQ(transfer["sketch"].string(), good.sketch);
  EXPECT_EQ(transfer["gain"].number(), 2);
  EXPECT_EQ(transfer["distance"].number(), 0);
  EXPECT_NE(transfer["from"].string().find("net"), std::string::npos);
  EXPECT_EQ(error(R"({"do": "transfers", "task": 9})"), "task is 9; the tasks are 0 to 0");
}
TEST_F(Serving, TellsTheTasks) {
  const Json reply = ask(R"({"id": "a", "do": "tasks"})");
  EXPECT_EQ(reply["id"].string(), "a");
  const Json& task = reply["tasks"].items().at(0);
  EXPECT_EQ(task["name"].string(), "dense 1x32");
  EXPECT_EQ(task["weight"].integer(), 3);
  EXPECT_TRUE(same_dag(parse_dag(task["dag"].string()).value(), testing_dag()));
}
/// A model with sizes: each task says where it runs, and ranges are timed as the session does it.
TEST_F(Serving, KnowsTheSizesOfItsModel) {
  EXPECT_EQ(error(R"({"do": "ranges"})"),
            "the session's model has no ranges; start whet serve with --sizes, like n=1..512");
  const ComputeDag dag = testing_dag();
  ServeOptions serving;
  serving.sizes = {Json::array()};
  serving.sizes[0].add(Json::object().set("sizes", Json::object().set("n", 16)).set("runs", 2));
  serving.ranges = [](const ServeOptions::Told& told) -> Result<Json> {
    told("ladder", Json::object().set("done", 1));
    return Json::object().set("done", true);
  };
  server_.emplace(std::vector<Task>{{workload_key(dag), "dense", dag, 1, {0}}},
                  parse_target("cpu -mcpu=haswell -threads=1").value(), SpaceOptions{}, 7, measurer_, *file_,
                  std::make_shared<const RecordBase>(), std::move(serving));
  const Json tasks = ask(R"({"do": "tasks"})");
  EXPECT_EQ(dump(tasks["tasks"].items().at(0)["sizes"]), R"([{"sizes":{"n":16},"runs":2}])");
  std::vector<std::string> lines;
  const std::string answer = server_->answer(R"({"id": 4, "do": "ranges"})", [&](const std::string& line) {
    lines.push_back(line);
    return true;
  });
  EXPECT_EQ(lines, std::vector<std::string>{R"({"id":4,"event":"ladder","done":1})"});
  EXPECT_EQ(answer, R"({"id":4,"done":true})");
  const std::string own =
      dump(Json::object().set("do", "define").set("dag", "x = PLACEHOLDER [8]\ny(i) = neg(x[i]) for i in 8\nreturn y"));
  EXPECT_EQ(ask(own)["error"].string_or(""), "");
  EXPECT_TRUE(ask(R"({"do": "tasks"})")["tasks"].items().at(1)["sizes"].is_null())
      << "a task of the program's own has none";
}
TEST_F(Serving, TakesATaskAsText) {
  const std::string text =
      "a = PLACEHOLDER [4, 8]\nb = PLACEHOLDER [8, 6] const\nc(i, j) += (a[i, k]*b[k, j]) for i in 4, j in 6, k in "
      "8\nreturn c\n";
  const std::string request = dump(Json::object().set("do", "define").set("dag", text).set("name", "product"));
  const Json task = ask(request)["task"];
  EXPECT_EQ(task["id"].integer(), 1);
  EXPECT_EQ(task["name"].string(), "product");
  EXPECT_EQ(task["flops"].number(), 2 * 4 * 6 * 8);
  EXPECT_EQ(ask(request)["task"]["id"].integer(), 1) << "the same computation is the same task";
  EXPECT_EQ(ask(R"({"do": "tasks"})")["tasks"].items().size(), 2u);
  EXPECT_EQ(ask(R"({"do": "measure", "task": 1, "candidates": [{"steps": ""}]})")["outcomes"].items().size(), 1u);
  EXPECT_EQ(file_->records().all().back().task, "product");
  EXPECT_EQ(file_->records().all().back().key, task["key"].string());
}
TEST_F(Serving, SaysWhatIsWrongWithATask) {
  EXPECT_EQ(error(R"({"do": "define"})"), "dag is null; expected the text of a computation");
  EXPECT_EQ(error(R"({"do": "define", "dag": "", "name": 3})"), "name is 3; expected a text");
  EXPECT_EQ(error(R"({"do": "define", "dag": "a = PLACEHOLDER [4"})").substr(0, 4), "dag:");
  EXPECT_EQ(
      error(
          R"({"do": "define", "dag": "a = PLACEHOLDER [40000, 40000]\nb(i, j) = a[i, j] for i in 40000, j in 40000\nreturn b"})"),
      "dag: its tensors have 12.8 GB together; expected 4 at most");
  EXPECT_EQ(
      error(
          R"({"do": "define", "dag": "x = PLACEHOLDER [8]\na(i) = (x[0] + 1f) for i in 100000000000\ny(j) += a[(j*3) + k] for j in 8, k in 4\nreturn y"})"),
      "dag: its tensors have 400 GB together; expected 4 at most");
  EXPECT_EQ(
      error(
          R"({"do": "define", "dag": "x = PLACEHOLDER [4294967296, 4294967296]\ny(i, j) = x[i, j] for i in 8, j in 8\nreturn y"})"),
      "dag: its tensors have 7.38e+10 GB together; expected 4 at most");
  TaskServer none({}, parse_target("cpu -mcpu=haswell").value(), {}, 0, measurer_, *file_);
  EXPECT_NE(none.answer(R"({"do": "space", "task": 0})").find("there is no task yet, define one"), std::string::npos);
}
TEST_F(Serving, GivesCandidatesThatTheSpaceContains) {
  const Json space = ask(R"({"do": "space", "task": 0})");
  EXPECT_GT(space["candidates"].integer(), 1);
  const Json samples = ask(R"({"do": "sample", "task": 0, "count": 5, "seed": 3})");
  ASSERT_EQ(samples["candidates"].items().size(), 5u);
  EXPECT_EQ(samples, ask(R"({"do": "sample", "task": 0, "count": 5, "seed": 3})")) << "the same seed, the same samples";
  Json request = Json::object().set("do", "neighbours").set("task", 0);
  request.set("candidate", samples["candidates"].items()[0]);
  const Json neighbours = ask(dump(request));
  ASSERT_TRUE(neighbours["candidates"].is_array()) << dump(neighbours);
  EXPECT_GT(neighbours["candidates"].items().size(), 0u);
}
TEST_F(Serving, MeasuresCandidatesAndOwnSchedulesAndRecordsThem) {
  Json list = ask(R"({"do": "sample", "task": 0, "count": 2})")["candidates"];
  list.add(Json::object()
               .set("steps", "")
               .set("sketch", "mine")
               .set("choices", Json::object().set("oc", Json::array().add(8))));
  const Json reply = ask(dump(Json::object().set("do", "measure").set("task", 0).set("candidates", list)));
  ASSERT_TRUE(reply["outcomes"].is_array()) << dump(reply);
  ASSERT_EQ(reply["outcomes"].items().size(), 3u);
  EXPECT_EQ(file_->records().size(), 3u);
  const Record& own = file_->records().all().back();
  EXPECT_EQ(own.candidate.sketch, "mine");
  EXPECT_EQ(own.candidate.choices.at("oc"), Choice{8});
  EXPECT_EQ(own.seed, 7u);
  const Json best = ask(R"({"do": "best", "task": 0})")["best"];
  EXPECT_EQ(best["ms"].number(), reply["outcomes"].items()[2]["ms"].number()) << "the shortest schedule is the fastest";
  EXPECT_TRUE(best["exact"].boolean());
}
TEST_F(Serving, ChecksTheAnswersOfAWouldBeBest) {
  FormulaMeasurer wrong({[](const MeasureTask&, const std::string&) { return Outcome{OutcomeCode::ok, "", {1e-6}}; }},
                        [](const std::string&) { return true; });
  const ComputeDag dag = testing_dag();
  TaskServer server({{workload_key(dag), "dense", dag, 1, {0}}}, parse_target("cpu -mcpu=haswell -threads=1").value(),
                    {}, 0, wrong, *file_);
  const Json reply =
      parse_json(server.answer(R"({"do": "measure", "task": 0, "candidates": [{"steps": ""}]})")).value();
  EXPECT_EQ(reply["outcomes"].items().at(0)["error"].string(), "wrong_answer");
  EXPECT_TRUE(reply["outcomes"].items()[0]["ms"].is_null());
  EXPECT_EQ(file_->records().all().back().outcome.code, OutcomeCode::wrong_answer);
}
/// A template of two schedules and one that does not replay.
const char* const kTemplate = R"({"do": "template", "task": 0, "name": "own-dense", "decisions":
  [{"name": "j", "options": [4, 8, 16], "extent": 32}], "rows": [
  [4, "split l1 4 guard; reorder l3 l2 l4; vectorize l4"],
  [8, "split l1 8 guard; reorder l3 l2 l4; vectorize l4"],
  [16, "vectorize l2"]]})";

TEST_F(Serving, TakesATemplateRowByRow) {
  const Json answer = ask(kTemplate);
  EXPECT_EQ(answer["rows"].integer_or(0), 2) << dump(answer);
  EXPECT_EQ(answer["left_out"].integer(), 1);
  const std::string why = answer["why"].string();
  EXPECT_TRUE(why.starts_with("template own-dense, row 3 (j=16): step 1 (vectorize l2): ")) << why;
  EXPECT_TRUE(why.ends_with("; rows like it are left out (1 of 3)")) << why;
  EXPECT_EQ(ask(kTemplate)["rows"].integer(), 2) << "the same rows again are the same";
  const Json::Array sketches = ask(R"({"do": "space", "task": 0})")["sketches"].items();
  EXPECT_GT(sketches.size(), 1u) << "the task's own stay";
  EXPECT_EQ(sketches.back()["sketch"].string(), "own-dense");
  EXPECT_EQ(sketches.back()["decisions"].items()[0]["extent"].integer(), 32);
  const Json steps = ask(R"({"do": "steps", "task": 0, "candidates": [{"sketch": "own-dense", "choices": {"j": 8}}]})");
  EXPECT_EQ(steps["steps"].items().at(0).string(), "split l1 8 guard; reorder l3 l2 l4; vectorize l4");
  EXPECT_EQ(error(R"({"do": "steps", "task": 0, "candidates": [{"sketch": "own-dense", "choices": {"j": 16}}]})"),
            "sketch own-dense has no row for these choices");
}
TEST_F(Serving, SaysWhatIsWrongWithATemplate) {
  const auto of = [&](const std::string& members) {
    return error(R"({"do": "template", "task": 0, )" + members + "}");
  };
  const std::string j = R"("name": "own", "decisions": [{"name": "j", "options": [4, 8]}], "rows": )";
  EXPECT_EQ(of(R"("rows": [])"), "name is null; expected the template's name");
  EXPECT_EQ(of(R"("name": "own", "rows": [])"), "decisions is null; expected a list");
  EXPECT_EQ(of(R"("name": "own", "decisions": [{"options": [1]}], "rows": [])"),
            "a decision's name is null; expected a text");
  EXPECT_EQ(of(R"("name": "own", "decisions": [{"name": "j"}], "rows": [])"),
            "the options of j are null; expected a list");
  EXPECT_EQ(of(j + "3"), "template own: rows is 3; expected a list");
  EXPECT_EQ(of(j + R"([[4, 8, ""]])"), "template own, row 1: expected a list of 1 choices and a schedule's text");
  EXPECT_EQ(of(j + R"([[4, ""], [5, ""]])"), "template own, row 2: j is 5, which is none of its 2 options");
  EXPECT_EQ(of(j + R"([[4, ""], [4, "unroll l0"]])"),
            "template own, row 2 (j=4): there is a row of these choices with other steps");
  EXPECT_TRUE(of(R"("key": "k", )" + j + "[]")
                  .starts_with("template own is for a task whose key is \"k\", and that of dense 1x32 is "));
  const std::string usual = ask(R"({"do": "space", "task": 0})")["sketches"].items()[0]["sketch"].string();
  EXPECT_EQ(of(R"("decisions": [], "rows": [[""]], "name": ")" + usual + "\""),
            "template " + usual + ": the space of dense 1x32 has a sketch of this name; give the template another one");
  ask(kTemplate);
  EXPECT_EQ(of(R"("name": "own-dense", "decisions": [], "rows": [[""]])"),
            "template own-dense has other decisions than before; further rows have the same ones");
  EXPECT_EQ(ask(R"({"do": "space", "task": 0})")["sketches"].items().back()["sketch"].string(), "own-dense")
      << "an error changes nothing";
}
TEST_F(Serving, SearchesByItsStrategiesAndTellsRounds) {
  std::vector<Json> rounds;
  const auto listen = [&](const std::string& line) {
    rounds.push_back(parse_json(line).value());
    return true;
  };
  std::string alone(kTemplate);
  alone.replace(1, 0, R"("alone": true, )");
  ask(alone);
  const Json done =
      parse_json(server_->answer(R"({"id": 7, "do": "tune", "task": 0, "trials": 10, "strategy": "random"})", listen))
          .value();
  ASSERT_TRUE(done["done"].bool_or(false)) << dump(done);
  EXPECT_EQ(done["id"].integer(), 7);
  EXPECT_EQ(done["trials"].integer(), 3) << "the default schedule and both rows";
  const Json& task = done["tasks"].items().at(0);
  EXPECT_TRUE(task["used_up"].boolean());
  EXPECT_EQ(task["best"]["sketch"].string(), "own-dense");
  EXPECT_EQ(ask(R"({"do": "best", "task": 0})")["best"]["steps"], task["best"]["steps"]);
  ASSERT_FALSE(rounds.empty());
  EXPECT_EQ(rounds.front()["event"].string(), "round");
  EXPECT_EQ(rounds.front()["id"].integer(), 7);
  EXPECT_EQ(ask(R"({"do": "tune", "task": 0, "trials": 10})")["trials"].integer(), 0) << "nothing is measured twice";
}
TEST_F(Serving, SearchesAllTasksWhereNoneIsNamed) {
  const Json done = ask(R"({"do": "tune", "trials": 12, "round": 4})");
  EXPECT_EQ(done["tasks"].items().size(), 1u);
  EXPECT_EQ(done["trials"].integer(), 12);
  EXPECT_EQ(file_->records().all().front().seed, 7u);
}
TEST_F(Serving, EndsASearchThatNobodyListensTo) {
  const std::string request = R"({"do": "tune", "task": [0], "trials": 500, "round": 8})";
  const Json done = parse_json(server_->answer(request, [](const std::string&) { return false; })).value();
  EXPECT_TRUE(done["interrupted"].boolean());
  EXPECT_LT(done["trials"].integer(), 100);
}
TEST_F(Serving, SaysWhatIsWrongWithASearch) {
  EXPECT_EQ(error(R"({"do": "tune", "task": 1})"), "task is 1; the tasks are 0 to 0");
  EXPECT_EQ(error(R"({"do": "tune", "task": [0, "a"]})"), "task is \"a\"; the tasks are 0 to 0");
  EXPECT_EQ(error(R"({"do": "tune", "task": []})"), "tune: there is no task to tune");
  EXPECT_EQ(error(R"({"do": "tune", "trials": 0})"), "trials is 0; expected 1 to 1000000000");
  EXPECT_EQ(error(R"({"do": "tune", "minutes": -1})"), "minutes is -1; expected a number above 0");
  EXPECT_EQ(error(R"({"do": "tune", "strategy": "rnadom"})"),
            "strategy is \"rnadom\"; expected one of: evolutionary, xgb, ga, random, grid, descent; did you mean "
            "\"random\"?");
  EXPECT_EQ(file_->records().size(), 0u);
}
TEST_F(Serving, TellsTheFeaturesOfCandidates) {
  const Json answer = ask(
      R"({"do": "features", "task": 0, "candidates": [{"steps": ""}, {"steps": "split l1 8 guard; reorder l3 l2 l4; vectorize l4"}]})");
  ASSERT_EQ(answer["features"].items().size(), 2u) << dump(answer);
  EXPECT_EQ(answer["features"].items()[0].items().size(), answer["names"].items().size());
  EXPECT_NE(answer["features"].items()[0], answer["features"].items()[1]);
}
TEST_F(Serving, CompilesWhereThereIsAModel) {
  EXPECT_EQ(error(R"({"do": "compile", "output": "x.so"})"),
            "there is no model in this session; whet compile makes a library of an operator's file");
  EXPECT_EQ(error(R"({"do": "compile"})"), "output is null; expected a path");
  ServeOptions serving;
  serving.compile = [](const std::string& output) -> Result<Json> { return Json::object().set("output", output); };
  TaskServer server({}, parse_target("cpu -mcpu=haswell").value(), {}, 0, measurer_, *file_,
                    std::make_shared<const RecordBase>(), serving);
  EXPECT_EQ(parse_json(server.answer(R"({"do": "compile", "output": "x.so"})")).value()["output"].string(), "x.so");
}
TEST_F(Serving, TellsTheOpsOfATaskWithTheNumbersOfTheirLoops) {
  const Json::Array ops = ask(R"({"do": "tasks"})")["tasks"].items()[0]["ops"].items();
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_TRUE(ops[0]["input"].boolean());
  EXPECT_EQ(ops[2]["name"].string(), "dense");
  EXPECT_EQ(ops[2]["family"].string(), "matmul");
  EXPECT_EQ(ops[2]["reads"], Json(Json::Array{0, 1}));
  EXPECT_EQ(ops[0]["readers"], Json(Json::Array{2}));
  const Json& last = ops[2]["axes"].items().at(2);
  EXPECT_EQ(last["name"].string(), "k");
  EXPECT_EQ(last["role"].string(), "in_channel");
  EXPECT_EQ(last["loop"].integer(), 2);
  EXPECT_TRUE(last["reduced"].boolean());
}
TEST_F(Serving, SaysWhatIsWrongWithARequest) {
  EXPECT_EQ(error("{").substr(0, 9), "not JSON:");
  EXPECT_EQ(error("[1]"), "a request is a JSON object; this is [1]");
  EXPECT_EQ(error(R"({"do": "smaple"})"),
            "do is \"smaple\"; expected one of tasks, define, space, seeds, transfers, sample, steps, best, "
            "neighbours, measure, template, tune, ranges, compile, features; did you mean \"sample\"?");
  EXPECT_EQ(error(R"({"do": "space", "task": 9})"), "task is 9; the tasks are 0 to 0");
  EXPECT_EQ(error(R"({"do": "sample", "task": 0, "count": 0})"), "count is 0; expected 1 to 10000");
  EXPECT_EQ(error(R"({"do": "measure", "task": 0})"), "candidates is null; expected a list");
  EXPECT_EQ(error(R"({"do": "measure", "task": 0, "candidates": [{"sketch": "x", "choices": {"oc": "3"}}]})"),
            "the choice \"oc\" is \"3\"; expected a list of integers");
  EXPECT_EQ(error(R"({"do": "measure", "task": 0, "candidates": [{"sketch": "a\nb", "choices": {}}]})"),
            R"(there is no sketch "a\u000ab" in this space)");
  EXPECT_NE(error(R"({"do": "measure", "task": 0, "candidates": [{"steps": "splt l1 4"}]})"), "");
  EXPECT_EQ(file_->records().size(), 0u) << "a bad request measures nothing";
}
TEST_F(Serving, AnswersGarbageWithASentence) {
  Rng rng(5);
  const std::string good =
      R"({"id": 1, "do": "measure", "task": 0, "candidates": [{"sketch": "x", "choices": {"oc": [8, 2]}, "steps": ""}]})";
  for (int round = 0; round < 2000; ++round) {
    std::string line = good;
    for (std::int64_t change = rng.below(4); change >= 0; --change) {
      const auto at = static_cast<std::size_t>(rng.below(std::ssize(line)));
      if (rng.chance(0.5))
        line[at] = static_cast<char>(rng.below(256));
      else
        line.erase(at, static_cast<std::size_t>(rng.below(9)));
      if (line.empty()) line = "{";
    }
    const std::string reply = server_->answer(line);
    EXPECT_EQ(reply.find('\n'), std::string::npos);
    const Result<Json> read = parse_json(reply);
    ASSERT_TRUE(read.ok()) << reply;
    EXPECT_TRUE(read->find("error") != nullptr || read->find("outcomes") != nullptr || read->find("tasks") != nullptr)
        << line << "\n"
        << reply;
  }
}
TEST_F(Serving, ServesLinesUntilTheInputEnds) {
  int in[2], out[2];
  ASSERT_EQ(pipe(in) | pipe(out), 0);
  const std::string lines = "{\"id\": 1, \"do\": \"tasks\"}\n\n{\"id\": 2, \"do\": \"nothing\"}\n{\"id\": 3";
  ASSERT_EQ(write(in[1], lines.data(), lines.size()), std::ssize(lines));
  close(in[1]);
  EXPECT_TRUE(serve_lines(*server_, in[0], out[1], {}).ok());
  close(out[1]);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(read(out[0], text.data(), text.size())));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "a greeting and two answers";
  EXPECT_NE(text.find("\"id\":2,\"error\""), std::string::npos);
  close(in[0]), close(out[0]);
}

}  // namespace
}  // namespace whet::serve_test
