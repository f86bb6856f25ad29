// A line of a record file: a record that prints and reads back as the same line, a newer one, or a reason.

#include "fuzz.h"
#include "records/error_line.h"
#include "records/plan_line.h"
#include "records/ranged_line.h"
#include "records/record_line.h"

using namespace whet;

namespace {

/// A line of another kind than a measurement prints and reads back as the same. False: it is none of this kind.
template <typename Kind>
bool reads_back(const ParsedLine& line) {
  const auto* own = std::get_if<Kind>(&line);
  if (own == nullptr) return false;
  const std::string text = to_line(*own);
  const ParsedLine read = parse_line(text);
  fuzz::require(text.find('\n') == std::string::npos, "it is one line");
  fuzz::require(std::holds_alternative<Kind>(read), "what was printed is read");
  fuzz::require(to_line(std::get<Kind>(read)) == text, "what was read prints as before");
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ParsedLine line = parse_line(fuzz::text_of(data, size));
  if (const auto* bad = std::get_if<BadLine>(&line)) return fuzz::require_sentence(bad->why), 0;
  if (reads_back<Plan>(line) || reads_back<RangedRecord>(line) || reads_back<NetworkAtSizes>(line) ||
      reads_back<LayerError>(line) || reads_back<RangesOnSamples>(line))
    return 0;
  const auto* record = std::get_if<Record>(&line);
  if (record == nullptr) return 0;
  const std::string printed = to_line(*record);
  fuzz::require(printed.find('\n') == std::string::npos, "a record is one line");
  const ParsedLine again = parse_line(printed);
  fuzz::require(std::holds_alternative<Record>(again), "a printed record is read");
  fuzz::require(to_line(std::get<Record>(again)) == printed, "a record that was read prints as before");
  (void)record->ranked_seconds();
  return 0;
}
