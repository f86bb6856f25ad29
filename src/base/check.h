#pragma once

namespace whet {

/// Prints `file:line: check failed: condition (note)` to standard error and aborts. A failed check is a bug in whet,
/// never a user's mistake.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* note = "");

}  // namespace whet

/// WHET_CHECK(condition) or WHET_CHECK(condition, "c string"): an expression of type void.
#define WHET_CHECK(condition, ...) \
  ((condition) ? void(0) : ::whet::check_failed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__))
