#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "passes/fuse.h"
#include "records/records.h"
#include "report/data.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// What a report is made of. All of it outlives the call.
struct ReportSources {
  const FusedGraph* fused = nullptr;
  const std::vector<Task>* tasks = nullptr;
  const Target* target = nullptr;
  const Records* records = nullptr;
  MachineRates rates;
  /// As limits_of has it. Asked at most once, and beside other work: to count takes a moment.
  std::function<std::int64_t()> network_bytes = [] { return std::int64_t{0}; };
  SpaceOptions schedules;  ///< only records that these permit count
  bool layouts = true;     ///< look for alternatives, too: it takes a moment
  /// Calls a body with 0, 1, ..., count - 1, in any order; a caller that has threads may do it side by side.
  std::function<void(int count, const std::function<void(int)>& body)> for_each =
      [](int count, const std::function<void(int)>& body) {
        for (int i = 0; i < count; ++i) body(i);
      };
};

/// The part of a report that a model and its records know. Tasks have their limits, but which one holds them is the
/// caller's to say. Errors: a fused graph whose alternatives cannot be listed.
Result<ReportData> gather_report(const ReportSources&);

/// Seconds since 1970 of "2026-11-21T10:00:00Z"; nothing for another text.
std::optional<double> seconds_of_utc(const std::string& at);

}  // namespace whet
