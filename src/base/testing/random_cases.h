#pragma once

namespace whet::testing {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitized = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = kThreadSanitized || __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = kThreadSanitized;
#endif

/// How many random cases a property test tries: an eighth of them, one at least, under the sanitizers, where each takes ten
/// times as long.
constexpr int random_cases(int as_released) { return kSanitized ? (as_released + 7) / 8 : as_released; }

}  // namespace whet::testing
