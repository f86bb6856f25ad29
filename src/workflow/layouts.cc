#include "workflow/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace whet {

Result<AlternativeOptions> parse_alternatives(const std::string& layouts, const std::string& covers,
                                              const Target& target) {
  AlternativeOptions options;
  options.covers = covers == "search";
  for (std::size_t at = 0; at <= layouts.size();) {
    const std::size_t end = std::min(layouts.find(',', at), layouts.size());
    const std::string word = layouts.substr(at, end - at);
    const std::optional<ActivationLayout> form = parse_activation_layout(word);
    if (!form && word != "search")
      return Error{fmt::format("--layouts has \"{}\"; expected search, nhwc, nchw or blocks like nchw16c", word)};
    if (form) options.padded.push_back(*form);
    for (ActivationLayout one : form ? std::vector{*form} : forms_for(target))
      if (one != kChannelsLast && std::find(options.forms.begin(), options.forms.end(), one) == options.forms.end())
        options.forms.push_back(one);
    at = end + 1;
  }
  return options;
}

}  // namespace whet
