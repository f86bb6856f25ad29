#include "plan/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace {
namespace accuracy_test {

Tensor row(const std::vector<double>& values) {
  return Tensor::of(DType::f32, {1, static_cast<std::int64_t>(values.size())}, values);
}

std::string error_of_limit(const std::string& text) {
  const Result<Allowed> allowed = parse_allowed(text);
  return allowed.ok() ? "no error" : allowed.error().message;
}

Judged judged(const std::string& limit, const Tensor& got, const Tensor& want) {
  const Result<Accuracy> accuracy = parse_accuracy({limit});
  EXPECT_TRUE(accuracy.ok()) << limit;
  const Result<Judged> result = judge(*accuracy, {"y"}, {{got}}, {{want}});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : Judged{};
}

TEST(Allowed, IsReadAndPrintedAsPeopleWriteIt) {
  for (const char* text :
       {"1%", "0.05%", "max<=2e-05", "boxes:abs<=2", "scores:top1>=99%", "cos>=0.999", "a:0:psnr>=40"}) {
    const Result<Allowed> allowed = parse_allowed(text);
    ASSERT_TRUE(allowed.ok()) << text;
    EXPECT_EQ(to_text(*allowed), text);
  }
  EXPECT_EQ(parse_allowed("0.01")->limit, 0.01);
  EXPECT_EQ(parse_allowed("a:0:psnr>=40")->output, "a:0");
  EXPECT_EQ(parse_allowed("top1>=0.99")->limit, parse_allowed("top1>=99%")->limit);
}

TEST(Allowed, ThatMeansNothingIsASentence) {
  for (const char* text : {"", "%", "one", "top1", "top1<=3", ":1%", "-1%", "nan", "inf", "1%%", "y:", "rel:x"})
    EXPECT_TRUE(error_of_limit(text).starts_with("\"" + std::string(text) + "\" is no limit on answers")) << text;
  EXPECT_EQ(error_of_limit("cos>=1.5"), "\"cos>=1.5\" asks for more than equal answers have: cosine is 1 at the most");
}

TEST(Judged, EqualAnswersKeepEveryLimit) {
  for (const char* limit : {"0%", "max<=0", "abs<=0", "cos>=1", "psnr>=100", "top1>=100%"})
    EXPECT_EQ(judged(limit, row({1, 2, -3}), row({1, 2, -3})).share, 0) << limit;
}

TEST(Judged, HasTheShareOfWhatIsAllowed) {
  const Tensor want = row({3, 4}), got = row({3, 4.5});
  EXPECT_NEAR(judged("10%", got, want).share, 1, 1e-6);  // 0.5 of 5
  EXPECT_NEAR(judged("abs<=0.25", got, want).share, 2, 1e-6);
  EXPECT_NEAR(judged("max<=0.125", got, want).share, 1, 1e-6);
  EXPECT_GT(judged("psnr>=40", got, want).share, 1);
  EXPECT_LT(judged("cos>=0.99", got, want).share, 1);
  EXPECT_FALSE(judged("1%", row({3, std::numeric_limits<double>::quiet_NaN()}), want).kept());
  EXPECT_EQ(to_text(judged("1%", got, want).worst()), "y errs by 10% (relative L2), 1% is allowed");
}

TEST(Judged, TakesTheWorstSampleAndCountsRowsOfAll) {
  const Result<Accuracy> accuracy = parse_accuracy({"1%", "top1>=70%"});
  const std::vector<std::vector<Tensor>> want = {{row({1, 0})}, {row({1, 0})}, {row({0, 1})}, {row({0, 1})}};
  const std::vector<std::vector<Tensor>> got = {{row({1, 0})}, {row({1.02, 0})}, {row({1, 0.5})}, {row({0, 1})}};
  const Result<Judged> result = judge(*accuracy, {"y"}, got, want);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->limits.size(), 2u);
  EXPECT_EQ(result->limits[0].sample, 2u);
  EXPECT_DOUBLE_EQ(result->limits[1].measured, 0.75);
  EXPECT_LT(result->limits[1].share, 1);
  EXPECT_FALSE(result->kept());
}

TEST(SharesBySample, AreTheLargestOfEachAndLeaveTop1Out) {
  const std::vector<std::vector<Tensor>> want = {{row({1, 0})}, {row({0, 1})}}, got = {{row({1.02, 0})}, {row({1, 1})}};
  const auto shares = [&](const std::vector<std::string>& limits) {
    return shares_by_sample(*parse_accuracy(limits), {"y"}, got, want).value();
  };
  const std::vector<double> both = shares({"4%", "abs<=0.04", "top1>=99%"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_NEAR(both[0], 0.5, 1e-5);
  EXPECT_NEAR(both[1], 25, 1e-5);
  EXPECT_TRUE(shares({"top1>=99%"}).empty());
}

TEST(Judged, AsksForAnAbsoluteLimitWhereAnswersAreZeros) {
  const Result<Accuracy> accuracy = parse_accuracy({"1%"});
  const Result<Judged> result = judge(*accuracy, {"boxes"}, {{row({0, 1})}}, {{row({0, 0})}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "output boxes is all zeros for sample 0, so that nothing is small beside it: give an absolute limit, like "
            "\"boxes:abs<=0.01\"");
  EXPECT_EQ(judge(*parse_accuracy({"score:1%"}), {"boxes", "y"}, {{row({0}), row({0})}}, {{row({0}), row({0})}})
                .error()
                .message,
            "\"score:1%\" is about an output that the model does not have; its outputs are boxes, y");
}

TEST(Reference, ThatNothingComparesWithIsASentence) {
  const auto error = [](const std::string& limit, const std::vector<std::vector<Tensor>>& want) {
    const Status checked = check_reference(*parse_accuracy({limit}), {"boxes", "y"}, want);
    return checked.ok() ? "" : checked.error().message;
  };
  const Tensor zeros = row({0, 0}), ones = row({1, 1}), wild = row({1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(error("1%", {{ones, ones}, {zeros, ones}}), "") << "zeros in some samples may be right";
  EXPECT_EQ(error("1%", {{zeros, ones}, {zeros, ones}}),
            "output boxes is all zeros for every sample, so that nothing is small beside it: give an absolute limit, "
            "like \"boxes:abs<=0.01\"");
  EXPECT_EQ(error("abs<=1", {{zeros, ones}}), "");
  EXPECT_EQ(error("y:1%", {{zeros, ones}}), "") << "no limit is about boxes";
  EXPECT_EQ(error("1%", {{ones, ones}, {ones, wild}}),
            "output y of the f32 network is not finite for sample 1: nothing compares with it");
}

TEST(Figures, AreThoseOfTheirDefinitions) {
  Rng rng(5);
  const Tensor want = Tensor::random({DType::f32, {7, 5}}, rng), noise = Tensor::random({DType::f32, {7, 5}}, rng);
  Tensor got = want.clone();
  double errors = 0, squares = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    got.set(i, want.get(i) + 0.01 * noise.get(i));
    errors += std::pow(got.get(i) - want.get(i), 2), squares += std::pow(want.get(i), 2);
  }
  EXPECT_NEAR(relative_l2(got, want), std::sqrt(errors / squares), 1e-12);
  EXPECT_NEAR(1 - cosine(got, want), 0, 1e-3);
  EXPECT_EQ(top1(want, want).same, 7);
  EXPECT_EQ(psnr(want, want), std::numeric_limits<double>::infinity());
  EXPECT_GT(psnr(got, want), 40);
}

}  // namespace accuracy_test
}  // namespace
}  // namespace whet
