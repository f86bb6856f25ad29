#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "space/space.h"

namespace whet {

/// A template that another program wrote, as a table: decisions, and a schedule for each of the choices that are worth trying. Its sketch
/// looks the schedules up, so that nobody is called back while a space is searched.
class ScheduleTable {
 public:
  /// Rows of all tables of a task together.
  static constexpr std::int64_t kMostRows = 20000;

  /// Errors: a name that is empty; a decision without options, or that has its name or an option twice; more than 2^62 combinations.
  static Result<ScheduleTable> make(std::string name, std::vector<Decision> decisions);

  const std::string& name() const { return name_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  std::int64_t size() const { return std::ssize(rows_); }
  /// The options of a choice for each decision. Errors: another number of choices, one that is no option.
  Result<Point> point(const std::vector<Choice>&) const;
  /// "i=8, j=[16, 4]"
  std::string text(const Point&) const;
  /// Null where there is none yet.
  const std::string* steps(const Point&) const;
  /// Adds a row. Errors, which leave the table as it was: steps that cannot be read, do not replay on the DAG, or round as the options do
  /// not permit.
  Status add(const ComputeDag&, const SpaceOptions&, const Point&, const std::string& steps);
  /// Of the rows that there are now, of which there is at least one; the first by its options is the guess.
  Sketch sketch() const;

 private:
  ScheduleTable(std::string name, std::vector<Decision> decisions);

  std::string name_;
  std::vector<Decision> decisions_;
  std::vector<std::map<Choice, std::int32_t>> numbers_;  ///< of the options, by decision
  std::map<Point, std::string> rows_;                    ///< the text of schedules
};

/// The same names, options and extents, in the same order.
bool same_decisions(const std::vector<Decision>&, const std::vector<Decision>&);

/// Sketches that a user brings for a task.
struct OwnSketches {
  std::vector<Sketch> sketches;
  bool alone = false;  ///< nothing else of the task is searched
};
/// By the tasks' keys.
using OwnSketchesByTask = std::map<std::string, OwnSketches>;

/// The space with these sketches behind its own ones, whose first still gives the default schedule, or with these alone.
DesignSpace with_sketches(const ComputeDag&, const DesignSpace&, const OwnSketches&);

}  // namespace whet
