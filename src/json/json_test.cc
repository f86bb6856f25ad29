#include "json/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

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
  EXPECT_EQ(again("{\"a\":}"), "error: not valid JSON: line 1, column 6: expected a value");
  EXPECT_EQ(again("1\n 2"), "error: not valid JSON: line 2, column 2: nothing more was expected after the value");
  EXPECT_EQ(again(""), "error: not valid JSON: line 1, column 1: the text ends where a value was expected");
  EXPECT_EQ(again("[1"), "error: not valid JSON: line 1, column 3: expected ',' or ']'");
  EXPECT_EQ(again("1e999"), "error: not valid JSON: line 1, column 6: a number is too large");
}
TEST(Json, ReadsEveryEscape) {
  EXPECT_EQ(parse_json(R"("\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00")")->string(),
            "\"\\/\b\f\n\r\t\u00e9\u20ac\U0001f600");
}
TEST(Json, RefusesEndlessNesting) {
  EXPECT_EQ(again(std::string(100000, '[')),
            "error: not valid JSON: line 1, column 201: nested deeper than 200 levels");
}
TEST(JsonDocument, ShowsWhatParseJsonCopies) {
  const std::string text =
      R"({"a":[1,-2.5,true,null,"x"],"b":{"c\u0041\n":"d\"e"},"a":2,"":"long and plain, \u00e9 and \\ and more"})";
  JsonDocument document;
  ASSERT_TRUE(document.parse(text).ok());
  const JsonView all = document.root();
  EXPECT_EQ(dump(all), again(text));
  EXPECT_EQ(all["a"].items().size(), 5u) << "the first of two members of a name";
  std::string items;
  for (const JsonView item : all["a"].items()) items += dump(item) + " ";
  EXPECT_EQ(items, "1 -2.5 true null \"x\" ");
  EXPECT_EQ(all["b"]["cA\n"].string(), "d\"e");
  EXPECT_EQ(all[""].string(), "long and plain, \u00e9 and \\ and more");
  EXPECT_TRUE(all.has("b"));
  EXPECT_FALSE(all.has("c"));
  EXPECT_TRUE(all["c"]["d"].is_null());
  EXPECT_EQ(all["c"].integer_or(7), 7);
  EXPECT_EQ(all["a"].string_or("no"), "no");
}
TEST(JsonDocument, IsParsedAgainAndAgain) {
  JsonDocument document;
  for (const std::string text : {"[1,[\"\\n\"]]", "{}", "[\"a\\tb\",\"\\u0041\"]", "7"}) {
    ASSERT_TRUE(document.parse(text).ok()) << text;
    EXPECT_EQ(dump(document.root()), again(text));
    EXPECT_EQ(document.parse("[1,").error().message,
              "not valid JSON: line 1, column 4: the text ends where a value was expected");
  }
}
TEST(JsonDocument, FindsTheEndOfTextsOfEveryLength) {
  for (std::size_t length = 0; length < 40; ++length)
    for (const std::string end : {"\"", "\\n\"", "\xc3\xa9\"", "\x7f\""}) {
      const std::string text = "\"" + std::string(length, 'x') + end;
      EXPECT_EQ(nlohmann::json::parse(text).get<std::string>(), parse_json(text)->string()) << text;
      for (std::size_t cut = 1; cut < text.size(); ++cut) EXPECT_FALSE(parse_json(text.substr(0, cut)).ok()) << text;
      std::string spoiled = text;
      spoiled[1 + length / 2] = '\x1f';
      EXPECT_FALSE(parse_json(spoiled).ok()) << text;
    }
}
TEST(Json, AcceptsExactlyWhatAnotherParserAccepts) {
  Rng rng(1);
  const std::vector<std::string> pieces = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           "\"",
                                           ",",
                                           ":",
                                           "0",
                                           "12",
                                           "-",
                                           ".5",
                                           "e+3",
                                           "true",
                                           "fa",
                                           "lse",
                                           "null",
                                           "\\u00e",
                                           "9",
                                           "\\n",
                                           " ",
                                           "\n",
                                           "x",
                                           "\xff",
                                           "\xc3",
                                           "\xa9",
                                           "\"a\":",
                                           "1,",
                                           "\"\"",
                                           "\\ud83d",
                                           "\\ude00",
                                           "\x01",
                                           "1e9",
                                           "E400",
                                           "\xed\xa0\x80",
                                           "\xf0\x9f\x98\x80"};
  for (int round = 0; round < 100000; ++round) {
    std::string text;
    for (auto n = rng.below(8); n > 0; --n)
      text += pieces[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(pieces.size())))];
    auto value = parse_json(text);
    ASSERT_EQ(value.ok(), nlohmann::json::accept(text)) << text;
    if (!value.ok()) continue;
    ASSERT_EQ(again(dump(*value)), dump(*value)) << text;
    ASSERT_EQ(nlohmann::json::parse(dump(*value)), nlohmann::json::parse(text)) << text;
  }
}

}  // namespace
}  // namespace whet
