#include "cli/records_text.h"

#include <gtest/gtest.h>

#include "records/testing/sample.h"

namespace whet {
namespace records_text_test {

using testing_records::failed;
using testing_records::timed;

Records sample() {
  return Records({timed("k", "a", 3e-3), timed("k", "b", 1e-3), timed("j", "c", 2e-3),
                  timed("k", "d", 2e-3, "cpu -mcpu=znver5 -threads=4"),
                  failed("k", "e", OutcomeCode::crash, "SIGSEGV at 0x12"),
                  failed("k", "f", OutcomeCode::crash, "SIGSEGV at 0x345"),
                  failed("j", "g", OutcomeCode::instantiation, "split: too big")});
}

TEST(Show, IsATableWithARowForEachTaskAndTarget) {
  EXPECT_EQ(
      show_text(sample()),
      "Task               Target                       Sketch  Best (ms)  Trials  Failed              Measured\n"
      "conv2d 1x56x56x64  cpu -mcpu=znver5 -threads=2  tile       1.0000       4       2  2026-11-21T10:00:00Z\n"
      "conv2d 1x56x56x64  cpu -mcpu=znver5 -threads=2  tile       2.0000       2       1  2026-11-21T10:00:00Z\n"
      "conv2d 1x56x56x64  cpu -mcpu=znver5 -threads=4  tile       2.0000       1       0  2026-11-21T10:00:00Z\n");
}

TEST(AloneText, SaysWhatLibrariesForOneSizeTake) {
  TimedAtSizes small{{16}, 0.2, 2e-3, 1e-3, 0.9e-3}, large{{512}, 0.8, 0, 4e-3, 4.04e-3}, other{{64}, 0.1, 2e-3, 1e-3};
  EXPECT_EQ(alone_text({small, other, large}), "A library for one size alone takes 0.90 to 1.01 of the tuned time\n");
  EXPECT_EQ(alone_text({large, other}), "A library for one size alone takes 1.01 of the tuned time\n");
  EXPECT_EQ(alone_text({other}), "") << "none was timed";
}

TEST(Stats, SayWhereTheTimeWentAndWhatFailed) {
  EXPECT_EQ(stats_text(stats(sample())),
            "7 trials of 2 tasks: build 0.0 s, run 0.0 s, 0 ended early as clearly slower\n"
            "   0 ok             4\n"
            "   1 instantiation  1\n"
            "   9 crash          2\n"
            "Failures, most frequent first:\n"
            "  2 x 9 crash: SIGSEGV at 0x12\n"
            "  1 x 1 instantiation: split: too big\n");
}

TEST(Stats, SayHowManyWereMeasuredAgain) {
  const Records records({timed("k", "a", 3e-3), timed("k", "b", 1e-3), timed("k", "a", 2e-3), timed("j", "a", 2e-3)});
  EXPECT_EQ(stats_text(stats(records)),
            "3 trials of 2 tasks: build 0.0 s, run 0.0 s, 0 ended early as clearly slower\n"
            "measured again: 1\n"
            "   0 ok             3\n");
}

TEST(Stats, SayWhatAComparisonFoundLast) {
  const Record crashed = testing_records::failed("k", "a", OutcomeCode::crash, "SIGSEGV");
  const Records records({timed("k", "a", 3e-3), crashed});
  EXPECT_EQ(stats_text(stats(records)),
            "1 trial of 1 task: build 0.0 s, run 0.0 s, 0 ended early as clearly slower\n"
            "measured again: 1\n"
            "   9 crash          1\n"
            "Failures, most frequent first:\n"
            "  1 x 9 crash: SIGSEGV\n");
  EXPECT_NE(show_text(records).find("  1       1  "), std::string::npos) << "one trial, and it failed";
}

TEST(Stats, SayHowWellTheModelRanked) {
  RecordStats stats;
  stats.ranking = {{1, 1, 10, 1}, {2, 2, 20, -1}, {3, 1, 10, 0}};
  EXPECT_NE(
      stats_text(stats).find("How well the model ranked its proposals (Spearman's correlation, mean over tasks):\n"
                             "  round   1:  1.00 over 1 task, 10 trials\n"
                             "  round   2: -1.00 over 2 tasks, 20 trials\n"
                             "  round   3:  0.00 over 1 task, 10 trials\n"),
      std::string::npos);
}

}  // namespace records_text_test
}  // namespace whet
