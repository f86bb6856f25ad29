#include "cli/thread_counts.h"

#include <gtest/gtest.h>

#include <limits>

namespace whet::thread_counts_test {
namespace {

std::string refused(const std::string& list) {
  const auto counts = parse_thread_counts(list);
  return counts.ok() ? "" : counts.error().message;
}

TEST(ThreadCounts, AreAListOfNumbers) {
  EXPECT_EQ(*parse_thread_counts("2"), std::vector<int>{2});
  EXPECT_EQ(*parse_thread_counts("1,2,4"), (std::vector<int>{1, 2, 4}));
  for (const char* wrong : {"", "0", "-1", "a", "1,", ",1", "1,,2", "1 2", "1,1", "99999", "1,2x", "2147483648"})
    EXPECT_EQ(refused(wrong), std::string("--threads is \"") + wrong +
                                  "\"; expected a number of threads, or several as in 1,2,4, each once");
}
TEST(ThreadCounts, AreComparedInATable) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  EXPECT_EQ(thread_table_text({{1, 2}, {{2e-3, 1.5e-3}, {2.5e-3, 1.2e-3}}}),
            "Sum of weight x latency of the best schedules for a number of threads, each timed on all, alternately:\n"
            "| Tuned for | on 1 thread (ms) | on 2 threads (ms) |\n"
            "| 1 thread  |                2 |               1.5 |\n"
            "| 2 threads |              2.5 |               1.2 |\n"
            "The best for 2 threads takes 25.0% more on 1 thread than the best for 1\n"
            "The best for 1 thread takes 25.0% more on 2 threads than the best for 2\n");
  EXPECT_EQ(thread_table_text({{1, 2}, {{2e-3, kUnknown}, {kUnknown, kUnknown}}}),
            "Sum of weight x latency of the best schedules for a number of threads, each timed on all, alternately:\n"
            "| Tuned for | on 1 thread (ms) | on 2 threads (ms) |\n"
            "| 1 thread  |                2 |                 – |\n"
            "| 2 threads |                – |                 – |\n");
}

}  // namespace
}  // namespace whet::thread_counts_test
