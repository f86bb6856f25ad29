#include "artifact/outcome_code.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace whet {
namespace {

TEST(OutcomeCode, KeepsTheNumbersThatOlderTunersShare) {
  std::string names;
  for (int n = 0; n < kOutcomeCodes; ++n)
    (names += std::to_string(n) + " ") += std::string(name_of(static_cast<OutcomeCode>(n))) + "\n";
  EXPECT_EQ(names,
            "0 ok\n1 instantiation\n2 compile_host\n3 compile_device\n4 runtime\n5 wrong_answer\n6 build_timeout\n"
            "7 run_timeout\n8 unknown\n9 crash\n10 device_lost\n11 rejected\n12 out_of_memory\n");
}
TEST(OutcomeCode, IsExplainedInSentencesOfItsOwn) {
  std::set<std::string_view> seen;
  for (int n = 0; n < kOutcomeCodes; ++n) {
    auto text = explain(static_cast<OutcomeCode>(n));
    EXPECT_TRUE(text.size() > 30 && text.back() == '.') << n;
    EXPECT_TRUE(seen.insert(text).second) << n;
  }
}
TEST(OutcomeCode, BeyondTheTableReadsAsUnknown) { EXPECT_EQ(name_of(static_cast<OutcomeCode>(77)), "unknown"); }
TEST(OutcomeCode, IsReadFromItsNumberAlone) {
  EXPECT_EQ(outcome_code(9), OutcomeCode::crash);
  EXPECT_EQ(outcome_code(kOutcomeCodes), std::nullopt);
  EXPECT_EQ(outcome_code(-1), std::nullopt);
}

}  // namespace
}  // namespace whet
