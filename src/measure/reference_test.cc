#include "measure/reference.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "runner/given.h"
#include "tensor/compare.h"

namespace whet {
namespace {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }
std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data()), static_cast<std::size_t>(t.bytes())};
}
/// The true outputs for the reference's inputs.
std::vector<Tensor> truth(const ComputeDag& d, const Reference& reference) {
  std::vector<Tensor> inputs;
  for (const Op& op : d.ops)
    if (op.is_placeholder()) inputs.push_back(make_tensor(reference.inputs()[inputs.size()], op.shape));
  return evaluate(d, inputs).value();
}

const char* kSmall = "p = PLACEHOLDER [64]\nq(i) = (p[i] + 1f) for i in 64\nreturn q\n";
/// Too large to be known whole.
const char* kLarge =
    "p = PLACEHOLDER [512, 64]\nw = PLACEHOLDER [64, 128] const\n"
    "q(i, j) += (p[i, k]*w[k, j]) for i in 512, j in 128, k in 64\nreturn q\n";

TEST(Reference, AcceptsTheTruthAndSmallErrors) {
  for (const char* text : {kSmall, kLarge}) {
    const ComputeDag d = dag(text);
    Reference reference = Reference::make(d, 1).value();
    Tensor out = truth(d, reference)[0].clone();
    EXPECT_EQ(reference.compare({bytes_of(out)}), "");
    out.set(0, out.get(0) * (1 + 1e-7));
    EXPECT_EQ(reference.compare({bytes_of(out)}), "");
  }
}
TEST(Reference, NamesTheLargestDifference) {
  const ComputeDag d = dag(kSmall);
  Reference reference = Reference::make(d, 1).value();
  Tensor out = truth(d, reference)[0].clone();
  out.set(5, 10);
  const std::string text = reference.compare({bytes_of(out)});
  EXPECT_EQ(text.substr(0, 22), "output `q` differs by ");
  EXPECT_NE(text.find(" at [5] where"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 64 elements are wrong"), std::string::npos) << text;
}
TEST(Reference, IsOfTheInputsThatAreGiven) {
  const ComputeDag d =
      dag("x = PLACEHOLDER [4]\nr = PLACEHOLDER [2] i32 < 4\n"
          "y(i) = x[max(min(i64(r[i]), 3), 0)] for i in 2\nreturn y\n");
  const std::vector<float> x = {5, 6, 7, 8};
  const std::vector<std::int32_t> rows = {3, 1};
  const std::vector<float> right = {8, 6};
  const auto bytes = [](const auto& list) {
    return std::string(reinterpret_cast<const char*>(list.data()), list.size() * sizeof list[0]);
  };
  Reference reference = Reference::make(d, 1, {{keep_given(bytes(x)), keep_given(bytes(rows))}, "rows"}).value();
  EXPECT_EQ(reference.compare({bytes(right)}), "");
  EXPECT_NE(reference.compare({bytes(std::vector<float>{8, 7})}), "");
}
TEST(Reference, SeesPoisonThatWasNotOverwritten) {
  const ComputeDag d = dag(kLarge);
  Reference reference = Reference::make(d, 1).value();
  EXPECT_NE(reference.compare({std::string(512 * 128 * 4, '\xff')}), "");
}
/// The answer by spots of a device whose kernels give these outputs.
SpotsReply seen(const std::vector<AskedOutput>& asked, const std::string& output, const std::string& passed = "") {
  SpotsRequest request;
  request.check.job.arguments = {{ArgumentRole::output, asked[0].dtype, static_cast<std::int64_t>(output.size())}};
  request.outputs = asked;
  if (!passed.empty()) request.passed = request.check;
  EXPECT_TRUE(is_sane(request));
  bool first = true;
  return look_at_spots(request, [&](const CheckRequest&) {
    return CheckReply{OutcomeCode::ok, "", {std::exchange(first, false) ? output : passed}};
  });
}

TEST(Reference, JudgesAnswersBySpotsAsWholeOnes) {
  for (const char* text : {kSmall, kLarge}) {
    const ComputeDag d = dag(text);
    const Reference reference = Reference::make(d, 1).value();
    const auto asked = reference.asked({}, false);
    Tensor out = truth(d, reference)[0].clone();
    EXPECT_EQ(reference.compare(asked, seen(asked, bytes_of(out)), {}), "");
    const std::int64_t last = out.size() - 1;
    out.set(last, 1000);
    const std::string difference = reference.compare(asked, seen(asked, bytes_of(out)), {});
    EXPECT_EQ(difference, Reference::make(d, 1).value().compare({bytes_of(out)}));
    EXPECT_NE(difference.find("1 of"), std::string::npos) << difference;
  }
}
std::size_t rows_asked_for(const ComputeDag& d) {
  const std::vector<std::uint32_t> spots = Reference::make(d, 1).value().asked({}, false)[0].spots;
  EXPECT_EQ(spots.size(), 256u);
  std::set<std::int64_t> rows;
  for (const std::uint32_t spot : spots) rows.insert(spot / d.op(d.outputs[0]).shape.back());
  return rows.size();
}
TEST(Reference, AsksForSeveralElementsOfARowWhereSumsAreOverSums) {
  EXPECT_GT(rows_asked_for(dag(kLarge)), 150u);
  const std::size_t rows =
      rows_asked_for(dag("p = PLACEHOLDER [512, 64]\nw = PLACEHOLDER [64, 128] const\nv = PLACEHOLDER [128, 96] const\n"
                         "q(i, j) += (p[i, k]*w[k, j]) for i in 512, j in 128, k in 64\n"
                         "r(i, j) += (q[i, k]*v[k, j]) for i in 512, j in 96, k in 128\nreturn r\n"));
  EXPECT_GT(rows, 30u);
  EXPECT_LT(rows, 40u);
}
TEST(Reference, AsksForLessWhereADeviceComparesAll) {
  const ComputeDag d = dag("p = PLACEHOLDER [64, 64]\nq(i, j) = (p[i, j] + 1f) for i in 64, j in 64\nreturn q\n");
  const Reference reference = Reference::make(d, 1).value();
  const auto first = reference.asked({}, false), later = reference.asked({}, true);
  EXPECT_EQ(first[0].spots.size(), 4096u) << "all that there are";
  EXPECT_EQ(later[0].spots.size(), 256u);
  const Tensor right = truth(d, reference)[0];
  for (std::int64_t wrong = 0; wrong < right.size(); wrong += 101) {
    Tensor out = right.clone();
    out.set(wrong, 1000);
    EXPECT_NE(reference.compare(later, seen(later, bytes_of(out), bytes_of(right)), {}), "") << wrong;
  }
}
TEST(Reference, SeesWhatAKernelWroteBesideItsPart) {
  const ComputeDag d = dag("p = PLACEHOLDER [4, 2]\nq(i, j) = (p[i, j] + 1f) for i in 4, j in 2\nreturn q\n");
  const Reference reference = Reference::make(d, 1).value();
  const Shape within = {4, 3};
  const auto asked = reference.asked(within, false);
  const Tensor right = truth(d, reference)[0];
  std::string whole;
  for (std::int64_t row = 0; row < 4; ++row)
    whole += bytes_of(right).substr(static_cast<std::size_t>(row * 8), 8) + "\xff\xff\xff\xff";
  EXPECT_EQ(reference.compare(asked, seen(asked, whole), within), "");
  whole[23] = 0;
  EXPECT_EQ(reference.compare(asked, seen(asked, whole), within),
            "it wrote beside its part of " + to_string(within) + ", in row 1");
}
TEST(Reference, KnowsTheCornersOfALargeOutput) {
  const ComputeDag d = dag(kLarge);
  for (std::int64_t corner : {0, 127, 511 * 128, 511 * 128 + 127}) {
    Reference reference = Reference::make(d, 1).value();
    Tensor out = truth(d, reference)[0].clone();
    out.set(corner, out.get(corner) + 1);
    EXPECT_NE(reference.compare({bytes_of(out)}), "") << corner;
  }
}
TEST(Reference, SeesATailThatIsWrongInAFewRowsAndColumns) {
  const ComputeDag d = dag(kLarge);
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Reference reference = Reference::make(d, seed).value();
    Tensor out = truth(d, reference)[0].clone();
    for (std::int64_t row = 500; row < 511; ++row)
      for (std::int64_t column = 120; column < 127; ++column) out.set(row * 128 + column, 9);
    seen += reference.compare({bytes_of(out)}).empty() ? 0 : 1;
  }
  EXPECT_GE(seen, 14) << "of 16; spots anywhere would meet a thousandth of the elements in one case of four";
}
TEST(Reference, HoldsLaterOutputsAgainstOneThatPassedElementByElement) {
  const ComputeDag d = dag(kLarge);
  Reference reference = Reference::make(d, 1).value();
  const Tensor right = truth(d, reference)[0];
  EXPECT_EQ(reference.compare({bytes_of(right)}), "");
  for (std::int64_t at = 1000; at < 1010; ++at) {
    Tensor out = right.clone();
    out.set(at, out.get(at) + 1);
    EXPECT_NE(reference.compare({bytes_of(out)}), "") << at;
  }
}
TEST(Reference, TakesPositiveInputsWhereNegativeOnesAreUndefined) {
  const ComputeDag d = dag("p = PLACEHOLDER [64]\nq(i) = log(p[i]) for i in 64\nreturn q\n");
  EXPECT_EQ(Reference::make(d, 1)->inputs()[0].low, 0.25);
  EXPECT_EQ(Reference::make(dag(kSmall), 1)->inputs()[0].low, -1);
}
TEST(Reference, ComparesIntegersExactly) {
  const ComputeDag d = dag("p = PLACEHOLDER [8] i32\nq(i): i32 = (p[i] + 1i32) for i in 8\nreturn q\n");
  Reference reference = Reference::make(d, 1).value();
  Tensor out = truth(d, reference)[0].clone();
  EXPECT_EQ(reference.compare({bytes_of(out)}), "");
  out.set_integer(3, out.integer(3) + 1);
  EXPECT_NE(reference.compare({bytes_of(out)}), "");
}
TEST(Reference, RefusesOutputsOfAnotherNumberOrSize) {
  Reference reference = Reference::make(dag(kSmall), 1).value();
  EXPECT_EQ(reference.compare({}), "the kernel has 0 outputs, the task 1");
  EXPECT_EQ(reference.compare({"abc"}), "output `q` has 3 bytes, not 256");
}
TEST(Tolerance, GrowsWithReductionsAndIsZeroForIntegers) {
  EXPECT_LT(tolerance_of(dag(kSmall), DType::f32), tolerance_of(dag(kLarge), DType::f32));
  EXPECT_LT(tolerance_of(dag(kLarge), DType::f32), 1e-4);
  EXPECT_EQ(tolerance_of(dag(kSmall), DType::i32), 0);
}

/// Operands that are bf16 are exact, and sums are f32: only a result that is rounded may fall on the other side.
TEST(Tolerance, OfBf16IsThatOfF32SumsAndOfEachRounding) {
  const auto of = [](const char* result) {
    const std::string name = *result == '\0' ? "sum" : "y";
    const ComputeDag task =
        dag("a = PLACEHOLDER [8, 256] bf16\nb = PLACEHOLDER [256, 32] bf16 const\n"
            "sum(i, j) += (f32(a[i, k])*f32(b[k, j])) for i in 8, j in 32, k in 256\n" +
            std::string(result) + "return " + name + "\n");
    return tolerance_of(task, task.op(task.outputs[0]).dtype);
  };
  EXPECT_LT(of(""), 1e-4);
  EXPECT_NEAR(of("y(i, j): bf16 = bf16(max(sum[i, j], 0f)) for i in 8, j in 32\n"), 0x1p-6, 1e-4);
}

/// Floats that differ by their last bit may be rounded to neighbours.
TEST(Tolerance, OfI16IsAStepOfWhatIsRounded) {
  const auto of = [](const char* task) { return tolerance_of(dag(task), DType::i16); };
  EXPECT_EQ(of("a = PLACEHOLDER [8, 16]\ny(i, j): i16 = i16(round((a[i, j]*7f))) for i in 8, j in 16\nreturn y\n"),
            0x1p-8);
  EXPECT_EQ(of("a = PLACEHOLDER [8, 16] i16\ny(i, j): i16 = a[i, j] for i in 8, j in 16\nreturn y\n"), 0);
}

constexpr Precision kRounded[] = {Precision::tf32, Precision::f16, Precision::bf16};

/// The product of [64, terms] and [terms, 32]: the first `summed` terms, of operands rounded to `precision`.
ComputeDag product(int terms, int summed, Precision precision = Precision::f32) {
  const std::string function = precision == Precision::f32 ? "" : "round_" + std::string(name_of(precision));
  const std::string k = std::to_string(terms);
  return dag("a = PLACEHOLDER [64, " + k + "]\nb = PLACEHOLDER [" + k + ", 32] const\nc(i, j) += (" + function +
             "(a[i, k])*" + function + "(b[k, j])) for i in 64, j in 32, k in " + std::to_string(summed) +
             "\nreturn c\n");
}

TEST(ToleranceOfAPrecision, IsEightTimesTheErrorOfAnOperand) {
  EXPECT_EQ(tolerance_of(Precision::f32), 0);
  EXPECT_EQ(tolerance_of(Precision::tf32), 8 * 0x1p-11);
  EXPECT_EQ(tolerance_of(Precision::f16), tolerance_of(Precision::tf32));
  EXPECT_EQ(tolerance_of(Precision::bf16), 8 * tolerance_of(Precision::tf32));
}
TEST(ToleranceOfAPrecision, IsMoreThanTwiceWhatRoundedOperandsErrByInSumsOfAnyLength) {
  for (const Precision precision : kRounded) {
    for (const int terms : {1, 2, 7, 64, 400}) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Reference reference = Reference::make(product(terms, terms), seed).value();
        const Tensor want = truth(product(terms, terms), reference)[0];
        const Tensor got = truth(product(terms, terms, precision), reference)[0];
        const double error = compare(got, want).relative;
        EXPECT_LT(error, tolerance_of(precision) / 2) << name_of(precision) << ", " << terms << " terms";
        EXPECT_GT(error, 0) << name_of(precision) << ", " << terms << " terms";
      }
    }
  }
}
TEST(ToleranceOfAPrecision, LetsReferencesAcceptRoundedOperandsWhereTheyAreAskedFor) {
  for (const Precision precision : kRounded) {
    Reference reference = Reference::make(product(64, 64), 1).value();
    const std::string rounded = bytes_of(truth(product(64, 64, precision), reference)[0]);
    EXPECT_EQ(reference.compare({rounded}, precision), "") << name_of(precision);
    EXPECT_NE(reference.compare({rounded}), "") << name_of(precision);
  }
}
TEST(ToleranceOfAPrecision, LetsNoReferenceAcceptASumThatLacksATerm) {
  for (const Precision precision : kRounded) {
    Reference reference = Reference::make(product(64, 64), 1).value();
    const std::string lacking = bytes_of(truth(product(64, 63, precision), reference)[0]);
    EXPECT_NE(reference.compare({lacking}, precision), "") << name_of(precision);
  }
}

}  // namespace
}  // namespace whet
