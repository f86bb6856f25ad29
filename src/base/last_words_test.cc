#include "base/last_words.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace whet {
namespace {

template <typename Thrown>
void throw_in_a_thread(Thrown thrown) {
  leave_with_a_sentence("p", 7);
  std::thread([&] { throw thrown; }).join();
}

TEST(LastWords, ThreadsThatLackMemoryEndTheProgramWithASentence) {
  const auto ended = ::testing::ExitedWithCode(7);
  EXPECT_EXIT(throw_in_a_thread(std::bad_alloc()), ended, "^p: the system gives no more memory; free some");
  EXPECT_EXIT(throw_in_a_thread(std::length_error("too long")), ended, "^p: the system gives no more memory");
  EXPECT_EXIT(throw_in_a_thread(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
              ended, "^p: Resource temporarily unavailable");
}
TEST(LastWords, OfABugAreThoseOfTheException) {
  EXPECT_EXIT(throw_in_a_thread(std::logic_error("a bug")), ::testing::KilledBySignal(SIGABRT), "^p: a bug");
}

}  // namespace
}  // namespace whet
