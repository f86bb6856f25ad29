#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace whet {

/// Sees what each pass of a list leaves; the time between two calls is a pass's. An error that it gives ends the list.
template <typename T>
using ObserverOf = std::function<Status(std::string_view pass, const T& left)>;

/// Runs passes one after the other: `run(pass, value)` gives what `pass` makes of the value.
/// Errors: a pass's or the observer's, behind the name of the pass.
template <typename T, typename Passes, typename Run>
Result<T> run_pass_list(T value, const Passes& passes, const ObserverOf<T>& observer, const Run& run) {
  for (const auto& pass : passes) {
    Result<T> next = run(pass, std::move(value));
    if (!next.ok()) return next.error().at(std::string(pass.name));
    value = std::move(next).value();
    const Status status = observer ? observer(pass.name, value) : ok_status();
    if (!status.ok()) return status.error().at(std::string(pass.name));
  }
  return value;
}

}  // namespace whet
