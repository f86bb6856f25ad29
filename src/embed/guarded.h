#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "base/last_words.h"
#include "base/result.h"

namespace whet {

/// Calls what gives a Result; what it throws becomes an error.
template <typename Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {  // more than any memory
    return no_memory();
  } catch (const std::exception& error) {
    return Error{std::string("a fault of whet: ") + error.what(), ErrorKind::internal};
  } catch (...) {
    return Error{"a fault of whet", ErrorKind::internal};
  }
}

}  // namespace whet
