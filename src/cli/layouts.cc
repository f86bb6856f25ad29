#include "cli/layouts.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/table.h"
#include "plan/tried.h"
#include "workflow/kernels_text.h"
#include "workflow/layouts.h"

namespace whet {
namespace {

/// Names of covers have the names of several nodes, and those of ONNX files are long.
constexpr std::size_t kStoredWidth = 80;

}  // namespace

void LayoutOptions::add_to(Arguments& arguments) {
  arguments.add("--layouts", layouts,
                "Layouts of activations to choose from, by measured time: search (all that fit the target), nhwc (no "
                "choice), or a list like nchw,nchw16c or search,nchw64c; blocks that are named pad any channels");
  arguments.choice("--covers", covers, {"search", "off"},
                   "Whether several groups may be one kernel, by measured time: convolutions of one input side by "
                   "side, chains of convolutions row by row");
}

Result<AlternativeOptions> LayoutOptions::alternatives(const Target& target) const {
  return parse_alternatives(layouts, covers, target);
}

std::string stored_text(const Alternative& alternative) {
  const std::string forms = alternative.name.empty() ? "nhwc" : alternative.name;
  return shortened(alternative.kind == AlternativeKind::transform ? "copy " + forms : forms, kStoredWidth);
}

std::string plan_report(const PlanSearch& search) {
  std::string text = fmt::format(
      "Layouts and covers: {} of {}; {} of these tasks measured in {} and {:.1f} s, {}\n",
      counted(std::int64_t(search.alternatives), "alternative"), counted(std::int64_t(search.tasks), "task"),
      search.measured, counted(search.trials, "trial"), search.seconds,
      search.complete ? "no other plan is hoped to be shorter" : "not all that is hoped for was measured");
  if (!search.has_excess)
    text +=
        "  priced without what the network takes longer than its kernels, which is not known: its times were disturbed "
        "(whet "
        "doctor)\n";
  text += fmt::format("  plan by sums   {:.4f} ms, the usual one {:.4f} ms; bound {:.4f} ms\n",
                      search.plans.best.front().seconds * 1e3, search.plans.usual.seconds * 1e3,
                      search.bound_seconds * 1e3);
  for (const PlanSearch::Tried& tried : search.tried) text += "  in the network " + tried_text(tried) + "\n";
  if (search.interrupted)
    text += "  nothing is decided, since tuning was interrupted\n";
  else if (search.out_of_time)
    text += fmt::format("  nothing is decided, since no time was left to compare a plan in the network{}\n",
                        search.chosen.graph.empty() ? "; compiles choose by the sums" : "");
  else if (search.tried.empty())
    text += "  no plan of kernels that were measured is shorter than the usual one\n";
  if (search.out_of_time && search.chosen.graph.empty()) return text;
  return text + fmt::format("  chosen         {}{}\n", kernels_text(search.chosen.kernels),
                            search.noisy && !search.chosen.kernels.empty() ? ", as before" : "");
}

}  // namespace whet
