#include "replay.h"

#include <fmt/format.h>

#include <bit>
#include <sstream>

#include "base/hash.h"
#include "codegen/build.h"
#include "cost/features.h"
#include "search/strategy.h"
#include "space/space.h"

/// LLVM's C interface; its headers are for the code generator alone.
extern "C" void LLVMGetVersion(unsigned* major, unsigned* minor, unsigned* patch);

namespace whet::golden {
namespace {

constexpr int kSamples = 16;

std::uint64_t hash_text(const std::string& text) { return hash_bytes(text); }

std::uint64_t hash_features(const LoopTree& tree, const Target& target) {
  std::uint64_t seed = std::bit_cast<std::uint64_t>(analytic_seconds(tree, target));
  for (const float f : features(tree, target)) seed = hash_combine(seed, std::bit_cast<std::uint32_t>(f));
  return seed;
}

/// The part of a SearchSpace that a design space gives; nothing ranks.
SearchSpace search_space(const DesignSpace& space) {
  SearchSpace s;
  s.first.push_back(space.default_candidate());
  for (Candidate& c : space.seeds()) s.first.push_back(std::move(c));
  s.sample = [&](Rng& rng) { return space.sample(rng); };
  s.mutate = [&](const Candidate& c, Rng& rng) { return space.mutate(c, rng); };
  s.crossover = [&](const Candidate& a, const Candidate& b, Rng& rng) { return space.crossover(a, b, rng); };
  s.neighbours = [&](const Candidate& c) { return space.neighbours(c); };
  s.shift = [&](const Candidate& c, const std::map<std::string, int>& moves) { return space.shift(c, moves); };
  s.at = [&](std::int64_t number) { return space.at(number); };
  s.grid_size = space.grid_size();
  s.count = static_cast<double>(space.count());
  return s;
}

/// Two rounds of a strategy; the first is observed with times that the candidates' hashes decide.
std::uint64_t hash_strategy(const std::string& name, const DesignSpace& space, std::uint64_t seed) {
  const std::unique_ptr<Strategy> strategy = make_strategy(name, search_space(space), 7).value();
  for (int round = 0; round < 2; ++round) {
    const std::vector<Candidate> proposed = strategy->propose(kSamples);
    std::vector<Outcome> outcomes;
    for (const Candidate& c : proposed) {
      const std::uint64_t h = hash(c);
      seed = hash_combine(seed, h);
      Outcome outcome;
      outcome.code = h % 16 == 0 ? OutcomeCode::crash : OutcomeCode::ok;
      if (outcome.ok()) outcome.seconds = {1e-4 * static_cast<double>(1 + h % 1000)};
      outcomes.push_back(outcome);
    }
    strategy->observe(proposed, outcomes);
  }
  return seed;
}

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// What is behind the words `words` of a line, or an error.
Result<std::uint64_t> number_behind(const std::string& line, const std::string& word) {
  const std::size_t at = line.find(word + " ");
  if (at == std::string::npos) return Error{"has no " + word + ": " + line};
  return std::strtoull(line.c_str() + at + word.size() + 1, nullptr, 16);
}

}  // namespace

std::string write(const Suite& suite) {
  std::string out = "llvm " + suite.llvm + "\n";
  for (const Task& task : suite.tasks) {
    out += "task " + task.name + "\n";
    std::istringstream lines(task.dag);
    for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
    for (const Space& s : task.spaces) out += fmt::format("space {} | proposals {}\n", s.target, hex(s.proposals));
    for (const Schedule& s : task.schedules)
      out += fmt::format("schedule {} | {}\ngives tree {} features {} text {} code {}\n", s.target, s.steps,
                         hex(s.tree), hex(s.features), hex(s.text), hex(s.code));
  }
  return out;
}

Result<Suite> read(const std::string& text) {
  Suite suite;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto begins = [&](const char* word) { return line.rfind(word, 0) == 0; };
    const std::size_t bar = line.find(" | ");
    const Error wrong{fmt::format("line {}: has no place here: {}", number, line)};
    if (begins("llvm ")) {
      suite.llvm = line.substr(5);
    } else if (begins("task ")) {
      suite.tasks.push_back({line.substr(5), "", {}, {}});
    } else if (suite.tasks.empty()) {
      return wrong;
    } else if (begins("  ")) {
      suite.tasks.back().dag += line.substr(2) + "\n";
    } else if (begins("space ") && bar != std::string::npos) {
      WHET_TRY(const std::uint64_t proposals, number_behind(line, "proposals"));
      suite.tasks.back().spaces.push_back({line.substr(6, bar - 6), proposals});
    } else if (begins("schedule ") && bar != std::string::npos) {
      suite.tasks.back().schedules.push_back({line.substr(9, bar - 9), line.substr(bar + 3)});
    } else if (begins("gives ") && !suite.tasks.back().schedules.empty()) {
      Schedule& s = suite.tasks.back().schedules.back();
      WHET_TRY(s.tree, number_behind(line, "tree"));
      WHET_TRY(s.features, number_behind(line, "features"));
      WHET_TRY(s.text, number_behind(line, "text"));
      WHET_TRY(s.code, number_behind(line, "code"));
    } else {
      return wrong;
    }
  }
  return suite;
}

Result<Schedule> replayed(const std::string& dag_text, Schedule s) {
  WHET_TRY(const ComputeDag dag, parse_dag(dag_text));
  WHET_TRY(const Target target, parse_target(s.target));
  WHET_TRY(const Steps steps, parse_steps(s.steps));
  WHET_TRY(const Built built, build(dag, steps, target));
  s.tree = hash(built.tree);
  s.features = hash_features(built.tree, target);
  s.text = hash_text(to_text(built.lowered.program) + to_text(built.lowered.packing));
  s.code = hash_bytes(built.kernel.code);
  return s;
}

Result<Space> replayed(const std::string& dag_text, Space s) {
  WHET_TRY(const ComputeDag dag, parse_dag(dag_text));
  WHET_TRY(const Target target, parse_target(s.target));
  const DesignSpace space = make_space(dag, target);
  std::uint64_t seed = hash_combine(0, static_cast<std::uint64_t>(space.count()));
  Rng rng(11);
  for (int i = 0; i < kSamples; ++i) seed = hash_combine(seed, hash(space.sample(rng)));
  for (const std::string& name : known_strategies()) seed = hash_strategy(name, space, seed);
  s.proposals = seed;
  return s;
}

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace whet::golden
