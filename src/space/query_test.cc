#include "space/query.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

/// "direct": tiles of oc and ow, of at most 8 together; "other": an order and levels of oc.
DesignSpace space() {
  Sketch direct, other;
  direct.name = "direct";
  direct.decisions = {{"oc", "", single({1, 2, 4, 8}), 8}, {"ow", "", single({1, 2, 4}), 4}};
  direct.constraints = {{{"oc", "ow"}, [](const Choices& c) -> std::optional<std::string> {
                           if (c.at("oc")[0] * c.at("ow")[0] <= 8) return std::nullopt;
                           return "more than 8 registers";
                         }}};
  direct.preferred = {{"oc", {2}}, {"ow", {2}}};
  other.name = "other";
  other.decisions = {{"oc", "", {{4, 2}, {8, 2}, {8, 4}}, 8}, {"order", "", single({0, 1}), 0}};
  other.preferred = {{"oc", {4, 2}}, {"order", {0}}};
  direct.build = other.build = [](Scheduler&, const Choices&) {};
  return {ComputeDag(), {direct, other}};
}

std::string answer(const std::string& text) {
  const Result<Query> query = parse_query(text);
  if (!query.ok()) return query.error().message;
  const Result<QueryAnswer> answer = ask(space(), *query);
  return answer.ok() ? answer->sentence : answer.error().message;
}

TEST(Query, CountsTheCandidatesThatMeetItBySketch) {
  EXPECT_EQ(answer("oc=2"), "yes: 7 candidates have oc=2: direct (3), other (4)");
  EXPECT_EQ(answer("oc.inner=4, order=1"), "yes: 1 candidates have oc.inner=4, order=1: other (1)");
  EXPECT_EQ(answer("oc.outer=8"), "yes: 5 candidates have oc.outer=8: direct (1), other (4)");
  EXPECT_EQ(answer("oc=8x4"), "yes: 2 candidates have oc=8x4: other (2)");
  EXPECT_EQ(answer("oc.0=4"), "yes: 4 candidates have oc.0=4: direct (2), other (2)");
  EXPECT_EQ(answer("sketch=other,oc=2"), "yes: 4 candidates have sketch=other,oc=2: other (4)");
}
TEST(Query, SaysWhatStandsInTheWay) {
  EXPECT_EQ(answer("oc=3"),
            "no: oc=3 is not among the options of sketch direct: 1, 2, 4, 8; oc=3 is not among the options of sketch "
            "other: 2, 4");
  EXPECT_EQ(answer("oc=8,ow=4"),
            "no: more than 8 registers (sketch direct); oc=8 is not among the options of sketch other: 2, 4");
}
TEST(Query, SuggestsTheNearestName) {
  EXPECT_EQ(answer("orde=1"), "no sketch of this space decides \"orde\"; did you mean \"order\"?");
  EXPECT_EQ(answer("sketch=othr"),
            "this space has no sketch \"othr\"; expected one of direct, other; did you mean \"other\"?");
  EXPECT_EQ(answer("oc.7=1"),
            "oc.7=1: there is no level \"7\"; expected inner, outer or a number from 0, the outermost");
}
TEST(Query, RefusesWhatDoesNotReadSo) {
  for (const char* text :
       {"", "oc", "oc=", "=3", "oc=three", "oc=3,", ",", "oc=3x", "=", ".inner=3", "oc=99999999999999999999"})
    EXPECT_EQ(answer(text).substr(answer(text).find(" is no condition")),
              " is no condition; expected DECISION=NUMBER, DECISION.inner=NUMBER or sketch=NAME, like "
              "oc.inner=16,order=2")
        << text;
}
TEST(CountText, GroupsDigitsAndRoundsEstimates) {
  EXPECT_EQ(count_text({0, 1234567, true}), "1 234 567");
  EXPECT_EQ(count_text({0, 1234567, false}), "about 1 200 000");
  EXPECT_EQ(count_text({0, 12, true}), "12");
}

}  // namespace
}  // namespace whet
