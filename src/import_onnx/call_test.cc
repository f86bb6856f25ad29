#include "import/call.h"

#include <gtest/gtest.h>

#include <limits>

#include "import/rows.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"

namespace whet {
namespace call_test {
namespace {

Word word(const char* text) { return words_of(text).at(0); }

TEST(RowWords, AreOperandsAttributesAndWhatMeansNothing) {
  const std::vector<Word> words = words_of("x @alpha=1 bias? ~seed values...");
  ASSERT_EQ(words.size(), 5u);
  EXPECT_TRUE(words[0].is_operand && words[0].must_be_given());
  EXPECT_FALSE(words[1].is_operand || words[1].must_be_given());
  EXPECT_TRUE(words[2].is_operand && words[2].is_optional);
  EXPECT_TRUE(words[3].is_ignored && words[3].name == "seed");
  EXPECT_TRUE(words[4].is_rest && words[4].must_be_given());
  EXPECT_EQ(words[2].place, 1u);
  EXPECT_EQ(words[4].place, 2u);
  EXPECT_EQ(count_parameters("x @alpha=1 bias? ~seed values..."), 4u);
}

TEST(RowWords, SayWhatIsUsual) {
  EXPECT_EQ(word("@k=-2").usual_integer(), -2);
  EXPECT_EQ(word("@min=-inf").usual_number(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(word("@epsilon=1e-5").usual_number(), 1e-5);
  EXPECT_EQ(word("@axes=0,2,3").usual_integers(), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(word("@steps=-1,0.5").usual_numbers(), (std::vector<double>{-1, 0.5}));
  EXPECT_TRUE(word("@axes=").usual_integers().empty());
  EXPECT_FALSE(word("@axes=").must_be_given());
  EXPECT_TRUE(word("@axes").must_be_given());
  EXPECT_EQ(word("=6").usual_number(), 6);
  EXPECT_TRUE(word("=6").name.empty() && !word("=6").is_operand && !word("=6").must_be_given());
}

TEST(RowWords, SayChoicesAxesAndSequences) {
  const Word mode = word("@mode:nearest|linear=linear");
  EXPECT_EQ(mode.name, "mode");
  EXPECT_EQ(mode.choices, (std::vector<std::string_view>{"nearest", "linear"}));
  EXPECT_EQ(mode.usual_text(), "linear");
  const Word axis = word("@axis(x)=-1");
  EXPECT_EQ(axis.name, "axis");
  EXPECT_EQ(axis.axis_of, "x");
  const Word rest = word("others[]...?");
  EXPECT_TRUE(rest.is_rest && rest.may_be_sequence && rest.is_optional);
  EXPECT_EQ(word("list_of_axes?").what(), "list of axes");
}

TEST(RowWords, MayHoldTheValueThemselves) {
  const Word one = word("=1");
  EXPECT_TRUE(one.name.empty() && !one.is_operand && !one.must_be_given());
  EXPECT_EQ(one.usual_integer(), 1);
  EXPECT_EQ(count_parameters("x =1"), 2u);
}

TEST(Rows, OfSeveralNamesAreOneForEach) {
  struct Row {
    std::string_view op;
    int number;
  };
  static constexpr Row kFirst[] = {{"c a", 1}}, kSecond[] = {{"b", 2}, {"a", 3}};
  std::string found;
  for (const Row& row : gathered<Row>({kFirst, kSecond}))
    found += std::string(row.op) + std::to_string(row.number) + " ";
  EXPECT_EQ(found, "a1 a3 b2 c1 ");
}

TEST(Rows, FindOperatorsOfTheGraphByTheirNames) {
  EXPECT_EQ(snake_case("ReduceSumSquare"), "reduce_sum_square");
  EXPECT_EQ(snake_case("ReduceL1"), "reduce_l1");
  EXPECT_EQ(snake_case("GREATER_EQUAL"), "greater_equal");
  EXPECT_EQ(snake_case("tanh"), "tanh");
}

std::string refusal(const std::string& op, const std::vector<In>& inputs, Attributes attributes = {}) {
  const Result<Graph> graph = import_onnx(one_node(op, 18, inputs, std::move(attributes)), {});
  return graph.ok() ? "" : graph.error().message;
}

TEST(CallSite, RefusesWhatTheRowDoesNotName) {
  EXPECT_EQ(refusal("Gather", {f32({2})}), "n: has 1 input; Gather takes 2");
  EXPECT_EQ(refusal("Mish", {f32({2})}, {set("alpha", 1.0)}),
            "n: attribute \"alpha\" is not one of Mish in operator set 18");
  EXPECT_EQ(refusal("Unsqueeze", {f32({2}), left_out(), left_out()}), "n: has 1 input; Unsqueeze takes 2");
}

TEST(CallSite, NamesWhatIsLeftOut) {
  EXPECT_EQ(refusal("com.microsoft.QLinearSigmoid", {f32({2}), f32({}), left_out(), left_out(), f32({})}),
            "n: input 3 of QLinearSigmoid is left out");
  EXPECT_EQ(refusal("Concat", {f32({2})}), "n: attribute \"axis\" is missing");
}

TEST(CallSite, ReadsAxesChoicesAndTypesOfAttributes) {
  EXPECT_EQ(refusal("Softmax", {f32({2, 3})}, {set("axis", 2)}), "n: axis 2 does not exist; expected -2 to 1");
  EXPECT_EQ(refusal("Softmax", {f32({2, 3})}, {set("axis", 1.0)}),
            "n: attribute \"axis\" is a number; expected an integer");
  EXPECT_EQ(refusal("DepthToSpace", {f32({1, 4, 2, 2})}, {set("blocksize", 2), set("mode", "RCD")}),
            "n: attribute \"mode\" is \"RCD\"; expected DCR or CRD");
}

}  // namespace
}  // namespace call_test
}  // namespace whet
