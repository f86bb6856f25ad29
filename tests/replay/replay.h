#pragma once

// The replay suite: schedules whose lowered text, machine code and features are held by their hashes. It shows that a
// change of the code changes nothing of what the code makes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace whet::golden {

/// One schedule of a task for a target, and the hashes of what it becomes.
struct Schedule {
  std::string target, steps;
  std::uint64_t tree = 0, features = 0, text = 0, code = 0;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The design space of a task for a target: a hash of what it and every strategy propose from fixed seeds.
struct Space {
  std::string target;
  std::uint64_t proposals = 0;
  friend bool operator==(const Space&, const Space&) = default;
};

struct Task {
  std::string name, dag;  ///< `dag` is its text
  std::vector<Space> spaces;
  std::vector<Schedule> schedules;
};

/// The file: for each task `task NAME`, the lines of its DAG indented by two blanks, then a line a space and two lines
/// a schedule. `read` gives what `write` was given; errors name the line.
struct Suite {
  std::string llvm;  ///< version of the code generator that made `code`
  std::vector<Task> tasks;
};
std::string write(const Suite&);
Result<Suite> read(const std::string& text);

/// Fills in the hashes of a schedule from its target and steps. Errors: steps that cannot be replayed or lowered.
Result<Schedule> replayed(const std::string& dag, Schedule);
Result<Space> replayed(const std::string& dag, Space);
/// The version of LLVM that this program generates code with.
std::string llvm_version();

}  // namespace whet::golden
