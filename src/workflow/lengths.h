#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/size.h"
#include "workflow/sizes.h"

namespace whet {

/// How many requests had these values of the sizes.
struct RequestCount {
  SizeValues at;
  std::int64_t count = 1;
  friend bool operator==(const RequestCount&, const RequestCount&) = default;
};

/// What a request takes in the mean [s].
struct RequestSeconds {
  double untuned = 0, tuned = 0;
};

/// A histogram of requests (docs/formats/lengths.md): each combination once, ascending.
///   file   its name, for messages
///   sizes  whose values a line has, in this order
/// Errors: the line that is none, or whose values the sizes do not have; no request at all.
Result<std::vector<RequestCount>> parse_lengths(std::string_view text, const std::string& file,
                                                const std::vector<WantedSize>& sizes);
/// The same of a file, of 64 MB at most.
Result<std::vector<RequestCount>> read_lengths(const std::string& path, const std::vector<WantedSize>& sizes);

/// "24", "2x128": values of all sizes. Nothing where it is something else.
std::optional<SizeValues> parse_values(std::string_view text, std::size_t sizes);
/// Checks that each size has its value: `n is 600; n is 1..512`.
Status check_has(const std::vector<WantedSize>& sizes, const SizeValues& values);

}  // namespace whet
