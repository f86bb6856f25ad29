#pragma once

#include <optional>
#include <string>
#include <vector>

namespace whet {

/// The policy that divides trials among the tasks of a network.
enum class BudgetPolicy {
  gradient,     ///< to the task that promises to save most latency for a second of tuning
  round_robin,  ///< to one task after the other, a round each
  per_task      ///< one task after the other
};
std::vector<std::string> known_budgets();
std::optional<BudgetPolicy> parse_budget(const std::string& name);

/// What a run for several networks makes small, of the latency L of each network and how often it runs, w.
enum class Objective {
  sum,      ///< Σ w·L
  geomean,  ///< Π L^w
  worst     ///< the greatest L over what the network took by default schedules; w counts nothing
};
std::vector<std::string> known_objectives();
std::optional<Objective> parse_objective(const std::string& name);

/// The networks of a run for several.
struct BudgetNetworks {
  std::vector<double> runs = {};  ///< how often each runs; empty: there is one network
  Objective objective = Objective::sum;
  /// Seconds: a network whose sum is no longer needs no more rounds. One a network, 0 where there is no such limit; of one network one,
  /// or none.
  std::vector<double> until = {};
};

/// Divides trials among the tasks of a network: first one round for each, the tasks that seem to cost and to gain most first, then
/// by policy. `gradient` is the task scheduler of Ansor (Zheng et al. 2020, section 6), with the gain counted for each
/// second of tuning instead of each round:
///
///     back   = the gain of the last W rounds, a round          fwd = min(g - g/c, β·flop / best rate of similar) - g
///     gain   = weight · -(α·back + (1-α)·fwd) / seconds a round
///
/// with g the best latency after c rounds, α 0.2, β 2, W 3. Of several networks `weight` is the objective's slope along the task's
/// latency: Σ uses · ∂objective/∂L. Tasks that only networks have which reached what was asked get no more rounds. Budget is
/// deterministic.
class Budget {
 public:
  struct Part {
    double weight = 1;           ///< how often the network runs the task
    double guessed_seconds = 1;  ///< an estimate of its latency before anything is measured; only ratios count
    double flops = 0;
    std::string similar;            ///< tasks with the same text may reach the same rate
    double expected = 1;            ///< how many times as fast it is likely to become; 1: nobody knows
    std::vector<double> uses = {};  ///< how often one run of each of several networks runs it
  };
  /// One part a task.
  explicit Budget(const std::vector<Part>&, BudgetPolicy policy = BudgetPolicy::gradient, BudgetNetworks = {});

  /// The task whose round is next; nothing when all are closed.
  std::optional<int> next() const;
  /// Records that a round of `task` used `trials` and `seconds` of tuning, and that its best latency is now
  /// `best_seconds` (infinity: nothing runs yet).
  void spend(int task, int trials, double seconds, double best_seconds);
  /// The latency by the default schedule.
  void set_untuned(int task, double seconds) { tasks_[static_cast<std::size_t>(task)].untuned = seconds; }
  /// Until `spend`, `next` does not give `task`: its round runs.
  void begin(int task);
  /// Gives no more rounds to `task`: its space is used up, it is hopeless, or tuning it gains too little.
  void close(int task);

  int trials(int task) const { return tasks_[static_cast<std::size_t>(task)].trials; }
  /// The seconds that tuning the task as much again may save in the network: as much as the second half of its trials
  /// saved, or all of its time while it has had few trials.
  double remaining_gain(int task) const;
  /// The same as a share of the network's latency; of several networks of that in which it is the largest.
  double remaining_share(int task) const;
  /// Whether all of its tasks have a latency, and their sum is what was asked at most.
  bool reached(std::size_t network) const;
  /// Whether all networks did.
  bool reached() const;
  /// Sum of weight x latency [s] over the tasks that have a latency.
  double network_seconds() const;

 private:
  struct Round {
    int trials;      ///< until then
    double seconds;  ///< best latency then
  };
  struct TaskState {
    Part part;
    std::vector<Round> rounds;  ///< with a latency
    int trials = 0, count = 0;
    double tuning_seconds = 0, untuned = 0;  ///< untuned 0: not known
    bool open = true, runs = false;
    double best() const { return rounds.back().seconds; }
    double first() const { return untuned > 0 ? untuned : rounds.front().seconds; }
  };
  /// Of each of several networks, Σ uses · latency over the tasks that have one.
  std::vector<double> latencies(double (TaskState::*seconds)() const) const;
  /// ∂objective/∂L of each of several networks; empty of one.
  std::vector<double> slopes() const;
  /// How often one run of a network runs the task.
  double uses(const TaskState& task, std::size_t network) const {
    return networks_.runs.empty() ? task.part.weight : task.part.uses[network];
  }
  /// The tasks that some network still wants faster.
  std::vector<bool> wanted() const;
  double gain(const TaskState&, const std::vector<double>& slopes) const;
  std::optional<int> next_untried(const std::vector<bool>& wanted) const;

  BudgetPolicy policy_;
  BudgetNetworks networks_;
  std::vector<TaskState> tasks_;
};

}  // namespace whet
