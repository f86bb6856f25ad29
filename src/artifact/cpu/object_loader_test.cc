#include "artifact/cpu/object_loader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "artifact/cpu/relocate.h"
#include "base/rng.h"

namespace whet {
namespace {

/// A hand-made object: sections null, .text, .rela.text, .symtab, .strtab. Its kernel jumps to `callee` by a
/// relocation; symbol 2 is `callee`, undefined, and symbol 3 is local code that returns 7.
struct TinyObject {
  std::string callee = "local";
  std::uint32_t relocation = R_X86_64_PLT32;
  std::uint64_t text_flags = SHF_ALLOC | SHF_EXECINSTR;
  std::int64_t addend = -4;
  std::uint16_t machine = EM_X86_64;

  std::string bytes() const {
    const std::string text("\xe9\0\0\0\0\xb8\7\0\0\0\xc3", 11);  // jmp callee; local: mov eax, 7; ret
    const std::string names = std::string("\0kernel\0", 8) + callee + '\0';
    const Elf64_Rela rela = {1, ELF64_R_INFO(callee == "local" ? 3u : 2u, relocation), addend};
    const Elf64_Sym symbols[] = {{},
                                 {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, 5},
                                 {8, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0},
                                 {8, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 5, 6}};
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_REL;
    header.e_machine = machine;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 5;
    const std::uint64_t at_text = sizeof header, at_rela = at_text + text.size(), at_symbols = at_rela + sizeof rela,
                        at_names = at_symbols + sizeof symbols;
    header.e_shoff = at_names + names.size();
    const Elf64_Shdr sections[] = {{},
                                   {0, SHT_PROGBITS, text_flags, 0, at_text, text.size(), 0, 0, 16, 0},
                                   {0, SHT_RELA, 0, 0, at_rela, sizeof rela, 3, 1, 8, sizeof rela},
                                   {0, SHT_SYMTAB, 0, 0, at_symbols, sizeof symbols, 4, 1, 8, sizeof symbols[0]},
                                   {0, SHT_STRTAB, 0, 0, at_names, names.size(), 0, 0, 1, 0}};
    return view(header) + text + view(rela) + view(symbols) + names + view(sections);
  }

  template <typename T>
  static std::string view(const T& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
};

Kernel kernel_of(const std::string& bytes, const std::string& entry = "kernel") {
  Kernel kernel;
  kernel.code = bytes;
  kernel.launches = {{entry}};
  return kernel;
}

std::string error_of(const Kernel& kernel) {
  const Result<LoadedKernel> loaded = LoadedKernel::load(kernel);
  return loaded.ok() ? "loaded" : loaded.error().message;
}
std::string load(const std::string& bytes, const std::string& entry = "kernel") {
  return error_of(kernel_of(bytes, entry));
}

/// Generated code reads the fields by these offsets.
TEST(KernelArgs, HaveTheFieldsOfVersionTwo) {
  EXPECT_EQ(WHET_KERNEL_ARGS_VERSION, 2);
  EXPECT_EQ(offsetof(whet_kernel_args, buffers), 0u);
  EXPECT_EQ(offsetof(whet_kernel_args, workspace), 8u);
  EXPECT_EQ(offsetof(whet_kernel_args, worker_workspace), 16u);
  EXPECT_EQ(offsetof(whet_kernel_args, runtime), 24u);
  EXPECT_EQ(offsetof(whet_kernel_args, team), 32u);
  EXPECT_EQ(offsetof(whet_kernel_args, worker), 40u);
  EXPECT_EQ(offsetof(whet_kernel_args, workers), 44u);
  EXPECT_EQ(sizeof(whet_kernel_args), 48u);
}

TEST(ObjectLoader, RunsAKernelThatWasRelocated) {
  Kernel kernel = kernel_of(TinyObject{}.bytes());
  kernel.launches[0].parallel = true;
  Result<LoadedKernel> loaded = LoadedKernel::load(kernel);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE(loaded->parallel());
  const whet_kernel_args args = {};
  EXPECT_EQ(loaded->entry()(&args), 7);
  LoadedKernel moved = std::move(loaded).value();
  EXPECT_EQ(moved.entry()(&args), 7);
}

TEST(ObjectLoader, ResolvesTheThreeHelpersAndNothingElse) {
  for (const char* helper : {"memcpy", "memset", "memmove"}) EXPECT_EQ(load(TinyObject{helper}.bytes()), "loaded");
  EXPECT_EQ(load(TinyObject{"expf"}.bytes()),
            "kernel object: undefined symbol `expf`; kernels may refer to memcpy, memset and memmove alone");
}

TEST(ObjectLoader, AppliesRelocationsOfEightBytes) {
  struct Relocated {
    std::uint64_t code, value;
  };
  const auto relocated = [](std::uint32_t type) {
    const std::string bytes = TinyObject{"local", type, SHF_ALLOC | SHF_EXECINSTR, 16}.bytes();
    LoadedObject loaded;
    char error[256] = "";
    EXPECT_TRUE(load_object(bytes.data(), bytes.size(), "kernel", &loaded, error, sizeof error)) << error;
    Relocated found{reinterpret_cast<std::uint64_t>(loaded.entry), 0};
    std::memcpy(&found.value, reinterpret_cast<const char*>(found.code) + 1, sizeof found.value);
    unload_object(&loaded);
    return found;
  };
  const Relocated address = relocated(R_X86_64_64), distance = relocated(R_X86_64_PC64);
  EXPECT_EQ(address.value, address.code + 5 + 16) << "`local` begins at byte 5";
  EXPECT_EQ(distance.value, 5u + 16 - 1) << "from the relocated bytes";
}

TEST(ObjectLoader, NamesAnUndefinedSymbolOnOneLine) {
  EXPECT_EQ(load(TinyObject{"a\nb\x01"}.bytes()),
            "kernel object: undefined symbol `a?b?`; kernels may refer to memcpy, memset and memmove alone");
}

TEST(ObjectLoader, RefusesWhatAKernelMustNotHave) {
  TinyObject writable;
  writable.text_flags |= SHF_WRITE;
  EXPECT_EQ(load(writable.bytes()), "kernel object: section 1 is writable data, which kernels must not have");
  EXPECT_EQ(load(TinyObject{"local", R_X86_64_GOTPCREL}.bytes()), "kernel object: relocation type 9 is not supported");
  TinyObject far;
  far.addend = std::int64_t{1} << 40;
  EXPECT_EQ(load(far.bytes()), "kernel object: a relocation does not reach its target");
  EXPECT_EQ(load(TinyObject{}.bytes(), "other"), "kernel object: no function `other`");
}

TEST(ObjectLoader, RefusesKernelsThatAreNotForACpu) {
  Kernel kernel = kernel_of(TinyObject{}.bytes());
  kernel.launches.push_back({"kernel"});
  EXPECT_EQ(error_of(kernel), "a CPU's kernel has one launch; this one has another number");
  kernel.launches.clear();
  EXPECT_EQ(error_of(kernel), "a CPU's kernel has one launch; this one has another number");
  kernel.format = CodeFormat::ptx;
  EXPECT_EQ(error_of(kernel), "a CPU runs kernels of format native_object; this one is ptx");
}

TEST(ObjectLoader, RefusesGarbage) {
  const std::string good = TinyObject{}.bytes();
  EXPECT_EQ(load(""), "kernel object: truncated at byte 0");
  EXPECT_EQ(load(std::string(64, 'x')), "kernel object: not an ELF file");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(load(good.substr(0, size)), "loaded") << size;
}

TEST(ObjectLoader, CopiesNothingOfANullSection) {
  std::string object = TinyObject{}.bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  Elf64_Shdr null = {};
  null.sh_flags = SHF_ALLOC;
  null.sh_offset = std::uint64_t{1} << 40;
  null.sh_size = 64;
  std::memcpy(object.data() + header.e_shoff, &null, sizeof null);
  EXPECT_EQ(load(object), "loaded");
}

/// Loads damaged copies. Either answer is right; what matters is that nothing outside is touched.
void load_damaged(const MachineRelocations& machine, const std::string& good) {
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (std::int64_t edits = rng.between(1, 4); edits > 0; --edits)
      bad[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bad.size())))] = static_cast<char>(rng.next());
    LoadedObject loaded;
    char error[256] = "";
    if (load_object_of(machine, bad.data(), bad.size(), "kernel", &loaded, error, sizeof error))
      unload_object(&loaded);
    else
      EXPECT_STRNE(error, "");
  }
}

TEST(ObjectLoader, SurvivesAnyDamagedByte) { load_damaged(kX86_64Relocations, TinyObject{}.bytes()); }

/// An object for AArch64 whose relocation of the type changes the bytes from 1 on.
std::string for_aarch64(std::uint32_t type, std::int64_t addend = 3) {
  return TinyObject{"local", type, SHF_ALLOC | SHF_EXECINSTR, addend, EM_AARCH64}.bytes();
}
std::string load_for_aarch64(const std::string& bytes) {
  LoadedObject loaded;
  char error[256] = "";
  if (!load_object_of(kAArch64Relocations, bytes.data(), bytes.size(), "kernel", &loaded, error, sizeof error))
    return error;
  unload_object(&loaded);
  return "loaded";
}

TEST(ObjectLoader, SurvivesAnyDamagedByteOfObjectsForAArch64) {
  for (const std::uint32_t type : {R_AARCH64_JUMP26, R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ABS64})
    load_damaged(kAArch64Relocations, for_aarch64(type));
}
TEST(ObjectLoader, AppliesOrRefusesEveryTypeOfRelocationOfAArch64) {
  for (std::uint32_t type = 0; type < 1200; ++type) {
    const std::string answer = load_for_aarch64(for_aarch64(type));
    if (kAArch64Relocations.width(type) == 0)
      EXPECT_EQ(answer, "kernel object: relocation type " + std::to_string(type) + " is not supported");
    else
      EXPECT_TRUE(answer == "loaded" || answer.ends_with("has a target that is not aligned")) << type << ": " << answer;
  }
  EXPECT_EQ(load_for_aarch64(TinyObject{}.bytes()),
            "kernel object: expected a relocatable AArch64 ELF file, found type 1 for machine 62");
  EXPECT_EQ(load_for_aarch64(for_aarch64(R_AARCH64_PREL32, std::int64_t{1} << 40)),
            "kernel object: a relocation does not reach its target");
}

}  // namespace
}  // namespace whet
