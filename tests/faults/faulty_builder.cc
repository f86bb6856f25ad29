// `whet_faulty` is whet with this file in the place of measure/build_candidate.cc: the same program, processes and
// limits, but its builders make candidates that go wrong. WHET_FAULT says how and how many:
//
//   WHET_FAULT=hang/4     every fourth schedule (by the hash of its text) is a kernel that never returns
//   WHET_FAULT=hang/4/1   others: those whose hashes leave 1 when they are divided by 4
//
// Builders that `build_forever`, `eat_memory`, `die` or `babble`; every other name is a kernel of kernels.c.
// WHET_FAULT=jumping_clock spoils no candidate but the time of day.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "measure/build.h"

namespace whet {

BuildResult real_build_candidate(const BuildRequest&);  // of build_candidate.cc, which is compiled under this name

namespace {

std::string fault() {
  const char* text = std::getenv("WHET_FAULT");
  return text ? text : "";
}

[[noreturn]] void eat_memory() {
  constexpr std::size_t kBite = std::size_t{64} << 20;
  for (;;) {
    void* bite = mmap(nullptr, kBite, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bite == MAP_FAILED) pause();
    madvise(bite, kBite, MADV_HUGEPAGE);
    std::memset(bite, 1, kBite);
    usleep(2000);  // the limit is watched, not enforced by the system
  }
}

/// Whether the schedule is one of those that go wrong; `text` is WHET_FAULT.
bool is_chosen(const std::string& text, const std::string& steps) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return false;
  char* end = nullptr;
  const std::uint64_t each = std::strtoull(text.c_str() + slash + 1, &end, 10);
  const std::uint64_t left = *end == '/' ? std::strtoull(end + 1, nullptr, 10) : 0;
  return hash_bytes(steps) % each == left;
}

/// The good kernel's arguments, another kernel's code.
BuildResult with_kernel(BuildResult built, const std::string& name) {
  std::size_t output = 0;
  while (built.arguments[output].kind != BuiltArgument::Kind::output) ++output;
  std::ifstream file(WHET_FAULT_KERNELS, std::ios::binary);
  built.kernel.code.assign(std::istreambuf_iterator<char>(file), {});
  built.kernel.launches = {{name + "_" + std::to_string(output)}};
  return built;
}

}  // namespace

BuildResult build_candidate(const BuildRequest& request) {
  const std::string text = fault();
  if (!is_chosen(text, request.steps)) return real_build_candidate(request);
  const std::string name = text.substr(0, text.find('/'));
  if (name == "build_forever")
    for (volatile int i = 1; i;) {
    }
  if (name == "eat_memory") eat_memory();
  if (name == "die") std::abort();
  if (name == "babble") {
    // Not a frame: whatever descriptor the socket is, it gets this.
    for (int fd = 3; fd < 16; ++fd) (void)!write(fd, "this is no frame at all", 23);
    pause();
  }
  BuildResult built = real_build_candidate(request);
  return built.code == OutcomeCode::ok ? with_kernel(std::move(built), name) : built;
}

}  // namespace whet

namespace {

/// Hours that the clock on the wall has jumped, forth and back, another number at each look.
long jump() {
  static thread_local long looks = 0;
  ++looks;
  return (looks % 2 ? 1 : -1) * (looks % 50) * 3600;
}
bool jumps() { return whet::fault() == "jumping_clock"; }

}  // namespace

// Every library of the process asks these instead of the system's.
extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, out);
  if (result == 0 && clock == CLOCK_REALTIME && jumps()) out->tv_sec += jump();
  return static_cast<int>(result);
}
extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
extern "C" int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
