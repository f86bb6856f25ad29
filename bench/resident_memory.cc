// What running a compiled model adds to the memory of a process.
//
//   resident_memory MODEL.so [THREADS]
//
// Prints one line of bytes, `peak weights activations`: the peak resident memory after three inferences less what the
// process had before it opened the library, and the sizes of weights and activations that the model reports. A library
// for several sizes runs at the largest.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "whet/model.h"

namespace {

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "resident_memory: %s\n", sentence);
  std::exit(1);
}

/// The peak since the program began [bytes]. (getrusage's counts what ran before exec, too.)
std::int64_t peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atoll(line.c_str() + 6) * 1024;
  }
  fail("/proc/self/status has no VmHWM");
}

/// Of a library for several sizes.
void set_largest_sizes(const whet_api* whet, whet_model* model, whet_session* session) {
  if (!WHET_HAS(whet, session_output_info)) return;
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::uint32_t i = 0; i < whet->model_info(model)->inputs; ++i)
    shapes.emplace_back(whet->model_input(model, i)->rank, -1);
  for (std::uint32_t k = 0; k < whet->model_size_count(model); ++k) {
    const whet_size_info* size = whet->model_size(model, k);
    shapes[size->input][size->dimension] = size->max;
  }
  std::vector<const std::int64_t*> pointers;
  for (const std::vector<std::int64_t>& shape : shapes) pointers.push_back(shape.data());
  whet_error error;
  if (whet->session_set_shapes(session, pointers.data(), &error) != 0) fail(error.message);
}

std::int64_t input_bytes(const whet_api* whet, const whet_model* model, const whet_session* session, std::uint32_t i) {
  return WHET_HAS(whet, session_output_info) ? whet->session_input_info(session, i)->bytes
                                             : whet->model_input(model, i)->bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("a compiled model is required");
  const std::int64_t before = peak_resident();
  whet_error error;
  whet_library library;
  whet_model* model = nullptr;
  whet_pool* pool = nullptr;
  whet_session* session = nullptr;
  if (whet_library_open(argv[1], 0, &library, &error) != 0) fail(error.message);
  const whet_api* whet = library.api;
  whet_pool_options options{};
  options.threads = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 0;
  if (whet->model_open(nullptr, &model, &error) != 0 || whet->pool_create(&options, &pool, &error) != 0 ||
      whet->session_create(model, pool, &session, &error) != 0) {
    fail(error.message);
  }
  set_largest_sizes(whet, model, session);
  const whet_model_info* info = whet->model_info(model);
  std::vector<std::vector<char>> inputs(info->inputs);
  for (std::uint32_t i = 0; i < info->inputs; ++i) {
    inputs[i].resize(static_cast<std::size_t>(input_bytes(whet, model, session, i)));
    if (whet->session_set_input(session, i, inputs[i].data(), nullptr, &error) != 0) fail(error.message);
  }
  for (int run = 0; run < 3; ++run) {
    if (whet->session_run(session, &error) != 0) fail(error.message);
  }
  std::printf("%lld %lld %lld\n", static_cast<long long>(peak_resident() - before),
              static_cast<long long>(info->weights_bytes), static_cast<long long>(info->arena_bytes));
  whet->session_destroy(session);
  whet->pool_destroy(pool);
  whet->model_close(model);
  whet_library_close(&library);
  return 0;
}
