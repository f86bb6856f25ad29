#include "json/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"

namespace whet {
namespace {

std::string again(const std::string& text) {
  auto value = parse_json(text);
  return value.ok() ? dump(*value) : "error: " + value.error().message;
}

TEST(Json, WritesWhatItReadsWithMembersInTheirOrder) {
  for (std::string text : {R"({"b":1,"a":[true,false,null],"c":{"d":"e"}})", "[]", "{}", "3", "-9223372036854775808",
                           "0.1", "1e-07", "\"\\u0001\\n\\\"\\\\\"", "[1,[2,[3]]]"})
    EXPECT_EQ(again(text), text);
}
TEST(Json, TellsIntegersFromOtherNumbers) {
  EXPECT_TRUE(parse_json("7")->is_integer());
  EXPECT_FALSE(parse_json("7.0")->is_integer());
  EXPECT_EQ(dump(Json(7.0)), "7.0");
  EXPECT_EQ(parse_json("7")->number(), 7.0);
}
TEST(Json, KeepsEveryDigitOfADouble) {
  for (double value : {1.0 / 3, 2.2e-308, 1e300, -0.0, 4.17e-4})
    EXPECT_EQ(parse_json(dump(Json(value)))->number(), value);
}
TEST(Json, SaysNullForNumbersThatJsonDoesNotHave) {
  EXPECT_EQ(dump(Json(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(dump(Json(std::numeric_limits<double>::quiet_NaN())), "null");
}
TEST(Json, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(dump(Json("a\xff"
                      "b")),
            "\"a\xef\xbf\xbd"
            "b\"");
}
TEST(Json, AnswersNullForMissingMembers) {
  Json value = Json::object().set("a", 1);
  EXPECT_TRUE(value["b"]["c"].is_null());
  EXPECT_EQ(value["a"].integer_or(0), 1);
  EXPECT_EQ(value["b"].integer_or(5), 5);
}
TEST(Json, ReplacesAMemberThatIsSetAgain) {
  EXPECT_EQ(dump(Json::object().set("a", 1).set("b", 2).set("a", "x")), R"({"a":"x","b":2})");
}
TEST(Json, IndentsOnRequest) {
  EXPECT_EQ(dump(*parse_json(R"({"a":[1,2],"b":{}})"), 2), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}
TEST(Json, SaysWhereTheTextIsWrong) {
  EXPECT_EQ(again("{\"a\":}").substr(0, 59), "error: not valid JSON: parse error at line 1, column 6: syn");
  EXPECT_NE(again("1 2").find("error"), std::string::npos);
  EXPECT_NE(again("").find("error"), std::string::npos);
}
TEST(Json, RefusesEndlessNesting) {
  EXPECT_EQ(again(std::string(100000, '[')), "error: not valid JSON: nested deeper than 200 levels");
}
TEST(Json, SurvivesAnyBytes) {
  Rng rng(1);
  const std::string alphabet = "{}[]\",:0123456789.eE+-truefalsn \\u\n\xff\xc3\xa9";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto n = rng.below(24); n > 0; --n)
      text += alphabet[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(alphabet.size())))];
    auto value = parse_json(text);
    if (!value.ok()) continue;
    EXPECT_EQ(again(dump(*value)), dump(*value)) << text;
  }
}

}  // namespace
}  // namespace whet
