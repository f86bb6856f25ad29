#include <algorithm>
#include <optional>

#include "import/parts/shape.h"
#include "import/rounds.h"
#include "import_tf/rows.h"

// Branches and loops; lists of tensors are known lists of values.

namespace whet::tensorflow {
namespace {

Body body_of(TfSite& site, const TfFunctionName& function) {
  return [&](const ValueIds& inputs) { return site.inlined(function, inputs); };
}

/// The branches read the same inputs.
Result<ValueIds> import_if(TfSite& site, ValueId condition, const ValueIds& inputs, const TfFunctionName& yes,
                           const TfFunctionName& no) {
  const auto branch = [&](const TfFunctionName& function) -> Body {
    return [&](const ValueIds&) { return site.inlined(function, inputs); };
  };
  return if_else(site, condition, branch(yes), branch(no));
}
Result<ValueIds> import_case(TfSite& site, std::int64_t branch, const ValueIds& inputs, const TfList& branches) {
  const auto count = static_cast<std::int64_t>(branches.functions.size());
  if (count == 0) return site.error("has no branches");
  if (branch < 0 || branch >= count) branch = count - 1;
  return site.inlined({branches.functions[static_cast<std::size_t>(branch)]}, inputs);
}
Result<ValueIds> import_while(TfSite& site, const ValueIds& start, const TfFunctionName& condition,
                              const TfFunctionName& body) {
  return while_loop(site, start, body_of(site, condition), body_of(site, body));
}

// ---- Lists of tensors.

Status give_list(NodeSite& site, DType dtype, ValueIds values) {
  if (static_cast<std::int64_t>(values.size()) > 16 * kMostRounds)
    return site.error("its list has " + std::to_string(values.size()) + " elements");
  return site.give_sequence(dtype, std::move(values));
}
Result<std::size_t> place_in(NodeSite& site, std::int64_t place, const ValueIds& list) {
  if (place >= 0 && place < static_cast<std::int64_t>(list.size())) return static_cast<std::size_t>(place);
  return site.error("names element " + std::to_string(place) + " of a list of " + std::to_string(list.size()));
}
/// The element; one that nothing was put to is zeros of the list's shape.
Result<ValueId> element_of(NodeSite& site, ValueId element, ValueId shape_of_elements, DType dtype) {
  if (element.valid()) return element;
  WHET_TRY(const Ints shape, site.known_integers(shape_of_elements, "shape of elements"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": an element", shape));
  return site.add_constant("zeros", Tensor(dtype, shape));
}

Status list_reserve(NodeSite& site, ValueId, std::int64_t count, DType dtype) {
  if (count < 0 || count > kMostRounds)
    return site.error("has a list of " + std::to_string(count) + " elements; at most " + std::to_string(kMostRounds) +
                      " are supported");
  return give_list(site, dtype, ValueIds(static_cast<std::size_t>(count)));
}
Status list_from_tensor(NodeSite& site, ValueId x, ValueId, DType dtype) {
  if (site.rank(x) == 0 || site.shape(x)[0] > kMostRounds)
    return site.error("makes a list of " + to_string(site.type(x)));
  WHET_TRY(ValueIds list, unstacked(site, x, 0));
  return give_list(site, dtype, std::move(list));
}
Result<ValueId> list_stack(NodeSite& site, ValueIds list, ValueId shape, DType dtype) {
  if (list.empty()) return site.error("stacks an empty list; this is not supported");
  for (ValueId& element : list) {
    WHET_TRY(element, element_of(site, element, shape, dtype));
  }
  return stacked(site, list, 0);
}
Status list_get(NodeSite& site, const ValueIds& list, std::int64_t at, ValueId shape, DType dtype) {
  WHET_TRY(const std::size_t place, place_in(site, at, list));
  return site.pass(element_of(site, list[place], shape, dtype));
}
Status list_set(NodeSite& site, ValueIds list, std::int64_t at, ValueId element, DType dtype, bool grows) {
  if (grows && at >= static_cast<std::int64_t>(list.size()) && at < kMostRounds)
    list.resize(static_cast<std::size_t>(at) + 1);
  WHET_TRY(const std::size_t place, place_in(site, at, list));
  list[place] = element;
  return give_list(site, dtype, std::move(list));
}
Status list_push(NodeSite& site, ValueIds list, ValueId element, DType dtype) {
  list.push_back(element);
  return give_list(site, dtype, std::move(list));
}
Status list_pop(NodeSite& site, ValueIds list, ValueId shape, DType dtype) {
  if (list.empty()) return site.error("takes an element from an empty list");
  WHET_RETURN_IF_ERROR(site.pass(element_of(site, list.back(), shape, dtype), 1));
  list.pop_back();
  return give_list(site, dtype, std::move(list));
}
Status list_length(NodeSite& site, const ValueIds& list) {
  return site.give_constant(Tensor::of<std::int64_t>(DType::i32, {}, {static_cast<std::int64_t>(list.size())}));
}

/// A value goes on to one of two results, the second where the condition holds; what reads the other one is not computed.
Status import_switch(TfSite& site, ValueId x, double condition) {
  const std::size_t taken = condition != 0 ? 1 : 0;
  if (site.wants_output(1 - taken)) site.give_absent(1 - taken);
  return site.pass(x, taken);
}
/// The one of its operands that is there, and its number.
Status import_merge(TfSite& site, const ValueIds& values) {
  std::optional<std::size_t> there;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (site.graph().is_absent(values[i])) continue;
    if (there)
      return site.error("has two operands that are there, " + std::to_string(*there) + " and " + std::to_string(i));
    there = i;
  }
  for (std::size_t i = 0; !there && i < site.output_count(); ++i)
    if (site.wants_output(i)) site.give_absent(i);
  if (!there) return ok_status();
  WHET_RETURN_IF_ERROR(site.pass(values[*there], 0));
  const auto number = static_cast<std::int64_t>(*there);
  return site.give_constant(Tensor::of<std::int64_t>(DType::i32, {}, {number}), 1);
}

}  // namespace

TfRows control_rows() {
  static constexpr TfRow kRows[] = {
      {"Case StatelessCase", "branch values[]...? @branches=", calls<import_case>},
      {"EmptyTensorList", "shape =0 @element_dtype=f32 most", calls<list_reserve>},
      {"If StatelessIf", "condition values[]...? @then_branch @else_branch", calls<import_if>},
      {"Merge", "values[]...", calls<import_merge>},
      {"StatelessWhile While", "values[]...? @cond @body", calls<import_while>},
      {"Switch", "x[] condition", calls<import_switch>},
      {"TensorListFromTensor", "x shape @element_dtype=f32", calls<list_from_tensor>},
      {"TensorListGetItem", "list[] place_in_the_list shape @element_dtype=f32", calls<list_get>},
      {"TensorListLength", "list[]", calls<list_length>},
      {"TensorListPopBack", "list[] shape @element_dtype=f32", calls<list_pop>},
      {"TensorListPushBack", "list[] element[] @element_dtype=f32", calls<list_push>},
      {"TensorListReserve", "shape number_of_elements @element_dtype=f32", calls<list_reserve>},
      {"TensorListSetItem", "list[] place_in_the_list element[] @element_dtype=f32 @resize_if_index_out_of_bounds=0",
       calls<list_set>},
      {"TensorListStack", "list[] shape @element_dtype=f32", calls<list_stack>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
