#pragma once

#include <optional>
#include <vector>

namespace whet {

/// Shares trials out among the tasks of a network: one round for each, those that seem to cost most first, then always
/// to the task that is furthest behind its share, where a share is weight x latency, the part of the network's time
/// that the task stands for. Deterministic.
class Budget {
 public:
  struct Part {
    double weight = 1;           ///< how often the network runs the task
    double guessed_seconds = 1;  ///< what it may take, before anything is measured; only ratios count
  };
  /// One part a task.
  explicit Budget(const std::vector<Part>&);

  /// The task whose round is next; nothing when all are closed.
  std::optional<int> next() const;
  /// `trials` more were spent on `task`, and its best latency is now `best_seconds` (infinity: nothing runs yet).
  void spend(int task, int trials, double best_seconds);
  /// No more rounds for `task`: used up, or hopeless.
  void close(int task);

  int trials(int task) const { return tasks_[static_cast<std::size_t>(task)].trials; }
  /// Sum of weight x latency [s] over the tasks that have a latency.
  double network_seconds() const;

 private:
  struct TaskState {
    Part part;
    double best_seconds = 0;
    int trials = 0;
    bool measured = false, open = true;
  };
  /// The part of the network's time; a task that nothing is known about counts as the mean of the others.
  double share(const TaskState&) const;

  std::vector<TaskState> tasks_;
};

}  // namespace whet
