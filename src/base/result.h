#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace whet {

/// The kinds of errors. People read the message; code decides by the kind and never by the message.
enum class ErrorKind : std::uint8_t {
  invalid_input,  ///< a user's or a file's mistake
  unsupported,    ///< legal, but whet has no way to do it
  not_found,      ///< no file, model, record or device has this name
  limit,          ///< legal, but larger than a stated limit
  io,             ///< a file, a pipe or a connection failed
  internal,       ///< a fault of whet
  interrupted,    ///< the user ended it
  wrong_use,      ///< an option or a word of a command asks for what there is not
};

/// The reason for a missing value: one sentence that names the thing, the value that was found and the accepted values.
struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::invalid_input;

  /// The same error with the place where it happened before its message.
  Error at(const std::string& place) const { return {place + ": " + message, kind}; }
  /// The same error in one line: names in a message come from files and other programs, and may have anything in them (base/shown.h).
  Error in_one_line() &&;
};

/// A value or an Error. A bug is not an Error: WHET_CHECK aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose, so that `return value;` reads well
  Result(Error error) : error_(std::move(error).in_one_line()) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& value() & { return WHET_CHECK(ok(), error().message.c_str()), *value_; }
  const T& value() const& { return WHET_CHECK(ok(), error().message.c_str()), *value_; }
  T&& value() && { return WHET_CHECK(ok(), error().message.c_str()), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return WHET_CHECK(!ok(), "asked a value for its error"), error_; }

 private:
  // No variant of both, which the compiler would make anew for each T in each file.
  std::optional<T> value_;
  Error error_;  ///< where there is no value
};

/// Success without a value.
struct Unit {};
using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

}  // namespace whet

#define WHET_CONCAT_INNER(a, b) a##b
#define WHET_CONCAT(a, b) WHET_CONCAT_INNER(a, b)

/// `WHET_TRY(auto graph, import_model(path));` declares `graph`, or returns the error from this function.
#define WHET_TRY(declaration, ...) WHET_TRY_IMPL(WHET_CONCAT(whet_try_, __LINE__), declaration, __VA_ARGS__)
#define WHET_TRY_IMPL(temporary, declaration, ...)              \
  auto temporary = (__VA_ARGS__);                               \
  if (!temporary.ok()) return ::whet::Error(temporary.error()); \
  declaration = std::move(temporary).value()

/// `WHET_RETURN_IF_ERROR(verify(graph));` returns the error from this function, if there is one.
#define WHET_RETURN_IF_ERROR(...)                                     \
  do {                                                                \
    auto whet_status = (__VA_ARGS__);                                 \
    if (!whet_status.ok()) return ::whet::Error(whet_status.error()); \
  } while (false)
