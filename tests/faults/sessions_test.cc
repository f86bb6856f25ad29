// What programs do around a compiled model: fork beside its threads, other floating-point modes, small stacks, little memory.

#include <fenv.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "faults/session.h"
#include "runtime/testing/child.h"
#include "whet/model.h"

namespace whet::faults {
namespace sessions_test {

/// A network of the zoo, compiled for two threads. A process compiles it once.
const std::string& library() {
  static const Folder folder;
  static const std::string path = [] {
    Program compile(WHET_PROGRAM, {"compile", "zoo:mlp", "--threads", "2", "-o", "model.so"}, folder);
    const Ending ending = compile.end();
    EXPECT_TRUE(ending == 0) << ending.out;
    return folder / "model.so";
  }();
  return path;
}

/// An open model with a session. A member that cannot be had is null, and `error` has the sentence.
struct Opened {
  whet_library file{};
  whet_model* model = nullptr;
  whet_session* session = nullptr;
  whet_error error{};
  alignas(64) float image[784];

  explicit Opened(float value = 0.5f) {
    for (float& pixel : image) pixel = value;
    if (whet_library_open(library().c_str(), 0, &file, &error) != 0) return;
    if (file.api->model_open(nullptr, &model, &error) != 0) return;
    make_session();
  }
  ~Opened() {
    if (session != nullptr) file.api->session_destroy(session);
    if (model != nullptr) file.api->model_close(model);
    whet_library_close(&file);
  }
  Opened(const Opened&) = delete;

  bool make_session() {
    if (file.api->session_create(model, nullptr, &session, &error) != 0) return false;
    return file.api->session_set_input(session, 0, image, nullptr, &error) == 0;
  }
  bool run() { return session != nullptr && file.api->session_run(session, &error) == 0; }
  std::vector<float> answer() {
    if (!run()) return {};
    const auto* values = static_cast<const float*>(file.api->session_output(session, 0));
    return {values, values + 10};
  }
};

using testing::in_a_child;

/// Another thread that does something again and again until this is gone.
class Beside {
 public:
  template <typename Work>
  explicit Beside(Work work)
      : thread_([this, work] {
          while (!stop_) work();
        }) {}
  ~Beside() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(AChildOfAProgram, RunsTheSessionThatAnotherThreadWasRunning) {
  Opened opened;
  const std::vector<float> right = opened.answer();
  ASSERT_EQ(right.size(), 10u) << opened.error.message;
  const Beside other([&] { opened.run(); });
  for (int time = 0; time < 200 && !HasFailure(); ++time)
    EXPECT_EQ(in_a_child([&] { return opened.answer() == right && opened.answer() == right; }), 1);
}

TEST(AChildOfAProgram, MakesASessionOfAModelWhoseFirstOneWasBeingMade) {
  const std::vector<float> right = Opened().answer();
  Opened opened;
  for (int time = 0; time < 150 && !HasFailure(); ++time) {
    opened.file.api->session_destroy(opened.session);
    opened.file.api->model_close(opened.model);
    ASSERT_EQ(opened.file.api->model_open(nullptr, &opened.model, &opened.error), 0);
    whet_session* others = nullptr;
    std::thread other([&] { opened.file.api->session_create(opened.model, nullptr, &others, nullptr); });
    usleep(static_cast<useconds_t>(time));
    EXPECT_EQ(in_a_child([&] { return opened.make_session() && opened.answer() == right; }), 1);
    other.join();
    opened.file.api->session_destroy(others);
    ASSERT_TRUE(opened.make_session());
  }
}

TEST(AChildOfAProgram, RunsASessionWhereItIsTheFirstOfItsNamespaceToo) {
  const auto in_a_namespace = [](auto work) { return unshare(CLONE_NEWPID) == 0 && in_a_child(work) == 1; };
  if (in_a_child([&] { return in_a_namespace([] { return getpid() == 1; }); }) != 1)
    GTEST_SKIP() << "the system makes no namespaces";
  library();
  EXPECT_EQ(in_a_child([&] {
              return in_a_namespace([&] {
                Opened opened;
                const std::vector<float> right = opened.answer();
                return right.size() == 10 && in_a_namespace([&] { return opened.answer() == right; });
              });
            }),
            1);
}

TEST(ACallersFloatingPointMode, ChangesNoAnswerAndIsItsOwnAgain) {
  Opened usual;
  const std::vector<float> right = usual.answer();
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    fenv_t before;
    fegetenv(&before);
    fesetround(rounding);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    Opened made_here;
    const std::vector<float> here = made_here.answer(), there = usual.answer();
    const int rounds = fegetround(), stops = fegetexcept();
    fesetenv(&before);
    EXPECT_EQ(rounds, rounding);
    EXPECT_EQ(stops, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    EXPECT_EQ(here, right);
    EXPECT_EQ(there, right);
    EXPECT_EQ(made_here.answer(), right) << "workers have a mode of their own";
  }
}

TEST(ACallersFloatingPointMode, StopsNoWorkerAtNaN) {
  EXPECT_EQ(in_a_child([] {
              feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
              Opened opened(NAN);
              return opened.run() && opened.run();
            }),
            1);
}

/// Runs `work` in a thread with a stack of `bytes` bytes.
template <typename Work>
bool in_a_small_thread(std::size_t bytes, Work work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  const auto call = [](void* given) -> void* {
    (*static_cast<Work*>(given))();
    return nullptr;
  };
  const bool started =
      pthread_attr_setstacksize(&attributes, bytes) == 0 && pthread_create(&thread, &attributes, call, &work) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}

TEST(AThreadWith16KiBOfStack, OpensAModelAndRunsIt) {
  const std::vector<float> right = Opened().answer();
  EXPECT_EQ(in_a_child([&] {
              std::unique_ptr<Opened> opened;
              return in_a_small_thread(16 << 10, [&] { opened = std::make_unique<Opened>(); }) &&
                     opened->session != nullptr && in_a_small_thread(16 << 10, [&] { opened->run(); }) &&
                     opened->answer() == right;
            }),
            1);
}

std::int64_t address_space() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}
bool limit(int what, std::int64_t value) {
  const rlimit both = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  return setrlimit(static_cast<__rlimit_resource>(what), &both) == 0;
}

TEST(AProgramWithLittleMemory, RunsAModelInFewMegabytesOrGetsASentence) {
  library();
  const auto open_within = [](std::int64_t bytes) {
    return in_a_child([bytes] {
      if (!limit(RLIMIT_AS, address_space() + bytes)) return false;
      Opened opened;
      return opened.run() || opened.error.message[0] != '\0';
    });
  };
  for (std::int64_t bytes = 0; bytes < (std::int64_t{8} << 20) && !HasFailure(); bytes += 128 << 10)
    EXPECT_EQ(open_within(bytes), 1) << bytes;
  EXPECT_EQ(in_a_child([] { return limit(RLIMIT_AS, address_space() + (16 << 20)) && Opened().run(); }), 1);
}

}  // namespace sessions_test
}  // namespace whet::faults
