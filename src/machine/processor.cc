#include "machine/processor.h"

#include <cstring>

#include "artifact/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace whet {
namespace {

constexpr IsaSet kV2 = isa_set("sse4.2", "popcnt");
constexpr IsaSet kV3 = kV2 | isa_set("avx", "avx2", "fma", "bmi2", "f16c");
constexpr IsaSet kV4 = kV3 | isa_set("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
constexpr IsaSet kIceLake = kV4 | isa_set("avx512vnni", "avx512vbmi2");

struct Rule {
  const char* name;
  const char* vendor;  ///< "" for any
  int family;          ///< 0 for any
  int least_model;
  IsaSet required;
};

/// Newest first within a vendor; the first rule that holds names the processor.
constexpr Rule kRules[] = {
    {"graniterapids", "GenuineIntel", 6, 0, kIceLake | isa_set("avx512fp16", "amx-tile", "amx-fp16")},
    {"sapphirerapids", "GenuineIntel", 6, 0, kIceLake | isa_set("avx512bf16", "avx512fp16")},
    {"tigerlake", "GenuineIntel", 6, 0, kIceLake | isa_set("avx512vp2intersect")},
    {"icelake-server", "GenuineIntel", 6, 0, kIceLake | isa_set("wbnoinvd")},
    {"icelake-client", "GenuineIntel", 6, 0, kIceLake},
    {"cooperlake", "GenuineIntel", 6, 0, kV4 | isa_set("avx512vnni", "avx512bf16")},
    {"cascadelake", "GenuineIntel", 6, 0, kV4 | isa_set("avx512vnni")},
    {"skylake-avx512", "GenuineIntel", 6, 0, kV4 | isa_set("clflushopt")},
    {"alderlake", "GenuineIntel", 6, 0, kV3 | isa_set("avxvnni")},
    {"skylake", "GenuineIntel", 6, 0, kV3 | isa_set("adx", "clflushopt")},
    {"broadwell", "GenuineIntel", 6, 0, kV3 | isa_set("adx")},
    {"haswell", "GenuineIntel", 6, 0, kV3},
    {"ivybridge", "GenuineIntel", 6, 0, kV2 | isa_set("avx", "f16c")},
    {"sandybridge", "GenuineIntel", 6, 0, kV2 | isa_set("avx")},
    {"nehalem", "GenuineIntel", 6, 0, kV2},
    {"znver5", "AuthenticAMD", 26, 0, kIceLake | isa_set("avx512bf16")},
    {"znver4", "AuthenticAMD", 25, 0, kIceLake | isa_set("avx512bf16")},
    {"znver3", "AuthenticAMD", 25, 0, kV3 | isa_set("adx")},
    {"znver2", "AuthenticAMD", 23, 0x30, kV3 | isa_set("adx")},
    {"znver1", "AuthenticAMD", 23, 0, kV3 | isa_set("adx")},
    {"x86-64-v4", "", 0, 0, kV4},
    {"x86-64-v3", "", 0, 0, kV3},
    {"x86-64-v2", "", 0, 0, kV2},
};

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

std::string read_brand() {
  char text[49] = {};
  if (cpuid(0x80000000u).a < 0x80000004u) return "";
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002u + i);
    std::memcpy(text + 16 * i, &r, sizeof r);
  }
  std::string brand = text;
  brand.erase(0, brand.find_first_not_of(' '));
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand;
}
#endif

}  // namespace

Processor read_processor() {
  Processor processor;
#if defined(__x86_64__)
  const Registers zero = cpuid(0), one = cpuid(1);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.b, 4);
  std::memcpy(vendor + 4, &zero.d, 4);
  std::memcpy(vendor + 8, &zero.c, 4);
  processor.vendor = vendor;
  const unsigned family = (one.a >> 8) & 15, model = (one.a >> 4) & 15;
  processor.family = static_cast<int>(family == 15 ? family + ((one.a >> 20) & 255) : family);
  processor.model = static_cast<int>(model | ((one.a >> 12) & 0xf0));
  processor.features = host_isa();
  processor.brand = read_brand();
#endif
  return processor;
}

std::string llvm_name(const Processor& processor) {
  for (const Rule& rule : kRules) {
    if (*rule.vendor && processor.vendor != rule.vendor) continue;
    if (rule.family && (processor.family != rule.family || processor.model < rule.least_model)) continue;
    if ((processor.features & rule.required) == rule.required) return rule.name;
  }
  return "x86-64";
}

std::string arm_name(std::uint32_t midr) {
  struct Part {
    std::uint32_t implementer, number;
    const char* name;
  };
  constexpr std::uint32_t kArm = 0x41, kFujitsu = 0x46, kApple = 0x61;
  static constexpr Part kParts[] = {
      {kArm, 0xd03, "cortex-a53"},  {kArm, 0xd05, "cortex-a55"},  {kArm, 0xd07, "cortex-a57"},
      {kArm, 0xd08, "cortex-a72"},  {kArm, 0xd09, "cortex-a73"},  {kArm, 0xd0a, "cortex-a75"},
      {kArm, 0xd0b, "cortex-a76"},  {kArm, 0xd0d, "cortex-a77"},  {kArm, 0xd41, "cortex-a78"},
      {kArm, 0xd44, "cortex-x1"},   {kArm, 0xd48, "cortex-x2"},   {kArm, 0xd46, "cortex-a510"},
      {kArm, 0xd80, "cortex-a520"}, {kArm, 0xd47, "cortex-a710"}, {kArm, 0xd81, "cortex-a720"},
      {kArm, 0xd4a, "neoverse-e1"}, {kArm, 0xd0c, "neoverse-n1"}, {kArm, 0xd49, "neoverse-n2"},
      {kArm, 0xd40, "neoverse-v1"}, {kArm, 0xd4f, "neoverse-v2"}, {kFujitsu, 0x001, "a64fx"},
      {kApple, 0x022, "apple-a14"}, {kApple, 0x023, "apple-a14"},
  };
  for (const Part& part : kParts)
    if (midr >> 24 == part.implementer && (midr >> 4 & 0xfff) == part.number) return part.name;
  return "aarch64";
}

}  // namespace whet
