#include <fmt/format.h>

#include "base/counted.h"
#include "plan/uniform_plan.h"
#include "tuner/precision_search.h"

namespace whet {
namespace {

/// "0.81%"
std::string error_text(double part) { return fmt::format("{:.2g}%", 100 * part); }

/// "1%, scores:top1>=99%"
std::string limits_text(const Accuracy& accuracy) {
  std::string limits;
  for (const Allowed& allowed : accuracy.allowed) limits += (limits.empty() ? "" : ", ") + to_text(allowed);
  return limits;
}

/// The errors on the samples of the plan that was taken last.
std::string samples_line(const PrecisionSearch& search, const Accuracy& accuracy) {
  const PlanPrecision& precision = search.precision;
  const bool judged = !accuracy.allowed.empty(), chosen = precision.uniform.empty();
  std::string text = fmt::format("Worst sample {} of {}", error_text(precision.error), precision.calibration);
  if (chosen)
    text += fmt::format(" (allowed: {}; aimed at {:.2g} of it, used {:.2f})", limits_text(accuracy), search.aim,
                        precision.share);
  else if (judged)
    text += fmt::format(" (allowed: {}; used {:.2f})", limits_text(accuracy), precision.share);
  if (precision.held_out_share > 0 || precision.held_out_error > 0 || search.adopted) {
    text += fmt::format(", {} of the {} held out", error_text(precision.held_out_error), precision.held_out);
    if (judged) text += fmt::format(" (used {:.2f}", precision.held_out_share);
    if (judged && search.share_to_come > 0)
      text += fmt::format("; the worst of {} others is expected to use {:.2f} at most in nine of ten such sets",
                          precision.calibration + precision.held_out, search.share_to_come);
    if (judged) text += ")";
  }
  if (chosen)
    text += fmt::format("; {}, the first had {}{}", counted(search.choices, "choice"), error_text(search.first_error),
                        search.tightened > 0 ? ", tightened by what was held out" : "");
  // Of one type layers without an error are in the plan, too: nothing is predicted then.
  if (chosen || search.errors + search.known_errors == search.layers)
    text += "; predicted " + error_text(search.predicted_error) + ", measured " + error_text(search.measured_error);
  return text + "\n";
}

}  // namespace

std::string lowered_text(const PrecisionSearch& search) {
  std::string text;
  for (const auto& [stored, kernels] : search.lowered_to)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kernels, to_text(ActivationLayout{0, 0, stored}));
  return text.empty() ? "none" : text;
}

std::string precision_report(const PrecisionSearch& search, const Accuracy& accuracy) {
  const std::string& uniform = search.precision.uniform;
  std::string text =
      fmt::format("\nPrecision: errors of {} of {} layers", search.errors + search.known_errors, search.layers);
  text += fmt::format(" ({} known before) in {:.1f} s; {}\n", search.known_errors, search.errors_seconds,
                      counted(search.trials, "trial"));
  if (search.choices > 0)
    text += fmt::format("{} of {} lowered ({}), {}; within {:.1f}% of the best by these times{}\n", search.lowered,
                        counted(std::int64_t(search.kernels), "kernel"), lowered_text(search),
                        counted(std::int64_t(search.conversions), "conversion"), 100 * search.gap,
                        uniform.empty() ? " and errors" : "") +
            samples_line(search, accuracy);
  if (search.network_seconds > 0)
    text += fmt::format("Network {:.4f} ms, in f32 {:.4f} ms: {:.2f} of the time\n", search.network_seconds * 1e3,
                        search.usual_network_seconds * 1e3, search.network_seconds / search.usual_network_seconds);
  if (search.adopted)
    return text + fmt::format("Adopted; whet compile --precision {} takes it\n", precision_word(uniform));
  if (search.interrupted) return text + "Interrupted: errors and trials are kept\n";
  return text + "Not adopted: " + search.why_not + "\n";
}

}  // namespace whet
