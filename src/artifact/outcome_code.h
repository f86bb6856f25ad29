#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace whet {

/// How a trial ended. The numbers of AutoTVM and Ansor (0-8) and our own (9-12); docs/formats/record.md. Records and the
/// wire hold these numbers: they never change.
enum class OutcomeCode : std::uint8_t {
  ok = 0,
  instantiation = 1,
  compile_host = 2,
  compile_device = 3,
  runtime = 4,
  wrong_answer = 5,
  build_timeout = 6,
  run_timeout = 7,
  unknown = 8,
  crash = 9,
  device_lost = 10,
  rejected = 11,
  out_of_memory = 12
};
std::string_view name_of(OutcomeCode);
/// The code's meaning and the user's next step in one to three sentences, for `whet explain error N`.
std::string_view explain(OutcomeCode);
constexpr int kOutcomeCodes = 13;
/// Nothing when no code has this number.
std::optional<OutcomeCode> outcome_code(std::int64_t number);

}  // namespace whet
