#pragma once

#include <set>
#include <string>

#include "records/record_file.h"

namespace whet::faults {

/// The tasks of zoo:mlp whose spaces are so small that a tuner tries all of them, whatever it measures.
inline constexpr const char* kSmallTasks = "1,2,3";

struct Trials {
  std::set<std::string> tried;
  int failed = 0;
  int twice = 0;
};
/// The trials of a record file. Two runs that tried everything tried the same. The fastest are measured again when all was
/// tried: a trial that is there twice before was lost once, or made twice.
inline Trials trials_in(const std::string& path) {
  Trials trials;
  const RecordsRead read = read_records(path).value();
  for (int again = 0; const Record& record : read.records.all()) {
    if (trials.tried.insert(record.task.text() + ": " + record.steps).second)
      trials.twice = again;
    else
      ++again;
    if (!record.outcome.ok()) ++trials.failed;
  }
  return trials;
}

}  // namespace whet::faults
