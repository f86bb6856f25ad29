// A line of a record file: a record that prints and reads back as the same line, a newer one, or a reason.

#include "fuzz.h"
#include "records/error_line.h"
#include "records/plan_line.h"
#include "records/record_line.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ParsedLine line = parse_line(fuzz::text_of(data, size));
  if (const auto* bad = std::get_if<BadLine>(&line)) return fuzz::require_sentence(bad->why), 0;
  if (const auto* plan = std::get_if<Plan>(&line)) {
    const std::string text = to_line(*plan);
    const ParsedLine read = parse_line(text);
    fuzz::require(text.find('\n') == std::string::npos, "a plan is one line");
    fuzz::require(std::holds_alternative<Plan>(read), "a printed plan is read");
    fuzz::require(to_line(std::get<Plan>(read)) == text, "a plan that was read prints as before");
    return 0;
  }
  if (const auto* error = std::get_if<LayerError>(&line)) {
    const std::string text = to_line(*error);
    const ParsedLine read = parse_line(text);
    fuzz::require(text.find('\n') == std::string::npos, "an error of a layer is one line");
    fuzz::require(std::holds_alternative<LayerError>(read), "a printed error of a layer is read");
    fuzz::require(to_line(std::get<LayerError>(read)) == text, "an error of a layer that was read prints as before");
    return 0;
  }
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
