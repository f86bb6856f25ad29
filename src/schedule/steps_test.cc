#include "schedule/steps.h"

#include <gtest/gtest.h>

#include "schedule/testing/dags.h"

namespace whet {
namespace steps_test {

TEST(Steps, WordsAreApartByAnyWhiteSpace) {
  EXPECT_EQ(to_text(*parse_steps("split\tl1  2\nguard;\r\n parallel l2\n")), "split l1 2 guard; parallel l2");
  EXPECT_EQ(parse_steps("dance\nl1").error().message.find('\n'), std::string::npos);
}

TEST(Steps, GarbageIsRefusedWithAReason) {
  for (const char* text : {"split",
                           "split l1",
                           "split x1 2 guard",
                           "split l1 2 maybe",
                           "dance l1",
                           "fuse l1 l",
                           "parallel l1 l2",
                           "split l99999999999 2 guard",
                           "bind l1",
                           "bind l1 lane",
                           "compute_root l1",
                           "compute_root",
                           "prefetch o1 o2 l1",
                           "prefetch o1 o2 2",
                           "pipeline l1",
                           "pipeline l1 two",
                           "roll o1",
                           "roll l1 o1",
                           "tensorize l1",
                           "tensorize l1 transpose9",
                           "tensorize l1 none",
                           "round o1",
                           "round l1 f16",
                           "round o1 f15"})
    EXPECT_FALSE(parse_steps(text).ok()) << text;
  EXPECT_FALSE(replay(parse_dag(testing::kPair).value(), *parse_steps("parallel l77")).ok());
  EXPECT_FALSE(replay(parse_dag(testing::kPair).value(), *parse_steps("inline o77")).ok());
  for (const char* steps :
       {"bind l77 block", "compute_root o77", "compute_root o0", "prefetch o77 o2 l2 1", "prefetch o1 o77 l2 1",
        "prefetch o1 o2 l77 1", "pipeline l77 2", "roll o77 l2", "roll o1 l77", "tensorize l77 dot4", "merge o77 0",
        "merge o2 7", "round o77 f16", "round o0 f16", "round o2 bf16", "round o2 f32"})
    EXPECT_FALSE(replay(parse_dag(testing::kPair).value(), *parse_steps(steps)).ok()) << steps;
}

}  // namespace steps_test
}  // namespace whet
