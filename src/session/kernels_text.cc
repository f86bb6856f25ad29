#include "session/kernels_text.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "alternatives/alternatives.h"

namespace whet {

std::string kernels_text(const std::vector<PlannedKernel>& kernels) {
  std::map<std::pair<bool, std::string>, int> counts;
  for (const PlannedKernel& kernel : kernels)
    ++counts[{kernel.transform,
              kernel.forms.substr(0, names_cover(kernel.forms) ? kernel.forms.find(':') : kernel.forms.npos)}];
  std::string text;
  for (const auto& [what, count] : counts)
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", count,
                        what.first ? (count == 1 ? "copy" : "copies") : (count == 1 ? "kernel as" : "kernels as"),
                        what.second);
  return text.empty() ? "the usual kernels" : text;
}

}  // namespace whet
