// A long session neither grows nor leaves anything behind. WHET_LONG_SESSION=2000 says how many trials; few by default,
// so that every build can afford it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace long_session_test {

struct Use {
  std::int64_t records = 0, files = 0, memory = 0;
  std::size_t processes = 0;
};

TEST(ALongSession, LeaksNeitherMemoryNorProcessesNorDescriptors) {
  const char* wanted = std::getenv("WHET_LONG_SESSION");
  const int trials = wanted ? std::atoi(wanted) : 160;
  const Folder folder;
  // Some candidates crash, so that builders and runners are replaced all the time.
  Program program(
      WHET_FAULTY,
      {"tune", "zoo:resnet-18", "--no-base", "--image", "32", "--tasks", "1,3-5", "--trials", std::to_string(trials),
       "--strategy", "random", "--least-gain", "0", "--cache", "warm", "--no-pin", "--no-network", "-o", "r.jsonl"},
      folder, {{{"WHET_FAULT", "crash/8"}}});
  std::vector<Use> seen;
  program.wait_until([&] {
    const Use now{lines(folder / "r.jsonl"), open_files(program.pid()), own_memory(program.pid()),
                  program.family().size()};
    // One builder a processor that the program may use, the runner and the zygote, and one that is being replaced.
    if (now.records > 0 && now.files > 0 && (seen.empty() || now.records > seen.back().records)) seen.push_back(now);
    return false;
  });
  const Ending ending = program.end();
  ASSERT_TRUE(ending == 0) << ending.out;
  ASSERT_GT(seen.size(), 8u);
  EXPECT_GE(seen.back().records, trials / 2);

  const auto most = [&](std::size_t first, std::size_t last, auto what) {
    auto largest = seen[first].*what;
    for (std::size_t i = first; i < last; ++i) largest = std::max(largest, seen[i].*what);
    return largest;
  };
  const std::size_t quarter = seen.size() / 4;
  EXPECT_LE(most(quarter, seen.size(), &Use::files), most(0, quarter, &Use::files) + 2);
  EXPECT_LE(most(quarter, seen.size(), &Use::processes), most(0, quarter, &Use::processes) + 1);
  // What is kept on purpose: records, what the search knows of its candidates, and built code up to a limit.
  constexpr std::int64_t kKept = std::int64_t{64} << 20, kEach = std::int64_t{48} << 10;
  const std::int64_t growth = most(quarter, seen.size(), &Use::memory) - most(0, quarter, &Use::memory);
  EXPECT_LE(growth, kKept + kEach * trials);
  RecordProperty("growth_bytes", std::to_string(growth));
  RecordProperty("memory_bytes", std::to_string(seen.back().memory));
}

}  // namespace long_session_test
}  // namespace whet::faults
