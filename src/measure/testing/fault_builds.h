#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "measure/build.h"
#include "runner/testing/kernels.h"

namespace whet::testing_builds {

/// A build function for fault tests: runs inside real builder processes. Steps: `kernel NAME` gives the hand-made
/// kernel of that name (runner/testing/kernels.c, object file at `objects`); `hang`, `eat`, `SIGSEGV`, `SIGILL`,
/// `SIGKILL`, `exit` and `refuse` do so; `slow kernel NAME` sleeps 50 ms first; `meet MINE OTHERS` creates
/// the file MINE and waits until there is the file OTHERS. Anything else is built for real.
inline BuildFunction faulty(std::string objects) {
  return [objects = std::move(objects)](const BuildRequest& request) -> BuildResult {
    std::string steps = request.steps;
    BuildResult result;
    if (steps == "hang")
      for (;;) pause();
    if (steps == "eat") {
      std::vector<char*> eaten;
      for (;;) {
        eaten.push_back(static_cast<char*>(std::malloc(std::size_t{1} << 20)));
        std::memset(eaten.back(), 1, std::size_t{1} << 20);
        usleep(100);
      }
    }
    if (steps == "SIGSEGV") signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
    if (steps == "SIGILL") raise(SIGILL);
    if (steps == "SIGKILL") raise(SIGKILL);
    if (steps == "exit") _exit(7);
    if (steps == "refuse") {
      result.code = OutcomeCode::instantiation;
      result.message = "split: refused";
      return result;
    }
    if (steps.rfind("meet ", 0) == 0) {
      std::istringstream words(steps.substr(5));
      std::string mine, others;
      words >> mine >> others;
      const std::ofstream created(mine);
      while (access(others.c_str(), F_OK) != 0) usleep(1000);
      steps = "kernel add_one";
    }
    if (steps.rfind("slow ", 0) == 0) {
      usleep(50000);
      steps.erase(0, 5);
    }
    if (steps.rfind("kernel ", 0) != 0) return build_candidate(request);
    const KernelJob job = testing_kernels::job(objects, steps.substr(7));
    result.code = OutcomeCode::ok;
    result.kernel = job.kernel;
    result.tree_hash = "tree of " + steps;
    std::uint32_t inputs = 0, outputs = 0;
    for (const ArgumentSpec& spec : job.arguments) {
      const bool output = spec.role == ArgumentRole::output;
      result.arguments.push_back(
          {output ? BuiltArgument::Kind::output : BuiltArgument::Kind::input, output ? outputs++ : inputs++, spec});
    }
    result.seconds = 0.001;
    result.report = {.registers = 40, .spill_bytes = 8};
    return result;
  };
}

/// A builder of fault tests, with the kernels that the test is compiled for.
inline constexpr Life kFaultyBuilder{"whet-builder", [](int fd) { return run_builder(fd, faulty(WHET_TEST_KERNELS)); }};

}  // namespace whet::testing_builds
