// oneDNN's product of two matrices plus a third, timed in one burst: the peer of bench/own_operators.
//
//   onednn_matmul M K N SECONDS
//
// Prints `IMPLEMENTATION median_ms`. All three matrices are inputs, row-major. Threads are OpenMP's (OMP_NUM_THREADS, OMP_PLACES).
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bursts.h"

namespace {

using dnnl::memory;

memory filled(const memory::desc& desc, const dnnl::engine& engine) {
  memory m(desc, engine);
  auto* values = static_cast<float*>(m.get_data_handle());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: onednn_matmul M K N SECONDS\n"), 2;
  const memory::dim m = std::atoll(argv[1]), k = std::atoll(argv[2]), n = std::atoll(argv[3]);
  const double seconds = std::atof(argv[4]);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto rows = memory::format_tag::ab;
  const auto f32 = memory::data_type::f32;
  const memory::desc a({m, k}, f32, rows), b({k, n}, f32, rows), c({m, n}, f32, rows);
  dnnl::post_ops add;
  add.append_binary(dnnl::algorithm::binary_add, c);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(add);
  const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(a, b, c), attributes, engine);
  const dnnl::matmul product(made);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, filled(a, engine)},
                                               {DNNL_ARG_WEIGHTS, filled(b, engine)},
                                               {DNNL_ARG_DST, filled(c, engine)},
                                               {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, filled(c, engine)}};
  const auto run = [&] {
    const double start = bench::now();
    product.execute(stream, arguments);
    stream.wait();
    return bench::now() - start;
  };
  for (const double start = bench::now(); bench::now() - start < bench::kWarmup * seconds;) run();
  std::vector<double> times;
  for (const double start = bench::now(); bench::now() - start < seconds || times.size() < bench::kLeastRuns;)
    times.push_back(run());
  std::printf("%s %.6f\n", made.impl_info_str(), 1e3 * bench::median(std::move(times)));
  return 0;
}
