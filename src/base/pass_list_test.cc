#include "base/pass_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace whet {
namespace {

struct Addition {
  std::string_view name;
  int summand;
};

Result<int> run(const std::vector<Addition>& passes, const ObserverOf<int>& observer = {}) {
  return run_pass_list(1, passes, observer, [](const Addition& pass, int value) -> Result<int> {
    if (pass.summand < 0) return Error{"nothing is taken away", ErrorKind::unsupported};
    return value + pass.summand;
  });
}

TEST(PassList, GivesEachPassWhatTheOneBeforeLeft) { EXPECT_EQ(*run({{"two", 2}, {"three", 3}}), 6); }
TEST(PassList, ShowsWhatEachPassLeaves) {
  std::string seen;
  const auto observer = [&](std::string_view pass, int value) {
    seen += std::string(pass) + " " + std::to_string(value) + "\n";
    return ok_status();
  };
  EXPECT_TRUE(run({{"two", 2}, {"three", 3}}, observer).ok());
  EXPECT_EQ(seen, "two 3\nthree 6\n");
}
TEST(PassList, NamesThePassInErrors) {
  const Error error = run({{"two", 2}, {"less", -1}, {"three", 3}}).error();
  EXPECT_EQ(error.message, "less: nothing is taken away");
  EXPECT_EQ(error.kind, ErrorKind::unsupported);
}
TEST(PassList, EndsWhereTheObserverFindsAnError) {
  const auto observer = [](std::string_view pass, int) -> Status {
    if (pass == "three") return Error{"odd"};
    return ok_status();
  };
  EXPECT_EQ(run({{"two", 2}, {"three", 3}, {"less", -1}}, observer).error().message, "three: odd");
}

}  // namespace
}  // namespace whet
