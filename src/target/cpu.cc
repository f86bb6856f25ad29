#include "target/cpu.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/counted.h"
#include "base/nearest.h"
#include "target/cpu_isa.h"
#include "target/kinds.h"
#include "target/products_i16.h"

namespace whet {
namespace {

/// What a vector unit offers, weakest first.
enum class Simd { sse, avx, avx512 };

struct Processor {
  const char* name;
  Simd simd;
  bool fma;
  std::int64_t l1_kib, l2_kib, l3_kib;  ///< data cache per core; per core; shared (a common part of the family)
  Isa isa = Isa::x86_64;
  CpuPipes pipes = {};
};

constexpr Processor neon(const char* name, double multiply_adds, double loads, double latency, std::int64_t l1_kib = 32,
                         std::int64_t l1_sets = 256, std::int64_t l2_kib = 256, std::int64_t l3_kib = 1024) {
  // LLVM moves the loads of inputs, each in a register, in front of the products: larger tiles were seen to spill.
  const CpuPipes pipes = {.multiply_adds = multiply_adds,
                          .loads = loads,
                          .latency = latency,
                          .l1_sets = l1_sets,
                          .tile_share = 23.0 / 32,
                          .unrolled_share = 18.0 / 32,
                          .input_lanes = 4,
                          .window_inputs = 23};
  return {name, Simd::sse, true, l1_kib, l2_kib, l3_kib, Isa::aarch64, pipes};
}

constexpr Processor kProcessors[] = {
    {"x86-64", Simd::sse, false, 32, 256, 8192},
    {"x86-64-v2", Simd::sse, false, 32, 256, 8192},
    {"x86-64-v3", Simd::avx, true, 32, 256, 8192},
    {"x86-64-v4", Simd::avx512, true, 32, 1024, 16384},
    {"nehalem", Simd::sse, false, 32, 256, 8192},
    {"sandybridge", Simd::avx, false, 32, 256, 8192},
    {"ivybridge", Simd::avx, false, 32, 256, 8192},
    {"haswell", Simd::avx, true, 32, 256, 8192},
    {"broadwell", Simd::avx, true, 32, 256, 8192},
    {"skylake", Simd::avx, true, 32, 256, 8192},
    {"skylake-avx512", Simd::avx512, true, 32, 1024, 16384},
    {"cascadelake", Simd::avx512, true, 32, 1024, 22528},
    {"cooperlake", Simd::avx512, true, 32, 1024, 22528},
    {"icelake-client", Simd::avx512, true, 48, 512, 8192},
    {"icelake-server", Simd::avx512, true, 48, 1280, 32768},
    {"rocketlake", Simd::avx512, true, 48, 512, 16384},
    {"tigerlake", Simd::avx512, true, 48, 1280, 12288},
    {"alderlake", Simd::avx, true, 48, 1280, 16384},
    {"sapphirerapids", Simd::avx512, true, 48, 2048, 61440},
    {"emeraldrapids", Simd::avx512, true, 48, 2048, 131072},
    {"graniterapids", Simd::avx512, true, 48, 2048, 131072},
    {"znver1", Simd::avx, true, 32, 512, 8192},
    {"znver2", Simd::avx, true, 32, 512, 16384},
    {"znver3", Simd::avx, true, 32, 512, 32768},
    {"znver4", Simd::avx512, true, 32, 1024, 32768},
    {"znver5", Simd::avx512, true, 48, 1024, 32768},
    // AArch64. Multiply-adds and loads a cycle, and the latency, are those that llvm-mca 19 gives for `fmla v0.4s, v1.4s,
    // v2.s[1]` and `ldr q0, [x0]` by LLVM's scheduling model of the processor. LLVM models a76, a77, a78 and x1 as a57;
    // their rows have Neoverse N1's figures. Caches: of a53, a55, a57, a72, a76 and a78 from Linux's device trees
    // (Exynos 5433, RK3588, BCM2711, BCM2712, MediaTek with a78); of a710, a64fx and Neoverse N1, N2 and V1 from QEMU's
    // target/arm/tcg/cpu64.c, which quotes the manuals. The others have those of `aarch64`, which are a72's. A second
    // level that a cluster shares counts as the third, and a quarter of it as the second; 8 MiB stand for the third level
    // of servers, of which there are all sizes.
    neon("aarch64", 2, 2, 4),
    neon("cortex-a53", 1, 1, 10, 32, 128, 64, 256),
    neon("cortex-a55", 2, 1, 4, 32, 128, 128, 3072),
    neon("cortex-a57", 1, 1, 10, 32, 256, 512, 2048),
    neon("cortex-a72", 1, 1, 10, 32, 256, 256, 1024),
    neon("cortex-a73", 1, 1, 10),
    neon("cortex-a75", 1, 1, 10),
    neon("cortex-a76", 2, 2, 4, 64, 256, 512, 2048),
    neon("cortex-a77", 2, 2, 4),
    neon("cortex-a78", 2, 2, 4, 64, 256, 256, 2048),
    neon("cortex-x1", 2, 2, 4),
    neon("cortex-x2", 2, 3, 4),
    neon("cortex-a510", 2, 2, 4),
    neon("cortex-a520", 2, 2, 4),
    neon("cortex-a710", 2, 3, 4, 64, 256, 512, 2048),
    neon("cortex-a720", 2, 3, 4),
    neon("neoverse-e1", 1, 1, 10),
    neon("neoverse-n1", 2, 2, 4, 64, 256, 1024, 8192),
    neon("neoverse-n2", 2, 3, 4, 64, 256, 512, 8192),
    neon("neoverse-v1", 4, 3, 4, 64, 256, 1024, 8192),
    neon("neoverse-v2", 4, 3, 4),
    neon("apple-a14", 3, 2, 2),  // the cores of Apple's M1 too
    neon("a64fx", 2, 2, 9, 64, 256, 512, 8192),
};

/// Those of LLVM's definitions with avx512bf16.
constexpr std::string_view kMultiplyBf16[] = {"cooperlake",    "sapphirerapids", "emeraldrapids",
                                              "graniterapids", "znver4",         "znver5"};

/// Those with amx-bf16 and amx-int8.
constexpr std::string_view kHaveTiles[] = {"sapphirerapids", "emeraldrapids", "graniterapids"};

/// Their units have 32 bytes.
constexpr std::string_view kSplitVectors[] = {"znver4"};

/// LLVM's names of the switches that change what code may be generated; -mattr takes these alone.
std::vector<std::string> known_features(Isa isa) {
  std::vector<std::string> names;
  const int first = isa == Isa::x86_64 ? 0 : kIsaX86Count, end = isa == Isa::x86_64 ? kIsaX86Count : kIsaCount;
  for (int bit = first; bit < end; ++bit)
    if ((kIsaTable[bit].uses & kIsaSwitch) != 0) names.emplace_back(kIsaTable[bit].name);
  return names;
}

const std::vector<std::string>& cpu_switches() {
  static const std::vector<std::string> switches = {"-mcpu", "-mattr", "-threads", "-cores", "-caches"};
  return switches;
}

const Processor* find_processor(std::string_view name) {
  for (const Processor& processor : kProcessors)
    if (processor.name == name) return &processor;
  return nullptr;
}

/// Fills the derived fields from mcpu and mattr; `target.mcpu` is known.
void derive(CpuTarget& target) {
  const Processor& processor = *find_processor(target.mcpu);
  Simd simd = processor.simd;
  target.fma = processor.fma;
  target.bf16_products = std::ranges::count(kMultiplyBf16, target.mcpu) > 0;
  target.bf16_tiles = target.byte_tiles = std::ranges::count(kHaveTiles, target.mcpu) > 0;
  for (const std::string& attribute : target.mattr) {
    const std::string_view feature = std::string_view(attribute).substr(1);
    const bool on = attribute[0] == '+';
    if (feature == "amx-bf16" || (feature == "amx-tile" && !on)) target.bf16_tiles = on;
    if (feature == "amx-int8" || (feature == "amx-tile" && !on)) target.byte_tiles = on;
    // As in LLVM, a feature brings the features that it needs, and takes with it those that need it.
    if (feature == "avx" || feature == "avx2") simd = on ? std::max(simd, Simd::avx) : Simd::sse;
    if (feature == "avx512f") simd = on ? Simd::avx512 : std::min(simd, Simd::avx);
    if (feature == "fma") target.fma = on;
    if (feature == "fma" && on) simd = std::max(simd, Simd::avx);
    if (feature == "fma" && !on) simd = std::min(simd, Simd::avx);
    if (feature == "avx512f" && on) target.fma = true;
    if (feature == "avx512bf16" || (feature == "avx512bw" && !on)) target.bf16_products = on;
  }
  if (simd != Simd::avx512) target.bf16_products = target.bf16_tiles = target.byte_tiles = false;
  if (simd == Simd::sse && processor.isa == Isa::x86_64) target.fma = false;
  target.isa = processor.isa;
  target.pipes = processor.pipes;
  target.pipes.splits_vectors = std::ranges::count(kSplitVectors, target.mcpu) > 0;
  target.vector_bytes = simd == Simd::avx512 ? 64 : simd == Simd::avx ? 32 : 16;
  target.vector_registers = simd == Simd::avx512 || processor.isa == Isa::aarch64 ? 32 : 16;
  if (!target.caches_given) {
    target.l1_bytes = processor.l1_kib << 10;
    target.l2_bytes = processor.l2_kib << 10;
    target.l3_bytes = processor.l3_kib << 10;
  }
}

Status set_mcpu(CpuTarget& target, std::string_view value) {
  if (!find_processor(value)) {
    return Error{"target: -mcpu is " + in_quotes(value) + "; expected a processor of `whet target --list`" +
                 did_you_mean(value, known_processors())};
  }
  target.mcpu = value;
  return ok_status();
}

Status set_mattr(CpuTarget& target, std::string_view value) {
  for (std::string_view feature : split_text(value, ',')) {
    if (feature.size() < 2 || (feature[0] != '+' && feature[0] != '-'))
      return Error{"target: -mattr has " + in_quotes(feature) + "; expected switches like +avx512f,-fma"};
    target.mattr.emplace_back(feature);
  }
  return ok_status();
}

/// The processor's instruction set decides which switches there are.
Status check_mattr(const CpuTarget& target) {
  const std::vector<std::string> known = known_features(find_processor(target.mcpu)->isa);
  for (const std::string_view feature : target.mattr) {
    if (std::find(known.begin(), known.end(), feature.substr(1)) == known.end()) {
      return Error{"target: -mattr has " + in_quotes(feature) + ", which is no feature that whet knows of " +
                   target.mcpu + did_you_mean(feature.substr(1), known)};
    }
  }
  return ok_status();
}

Status set_threads(Target& target, std::string_view value) {
  int threads = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (error != std::errc() || end != value.data() + value.size() || threads < 1 || threads > kMaxThreads)
    return Error{"target: -threads is " + in_quotes(value) + "; expected a number from 1 to " +
                 std::to_string(kMaxThreads)};
  target.threads = threads;
  return ok_status();
}

Status set_cores(CpuTarget& target, std::string_view value) {
  const std::optional<CoreKind> kind = parse_core_kind(value);
  if (!kind) return Error{"target: -cores is " + in_quotes(value) + "; expected big, little or prime"};
  target.cores = *kind;
  return ok_status();
}

/// "48K" in bytes; 0 where that is no size of a cache.
std::int64_t cache_bytes(std::string_view text) {
  constexpr std::int64_t kLeast = 1024, kMost = std::int64_t{1} << 40;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMost) return 0;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : unit.empty() ? 0 : -1;
  if (shift < 0 || number > kMost >> shift) return 0;
  return number << shift < kLeast ? 0 : number << shift;
}

Status set_caches(CpuTarget& target, std::string_view value) {
  const std::vector<std::string_view> sizes = split_text(value, ',');
  std::vector<std::int64_t> bytes;
  for (const std::string_view size : sizes) bytes.push_back(cache_bytes(size));
  if (bytes.size() != 3 || std::find(bytes.begin(), bytes.end(), 0) != bytes.end())
    return Error{"target: -caches is " + in_quotes(value) + "; expected the sizes of L1, L2 and L3, like 48K,1M,32M"};
  target.l1_bytes = bytes[0], target.l2_bytes = bytes[1], target.l3_bytes = bytes[2];
  target.caches_given = true;
  return ok_status();
}

struct CpuSwitch {
  std::string_view name;
  Status (*set)(Target&, std::string_view value);
};
constexpr CpuSwitch kSwitches[] = {
    {"-mcpu", [](Target& target, std::string_view value) { return set_mcpu(target.cpu(), value); }},
    {"-mattr", [](Target& target, std::string_view value) { return set_mattr(target.cpu(), value); }},
    {"-threads", set_threads},
    {"-cores", [](Target& target, std::string_view value) { return set_cores(target.cpu(), value); }},
    {"-caches", [](Target& target, std::string_view value) { return set_caches(target.cpu(), value); }},
};

Status set_switch(Target& target, std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  for (const CpuSwitch& known : kSwitches)
    if (known.name == name) return known.set(target, value);
  return Error{"target: unknown switch " + in_quotes(name) +
               "; expected -mcpu=, -mattr=, -threads=, -cores= or -caches=" + did_you_mean(name, cpu_switches())};
}

bool same_instructions(const CpuTarget& a, const CpuTarget& b) {
  return a.mcpu == b.mcpu && std::multiset<std::string>(a.mattr.begin(), a.mattr.end()) ==
                                 std::multiset<std::string>(b.mattr.begin(), b.mattr.end());
}

std::string processor_text(const CpuTarget& t) {
  std::string text = t.mcpu;
  for (const auto& feature : t.mattr) text += " " + feature;
  return text;
}

}  // namespace

const char* name_of(CoreKind kind) {
  return kind == CoreKind::big ? "big" : kind == CoreKind::little ? "little" : "prime";
}
std::optional<CoreKind> parse_core_kind(std::string_view name) {
  for (const CoreKind kind : kCoreKinds)
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

std::string cpu_text(const Target& target) {
  const CpuTarget& cpu = target.cpu();
  std::string text = "cpu -mcpu=" + cpu.mcpu;
  for (std::size_t i = 0; i < cpu.mattr.size(); ++i) text += (i == 0 ? " -mattr=" : ",") + cpu.mattr[i];
  text += " -threads=" + std::to_string(target.threads);
  if (cpu.cores != CoreKind::big) text += std::string(" -cores=") + name_of(cpu.cores);
  return text;
}

Result<Target> parse_cpu(std::span<const std::string_view> switches) {
  Target target;
  for (const std::string_view word : switches) WHET_RETURN_IF_ERROR(set_switch(target, word));
  WHET_RETURN_IF_ERROR(check_mattr(target.cpu()));
  derive(target.cpu());
  return target;
}

std::optional<TargetDistance> cpu_distance(const Target& has, const Target& want) {
  const CpuTarget &a = has.cpu(), &b = want.cpu();
  if (a.isa != b.isa || a.vector_bytes != b.vector_bytes) return std::nullopt;
  const double threads = std::fabs(std::log(static_cast<double>(std::max(1, has.threads)) / std::max(1, want.threads)));
  return TargetDistance{{same_instructions(a, b) ? 0.0 : 1.0, a.cores == b.cores ? 0.0 : 1.0, threads}};
}

std::vector<std::string> cpu_differences(const Target& has, const Target& want) {
  const CpuTarget &a = has.cpu(), &b = want.cpu();
  std::vector<std::string> found;
  if (!same_instructions(a, b)) found.push_back("measured on " + processor_text(a) + ", not " + processor_text(b));
  if (a.cores != b.cores)
    found.push_back(std::string("measured on ") + name_of(a.cores) + " cores, not " + name_of(b.cores));
  if (has.threads != want.threads)
    found.push_back("tuned for " + counted(has.threads, "thread") + ", not " + std::to_string(want.threads));
  return found;
}

std::int64_t cpu_cache_bytes(const Target& target) {
  return std::max(target.cpu().l3_bytes, target.cpu().l2_bytes * target.threads);
}

bool has_products_of_i16(const CpuTarget& cpu) { return cpu.isa == Isa::x86_64 && cpu.vector_bytes >= 32; }

std::string llvm_processor(const CpuTarget& cpu) { return cpu.mcpu == "aarch64" ? "generic" : cpu.mcpu; }

std::string code_key(const CpuTarget& cpu) {
  return processor_text(cpu) + " " + std::to_string(cpu.vector_bytes) + " " + std::to_string(cpu.vector_registers);
}

std::vector<std::string> known_processors() {
  std::vector<std::string> names;
  for (const Processor& processor : kProcessors) names.emplace_back(processor.name);
  return names;
}

}  // namespace whet
