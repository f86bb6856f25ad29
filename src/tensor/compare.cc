#include "tensor/compare.h"

namespace whet {
namespace {

auto elements_of(const Tensor& tensor) {
  return [&tensor](std::int64_t i) { return tensor.get(i); };
}

}  // namespace

Difference compare(const Tensor& got, const Tensor& want, double tolerance) {
  WHET_CHECK(got.size() == want.size());
  return difference(elements_of(got), elements_of(want), want.size(), tolerance);
}

double relative_l2(const Tensor& got, const Tensor& want) {
  WHET_CHECK(got.size() == want.size());
  return relative_l2(elements_of(got), elements_of(want), want.size());
}

double cosine(const Tensor& got, const Tensor& want) {
  WHET_CHECK(got.size() == want.size());
  return cosine(elements_of(got), elements_of(want), want.size());
}

double psnr(const Tensor& got, const Tensor& want) {
  WHET_CHECK(got.size() == want.size());
  return psnr(elements_of(got), elements_of(want), want.size());
}

Top1 top1(const Tensor& got, const Tensor& want) {
  WHET_CHECK(got.size() == want.size());
  if (want.size() == 0) return {};
  const std::int64_t classes = want.shape().empty() ? 1 : want.shape().back();
  const std::int64_t rows = want.size() / classes;
  return {top1_agreements(elements_of(got), elements_of(want), rows, classes), rows};
}

}  // namespace whet
