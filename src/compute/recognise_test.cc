#include "compute/recognise.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

/// The text without the comments that name families and roles.
std::string plain(const std::string& text) {
  std::string out;
  bool in_comment = false;
  for (const char c : text) {
    in_comment = c != '\n' && (in_comment || c == '#');
    if (!in_comment) out += c;
  }
  return out;
}
std::string recognised_text(const std::string& text) { return to_text(recognised(parse_dag(text).value())); }
/// Whether families and roles are found again where they were taken away.
void expect_found(const std::string& text) {
  const std::string whole = to_text(parse_dag(text).value());
  EXPECT_EQ(recognised_text(plain(text)), whole);
  EXPECT_EQ(recognised_text(text), whole);
}

TEST(Recognise, FindsAProductByWhichLoadReadsWhichAxis) {
  expect_found(R"(a = PLACEHOLDER [8, 16]
b = PLACEHOLDER [16, 32] const
c(i, j) += (a[i, k]*b[k, j]) for i in 8, j in 32, k in 16  # matmul i:row j:out_channel k:in_channel
return c
)");
}
TEST(Recognise, FindsAProductWhicheverFactorComesFirst) {
  expect_found(R"(a = PLACEHOLDER [8, 16]
b = PLACEHOLDER [32, 16]
c(i, j) += (b[j, k]*a[i, k]) for i in 8, j in 32, k in 16  # matmul i:row j:out_channel k:in_channel
return c
)");
}
TEST(Recognise, FindsProductsOfManyMatricesOfWhichOneSideMayBeAlike) {
  expect_found(R"(a = PLACEHOLDER [4, 8, 16]
b = PLACEHOLDER [4, 16, 32]
c(n, i, j) += (a[n, i, k]*b[n, k, j]) for n in 4, i in 8, j in 32, k in 16  # matmul n:batch i:row j:out_channel k:in_channel
return c
)");
  expect_found(R"(a = PLACEHOLDER [4, 8, 16]
b = PLACEHOLDER [16, 32]
c(n, i, j) += (a[n, i, k]*b[k, j]) for n in 4, i in 8, j in 32, k in 16  # matmul n:batch i:row j:out_channel k:in_channel
return c
)");
}
TEST(Recognise, FindsAProductOfBytesThatAreWidened) {
  expect_found(R"(a = PLACEHOLDER [8, 16] i8
b = PLACEHOLDER [16, 32] i8 const
c(i, j): i32 += (i32(a[i, k])*i32(b[k, j])) for i in 8, j in 32, k in 16  # matmul i:row j:out_channel k:in_channel
return c
)");
}
TEST(Recognise, FindsAConvolutionAndWhatIsPaddedForIt) {
  expect_found(R"(x = PLACEHOLDER [1, 7, 9, 16]
w = PLACEHOLDER [3, 3, 16, 8] const
pad(n, y, q, c) = select(((y >= 1) && (y < 8)), x[n, (y - 1), q, c], 0f) for n in 1, y in 9, q in 9, c in 16  # pad n:batch y:row q:column c:channel
conv(n, y, q, o) += (pad[n, ((y*2) + a), ((q*2) + b), i]*w[a, b, i, o]) for n in 1, y in 4, q in 4, o in 8, a in 3, b in 3, i in 16  # conv n:batch y:row q:column o:out_channel a:tap b:tap i:in_channel
return conv
)");
}
TEST(Recognise, FindsConvolutionsOfOneDimensionAndOfGroups) {
  expect_found(R"(x = PLACEHOLDER [1, 16, 9]
w = PLACEHOLDER [8, 8, 3] const
conv(n, o, q) += (x[n, ((floordiv(o, 4)*8) + i), (q + b)]*w[o, i, b]) for n in 1, o in 8, q in 7, i in 8, b in 3  # conv n:batch o:out_channel q:column i:in_channel b:tap
return conv
)");
}
TEST(Recognise, FindsADepthwiseConvolution) {
  expect_found(R"(x = PLACEHOLDER [1, 9, 9, 16]
w = PLACEHOLDER [3, 3, 16] const
y(n, y, q, c) += (x[n, (y + a), (q + b), c]*w[a, b, c]) for n in 1, y in 7, q in 7, c in 16, a in 3, b in 3  # depthwise n:batch y:row q:column c:channel a:tap b:tap
return y
)");
}
TEST(Recognise, FindsAPool) {
  expect_found(R"(x = PLACEHOLDER [1, 16, 8, 8]
pool(n, c, y, q) max= x[n, c, ((y*2) + a), ((q*2) + b)] for n in 1, c in 16, y in 4, q in 4, a in 2, b in 2  # pool n:batch c:channel y:row q:column a:tap b:tap
return pool
)");
}
TEST(Recognise, LeavesWhatFitsNothingAsItIs) {
  for (const char* text : {
           // a sum of squares reads one tensor twice
           "x = PLACEHOLDER [8, 16]\ns(i) += (x[i, k]*x[i, k]) for i in 8, k in 16\nreturn s\n",
           // the weights have a window, too
           "x = PLACEHOLDER [16]\nw = PLACEHOLDER [16]\ns(i) += (x[(i + k)]*w[(i + k)]) for i in 8, k in 8\nreturn s\n",
           // the reduced axis is in one factor alone
           "x = PLACEHOLDER [8, 16]\nw = PLACEHOLDER [4]\ns(i, j) += (x[i, k]*w[j]) for i in 8, j in 4, k in "
           "16\nreturn s\n",
           // a largest product is no sum of products
           "a = PLACEHOLDER [8, 16]\nb = PLACEHOLDER [16, 4]\ns(i, j) max= (a[i, k]*b[k, j]) for i in 8, j in 4, k in "
           "16\nreturn s\n",
           // rows that another tensor names
           "x = PLACEHOLDER [8, 16]\nr = PLACEHOLDER [4] i32 < 8\ng(i, j) = x[i64(r[i]), j] for i in 4, j in "
           "16\nreturn g\n",
       })
    EXPECT_EQ(recognised_text(text), to_text(parse_dag(text).value()));
}
TEST(Recognise, LeavesAloneWhatSomebodyWrote) {
  const std::string text =
      "a = PLACEHOLDER [8, 16]\nb = PLACEHOLDER [16, 4]\nc(i, j) += (a[i, k]*b[k, j]) for i in 8, j in 4, k in 16  # "
      "reduce\nreturn c\n";
  EXPECT_EQ(recognised_text(text), to_text(parse_dag(text).value()));
}

}  // namespace
}  // namespace whet
