#include "machine/detect.h"

namespace whet {
namespace {

void use_caches_of_this_machine(CpuTarget& target, int cpu) {
  if (target.caches_given) return;
  const CacheSizes caches = read_caches(cpu);
  if (caches.l1_bytes > 0) target.l1_bytes = caches.l1_bytes;
  if (caches.l2_bytes > 0) target.l2_bytes = caches.l2_bytes;
  if (caches.l3_bytes > 0) target.l3_bytes = caches.l3_bytes;
}

#if defined(__aarch64__)
constexpr Isa kIsaOfThisMachine = Isa::aarch64;
#else
constexpr Isa kIsaOfThisMachine = Isa::x86_64;
#endif

bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

/// " -mattr=-amx-tile" for a processor that has tiles by its name and not on this machine.
std::string switches_against(const CpuTarget& named, IsaSet features) {
  if (!named.bf16_tiles && !named.byte_tiles) return "";
  if (!(features & isa_set("amx-tile"))) return " -mattr=-amx-tile";
  std::string missing;
  if (!(features & isa_set("amx-bf16"))) missing += "-amx-bf16";
  if (!(features & isa_set("amx-int8"))) missing += missing.empty() ? "-amx-int8" : ",-amx-int8";
  return missing.empty() ? "" : " -mattr=" + missing;
}

/// "-mcpu=sapphirerapids -mattr=-amx-tile"
std::string own_switches() {
  const Processor processor = read_processor();
  const std::string name = "-mcpu=" + llvm_name(processor);
  return name + switches_against(parse_target("cpu " + name)->cpu(), processor.features);
}

}  // namespace

Target detect_target() {
  const Cores cores = usable_cores();
  Target target = *parse_target("cpu " + own_switches());
  target.threads = static_cast<int>(cores.cpus.size());
  target.cpu().cores = cores.kind;
  use_caches_of_this_machine(target.cpu(), cores.cpus.front());
  return target;
}

Result<Target> resolve_target(const std::string& text) {
  if (text.rfind("cpu", 0) != 0) return parse_target(text);
  const Target here = detect_target();
  const std::string native = "-mcpu=native", own = has(text, "amx") ? "-mcpu=" + here.cpu().mcpu : own_switches();
  std::string explicit_text = text;
  if (const std::size_t at = text.find(native); at != std::string::npos) explicit_text.replace(at, native.size(), own);
  if (!has(explicit_text, "-mcpu")) explicit_text += " " + own;
  WHET_TRY(Target target, parse_target(explicit_text));
  if (!has(text, "-threads") && !is_foreign(target)) target.threads = here.threads;
  if (target.cpu().mcpu == here.cpu().mcpu) use_caches_of_this_machine(target.cpu(), usable_cores().cpus.front());
  return target;
}

bool is_foreign(const Target& target) { return target.is_cpu() && target.cpu().isa != kIsaOfThisMachine; }

Status can_run(const Target& target, Isa here, IsaSet features, const std::string& where) {
  if (!target.is_cpu()) return ok_status();
  const CpuTarget& cpu = target.cpu();
  const std::string sentence = where + " cannot run code for \"" + to_string(target) + "\": it has no ";
  if (cpu.isa != here) return Error{sentence + (cpu.isa == Isa::aarch64 ? "AArch64 processor" : "x86-64 processor")};
  if (cpu.isa == Isa::aarch64) return ok_status();
  if (cpu.vector_bytes >= 64 && !(features & isa_set("avx512f"))) return Error{sentence + "AVX-512"};
  if (cpu.vector_bytes >= 32 && !(features & isa_set("avx"))) return Error{sentence + "AVX"};
  if (cpu.fma && !(features & isa_set("fma"))) return Error{sentence + "FMA"};
  if ((cpu.bf16_tiles && !(features & isa_set("amx-bf16"))) || (cpu.byte_tiles && !(features & isa_set("amx-int8"))))
    return Error{sentence + "tiles (AMX), or its system refuses them; add -mattr=-amx-tile"};
  return ok_status();
}

Status can_run(const Target& target) {
  return can_run(target, kIsaOfThisMachine, read_processor().features, "this machine");
}

}  // namespace whet
