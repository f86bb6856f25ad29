#include "import_torch/script_builtins.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using Done = Result<std::optional<ScriptValue>>;
using Values = std::vector<ScriptValue>;

constexpr std::size_t kLongestList = 65536;  ///< or text

const ScriptTensor* as_tensor(const ScriptValue& value) { return std::get_if<ScriptTensor>(&value); }
ScriptList* as_list(const ScriptValue& value) {
  auto* const* list = std::get_if<ScriptList*>(&value);
  return list == nullptr ? nullptr : *list;
}
std::optional<std::int64_t> as_integer(const ScriptValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}
std::optional<double> as_number(const ScriptValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const auto integer = as_integer(value);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}
Done done(ScriptValue value) { return std::optional<ScriptValue>(std::move(value)); }
Done done(Result<ScriptValue> value) {
  if (!value.ok()) return value.error();
  return done(*std::move(value));
}
Done nothing() { return std::optional<ScriptValue>(); }

/// Whether two values without tensors are equal, as == says. Lists share their elements: `left` bounds the comparisons.
std::optional<bool> are_equal(const ScriptValue& a, const ScriptValue& b, std::int64_t& left, int level) {
  if (--left < 0) return std::nullopt;
  const auto i = as_integer(a), j = as_integer(b);
  if (i && j) return *i == *j;
  const auto x = as_number(a), y = as_number(b);
  if (x && y) return *x == *y;
  if (std::holds_alternative<std::string>(a) && std::holds_alternative<std::string>(b))
    return std::get<std::string>(a) == std::get<std::string>(b);
  if (a.index() == 0 || b.index() == 0) return a.index() == b.index();
  if (std::holds_alternative<ScriptDevice>(a) && std::holds_alternative<ScriptDevice>(b)) return true;
  const ScriptList *p = as_list(a), *q = as_list(b);
  if (p == nullptr || q == nullptr || level > 8) return std::nullopt;
  bool equal = p->items.size() == q->items.size();
  for (std::size_t k = 0; equal && k < p->items.size(); ++k) {
    const auto one = are_equal(p->items[k], q->items[k], left, level + 1);
    if (!one) return std::nullopt;
    equal = *one;
  }
  return equal;
}
std::optional<bool> are_equal(const ScriptValue& a, const ScriptValue& b) {
  std::int64_t left = std::int64_t{1} << 16;
  return are_equal(a, b, left, 0);
}

// ---- Arithmetic on numbers, as Python's.

using Integers = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);
using Numbers = double (*)(double, double);
struct Arithmetic {
  std::string_view name;
  Integers integers;  ///< null: the result is a number
  Numbers numbers;
};

std::optional<std::int64_t> floor_of_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1)
    return b == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)));
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}
std::optional<std::int64_t> remainder_of(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::optional<std::int64_t> power_of(std::int64_t a, std::int64_t b) {
  if (b < 0) return std::nullopt;
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(a);
  for (auto rest = static_cast<std::uint64_t>(b); rest != 0; rest >>= 1, factor *= factor)
    if ((rest & 1) != 0) result *= factor;
  return static_cast<std::int64_t>(result);
}
std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }

constexpr Arithmetic kArithmetic[] = {
    {"torch.add",
     [](std::int64_t a, std::int64_t b) {
       return std::optional(wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)));
     },
     [](double a, double b) { return a + b; }},
    {"torch.sub",
     [](std::int64_t a, std::int64_t b) {
       return std::optional(wrapped(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
     },
     [](double a, double b) { return a - b; }},
    {"torch.mul",
     [](std::int64_t a, std::int64_t b) {
       return std::optional(wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
     },
     [](double a, double b) { return a * b; }},
    {"torch.div", nullptr, [](double a, double b) { return a / b; }},
    {"torch.floordiv", floor_of_quotient, [](double a, double b) { return std::floor(a / b); }},
    {"torch.floor_divide", floor_of_quotient, [](double a, double b) { return std::floor(a / b); }},
    {"torch.remainder", remainder_of, [](double a, double b) { return a - b * std::floor(a / b); }},
    {"torch.pow", power_of, [](double a, double b) { return std::pow(a, b); }},
    {"prim.min", [](std::int64_t a, std::int64_t b) { return std::optional(std::min(a, b)); },
     [](double a, double b) { return std::min(a, b); }},
    {"prim.max", [](std::int64_t a, std::int64_t b) { return std::optional(std::max(a, b)); },
     [](double a, double b) { return std::max(a, b); }},
};
template <typename Number>
std::optional<bool> compared(std::string_view name, Number a, Number b) {
  if (name == "torch.lt") return a < b;
  if (name == "torch.le") return a <= b;
  if (name == "torch.gt") return a > b;
  if (name == "torch.ge") return a >= b;
  return std::nullopt;
}

Done arithmetic(ScriptRun& run, const std::string& name, const Values& values) {
  if (values.size() != 2) return nothing();
  const auto a = as_number(values[0]), b = as_number(values[1]);
  if (!a || !b) return nothing();
  const auto x = as_integer(values[0]), y = as_integer(values[1]);
  if (const auto truth = x && y ? compared(name, *x, *y) : compared(name, *a, *b)) return done(*truth);
  const auto* row = std::find_if(std::begin(kArithmetic), std::end(kArithmetic),
                                 [&](const Arithmetic& each) { return each.name == name; });
  if (row == std::end(kArithmetic)) return nothing();
  if (!x || !y || row->integers == nullptr) return done(row->numbers(*a, *b));
  const auto result = row->integers(*x, *y);
  if (!result && name == "torch.pow") return done(row->numbers(*a, *b));
  if (!result) return run.error("divides by 0");
  return done(*result);
}

Done function_of_number(const std::string& name, const Values& values) {
  if (values.size() != 1) return nothing();
  const auto x = as_number(values[0]);
  if (!x) return nothing();
  const auto integer = as_integer(values[0]);
  if (name == "torch.neg") return integer ? done(wrapped(0 - static_cast<std::uint64_t>(*integer))) : done(-*x);
  if (name == "torch.abs" || name == "prim.abs")
    return integer ? done(*integer < 0 ? wrapped(0 - static_cast<std::uint64_t>(*integer)) : *integer)
                   : done(std::abs(*x));
  if (name == "torch.__not__") return done(*x == 0);
  if (name == "torch.floor") return integer ? done(*integer) : done(to_integer(DType::i64, std::floor(*x)));
  if (name == "torch.ceil") return integer ? done(*integer) : done(to_integer(DType::i64, std::ceil(*x)));
  if (name == "torch.round") return done(std::nearbyint(*x));
  if (name == "torch.sqrt") return done(std::sqrt(*x));
  if (name == "torch.log") return done(std::log(*x));
  if (name == "torch.exp") return done(std::exp(*x));
  return nothing();
}

Done logic(const std::string& name, const Values& values) {
  if (values.size() != 2) return nothing();
  if (name == "torch.__is__") return done(values[0].index() == 0 && values[1].index() == 0);
  if (name == "torch.__isnot__") return done(!(values[0].index() == 0 && values[1].index() == 0));
  const bool tensors = as_tensor(values[0]) != nullptr || as_tensor(values[1]) != nullptr;
  if (tensors) return nothing();
  const auto equal = are_equal(values[0], values[1]);
  if (name == "torch.eq" && equal) return done(*equal);
  if (name == "torch.ne" && equal) return done(!*equal);
  const auto a = as_integer(values[0]), b = as_integer(values[1]);
  if (!a || !b) return nothing();
  const bool truths = std::holds_alternative<bool>(values[0]) && std::holds_alternative<bool>(values[1]);
  const auto typed = [&](std::int64_t bits) { return truths ? done(bits != 0) : done(bits); };
  if (name == "torch.__and__") return typed(*a & *b);
  if (name == "torch.__or__") return typed(*a | *b);
  if (name == "torch.__xor__") return typed(*a ^ *b);
  return nothing();
}

// ---- Texts.

/// As str() makes of it; "?" of what is only printed.
std::string text_of(const ScriptValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (value.index() == 0) return "None";
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return "?";
  char digits[32];
  const auto [end, code] = std::to_chars(std::begin(digits), std::end(digits), *number);
  const std::string text(digits, end);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

/// "{} of {}" with values in the places of the braces; "%d of %s" with values in theirs.
Done formatted(ScriptRun& run, const std::string& name, const Values& values) {
  const auto* format = values.empty() ? nullptr : std::get_if<std::string>(&values[0]);
  if (format == nullptr) return done(std::string("?"));
  const bool percent = name == "torch.percentFormat";
  std::string text;
  std::size_t next = 1;
  for (std::size_t at = 0; at < format->size(); ++at) {
    const std::string_view two = std::string_view(*format).substr(at, 2);
    const bool is_place = percent ? two == "%d" || two == "%s" || two == "%i" : two == "{}";
    if (is_place && next < values.size()) {
      text += text_of(values[next++]);
      ++at;
    } else {
      text += (*format)[at];
    }
    if (text.size() > kLongestList) return run.error("makes a text of more than 65536 letters");
  }
  return done(std::move(text));
}

// ---- Lists and dictionaries.

Done element(ScriptRun& run, const ScriptList& list, const ScriptValue& place) {
  const auto index = as_integer(place);
  const auto count = static_cast<std::int64_t>(list.items.size());
  if (!index || *index < -count || *index >= count)
    return run.error("takes element " + (index ? std::to_string(*index) : kind_of(place)) + " of a list of " +
                     std::to_string(count));
  return done(list.items[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]);
}

/// list[start:end:step]
ScriptValue sliced_list(ScriptRun& run, const ScriptList& list, const Values& values) {
  const auto count = static_cast<std::int64_t>(list.items.size());
  const auto bound = [&](std::size_t at, std::int64_t otherwise) {
    const auto given = at < values.size() ? as_integer(values[at]) : std::nullopt;
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + count : *given, std::int64_t{0}, count);
  };
  const std::int64_t start = bound(1, 0), end = bound(2, count);
  const std::int64_t step = values.size() > 3 ? std::max<std::int64_t>(as_integer(values[3]).value_or(1), 1) : 1;
  Values items;
  for (std::int64_t i = start; i < end; i += std::min(step, count + 1))
    items.push_back(list.items[static_cast<std::size_t>(i)]);
  return run.new_list(std::move(items), list.is_tuple);
}

Status expect_room(ScriptRun& run, std::size_t count) {
  return count <= kLongestList ? ok_status() : Status(run.error("makes a list of more than 65536 values"));
}

/// How much a list may grow, and how much of it is moved.
void count_change(ScriptRun& run, const std::string& name, const ScriptList& list, const Values& values) {
  const bool extends = name == "torch.extend" && values.size() == 2 && as_list(values[1]) != nullptr;
  const bool moves = name == "torch.insert" || name == "torch.pop" || name == "torch.reverse";
  run.count_items(extends ? as_list(values[1])->items.size() : moves ? list.items.size() : 1);
}

Done change_list(ScriptRun& run, const std::string& name, ScriptList& list, const Values& values) {
  static constexpr std::string_view kChanges[] = {"torch.append", "torch.extend",  "torch.insert",   "torch.pop",
                                                  "torch.clear",  "torch.reverse", "torch._set_item"};
  if (std::find(std::begin(kChanges), std::end(kChanges), name) == std::end(kChanges)) return nothing();
  WHET_RETURN_IF_ERROR(run.expect_certain("changes a list"));
  count_change(run, name, list, values);
  if (name == "torch.append" && values.size() == 2) {
    list.items.push_back(values[1]);
  } else if (name == "torch.extend" && values.size() == 2 && as_list(values[1]) != nullptr) {
    const Values more = as_list(values[1])->items;
    WHET_RETURN_IF_ERROR(expect_room(run, list.items.size() + more.size()));
    list.items.insert(list.items.end(), more.begin(), more.end());
  } else if (name == "torch.insert" && values.size() == 3 && as_integer(values[1])) {
    const auto count = static_cast<std::int64_t>(list.items.size());
    const std::int64_t given = *as_integer(values[1]);
    list.items.insert(list.items.begin() + std::clamp<std::int64_t>(given < 0 ? given + count : given, 0, count),
                      values[2]);
  } else if (name == "torch.pop") {
    WHET_TRY(const auto taken, element(run, list, values.size() > 1 ? values[1] : ScriptValue(std::int64_t{-1})));
    const std::int64_t place = values.size() > 1 ? *as_integer(values[1]) : -1;
    list.items.erase(list.items.begin() + (place < 0 ? place + static_cast<std::int64_t>(list.items.size()) : place));
    return done(*taken);
  } else if (name == "torch.clear") {
    list.items.clear();
  } else if (name == "torch.reverse") {
    std::reverse(list.items.begin(), list.items.end());
  } else if (name == "torch._set_item" && values.size() == 3) {
    WHET_TRY(const auto before, element(run, list, values[1]));
    const auto count = static_cast<std::int64_t>(list.items.size());
    const std::int64_t place = *as_integer(values[1]);
    list.items[static_cast<std::size_t>(place < 0 ? place + count : place)] = values[2];
  } else {
    return run.error("changes a list by " + in_quotes(name) + ", which is not supported");
  }
  WHET_RETURN_IF_ERROR(expect_room(run, list.items.size()));
  return done(values[0]);
}

Done list_function(ScriptRun& run, const std::string& name, const Values& values) {
  ScriptList* list = values.empty() ? nullptr : as_list(values[0]);
  if (list == nullptr) return nothing();
  if (name == "torch.len") return done(static_cast<std::int64_t>(list->items.size()));
  if (name == "torch.__getitem__" && values.size() == 2) return element(run, *list, values[1]);
  if (name == "torch.slice") return done(sliced_list(run, *list, values));
  if (name == "torch.list" || name == "torch.copy") return done(run.new_list(list->items));
  if (name == "torch.add" && values.size() == 2 && as_list(values[1]) != nullptr) {
    Values items = list->items;
    const Values& more = as_list(values[1])->items;
    WHET_RETURN_IF_ERROR(expect_room(run, items.size() + more.size()));
    items.insert(items.end(), more.begin(), more.end());
    return done(run.new_list(std::move(items)));
  }
  if (name == "torch.mul" && values.size() == 2 && as_integer(values[1])) {
    const std::int64_t times = std::clamp<std::int64_t>(*as_integer(values[1]), 0, kLongestList + 1);
    WHET_RETURN_IF_ERROR(expect_room(run, list->items.size() * static_cast<std::size_t>(times)));
    Values items;
    for (std::int64_t k = 0; k < times; ++k) items.insert(items.end(), list->items.begin(), list->items.end());
    return done(run.new_list(std::move(items)));
  }
  static constexpr std::string_view kWhole[] = {"torch.__contains__", "prim.min",  "prim.max",
                                                "torch.sum",          "torch.any", "torch.all"};
  if (std::find(std::begin(kWhole), std::end(kWhole), name) != std::end(kWhole)) run.count_items(list->items.size());
  if (name == "torch.__contains__" && values.size() == 2)
    return done(std::any_of(list->items.begin(), list->items.end(),
                            [&](const ScriptValue& each) { return are_equal(each, values[1]).value_or(false); }));
  const bool sums = name == "torch.sum";
  if ((name == "prim.min" || name == "prim.max" || sums) && values.size() == 1 && (sums || !list->items.empty())) {
    ScriptValue best = sums ? ScriptValue(std::int64_t{0}) : list->items[0];
    for (const ScriptValue& each : list->items) {
      WHET_TRY(const auto next, arithmetic(run, sums ? "torch.add" : name, {best, each}));
      if (!next) return nothing();
      best = *next;
    }
    return done(best);
  }
  if ((name == "torch.any" || name == "torch.all") && values.size() == 1) {
    bool any = false, all = true;
    for (const ScriptValue& each : list->items) {
      const auto truth = as_integer(each);
      if (!truth) return nothing();
      any = any || *truth != 0;
      all = all && *truth != 0;
    }
    return done(name == "torch.any" ? any : all);
  }
  return change_list(run, name, *list, values);
}

/// An empty dictionary, one of a list of pairs, or another one with the same members.
Done dictionary_of(ScriptRun& run, const Values& values) {
  ScriptDictionary* made = run.new_dictionary();
  if (values.empty()) return done(made);
  if (auto* const* other = std::get_if<ScriptDictionary*>(&values[0])) {
    WHET_RETURN_IF_ERROR(expect_room(run, (*other)->members.size()));
    run.count_items((*other)->members.size());
    made->members = (*other)->members;
    return done(made);
  }
  auto* const* pairs = std::get_if<ScriptList*>(&values[0]);
  if (pairs == nullptr) return nothing();
  WHET_RETURN_IF_ERROR(expect_room(run, (*pairs)->items.size()));
  run.count_items((*pairs)->items.size());
  for (const ScriptValue& item : (*pairs)->items) {
    auto* const* pair = std::get_if<ScriptList*>(&item);
    if (pair == nullptr || (*pair)->items.size() != 2) return run.error("makes a dictionary of what are no pairs");
    made->members.emplace_back((*pair)->items[0], (*pair)->items[1]);
  }
  return done(made);
}

Done dictionary_function(ScriptRun& run, const std::string& name, const Values& values) {
  auto* const* given = values.empty() ? nullptr : std::get_if<ScriptDictionary*>(&values[0]);
  if (given == nullptr) return nothing();
  auto& members = (*given)->members;
  run.count_items(members.size() / 16);  // they are looked at one by one
  const auto find = [&](const ScriptValue& key) {
    return std::find_if(members.begin(), members.end(),
                        [&](const auto& each) { return are_equal(each.first, key).value_or(false); });
  };
  if (name == "torch.len") return done(static_cast<std::int64_t>(members.size()));
  if ((name == "torch.__getitem__" || name == "torch.get") && values.size() >= 2) {
    const auto found = find(values[1]);
    if (found != members.end()) return done(found->second);
    if (name == "torch.get") return done(values.size() > 2 ? values[2] : ScriptValue());
    return run.error("reads a key that its dictionary does not have");
  }
  if (name == "torch.__contains__" && values.size() == 2) return done(find(values[1]) != members.end());
  if (name == "torch.keys" || name == "torch.values" || name == "torch.items") {
    Values items;
    for (const auto& [key, value] : members)
      items.push_back(name == "torch.keys"     ? key
                      : name == "torch.values" ? value
                                               : ScriptValue(run.new_list({key, value}, true)));
    return done(run.new_list(std::move(items)));
  }
  if (name != "torch._set_item" || values.size() != 3) return nothing();
  WHET_RETURN_IF_ERROR(run.expect_certain("changes a dictionary"));
  WHET_RETURN_IF_ERROR(expect_room(run, members.size() + 1));
  const auto found = find(values[1]);
  if (found == members.end()) {
    members.emplace_back(values[1], values[2]);
  } else {
    found->second = values[2];
  }
  return done(values[0]);
}

// ---- What is asked of tensors.

/// The number of a type of elements, as TorchScript counts them. Those of complex numbers are 3 behind their parts'.
std::int64_t number_of_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 0;
    case DType::i8:
      return 1;
    case DType::i32:
      return 3;
    case DType::i64:
      return 4;
    case DType::f16:
      return 5;
    case DType::f64:
      return 7;
    case DType::boolean:
      return 11;
    case DType::bf16:
      return 15;
    case DType::i16:
      return 2;
    default:
      return 6;
  }
}

/// A number that the program computes from the size of a tensor.
Result<ScriptValue> computed_size(ScriptRun& run, const std::string& op, const ScriptTensor& tensor,
                                  std::optional<std::int64_t> dim) {
  ScriptTrace::Call call{op, "", {{"self", Argument{Name{tensor.name}}}}};
  if (dim) call.arguments.emplace_back("dim", Argument{*dim});
  WHET_TRY(const std::vector<ScriptTensor> results, run.trace.call(call));
  return ScriptValue(results[0]);
}

/// Sizes that values decide are numbers that the program computes.
Done size_of_tensor(ScriptRun& run, const Shape& shape, const Values& values) {
  const ScriptTensor tensor = *as_tensor(values[0]);
  WHET_TRY(const std::set<std::size_t> counted, run.trace.counted(tensor));
  const auto size = [&](std::size_t d) -> Result<ScriptValue> {
    if (!counted.contains(d)) return ScriptValue(shape[d]);
    return computed_size(run, "aten.sym_size.int", tensor, static_cast<std::int64_t>(d));
  };
  if (values.size() == 1) {
    Values sizes;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      WHET_TRY(ScriptValue each, size(d));
      sizes.push_back(std::move(each));
    }
    return done(run.new_list(std::move(sizes)));
  }
  const auto dim = as_integer(values[1]);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (!dim || *dim < -rank || *dim >= rank)
    return run.error("asks for size " + (dim ? std::to_string(*dim) : kind_of(values[1])) + " of a tensor of " +
                     std::to_string(rank) + " dimensions");
  return done(size(static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim)));
}

Done tensor_function(ScriptRun& run, const std::string& name, const Values& values) {
  const ScriptTensor* tensor = values.empty() ? nullptr : as_tensor(values[0]);
  if (tensor == nullptr) return nothing();
  if (name == "prim.data" || name == "torch._unwrap_optional") return done(values[0]);
  if (name == "prim.device") return done(ScriptDevice{});
  // As in training: the other branch is one operator that computes a whole layer.
  if (name == "prim.requires_grad" || name == "torch.requires_grad") return done(true);
  static constexpr std::string_view kFalse[] = {"prim.is_cuda", "prim.is_quantized", "prim.is_mkldnn", "prim.is_sparse",
                                                "prim.is_xpu",  "prim.is_mps",       "prim.is_nested"};
  if (std::find(std::begin(kFalse), std::end(kFalse), name) != std::end(kFalse)) return done(false);
  if (name == "torch.is_complex") {
    WHET_TRY(const bool complex, run.trace.is_complex(*tensor));
    return done(complex);
  }
  if (name == "torch.item") return done(converted(run, "number", values[0]));
  static constexpr std::string_view kOfType[] = {
      "torch.size",      "prim.shape", "torch.dim", "torch.len", "torch.numel", "prim.dtype", "torch.is_floating_point",
      "torch.ndimension"};
  if (std::find(std::begin(kOfType), std::end(kOfType), name) == std::end(kOfType)) return nothing();
  WHET_TRY(const TensorType type, run.trace.type(*tensor));
  if (name == "torch.size" || name == "prim.shape") return size_of_tensor(run, type.shape, values);
  if (name == "torch.dim" || name == "torch.ndimension") return done(static_cast<std::int64_t>(type.shape.size()));
  if (name == "torch.numel") {
    WHET_TRY(const std::set<std::size_t> counted, run.trace.counted(*tensor));
    return counted.empty() ? done(num_elements(type.shape))
                           : done(computed_size(run, "aten.sym_numel.default", *tensor, std::nullopt));
  }
  if (name == "torch.len") return size_of_tensor(run, type.shape, {values[0], std::int64_t{0}});
  WHET_TRY(const bool complex, run.trace.is_complex(*tensor));
  if (name == "torch.is_floating_point") return done(is_float(type.dtype) && !complex);
  return done(number_of_type(type.dtype) + (complex ? 3 : 0));
}

/// A tensor as it is, or of another type.
Done tensor_of_type(ScriptRun& run, const ScriptArguments& given) {
  for (const auto& [keyword, value] : given.keywords)
    if (keyword == "dtype" && value.index() != 0) return done(run.call_operator("aten.to", {{given.places[0], value}}));
  return done(given.places[0]);
}

/// A number, or lists of numbers, as a constant tensor.
Done tensor_of_numbers(ScriptRun& run, const std::string& name, const ScriptArguments& given) {
  if (given.places.empty()) return nothing();
  Shape shape;
  std::vector<ScriptValue> numbers = {given.places[0]};
  while (!numbers.empty() && as_list(numbers[0]) != nullptr) {
    const std::size_t count = as_list(numbers[0])->items.size();
    if (shape.size() > 8) return run.error("makes a tensor of lists that are nested more than 8 deep");
    Values next;
    if (count == 0) return run.error("makes a tensor without elements of lists");
    for (const ScriptValue& each : numbers) {
      const ScriptList* list = as_list(each);
      if (list == nullptr || list->items.size() != count)
        return run.error("makes a tensor of lists of several lengths");
      WHET_RETURN_IF_ERROR(expect_room(run, next.size() + count));
      next.insert(next.end(), list->items.begin(), list->items.end());
    }
    shape.push_back(static_cast<std::int64_t>(count));
    numbers = std::move(next);
  }
  DType dtype = numbers.empty() ? DType::f32 : DType::boolean;
  for (const ScriptValue& each : numbers) {
    if (std::holds_alternative<double>(each)) dtype = DType::f32;
    if (std::holds_alternative<std::int64_t>(each) && dtype == DType::boolean) dtype = DType::i64;
    if (!as_number(each)) return run.error("makes a tensor of " + kind_of(each));
  }
  if (name == "torch.scalar_tensor") dtype = DType::f32;
  for (const auto& [keyword, value] : given.keywords) {
    if (keyword != "dtype" || value.index() == 0) continue;
    const auto wanted = dtype_of(script_type(as_integer(value).value_or(-1)), run.trace.native_types());
    if (!wanted) return run.error("makes a tensor of a type that is not supported");
    dtype = *wanted;
  }
  run.count_items(numbers.size() + 16);
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto integer = as_integer(numbers[i]);
    if (integer && !is_float(dtype)) {
      tensor.set_integer(at, dtype == DType::boolean ? (*integer != 0 ? 1 : 0) : *integer);
    } else {
      tensor.set(at, *as_number(numbers[i]));
    }
  }
  return done(run.trace.add_constant(run.path().empty() ? "tensor" : run.path() + ".tensor", tensor));
}

/// What the loops over range(start, end, step) became.
Done range_function(ScriptRun& run, const std::string& name, const Values& values) {
  if (values.size() != 3) return nothing();
  const auto a = as_integer(values[0]), b = as_integer(values[1]), c = as_integer(values[2]);
  if (!a || !b || !c) return nothing();
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  if (std::max({std::abs(*a / 2), std::abs(*b / 2), std::abs(*c / 2)}) > kFar) return run.error("counts too far");
  // index, start, step
  if (name == "torch.__derive_index")
    return done(
        wrapped(static_cast<std::uint64_t>(*b) + static_cast<std::uint64_t>(*a) * static_cast<std::uint64_t>(*c)));
  if (*c == 0) return run.error("counts in steps of 0");
  const std::int64_t way = *c > 0 ? *b - *a : *a - *b, step = std::abs(*c);
  return done(way <= 0 ? std::int64_t{0} : (way + step - 1) / step);
}

}  // namespace

Result<ScriptValue> converted(ScriptRun& run, const std::string& type, const ScriptValue& value) {
  if (type == "str") return ScriptValue(text_of(value));
  ScriptValue number = value;
  if (const ScriptTensor* tensor = as_tensor(value)) {
    WHET_TRY(const bool is_known, run.trace.is_known(*tensor));
    if (!is_known && type == "bool") return value;  // a condition that is computed while the network runs
    WHET_TRY(const bool is_size, run.trace.is_size(*tensor));
    if (!is_known && is_size) return value;
    WHET_TRY(const Tensor known, run.trace.known(*tensor, "value for " + type + "()"));
    if (known.size() != 1)
      return run.error("converts a tensor of " + std::to_string(known.size()) + " elements to a number");
    if (is_float(known.dtype())) {
      number = known.get(0);
    } else if (known.dtype() == DType::boolean) {
      number = known.get(0) != 0;
    } else {
      number = known.integer(0);
    }
  }
  if (const auto* text = std::get_if<std::string>(&value); text != nullptr && type == "float") {
    if (*text == "inf") return ScriptValue(std::numeric_limits<double>::infinity());
    if (*text == "-inf") return ScriptValue(-std::numeric_limits<double>::infinity());
    if (*text == "nan") return ScriptValue(std::numeric_limits<double>::quiet_NaN());
  }
  const auto x = as_number(number);
  if (!x) return run.error("converts " + kind_of(value) + " by " + type + "()");
  const auto integer = as_integer(number);
  if (type == "bool") return ScriptValue(*x != 0);
  if (type == "float") return ScriptValue(*x);
  if (type == "int") return ScriptValue(integer ? *integer : to_integer(DType::i64, *x));
  return number;
}

Result<std::optional<ScriptValue>> call_builtin(ScriptRun& run, const std::string& name, const ScriptArguments& given) {
  const Values& values = given.places;
  if (name == "prim.RaiseException") {
    const auto* why = values.empty() ? nullptr : std::get_if<std::string>(&values[0]);
    return run.error("raises an exception" + (why == nullptr || why->empty() ? "" : ": " + why->substr(0, 200)));
  }
  if (name == "torch.device") return done(ScriptDevice{});
  const auto* text = values.empty() ? nullptr : std::get_if<std::string>(&values[0]);
  if (text != nullptr && name == "torch.len") return done(static_cast<std::int64_t>(text->size()));
  if (const auto* part = values.size() > 1 ? std::get_if<std::string>(&values[1]) : nullptr;
      text != nullptr && part != nullptr && name == "torch.find") {
    const std::size_t found = text->find(*part);
    return done(found == std::string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(found));
  }
  if (name == "torch.format" || name == "torch.percentFormat") return formatted(run, name, values);
  if (name == "torch.warn" || name == "prim.Print" || name == "torch._assert") return done(ScriptValue());
  if (name == "torch.is_grad_enabled") return done(true);
  if (name == "torch.is_autocast_enabled" || name == "torch.is_autocast_cpu_enabled") return done(false);
  if (name == "prim.NumToTensor" || name == "torch.tensor" || name == "torch.scalar_tensor" ||
      name == "torch.as_tensor") {
    if (!values.empty() && as_tensor(values[0]) != nullptr) return tensor_of_type(run, given);
    return tensor_of_numbers(run, name, given);
  }
  if (name == "torch.dict") return dictionary_of(run, values);
  if (name == "torch.__range_length" || name == "torch.__derive_index") return range_function(run, name, values);
  if (values.size() == 1 && (name == "torch.ScalarImplicit" || name == "torch.Scalar"))
    return done(converted(run, "number", values[0]));
  if (values.size() == 1 && (name == "torch.IntImplicit" || name == "torch.Int"))
    return done(converted(run, "int", values[0]));
  if (values.size() == 1 && (name == "torch.FloatImplicit" || name == "torch.Float"))
    return done(converted(run, "float", values[0]));
  if (values.size() == 1 && name == "torch.Bool") return done(converted(run, "bool", values[0]));
  if (values.size() == 1 && (name == "torch._unwrap_optional" || name == "prim.unchecked_unwrap_optional"))
    return done(values[0]);
  WHET_TRY(auto value, logic(name, values));
  if (!value) {
    WHET_TRY(value, arithmetic(run, name, values));
  }
  if (!value) {
    WHET_TRY(value, function_of_number(name, values));
  }
  if (!value) {
    WHET_TRY(value, list_function(run, name, values));
  }
  if (!value) {
    WHET_TRY(value, dictionary_function(run, name, values));
  }
  if (!value) {
    WHET_TRY(value, tensor_function(run, name, values));
  }
  return value;
}

// ---- Overloads.

namespace {

bool is_tensor_at(const ScriptArguments& given, std::size_t place, std::string_view name) {
  if (place < given.places.size()) return as_tensor(given.places[place]) != nullptr;
  for (const auto& [keyword, value] : given.keywords)
    if (keyword == name) return as_tensor(value) != nullptr;
  return false;
}
bool has_keyword(const ScriptArguments& given, std::string_view name) {
  return std::any_of(given.keywords.begin(), given.keywords.end(),
                     [&](const auto& each) { return each.first == name && each.second.index() != 0; });
}
/// Whether something is given at a place, none or not.
bool has_place(const ScriptArguments& given, std::size_t place, std::string_view name) {
  return place < given.places.size() ||
         std::any_of(
             given.keywords.begin(), given.keywords.end(), [&](const auto& each) { return each.first == name; });
}

/// Second names of operators, which exported programs do not have.
std::string usual_name(const std::string& op) {
  struct Alias {
    std::string_view name, usual;
  };
  static constexpr Alias kAliases[] = {
      {"__and__", "bitwise_and"},  {"__or__", "bitwise_or"}, {"__xor__", "bitwise_xor"}, {"absolute", "abs"},
      {"arccos", "acos"},          {"arcsin", "asin"},       {"arctan", "atan"},         {"arctan2", "atan2"},
      {"clip", "clamp"},           {"concatenate", "cat"},   {"divide", "div"},          {"greater", "gt"},
      {"greater_equal", "ge"},     {"less", "lt"},           {"less_equal", "le"},       {"moveaxis", "movedim"},
      {"multiply", "mul"},         {"negative", "neg"},      {"not_equal", "ne"},        {"subtract", "sub"},
      {"swapdims", "transpose"},   {"ger", "outer"},         {"fix", "trunc"},           {"linalg_matmul", "matmul"},
      {"special_expit", "sigmoid"}};
  constexpr std::string_view kAten = "aten.";
  for (const Alias& alias : kAliases)
    if (op == std::string(kAten) + std::string(alias.name)) return std::string(kAten) + std::string(alias.usual);
  return op;
}

/// The overload of operators that have several rows, or several words that differ in meaning.
std::string chosen_overload(std::string_view word, const ScriptArguments& given) {
  const bool second = has_place(given, 1, "dim");
  if (word == "sum") return second ? "dim_IntList" : "default";
  if (word == "mean" || word == "any" || word == "all" || word == "squeeze" || word == "median")
    return second ? "dim" : "default";
  if (word == "prod") return second ? "dim_int" : "default";
  if (word == "max" || word == "min") return is_tensor_at(given, 1, "other") ? "other" : second ? "dim" : "default";
  if (word == "std" || word == "var") {
    if (has_place(given, given.places.size(), "correction")) return "correction";
    const bool unbiased = given.places.size() == 2 && std::holds_alternative<bool>(given.places[1]);
    return second && !unbiased ? "dim" : "default";
  }
  if (word == "arange") return given.places.size() > 1 ? "start_step" : "default";
  if (word == "argsort" || word == "sort")
    return has_place(given, given.places.size(), "stable") ? "stable" : "default";
  if (word == "clamp") return is_tensor_at(given, 1, "min") || is_tensor_at(given, 2, "max") ? "Tensor" : "default";
  if (word == "div") return has_keyword(given, "rounding_mode") ? "Tensor_mode" : "Tensor";
  if (word == "eye") return given.places.size() > 1 ? "m" : "default";
  if (word == "round") return has_keyword(given, "decimals") ? "decimals" : "default";
  if (word == "scatter" && has_place(given, 4, "reduce"))
    return is_tensor_at(given, 3, "src") ? "reduce" : "value_reduce";
  if (word == "scatter") return is_tensor_at(given, 3, "src") ? "src" : "value";
  if (word == "split") return given.places.size() > 1 && as_list(given.places[1]) != nullptr ? "sizes" : "Tensor";
  if (word == "tensor_split") {
    const bool listed = given.places.size() > 1 && as_list(given.places[1]) != nullptr;
    return listed || has_keyword(given, "indices") ? "indices" : "sections";
  }
  if (word == "view") return given.places.size() > 1 && as_integer(given.places[1]) ? "dtype" : "default";
  if (word == "where") return has_place(given, 1, "self") ? "self" : "default";
  if (word.ends_with("2d_aa")) return given.places.size() > 4 ? "default" : "vec";
  if (word == "to") {
    if (is_tensor_at(given, 1, "other")) return "other";
    if (given.places.size() > 1 && std::holds_alternative<ScriptDevice>(given.places[1])) return "device";
    return given.places.size() > 1 && as_integer(given.places[1]) ? "dtype" : "dtype_layout";
  }
  return "";
}

}  // namespace

std::string with_overload(const std::string& called, const ScriptArguments& given) {
  const std::string op = usual_name(called);
  const std::size_t dot = op.find('.');
  const bool writes =
      op.starts_with("aten.") && op.size() > 6 && op.ends_with('_') && !op.ends_with("__") && op != "aten.detach_";
  const std::string base = writes ? op.substr(0, op.size() - 1) : op;
  std::string overload = op.starts_with("aten.") ? chosen_overload(std::string_view(base).substr(dot + 1), given) : "";
  for (const TorchRow& row : rows()) {
    if (!overload.empty() || row.op != base) continue;
    overload = std::string(row.overloads.substr(0, row.overloads.find(' ')));
  }
  return op + "." + (overload.empty() ? "default" : overload);
}

}  // namespace whet::torch
