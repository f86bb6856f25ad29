#include "plan/uniform_plan.h"

#include <algorithm>
#include <set>

namespace whet {
namespace {

bool is_form(const StoredValue& value, StoredAs stored) { return value.form == ActivationLayout{0, 0, stored}; }

/// All of what it reads in fewer bits some copy rounds from f32.
bool finds_operands(const Alternative& kernel, const std::set<StoredValue>& rounded) {
  return std::ranges::all_of(kernel.fragment.reads, [&](const StoredValue& value) {
    return is_form(value, StoredAs::usual) || rounded.contains(value);
  });
}

}  // namespace

std::vector<int> others_than(const Alternatives& alternatives, StoredAs stored, const std::vector<int>& broken) {
  const std::set<int> cannot_run(broken.begin(), broken.end());
  const auto runs = [&](std::size_t a) { return !cannot_run.contains(static_cast<int>(a)); };
  std::set<StoredValue> rounded;
  for (std::size_t a = 0; a < alternatives.all.size(); ++a)
    if (const Alternative& each = alternatives.all[a]; each.kind == AlternativeKind::transform && runs(a))
      rounded.insert(each.fragment.writes.begin(), each.fragment.writes.end());
  std::set<int> held;  // groups
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const Alternative& each = alternatives.all[a];
    if (each.rounds_product != stored || !runs(a)) continue;
    if (is_form(each.fragment.writes.front(), StoredAs::usual) && finds_operands(each, rounded))
      held.insert(each.group);
  }
  std::vector<int> others;
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const Alternative& each = alternatives.all[a];
    const bool is_instead = std::ranges::any_of(each.instead, [&](int group) { return held.contains(group); });
    if ((held.contains(each.group) || is_instead) && each.rounds_product != stored)
      others.push_back(static_cast<int>(a));
  }
  return others;
}

std::string_view precision_word(std::string_view uniform) { return uniform.empty() ? "auto" : "int8"; }

}  // namespace whet
