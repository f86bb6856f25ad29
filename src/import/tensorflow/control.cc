#include <algorithm>
#include <optional>

#include "import/parts/shape.h"
#include "import/tensorflow/rows.h"

// Branches and loops vanish while importing; lists of tensors are known lists of values.

namespace whet::tensorflow {
namespace {

constexpr std::int64_t kMostRounds = 4096;

Status give_values(TfSite& site, const std::vector<ValueId>& values) {
  if (values.size() < site.output_count())
    return site.error("its body has " + std::to_string(values.size()) + " results; the node has " +
                      std::to_string(site.output_count()));
  for (std::size_t i = 0; i < site.output_count(); ++i) WHET_RETURN_IF_ERROR(site.pass(values[i], i));
  return ok_status();
}

/// Both branches are computed, and one of the two is chosen.
Status give_both(TfSite& site, const std::string& yes, const std::string& no, const std::vector<ValueId>& inputs) {
  WHET_TRY(const std::vector<ValueId> a, site.inlined(yes, inputs));
  WHET_TRY(const std::vector<ValueId> b, site.inlined(no, inputs));
  if (num_elements(site.shape(site.in(0))) != 1)
    return site.error("its condition is " + to_string(site.type(site.in(0))) + "; expected one element");
  WHET_TRY(ValueId condition, site.cast("truth", site.in(0), DType::boolean));
  WHET_TRY(condition, site.add("condition", ReshapeOperator{Shape{}}, {condition}));
  if (a.size() != b.size() || a.size() < site.output_count()) return site.error("its branches differ in their results");
  for (std::size_t i = 0; i < site.output_count(); ++i) {
    if (a[i] == b[i]) {
      WHET_RETURN_IF_ERROR(site.pass(a[i], i));
      continue;
    }
    if (site.is_sequence(a[i]) || site.is_sequence(b[i]) || site.type(a[i]) != site.type(b[i]))
      return site.error("its branches give " + to_string(site.type(a[i])) + " and " + to_string(site.type(b[i])));
    WHET_RETURN_IF_ERROR(site.give(site.either(condition, a[i], b[i]), i));
  }
  return ok_status();
}

Status import_if(TfSite& site) {
  WHET_TRY(const std::string yes, site.function("then_branch"));
  WHET_TRY(const std::string no, site.function("else_branch"));
  std::vector<ValueId> inputs = site.ins();
  inputs.erase(inputs.begin());
  const Tensor* known = site.constant(site.in(0));
  if (known == nullptr) return give_both(site, yes, no, inputs);
  if (known->size() != 1) return site.error("its condition is " + to_string(known->type()) + "; expected one element");
  WHET_TRY(const std::vector<ValueId> values, site.inlined(known->get(0) != 0 ? yes : no, inputs));
  return give_values(site, values);
}
Status import_case(TfSite& site) {
  WHET_TRY(const TfList branches, site.list("branches"));
  WHET_TRY(std::int64_t branch, site.integer(0, "branch"));
  if (branches.functions.empty()) return site.error("has no branches");
  const auto count = static_cast<std::int64_t>(branches.functions.size());
  if (branch < 0 || branch >= count) branch = count - 1;
  std::vector<ValueId> inputs = site.ins();
  inputs.erase(inputs.begin());
  WHET_TRY(const std::vector<ValueId> values,
           site.inlined(branches.functions[static_cast<std::size_t>(branch)], inputs));
  return give_values(site, values);
}
/// One copy of the body a round, where each round knows whether it is the last.
Status import_while(TfSite& site) {
  WHET_TRY(const std::string condition, site.function("cond"));
  WHET_TRY(const std::string body, site.function("body"));
  std::vector<ValueId> values = site.ins();
  for (std::int64_t round = 0;; ++round) {
    WHET_TRY(const std::vector<ValueId> conditions, site.inlined(condition, values));
    if (conditions.size() != 1)
      return site.error("its condition has " + std::to_string(conditions.size()) + " results; expected one");
    WHET_TRY(const bool goes_on, site.goes_on(conditions[0]));
    if (!goes_on) break;
    if (round == kMostRounds) return site.error("does not end within " + std::to_string(kMostRounds) + " rounds");
    WHET_TRY(std::vector<ValueId> next, site.inlined(body, values));
    if (next.size() != values.size())
      return site.error("its body has " + std::to_string(next.size()) + " results; expected " +
                        std::to_string(values.size()));
    values = std::move(next);
  }
  return give_values(site, values);
}

// ---- Lists of tensors.

using Values = std::vector<ValueId>;

Result<Values> list_of(TfSite& site, std::size_t i) {
  const Values* list = site.graph().sequence(site.in(i));
  if (list != nullptr) return *list;
  return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected a list");
}
Status give_list(TfSite& site, Values values, std::size_t i = 0) {
  if (static_cast<std::int64_t>(values.size()) > 16 * kMostRounds)
    return site.error("its list has " + std::to_string(values.size()) + " elements");
  WHET_TRY(const DType dtype, site.dtype_attribute("element_dtype", {1}));
  return site.give_sequence(dtype, std::move(values), i);
}
Result<std::size_t> place_in(TfSite& site, std::size_t i, const Values& list) {
  WHET_TRY(const std::int64_t place, site.integer(i, "place in the list"));
  if (place >= 0 && place < static_cast<std::int64_t>(list.size())) return static_cast<std::size_t>(place);
  return site.error("names element " + std::to_string(place) + " of a list of " + std::to_string(list.size()));
}
/// The element; one that nothing was put to is zeros of the list's shape.
Result<ValueId> element_of(TfSite& site, ValueId element, std::size_t shape_input) {
  if (element.valid()) return element;
  WHET_TRY(const std::vector<std::int64_t> shape, site.integers(shape_input, "shape of elements"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": an element", shape));
  WHET_TRY(const DType dtype, site.dtype_attribute("element_dtype", {1}));
  return site.add_constant("zeros", Tensor(dtype, shape));
}

Status import_list_reserve(TfSite& site) {
  const bool is_empty = site.op() == "EmptyTensorList";
  std::int64_t count = 0;
  if (!is_empty) {
    WHET_TRY(count, site.integer(1, "number of elements"));
  }
  if (count < 0 || count > kMostRounds)
    return site.error("has a list of " + std::to_string(count) + " elements; at most " + std::to_string(kMostRounds) +
                      " are supported");
  return give_list(site, Values(static_cast<std::size_t>(count)));
}
Status import_list_from_tensor(TfSite& site) {
  const ValueId x = site.in(0);
  if (site.rank(x) == 0 || site.shape(x)[0] > kMostRounds)
    return site.error("makes a list of " + to_string(site.type(x)));
  WHET_TRY(const Values parts,
           split(site, x, 0, std::vector<std::int64_t>(static_cast<std::size_t>(site.shape(x)[0]), 1)));
  Values list;
  for (const ValueId part : parts) {
    WHET_TRY(const ValueId element, squeezed(site, part, std::vector<std::int64_t>{0}));
    list.push_back(element);
  }
  return give_list(site, std::move(list));
}
Status import_list_stack(TfSite& site) {
  WHET_TRY(const Values list, list_of(site, 0));
  if (list.empty()) return site.error("stacks an empty list; this is not supported");
  Values rows;
  for (const ValueId element : list) {
    WHET_TRY(const ValueId value, element_of(site, element, 1));
    WHET_TRY(const ValueId row, unsqueezed(site, value, {0}));
    rows.push_back(row);
  }
  return rows.size() == 1 ? site.give(rows[0]) : site.give(ConcatOperator{0}, rows);
}
Status import_list_get(TfSite& site) {
  WHET_TRY(const Values list, list_of(site, 0));
  WHET_TRY(const std::size_t place, place_in(site, 1, list));
  return site.pass(element_of(site, list[place], 2));
}
Status import_list_set(TfSite& site) {
  WHET_TRY(Values list, list_of(site, 0));
  WHET_TRY(const bool grows, site.flag("resize_if_index_out_of_bounds", false));
  if (grows) {
    WHET_TRY(const std::int64_t place, site.integer(1, "place in the list"));
    if (place >= static_cast<std::int64_t>(list.size()) && place < kMostRounds)
      list.resize(static_cast<std::size_t>(place) + 1);
  }
  WHET_TRY(const std::size_t place, place_in(site, 1, list));
  list[place] = site.in(2);
  return give_list(site, std::move(list));
}
Status import_list_push(TfSite& site) {
  WHET_TRY(Values list, list_of(site, 0));
  list.push_back(site.in(1));
  return give_list(site, std::move(list));
}
Status import_list_pop(TfSite& site) {
  WHET_TRY(Values list, list_of(site, 0));
  if (list.empty()) return site.error("takes an element from an empty list");
  WHET_TRY(const ValueId last, element_of(site, list.back(), 1));
  WHET_RETURN_IF_ERROR(site.pass(last, 1));
  list.pop_back();
  return give_list(site, std::move(list));
}
Status import_list_length(TfSite& site) {
  WHET_TRY(const Values list, list_of(site, 0));
  return site.give_constant(Tensor::of<std::int64_t>(DType::i32, {}, {static_cast<std::int64_t>(list.size())}));
}

/// A value goes on to one of two results, the second where the condition holds; what reads the other one is not computed.
Status import_switch(TfSite& site) {
  WHET_TRY(const double condition, site.known_number(site.in(1), "condition"));
  const std::size_t taken = condition != 0 ? 1 : 0;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!site.wants_output(i)) continue;
    if (i != taken) site.give_absent(i);
    if (i == taken) WHET_RETURN_IF_ERROR(site.pass(site.in(0), i));
  }
  return ok_status();
}
/// The one of its operands that is there, and its number.
Status import_merge(TfSite& site) {
  std::optional<std::size_t> there;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (site.graph().is_absent(site.in(i))) continue;
    if (there)
      return site.error("has two operands that are there, " + std::to_string(*there) + " and " + std::to_string(i));
    there = i;
  }
  if (!there) {
    for (std::size_t i = 0; i < site.output_count(); ++i)
      if (site.wants_output(i)) site.give_absent(i);
    return ok_status();
  }
  if (site.wants_output(0)) WHET_RETURN_IF_ERROR(site.pass(site.in(*there), 0));
  const auto number = static_cast<std::int64_t>(*there);
  return site.give_constant(Tensor::of<std::int64_t>(DType::i32, {}, {number}), 1);
}

}  // namespace

TfRows control_rows() {
  static constexpr TfRow kRows[] = {
      {"Case", {1, 65536}, import_case},
      {"EmptyTensorList", 2, import_list_reserve},
      {"If", {1, 65536}, import_if},
      {"Merge", {1, 65536}, import_merge},
      {"StatelessCase", {1, 65536}, import_case},
      {"StatelessIf", {1, 65536}, import_if},
      {"StatelessWhile", import_while},
      {"Switch", 2, import_switch},
      {"TensorListFromTensor", 2, import_list_from_tensor},
      {"TensorListGetItem", 3, import_list_get},
      {"TensorListLength", 1, import_list_length},
      {"TensorListPopBack", 2, import_list_pop},
      {"TensorListPushBack", 2, import_list_push},
      {"TensorListReserve", 2, import_list_reserve},
      {"TensorListSetItem", 3, import_list_set},
      {"TensorListStack", 2, import_list_stack},
      {"While", import_while},
  };
  return kRows;
}

}  // namespace whet::tensorflow
