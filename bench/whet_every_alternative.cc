// Measures the kernels of every alternative of a network, also of those that no plan is hoped to use, into a record file that
// `whet tune` has begun: `whet tasks --alternatives --records` prints them.
//   whet_every_alternative [--batch N] [--image N] [--trials N] MODEL RECORDS
//   --trials: of each task that has no time yet; 4 where it is not given

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "alternatives/alternatives.h"
#include "measured_network.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/tuner.h"

namespace whet {
namespace {

int fail(const std::string& message) {
  fmt::print(stderr, "whet_every_alternative: {}\n", message);
  return 1;
}

/// Tasks of alternatives without a time.
std::vector<Task> unmeasured(const Alternatives& alternatives, const Records& records, const Target& target,
                             const std::string& cache) {
  const std::vector<Price> prices =
      prices_of(alternatives, records, target, {.cache = cache, .rates = {}, .guess = false});
  std::vector<char> seen(alternatives.tasks.size(), 0);
  std::vector<Task> tasks;
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const int task = alternatives.all[a].task;
    if (task < 0 || prices[a].kind != PriceKind::estimated || std::exchange(seen[static_cast<std::size_t>(task)], 1))
      continue;
    tasks.push_back(alternatives.tasks[static_cast<std::size_t>(task)]);
    tasks.back().weight = 1;
  }
  return tasks;
}

Status measure(MeasuredNetwork& network, const std::string& path, int trials) {
  WHET_TRY(RecordFile file, RecordFile::open(path));
  WHET_TRY(const Alternatives alternatives,
           find_alternatives(network.fused, network.target, {.forms = forms_for(network.target)}));
  const std::string cache = network.measurer->setting().cache;
  const std::vector<Task> tasks = unmeasured(alternatives, file.records(), network.target, cache);
  TuneOptions options;
  options.first_round = options.round = trials, options.least_gain = 0;
  options.trials = std::ssize(tasks) * trials;
  if (!tasks.empty()) {
    WHET_TRY(const TuneProgress progress,
             tune(tasks, network.target, *network.measurer, file, options, [](const TuneProgress&) {}));
    fmt::print("{} tasks, {} trials, {:.1f} s\n", tasks.size(), progress.trials, progress.seconds);
  }
  fmt::print("{} tasks have no time\n", unmeasured(alternatives, file.records(), network.target, cache).size());
  return ok_status();
}

int run(int argc, char** argv) {
  ImportOptions import;
  int trials = 4;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (word == "--batch")
      import.zoo.batch = number();
    else if (word == "--image")
      import.zoo.image = number();
    else if (word == "--trials")
      trials = number();
    else
      words.push_back(word);
  }
  if (words.size() != 2 || trials < 1)
    return fail("usage: whet_every_alternative [--batch N] [--image N] [--trials N] MODEL RECORDS");
  const Result<std::unique_ptr<MeasuredNetwork>> network = MeasuredNetwork::make(words[0], import, 0.05);
  if (!network.ok()) return fail(network.error().message);
  const Status done = measure(**network, words[1], trials);
  return done.ok() ? 0 : fail(done.error().message);
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
