// Templates, rules and schedules of one's own from C++17, without exceptions, through libwhet.so.
//   templates_test FOLDER WHET     FOLDER: for files; WHET: the program

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "whet/tuner.hpp"

namespace {

void check(bool holds, const char* what, const std::string& found) {
  if (holds) return;
  std::fprintf(stderr, "%s; found: %s\n", what, found.c_str());
  std::exit(1);
}

constexpr const char* kMatmul = R"(a = PLACEHOLDER [48, 32]
b = PLACEHOLDER [32, 64]
c = PLACEHOLDER [48, 64]
matmul(i, j) += (a[i, k]*b[k, j]) for i in 48, j in 64, k in 32
out(i, j) = (matmul[i, j] + c[i, j]) for i in 48, j in 64
return out
)";

/// As in docs/embed.md.
std::optional<whet::Template> blocked(const whet::TaskView& task) {
  const whet::TaskOp* product = task.op("matmul");
  if (product == nullptr) return std::nullopt;
  whet::Template own("own-matmul");
  const auto rows = own.split(*product, "i"), columns = own.split(*product, "j");
  const auto unroll = own.choose("unroll", {0, 1});
  own.steps = [=](const whet::Choices& c) {
    whet::Schedule s(task);
    const auto [i, j, k] = s.loops<3>("matmul");
    const auto [io, ii] = s.split(i, c[rows].back());
    const auto [jo, ji] = s.split(j, c[columns].back());
    return s.reorder({io, jo, k, ii, ji}).vectorize(ji).parallel(io).unroll_if(c.number(unroll) == 1, ii).text();
  };
  return own;
}

std::optional<whet::Template> wrong(const whet::TaskView& task) {
  whet::Template own("wrong");
  own.split(*task.op("matmul"), "q");
  own.steps = [](const whet::Choices&) { return std::string("parallel l0"); };
  return own;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

void numbers_loops_as_whet_does(const whet::TaskView& task) {
  whet::Schedule s(task);
  const auto [i, j, k] = s.loops<3>("matmul");
  const auto [jo, ji] = s.split(j, 16);
  s.reorder({jo, k, ji}).vectorize(ji);
  check(s.text() == "split l1 16 guard; reorder l5 l2 l6; vectorize l6", "loops have numbers", s.text());
  check(s.parallel(s.fuse({i, jo})).text().find("fuse l0 l5; parallel l7") != std::string::npos, "a fused loop is new",
        s.text());
}

/// What a file's records say was tried. Their order is that in which builders end.
std::set<std::string> steps_of(const std::string& records) {
  const std::string text = contents(records), member = "\"steps\":\"";
  std::set<std::string> all;
  for (std::size_t at = text.find(member); at != std::string::npos; at = text.find(member, at + 1)) {
    const std::size_t begin = at + member.size();
    all.insert(text.substr(begin, text.find('"', begin) - begin));
  }
  return all;
}

/// The library is no second tuner: with one seed it tries what the command tries.
void tries_what_the_command_tries(whet::Tuner& tuner, const std::string& folder, const std::string& program) {
  const std::string own = folder + "/by_library.jsonl", commands = folder + "/by_command.jsonl";
  std::remove(own.c_str());
  std::remove(commands.c_str());
  auto mlp = tuner.load("zoo:mlp");
  check(static_cast<bool>(mlp), "a network is read", mlp.error());
  whet::TuneProblem tune;
  tune.trials = 8, tune.records = own;
  tune.options =
      R"({"strategy": "random", "seed": 3, "no-network": true, "no-base": true, "layouts": "nhwc", "covers": "off", "tasks": 0})";
  const auto tuned = mlp->tune(tune);
  check(static_cast<bool>(tuned), "it is tuned", tuned.error());
  const std::string command = program +
                              " tune zoo:mlp --tasks 0 --trials 8 --strategy random --seed 3 --no-network --no-base "
                              "--layouts nhwc --covers off -q -o " +
                              commands;
  check(std::system(command.c_str()) == 0, "the command tunes it too", command);
  const std::set<std::string> first = steps_of(own), second = steps_of(commands);
  check(first.size() >= 6 && first == second, "both try the same",
        std::to_string(first.size()) + " and " + std::to_string(second.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".", records = folder + "/own_templates.jsonl";
  std::remove(records.c_str());
  auto tuner = whet::Tuner::create();
  check(static_cast<bool>(tuner), "there is a tuner", tuner.error());
  whet::LoadProblem load;
  load.records = records;
  auto matmul = tuner->load_bytes(kMatmul, load);
  check(static_cast<bool>(matmul), "the operator is read", matmul.error());
  const auto tasks = matmul->task_views();
  check(tasks.value().size() == 1, "it is a task", std::to_string(tasks.value().size()));
  const whet::TaskView& task = tasks.value().front();
  const whet::TaskOp* product = task.op("matmul");
  check(product != nullptr && product->axes.size() == 3 && product->axes[2].reduced, "ops are told with their axes",
        task.name);
  check(product->axis("k")->extent == 32 && product->axis("q") == nullptr, "axes by their names", product->name);
  check(product->reads.size() == 2 && product->readers.size() == 1 && product->readers[0] == "out", "who reads whom",
        product->name);
  numbers_loops_as_whet_does(task);

  whet::TuneProblem tune;
  tune.trials = 6;
  tune.options = R"({"strategy": "random", "no-network": true})";
  tune.templates = {blocked};
  tune.only_templates = true;
  const auto tuned = matmul->tune(tune);
  check(static_cast<bool>(tuned), "templates are tuned", tuned.error());
  const std::string written = contents(records);
  check(count(written, "\"sketch\":\"own-matmul\"") >= 4, "records know the template by its name", written);

  whet::Rule rule;
  rule.asks = [](const whet::TaskOp& op) {
    return op.name == "matmul" ? whet::TaskTemplate(blocked) : whet::TaskTemplate();
  };
  whet::TuneProblem ruled;
  ruled.trials = 2;
  ruled.options = R"({"no-network": true})";
  ruled.rules = {rule};
  const auto by_rule = matmul->tune(ruled);
  check(static_cast<bool>(by_rule), "a rule asks for a template", by_rule.error());

  if (argc > 2) tries_what_the_command_tries(*tuner, folder, argv[2]);

  tune.templates = {wrong};
  const auto refused = matmul->tune(tune);
  check(!refused && refused.error().find("template wrong has no schedule for") == 0,
        "a template without options is refused", refused.error());
  tune.templates = {blocked, blocked};
  const auto twice = matmul->tune(tune);
  check(!twice && twice.error().find("are called own-matmul") != std::string::npos, "names are each once",
        twice.error());
  tune.templates = {[](const whet::TaskView&) { return std::optional<whet::Template>(); }};
  const auto none = matmul->tune(tune);
  check(!none && none.error() == "the templates and rules are for none of the tasks", "templates are for some task",
        none.error());
  return 0;
}
