#pragma once

#include <cstddef>

namespace whet {

/// Stacks for fibers in one piece of memory, each above a page that may not be touched.
class FiberStacks {
 public:
  explicit FiberStacks(int count);
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;
  ~FiberStacks();

  static constexpr std::size_t kBytes = std::size_t{64} << 10;  ///< of one; only what is touched takes memory
  char* bottom(int fiber) const;                                ///< its lowest byte

 private:
  char* memory_;
  std::size_t bytes_;
};

/// A function that runs on a stack of its own until it says `pause`, and goes on from there. Used by one thread at a time.
class Fiber {
 public:
  using Function = void (*)(void* argument);
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// The next `resume` begins the function on this stack. What ran before on it is dropped.
  void prepare(char* stack_bottom, Function function, void* argument);
  /// Runs the fiber until it pauses or its function returns. Not from a fiber.
  void resume();
  /// In the fiber: goes back to who resumed it.
  void pause();

 private:
  static void start(void* fiber);
  void leave(bool for_good);

  Function function_ = nullptr;
  void* argument_ = nullptr;
  char* bottom_ = nullptr;
  void *own_ = nullptr, *caller_ = nullptr;  ///< stack pointers of who does not run
  // For the sanitizers.
  [[maybe_unused]] void* own_fake_ = nullptr;
  [[maybe_unused]] void* caller_fake_ = nullptr;
  [[maybe_unused]] const void* caller_bottom_ = nullptr;
  [[maybe_unused]] std::size_t caller_bytes_ = 0;
  [[maybe_unused]] void* own_tsan_ = nullptr;
  [[maybe_unused]] void* caller_tsan_ = nullptr;
};

}  // namespace whet
