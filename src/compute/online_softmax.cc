#include "compute/online_softmax.h"

#include <string>
#include <vector>

#include "compute/softmax_terms.h"

namespace whet {
namespace {

OnlineSoftmaxOps add_online(SoftmaxTerms terms) {
  OnlineSoftmaxOps ops;
  ops.scores = terms.scores();
  ops.top = terms.top(ops.scores);
  ops.exp = terms.exponentials(ops.scores, ops.top);
  ops.sum = terms.sum(ops.exp);
  ops.values = terms.values();
  ops.mix = terms.mix(ops.exp, ops.values);
  ops.product = terms.quotient(ops.mix, ops.sum);
  return ops;
}

}  // namespace

Result<OnlineSoftmaxDag> online_softmax(const ComputeDag& dag, OpId product, std::int64_t terms) {
  const std::optional<SoftmaxProduct> found = find_softmax_product(dag, product);
  if (!found) return Error{"is no sum of products of a softmax's weights"};
  WHET_RETURN_IF_ERROR(check_softmax_product(dag, *found));
  if (is_sized(dag)) return Error{"has sizes"};
  const std::int64_t all = dag.op(product).element().reduce_axes[0].extent;
  if (terms < kOnlineTerms || terms % kOnlineTerms != 0 || terms > all)
    return Error{"cannot be summed up by " + std::to_string(terms) + " of its " + std::to_string(all) +
                 " terms; expected a multiple of " + std::to_string(kOnlineTerms) + ", and at most all"};
  const std::int64_t in_steps = (all + terms - 1) / terms * terms;
  const SoftmaxNames names = {.scores = "_online", .rows = "", .mix = "_mix"};
  OnlineSoftmaxDag result;
  result.dag = with_other_product(dag, *found, [&](ComputeDag& changed, const std::vector<OpId>& renamed) {
    result.ops = add_online(SoftmaxTerms(dag, changed, renamed, *found, in_steps, {}, names));
    return result.ops.product;
  });
  return result;
}

}  // namespace whet
