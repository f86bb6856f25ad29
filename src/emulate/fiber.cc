#include "emulate/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "emulate/cpu/stack_switch.h"

// gcc defines a macro, clang answers a question.
#if defined(__has_feature)
#define WHET_BUILT_WITH(feature) __has_feature(feature)
#else
#define WHET_BUILT_WITH(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || WHET_BUILT_WITH(address_sanitizer)
#define WHET_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || WHET_BUILT_WITH(thread_sanitizer)
#define WHET_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace whet {
namespace {

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

FiberStacks::FiberStacks(int count) : bytes_(static_cast<std::size_t>(count) * (page() + kBytes)) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WHET_CHECK(memory != MAP_FAILED, "no memory for stacks of fibers");
  memory_ = static_cast<char*>(memory);
  for (int i = 0; i < count; ++i) mprotect(bottom(i) - page(), page(), PROT_NONE);
}

FiberStacks::~FiberStacks() { munmap(memory_, bytes_); }

char* FiberStacks::bottom(int fiber) const {
  return memory_ + static_cast<std::size_t>(fiber) * (page() + kBytes) + page();
}

Fiber::~Fiber() {
#ifdef WHET_TSAN
  if (own_tsan_ != nullptr) __tsan_destroy_fiber(own_tsan_);
#endif
}

void Fiber::prepare(char* stack_bottom, Function function, void* argument) {
  function_ = function, argument_ = argument, bottom_ = stack_bottom;
  own_ = new_stack(stack_bottom + FiberStacks::kBytes, start, this);
  own_fake_ = nullptr;
#ifdef WHET_TSAN
  if (own_tsan_ != nullptr) __tsan_destroy_fiber(own_tsan_);
  own_tsan_ = __tsan_create_fiber(0);
#endif
}

void Fiber::resume() {
#ifdef WHET_ASAN
  __sanitizer_start_switch_fiber(&caller_fake_, bottom_, FiberStacks::kBytes);
#endif
#ifdef WHET_TSAN
  caller_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_tsan_, 0);
#endif
  whet_switch_stack(&caller_, own_);
#ifdef WHET_ASAN
  __sanitizer_finish_switch_fiber(caller_fake_, nullptr, nullptr);
#endif
}

void Fiber::start(void* self) {
  Fiber& fiber = *static_cast<Fiber*>(self);
#ifdef WHET_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber.caller_bottom_, &fiber.caller_bytes_);
#endif
  fiber.function_(fiber.argument_);
  fiber.leave(true);
}

void Fiber::pause() {
  leave(false);
#ifdef WHET_ASAN
  __sanitizer_finish_switch_fiber(own_fake_, &caller_bottom_, &caller_bytes_);
#endif
}

void Fiber::leave([[maybe_unused]] bool for_good) {
#ifdef WHET_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_, caller_bottom_, caller_bytes_);
#endif
#ifdef WHET_TSAN
  __tsan_switch_to_fiber(caller_tsan_, 0);
#endif
  whet_switch_stack(&own_, caller_);
}

}  // namespace whet
