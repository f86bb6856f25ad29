// oneDNN's kernels for one problem of a list, timed in bursts: the peer of whet_kernels in bench/kernels.
//
//   onednn_kernels [--cold] [--bf16] "conv NAME 1 64 56 56 64 3 3 1 1 1 1 1 1 1"
//
// Prints `ready direct=IMPLEMENTATION/LAYOUT winograd=IMPLEMENTATION/LAYOUT` (`-` where oneDNN has none), then answers
// `burst ALGORITHM SECONDS` with the median time of a run [us]. Weights are reordered ahead into the format that the
// primitive asks for; activations are channels last or in that format, whichever is faster, never reordered in the
// timed runs. Bias and relu are fused, but in batched matrix products, which have neither. Threads are OpenMP's
// (OMP_NUM_THREADS, OMP_PLACES). --cold: each run reads another copy of the weights, together beyond the caches. --bf16: input, weights and
// result are bf16; DNNL_MAX_CPU_ISA says by which instructions at most, and `isa` names those that oneDNN takes.
#include <oneapi/dnnl/dnnl.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include "bursts.h"
#include "problem.h"

namespace {

using bench::Extents;
using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Of what is multiplied, and of the result.
Type factors = Type::f32;

/// Values in [-0.5, 0.5), none of them denormal, in whatever format.
memory filled(const memory::desc& desc) {
  memory m(desc, engine());
  const std::size_t size = desc.data_type() == Type::bf16 ? 2 : 4;
  auto* bytes = static_cast<char*>(m.get_data_handle());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < desc.get_size() / size; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    char of[4];
    std::memcpy(of, &value, sizeof of);
    std::memcpy(bytes + i * size, of + (4 - size), size);  // bf16: the upper half
  }
  return m;
}

/// A primitive with its memory.
class Kernel {
 public:
  Kernel(dnnl::primitive primitive, std::string implementation, std::unordered_map<int, memory::desc> arguments,
         bool constant_weights, bool cold)
      : primitive_(std::move(primitive)), implementation_(std::move(implementation)), stream_(engine()) {
    for (const auto& [key, desc] : arguments) first_.emplace(key, filled(desc));
    const std::size_t bytes = arguments.at(DNNL_ARG_WEIGHTS).get_size();
    const std::size_t copies = cold && constant_weights ? bench::copies_of(bytes) : 1;
    for (std::size_t i = 0; i < copies; ++i) {
      copies_.push_back(first_);
      if (i > 0) copies_.back()[DNNL_ARG_WEIGHTS] = filled(arguments.at(DNNL_ARG_WEIGHTS));
    }
  }

  const std::string& implementation() const { return implementation_; }

  double run() {
    auto& arguments = copies_[next_++ % copies_.size()];
    const double start = bench::now();
    primitive_.execute(stream_, arguments);
    stream_.wait();
    return bench::now() - start;
  }

  /// The median of the runs of that many seconds.
  double burst(double seconds) {
    for (const double start = bench::now(); bench::now() - start < bench::kWarmup * seconds;) run();
    std::vector<double> times;
    for (const double start = bench::now(); bench::now() - start < seconds || times.size() < bench::kLeastRuns;)
      times.push_back(run());
    return bench::median(std::move(times));
  }

 private:
  dnnl::primitive primitive_;
  std::string implementation_;
  dnnl::stream stream_;
  std::unordered_map<int, memory> first_;
  std::vector<std::unordered_map<int, memory>> copies_;
  std::size_t next_ = 0;
};

dnnl::primitive_attr with_relu() {
  dnnl::post_ops relu;
  relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(relu);
  return attributes;
}

template <typename Description>
std::unordered_map<int, memory::desc> arguments_of(const Description& d, bool bias) {
  std::unordered_map<int, memory::desc> arguments = {
      {DNNL_ARG_SRC, d.src_desc()}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DST, d.dst_desc()}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, d.bias_desc());
  return arguments;
}

enum class Order { plain, own, blocks };
struct Choice {
  bool winograd;
  Order order;
  bool cold;
  std::int64_t block = 0;  ///< channels, where the order is blocks
};

Tag blocks_of(std::int64_t channels) {
  return channels == 4 ? Tag::nChw4c : channels == 8 ? Tag::nChw8c : channels == 16 ? Tag::nChw16c : Tag::nChw32c;
}

/// How a picture is stored that oneDNN chose the order of.
std::string order_of(const memory::desc& picture) {
  const std::vector<std::pair<Tag, std::string>> known = {{Tag::nhwc, "nhwc"},       {Tag::nchw, "nchw"},
                                                          {Tag::nChw4c, "nChw4c"},   {Tag::nChw8c, "nChw8c"},
                                                          {Tag::nChw16c, "nChw16c"}, {Tag::nChw32c, "nChw32c"}};
  if (picture.dims().size() != 4) return "?";
  for (const auto& [tag, name] : known)
    if (picture == memory::desc(picture.dims(), picture.data_type(), tag)) return name;
  return "?";
}

Kernel make_convolution(const bench::Convolution& c, const Choice& choice) {
  const bool volume = c.size.size() == 3;
  const Tag plain = volume ? Tag::ndhwc : Tag::nhwc;
  const auto activations = [&](std::int64_t channels) {
    if (choice.order == Order::own) return Tag::any;
    if (choice.order == Order::plain) return plain;
    return channels % choice.block == 0 ? blocks_of(choice.block) : Tag::nchw;  // images, as its first layers read them
  };
  const auto with = [](Extents dims, const Extents& spatial) {
    dims.insert(dims.end(), spatial.begin(), spatial.end());
    return dims;
  };
  Extents weights = with({c.out, c.in / c.groups}, c.kernel);
  if (c.groups > 1) weights = with({c.groups, c.out / c.groups, c.in / c.groups}, c.kernel);
  Extents gaps;
  for (const std::int64_t dilation : c.dilation) gaps.push_back(dilation - 1);
  const auto algorithm = choice.winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, algorithm, {with({c.batch, c.in}, c.size), factors, activations(c.in)},
      {weights, factors, Tag::any}, {{c.out}, Type::f32, Tag::x},
      {with({c.batch, c.out}, c.results()), factors, activations(c.out)}, c.stride, gaps, c.pad, c.pad);
  const dnnl::convolution_forward::primitive_desc d(desc, with_relu(), engine());
  const std::string name = d.impl_info_str() + std::string("/") + order_of(d.src_desc()) + ">" + order_of(d.dst_desc());
  return {dnnl::convolution_forward(d), name, arguments_of(d, true), true, choice.cold};
}

Kernel make_dense(const Extents& n, const Choice& choice) {
  const Tag activations = choice.order == Order::plain ? Tag::ab : Tag::any;
  const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference, {{n[0], n[1]}, factors, activations},
                                               {{n[2], n[1]}, factors, Tag::any}, {{n[2]}, Type::f32, Tag::x},
                                               {{n[0], n[2]}, factors, activations});
  const dnnl::inner_product_forward::primitive_desc d(desc, with_relu(), engine());
  return {dnnl::inner_product_forward(d), d.impl_info_str(), arguments_of(d, true), true, choice.cold};
}

Kernel make_matmul(const Extents& n, const Choice& choice) {
  const Tag activations = choice.order == Order::plain ? Tag::ab : Tag::any;
  const dnnl::matmul::desc desc({{n[0], n[1]}, factors, activations}, {{n[1], n[2]}, factors, Tag::any},
                                {{1, n[2]}, Type::f32, Tag::ab}, {{n[0], n[2]}, factors, activations});
  const dnnl::matmul::primitive_desc d(desc, with_relu(), engine());
  return {dnnl::matmul(d), d.impl_info_str(), arguments_of(d, true), true, choice.cold};
}

Kernel make_batched_matmul(const Extents& n, const Choice& choice) {
  const Tag order = choice.order == Order::plain ? Tag::abc : Tag::any;
  const dnnl::matmul::desc desc({{n[0], n[1], n[2]}, Type::f32, order}, {{n[0], n[2], n[3]}, Type::f32, order},
                                {{n[0], n[1], n[3]}, Type::f32, order});
  const dnnl::matmul::primitive_desc d(desc, engine());
  return {dnnl::matmul(d), d.impl_info_str(), arguments_of(d, false), false, choice.cold};
}

/// Nothing where oneDNN has no such kernel.
std::unique_ptr<Kernel> make(const bench::Problem& p, const Choice& choice) {
  try {
    if (p.is_convolution()) return std::make_unique<Kernel>(make_convolution(p.convolution(), choice));
    if (choice.winograd) return nullptr;
    if (p.kind == "ip") return std::make_unique<Kernel>(make_dense(p.numbers, choice));
    if (p.kind == "mm") return std::make_unique<Kernel>(make_matmul(p.numbers, choice));
    if (p.kind == "bmm" && factors == Type::f32)
      return std::make_unique<Kernel>(make_batched_matmul(p.numbers, choice));
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
  }
  return nullptr;
}

struct Best {
  std::unique_ptr<Kernel> kernel;
  std::string text = "-";
};

/// The algorithm in the layout in which it is faster.
Best best_of(const bench::Problem& p, bool winograd, bool cold) {
  constexpr double kLook = 0.03;  // [s]
  Best best;
  double shortest = 0;
  for (const Order order : {Order::plain, Order::own}) {
    auto kernel = make(p, {winograd, order, cold});
    if (!kernel) continue;
    const double seconds = kernel->burst(kLook);
    if (best.kernel && seconds >= shortest) continue;
    shortest = seconds;
    best.text = kernel->implementation() + (order == Order::plain ? "/plain" : "/own");
    best.kernel = std::move(kernel);
  }
  return best;
}

std::string text_of(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", seconds * 1e6);
  return text;
}

/// The direct kernel on blocks of channels; nothing where the result has no whole blocks.
Best blocked(const bench::Problem& p, std::int64_t block, bool cold) {
  Best best;
  if (!p.is_convolution() || block == 0 || p.convolution().size.size() != 2 || p.convolution().out % block != 0)
    return best;
  best.kernel = make(p, {false, Order::blocks, cold, block});
  if (best.kernel) best.text = best.kernel->implementation();
  return best;
}

/// The instructions that oneDNN takes at most here.
std::string isa() {
  const std::pair<dnnl::cpu_isa, const char*> known[] = {{dnnl::cpu_isa::sse41, "sse41"},
                                                         {dnnl::cpu_isa::avx, "avx"},
                                                         {dnnl::cpu_isa::avx2, "avx2"},
                                                         {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
                                                         {dnnl::cpu_isa::avx512_core, "avx512_core"},
                                                         {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
                                                         {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
                                                         {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"}};
  for (const auto& [value, name] : known)
    if (dnnl::get_effective_cpu_isa() == value) return name;
  return "other";
}

int run(const bench::Problem& problem, bool cold, std::int64_t block) {
  const Best direct = best_of(problem, false, cold), winograd = best_of(problem, true, cold);
  const Best in_blocks = blocked(problem, block, cold);
  const dnnl_version_t* version = dnnl_version();
  std::ostringstream ready;
  ready << "ready version=" << version->major << '.' << version->minor << '.' << version->patch << " isa=" << isa()
        << " direct=" << direct.text << " winograd=" << winograd.text << " blocked=" << in_blocks.text;
  bench::serve(ready.str(), [&](const std::string& command, const std::string& algorithm, double seconds) {
    const Best& best = algorithm == "winograd" ? winograd : algorithm == "blocked" ? in_blocks : direct;
    if (command != "burst" || !best.kernel) return std::string("error");
    return text_of(best.kernel->burst(seconds));
  });
  return 0;
}

int fail(const std::string& sentence) {
  std::fprintf(stderr, "onednn_kernels: %s\n", sentence.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool cold = false;
  std::int64_t block = 0;
  int next = 1;
  if (next + 1 < argc && std::strcmp(argv[next], "--cold") == 0) cold = true, ++next;
  if (next + 1 < argc && std::strcmp(argv[next], "--bf16") == 0) factors = Type::bf16, ++next;
  if (next + 2 < argc && std::strcmp(argv[next], "--block") == 0) block = std::atoll(argv[next + 1]), next += 2;
  if (argc != next + 1) return fail("usage: onednn_kernels [--cold] [--bf16] [--block 4|8|16|32] PROBLEM");
  if (block != 0 && block != 4 && block != 8 && block != 16 && block != 32)
    return fail("oneDNN has blocks of 4, 8, 16 and 32 channels");
  bench::Problem problem;
  if (const std::string wrong = bench::parse(argv[argc - 1], &problem); !wrong.empty()) return fail(wrong);
  try {
    return run(problem, cold, block);
  } catch (const dnnl::error& error) {
    return fail(problem.name + ": oneDNN says " + error.message);
  }
}
