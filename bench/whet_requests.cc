// Runs a list of requests (requests.h) on a library for several sizes, whose shapes are set before each.
//
//   whet_requests MODEL.so LIST ANSWER [THREADS]
//
// Says `ready`, then answers each line of its input with a line:
//   times FIRST..END    what these requests take [us], one behind the other, each with the change of shapes
//   answer K            the outputs of request K are in the file ANSWER then
//   placement now       round trip of a cache line between the first two threads [ns]; `-` for one thread
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <string>

#include "bursts.h"
#include "machine/placement.h"
#include "requests.h"
#include "whet/model.hpp"

namespace {

void serve_requests(const std::string& library, const std::string& list, const std::string& file,
                    std::uint32_t threads) {
  const bench::Requests requests(list);
  const whet::rt::Model model(library);
  whet_pool_options options{};
  options.threads = threads;
  whet::rt::Session session(model, whet::rt::Pool(model, options));
  for (std::uint32_t i = 0; i < requests.inputs(); ++i) session.set_input(i, requests.data(i));
  const auto run = [&](std::size_t request) {
    session.set_shapes(requests.shapes(request));
    session.run();
  };
  const auto outputs = [&](std::size_t request, std::ostream& to) {
    run(request);
    for (std::uint32_t i = 0; i < model.outputs(); ++i)
      to.write(session.output<char>(i), static_cast<std::streamsize>(session.output_info(i).bytes));
  };
  bench::serve("ready", [&](const std::string& command, const std::string& argument, double) -> std::string {
    if (command == "times") return bench::times_of(requests, argument, run);
    if (command == "answer") return bench::write_answer(requests, argument, file, outputs);
    const whet_pool_info& pool = session.pool_info();
    if (command != "placement" || pool.threads < 2 || pool.cores == nullptr) return "-";
    return fmt::format(
        "{:.1f}",
        whet::measure_placement(static_cast<int>(pool.cores[0]), static_cast<int>(pool.cores[1])).round_trip_ns);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: whet_requests MODEL.so LIST ANSWER [THREADS]\n", stderr);
    return 2;
  }
  try {
    serve_requests(argv[1], argv[2], argv[3], argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 0);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "whet_requests: %s\n", error.what());
    return 1;
  }
}
