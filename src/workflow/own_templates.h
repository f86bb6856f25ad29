#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "space/schedule_table.h"
#include "space/space.h"
#include "task/task.h"
#include "workflow/options.h"

namespace whet {

/// A list of integers, or an integer alone; `name` is the decision's.
Result<Choice> choice_of(const Json&, const std::string& name);

/// The templates that a user brings for tasks, by requests `template` (docs/formats/serve.md).
class OwnTemplates {
 public:
  /// Takes the rows of a request for a task. What became of them is the answer: rows that do not replay are left out, and the first says
  /// why. An error changes nothing.
  ///   usual  the task's own space
  Result<Json> add(const Json& request, const Task&, const DesignSpace& usual, const SpaceOptions&);

  /// What is searched of a task, beside its own space or alone; nothing where there is no row.
  std::optional<OwnSketches> of(const Task&) const;
  /// The same of all tasks; null where there is none.
  std::shared_ptr<const OwnSketchesByTask> by_task() const;

 private:
  struct OfTask {
    std::vector<ScheduleTable> tables;
    bool alone = false;
    std::size_t bytes = 0;  ///< of the schedules' texts
  };
  static std::optional<OwnSketches> sketches_of(const OfTask&);

  std::map<std::string, OfTask> tasks_;  ///< by key
};

/// The templates of a file, a request `template` a line. Rows that were left out become notes; of each line at least one stays.
Result<OwnTemplates> read_templates(const std::string& path, const std::vector<Task>&, const Target&,
                                    const SpaceOptions&, const Tell&);

}  // namespace whet
