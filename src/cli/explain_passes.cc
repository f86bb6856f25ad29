#include "cli/explain_passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "cli/diff_lines.h"
#include "lower/lower.h"

namespace whet {

const LoweringStep* LoweringTrace::find(const std::string& pass) const {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const LoweringStep& step) { return step.pass == pass; });
  return found == steps.end() ? nullptr : &*found;
}

LoweringTrace trace_lowering(const LoopTree& tree, const Target& target, const Shape& within) {
  LoweringTrace trace;
  double begin = seconds_now();
  const auto keep = [&](std::string_view pass, const Program& program) -> Status {
    const double seconds = seconds_now() - begin;
    trace.steps.push_back({std::string(pass), to_text(program), seconds});
    begin = seconds_now();  // printing is not the pass's
    return ok_status();
  };
  if (const Result<Lowered> lowered = lower(tree, target, within, keep); !lowered.ok()) trace.error = lowered.error();
  return trace;
}

std::string to_text(const LoweringTrace& trace) {
  std::string out;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    const LoweringStep& step = trace.steps[i];
    const std::string changes = i == 0 ? step.text : diff_lines(trace.steps[i - 1].text, step.text);
    out += fmt::format("== {}, {:.3f} ms{}\n{}", step.pass, step.seconds * 1e3,
                       changes.empty() ? ": changes nothing" : "", changes);
  }
  if (trace.error) out += fmt::format("It cannot be lowered: {}\n", trace.error->message);
  return out;
}

}  // namespace whet
