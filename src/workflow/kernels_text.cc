#include "workflow/kernels_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "alternatives/alternatives.h"
#include "base/counted.h"

namespace whet {
namespace {

/// A line for each kernel that `others` lack.
std::string lacking(const std::vector<PlannedKernel>& kernels, const std::vector<PlannedKernel>& others,
                    std::string_view where) {
  std::string text;
  for (const PlannedKernel& kernel : kernels)
    if (std::find(others.begin(), others.end(), kernel) == others.end())
      text += fmt::format("  {}  {} {}{}\n", where, kernel.node, kernel.transform ? "copied " : "", kernel.forms);
  return text;
}

}  // namespace

std::string kernels_text(const std::vector<PlannedKernel>& kernels) {
  std::map<std::pair<bool, std::string>, int> counts;
  for (const PlannedKernel& kernel : kernels)
    ++counts[{kernel.transform,
              kernel.forms.substr(0, names_cover(kernel.forms) ? kernel.forms.find(':') : kernel.forms.npos)}];
  std::string text;
  for (const auto& [what, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        what.first ? counted(count, "copy", "copies") : counted(count, "kernel") + " as", what.second);
  return text.empty() ? "the usual kernels" : text;
}

std::string other_plans_text(const std::vector<Plan>& plans, const std::string& graph, const std::string& target,
                             const std::vector<PlannedKernel>& here) {
  std::map<std::string, const Plan*> last;
  for (const Plan& plan : plans)
    if (plan.graph == graph && plan.target != target) last[plan.target] = &plan;
  std::string text;
  for (const auto& [other, plan] : last) {
    // The order of kernels that wait for nothing of each other is no choice.
    const bool same = std::ranges::is_permutation(plan->kernels, here);
    text += fmt::format("For {} the records have {} plan: {}\n", other, same ? "the same" : "another",
                        kernels_text(plan->kernels));
    text += lacking(here, plan->kernels, "only here ") + lacking(plan->kernels, here, "only there");
  }
  return text;
}

}  // namespace whet
