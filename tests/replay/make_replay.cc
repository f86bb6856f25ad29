// Chooses the schedules of the replay suite and writes them with their hashes:
//   make_replay NODE_TESTS > tests/replay/schedules.txt
//   make_replay --add SCHEDULES > tests/replay/schedules.txt
// NODE_TESTS is the folder of ONNX's node tests. Run it only to choose anew; renewing hashes is the test's own business.
// --add keeps the schedules of a file and chooses those of its tasks for processors that it does not have yet.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "formats/import_model.h"
#include "import/zoo/zoo.h"
#include "lower/testing/random_schedule.h"
#include "passes/optimize.h"
#include "replay.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"

namespace whet::golden {
namespace {

const std::vector<std::string> kTargets = {"x86-64",     "haswell",    "znver4",     "sapphirerapids",
                                           "cortex-a53", "cortex-a72", "cortex-a76", "neoverse-n2"};
constexpr int kSchedulesOfASketch = 2;  // on each target
constexpr std::size_t kLongestDag = 6000;

class Chooser {
 public:
  Suite suite{llvm_version(), {}};

  void take_model(Result<Graph> graph) {
    if (!graph.ok()) return;
    auto fused = optimize(std::move(*graph), {});
    if (!fused.ok()) return;
    const auto tasks = extract_tasks(*fused, Target{});
    if (!tasks.ok()) return;
    for (const whet::Task& task : *tasks) take(task.name, task.dag);
  }

  /// Keeps a task where it shows a sketch or a mixture of operator families that few others show.
  void take(const std::string& name, const ComputeDag& dag) {
    Task task{name, to_text(dag), {}, {}};
    if (task.dag.size() > kLongestDag) return;
    choose(task, dag, kTargets);
    if (!task.schedules.empty()) suite.tasks.push_back(std::move(task));
  }

  /// Keeps the suite and adds schedules of its tasks for processors without any.
  void extend(Suite known) {
    suite = std::move(known);
    std::vector<std::string> fresh = kTargets;
    for (const Task& task : suite.tasks)
      for (const Schedule& s : task.schedules) std::erase(fresh, parse_target(s.target)->cpu().mcpu);
    for (Task& task : suite.tasks) {
      const ComputeDag dag = parse_dag(task.dag).value();
      if (!task.name.starts_with("random ")) {
        choose(task, dag, fresh);
      } else if (!fresh.empty()) {
        Target target = parse_target(task.schedules.front().target).value();
        const int threads = target.threads;
        target = parse_target("cpu -mcpu=" + fresh[static_cast<std::size_t>(count_++) % fresh.size()]).value();
        target.threads = threads;
        add(task, dag, target, parse_steps(task.schedules.front().steps));
      }
    }
  }

  /// Random primitives, which reach what no template and no rule uses.
  void take_random(std::uint64_t seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 60);
    Target target = parse_target("cpu -mcpu=" + kTargets[seed % kTargets.size()]).value();
    target.threads = 1 + static_cast<int>(seed % 3);
    Task task{"random " + std::to_string(seed), to_text(dag), {}, {}};
    if (add(task, dag, target, steps)) suite.tasks.push_back(std::move(task));
  }

 private:
  void choose(Task& task, const ComputeDag& dag, const std::vector<std::string>& processors) {
    std::string families;
    for (const Op& op : dag.ops)
      if (!op.is_placeholder()) families += std::to_string(static_cast<int>(op.element().family)) + " ";
    const bool rare = families_[families]++ == 0;
    for (const std::string& mcpu : processors) {
      Target target = parse_target("cpu -mcpu=" + mcpu).value();
      target.threads = 1 + (count_ % 3 == 0 ? 0 : count_ % 3 == 1 ? 1 : 3);
      const DesignSpace space = make_space(dag, target);
      Rng rng(static_cast<std::uint64_t>(count_));
      bool kept = false;
      for (const Sketch& sketch : space.sketches()) {
        int& have = sketches_[mcpu + sketch.name];
        if (have >= kSchedulesOfASketch && !(rare && &sketch == &space.sketches().front())) continue;
        kept |= add(task, dag, target, space.steps({sketch.name, sketch.preferred}));
        ++have;
      }
      if (kept) {
        add(task, dag, target, space.steps(space.sample(rng)));
        if (const auto s = replayed(task.dag, Space{to_string(target)}); s.ok()) task.spaces.push_back(*s);
      }
    }
    ++count_;
  }

  bool add(Task& task, const ComputeDag&, const Target& target, const Result<Steps>& steps) {
    if (!steps.ok()) return false;
    Result<Schedule> made = replayed(task.dag, Schedule{to_string(target), to_text(*steps)});
    if (!made.ok()) return false;
    for (const Schedule& s : task.schedules)
      if (s == *made) return true;
    task.schedules.push_back(std::move(*made));
    return true;
  }

  std::map<std::string, int> sketches_, families_;
  int count_ = 0;
};

void print(const Suite& suite) {
  const std::string text = write(suite);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int run(const std::string& node_tests) {
  Chooser chooser;
  for (const std::string& name : zoo_names()) chooser.take_model(zoo_model(name));
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(node_tests)) folders.insert(entry.path());
  for (const std::string& folder : folders) chooser.take_model(import_model(folder + "/model.onnx", {}));
  for (std::uint64_t seed = 0; seed < 120; ++seed) chooser.take_random(seed);
  print(chooser.suite);
  return 0;
}

int add(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  Result<Suite> known = read(text.str());
  if (!known.ok()) {
    std::fprintf(stderr, "make_replay: %s: %s\n", path.c_str(), known.error().message.c_str());
    return 1;
  }
  Chooser chooser;
  chooser.extend(std::move(*known));
  print(chooser.suite);
  return 0;
}

}  // namespace
}  // namespace whet::golden

int main(int argc, char** argv) {
  const bool adds = argc == 3 && std::string(argv[1]) == "--add";
  if (argc != 2 && !adds) {
    std::fprintf(stderr, "usage: make_replay NODE_TESTS | --add SCHEDULES > schedules.txt\n");
    return 2;
  }
  if (adds) return whet::golden::add(argv[2]);
  return whet::golden::run(argv[1]);
}
