#include "ranges/testing/difference_at.h"

#include <cstring>
#include <limits>

#include "ranges/boxes.h"
#include "ranges/numbers.h"

namespace whet::testing {
namespace {

/// The value of a function, or the number that stands for all sizes.
std::int64_t value_of(const Expr& function, std::int64_t number, const SizeValues& at) {
  return function.defined() ? value_at(function, at) : number;
}
std::int64_t value_of(const std::vector<Expr>& functions, std::size_t d, std::int64_t number, const SizeValues& at) {
  return functions.empty() ? number : value_of(functions[d], number, at);
}

/// A variant beside the network that is read at some sizes.
class Comparison {
 public:
  Comparison(const Variant& variant, const Reading& mine, const Reading& read, const SizeValues& at)
      : variant_(variant), mine_(mine), read_(read), at_(at) {}

  std::string difference() const {
    if (mine_.parts.structure != read_.parts.structure) return "another structure";
    for (const auto& found : {tasks(), shapes(), offsets(), constants()})
      if (!found.empty()) return found;
    return "";
  }

 private:
  const Shape& shape_in(const Reading& reading, ValueId id) const { return reading.fused.graph.value(id).type.shape; }
  std::string name(ValueId id) const { return "\"" + mine_.fused.graph.value(id).name + "\""; }
  std::int64_t number(const Reading& reading, std::size_t place) const { return reading.parts.numbers[place].integer; }

  std::string tasks() const {
    std::vector<int> covered(mine_.fused.groups.size(), 0);
    for (const SizedTask& task : variant_.tasks) {
      if (task.task.weight != static_cast<int>(task.task.groups.size())) return task.task.name + ": its weight";
      if (task.task.key != workload_key(dag_at(task.task.dag, task.task.dag.at))) return task.task.name + ": its key";
      const SizeValues own = values_of(task, at_);
      const Status in_range = check_values(task.task.dag.sizes, own);
      if (!in_range.ok()) return task.task.name + ": " + in_range.error().message;
      const ComputeDag dag = dag_at(task.task.dag, own);
      Shape within = task.task.within;
      for (std::size_t d = 0; d < within.size(); ++d) within[d] = value_of(task.within, d, within[d], own);
      for (const int group : task.task.groups) {
        const auto g = static_cast<std::size_t>(group);
        ++covered[g];
        if (!same_dag(dag, read_.dags[g]))
          return task.task.name + ": its DAG\n" + to_text(task.task.dag) + to_text(dag) + to_text(read_.dags[g]);
        if (within != read_.in_place.within(read_.fused.groups[g])) return task.task.name + ": what it is a part of";
      }
    }
    for (std::size_t g = 0; g < covered.size(); ++g)
      if (covered[g] != (read_.in_place.done[g] ? 0 : 1))
        return "group " + std::to_string(g) + " is in " + std::to_string(covered[g]) + " tasks";
    return "";
  }

  /// Values of the two correspond by the places of their extents, which scalars do not have.
  std::string shapes() const {
    std::map<std::size_t, ValueId> ids;
    for (const auto& [id, place] : read_.shape_at)
      if (!shape_in(read_, id).empty()) ids[place] = id;
    for (const auto& [id, place] : mine_.shape_at) {
      Shape shape = shape_in(mine_, id);
      const auto functions = variant_.shapes.find(id);
      for (std::size_t d = 0; d < shape.size() && functions != variant_.shapes.end(); ++d)
        shape[d] = value_of(functions->second, d, shape[d], at_);
      if (!shape.empty() && shape != shape_in(read_, ids.at(place))) return "the shape of " + name(id);
    }
    return "";
  }

  std::string offsets() const {
    for (const auto* places : {&mine_.offset_at, &mine_.part_at})
      for (const auto& [id, place] : *places) {
        const auto function = variant_.offsets.find(id);
        const std::int64_t offset =
            value_of(function == variant_.offsets.end() ? Expr() : function->second, number(mine_, place), at_);
        if (offset != number(read_, place)) return "the offset of " + name(id);
      }
    return "";
  }

  std::string constants() const {
    for (std::size_t c = 0; c < mine_.constants.size(); ++c) {
      const ValueId id = mine_.constants[c];
      const Tensor& whole = *mine_.fused.graph.value(id).constant;
      const Tensor& part = *read_.fused.graph.value(read_.constants[c]).constant;
      const auto window = variant_.windows.find(id);
      const bool is_same = window == variant_.windows.end()
                               ? part.type() == whole.type() && std::memcmp(part.data(), whole.data(), bytes(part)) == 0
                               : is_window(part, whole, window->second.begin);
      if (!is_same) return "constant " + name(id);
    }
    return "";
  }

  static std::size_t bytes(const Tensor& tensor) { return static_cast<std::size_t>(tensor.bytes()); }

  /// Element by element.
  bool is_window(const Tensor& part, const Tensor& whole, const std::vector<Expr>& functions) const {
    std::vector<std::int64_t> begin;
    for (std::size_t d = 0; d < part.shape().size(); ++d) {
      begin.push_back(value_of(functions, d, 0, at_));
      if (begin[d] < 0 || begin[d] + part.shape()[d] > whole.shape()[d]) return false;
    }
    const std::vector<std::int64_t> strides = row_major_strides(whole.shape());
    for (std::int64_t i = 0; i < part.size(); ++i) {
      std::int64_t place = 0, rest = i;
      for (std::size_t d = begin.size(); d-- > 0;) {
        place += (begin[d] + rest % part.shape()[d]) * strides[d];
        rest /= part.shape()[d];
      }
      if (part.get(i) != whole.get(place)) return false;
    }
    return true;
  }

  const Variant& variant_;
  const Reading &mine_, &read_;
  const SizeValues& at_;
};

}  // namespace

std::string difference_at(const Family& family, const SizeValues& sizes, const ReadAtSizes& read) {
  int boxes = 0;
  for (const Variant& variant : family.variants)
    for (const SizeBox& box : variant.boxes) boxes += contains(box, sizes) ? 1 : 0;
  if (boxes != 1) return std::to_string(boxes) + " boxes have it";
  const Variant* variant = variant_at(family, sizes);
  if (variant == nullptr) return "no variant has it";
  Result<FusedGraph> fused = read(sizes);
  if (!fused.ok()) return fused.error().message;
  const Result<Reading> mine = reading_of(variant->fused), there = reading_of(std::move(*fused));
  if (!mine.ok() || !there.ok()) return "a group is no DAG";
  return Comparison(*variant, *mine, *there, sizes).difference();
}

std::string difference_at_any(const Family& family, const ReadAtSizes& read) {
  for (const SizeValues& point : points_to_read(family.sizes, std::numeric_limits<std::int64_t>::max(), 0, 0))
    if (const std::string found = difference_at(family, point, read); !found.empty())
      return to_text(family.sizes, point) + ": " + found;
  return "";
}

SizeValues values_of(const SizedTask& task, const SizeValues& network) {
  SizeValues values;
  for (const Expr& size : task.sizes) values.push_back(value_at(size, network));
  return values;
}

std::vector<Expr*> functions_of(Variant& variant) {
  std::vector<Expr*> all;
  const auto add = [&](std::vector<Expr>& functions) {
    for (Expr& function : functions)
      if (function.defined()) all.push_back(&function);
  };
  for (SizedTask& task : variant.tasks) add(task.sizes);
  for (auto& [id, functions] : variant.shapes) add(functions);
  for (auto& [id, function] : variant.offsets) all.push_back(&function);
  for (auto& [id, window] : variant.windows) add(window.begin);
  return all;
}

Expr one_more_at(const Expr& function, const SizeValues& at) {
  Expr here = int_const(1);  // 1 where each size is at its value, else 0 or less
  for (const std::size_t k : sizes_of(function)) {
    const Expr size = size_expr(k, "s" + std::to_string(k));
    here = min(here, min(size - (at[k] - 1), int_const(at[k] + 1) - size));
  }
  return function + max(here, int_const(0));
}

}  // namespace whet::testing
