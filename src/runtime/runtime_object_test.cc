#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/embedded.h"

namespace whet {
namespace {

/// The object's sections and symbols.
struct Object {
  std::vector<Elf64_Shdr> sections;
  std::set<std::string> undefined, exported;
};

template <typename T>
std::vector<T> read_array(std::uint64_t offset, std::uint64_t count) {
  std::vector<T> out(count);
  std::memcpy(out.data(), whet_runtime_object_begin + offset, count * sizeof(T));
  return out;
}

Object read_object() {
  Object object;
  const Elf64_Ehdr header = read_array<Elf64_Ehdr>(0, 1)[0];
  object.sections = read_array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* names = whet_runtime_object_begin + object.sections[section.sh_link].sh_offset;
    for (const Elf64_Sym& symbol : read_array<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      if (symbol.st_shndx == SHN_UNDEF) object.undefined.insert(names + symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT) {
        object.exported.insert(names + symbol.st_name);
      }
    }
  }
  return object;
}

TEST(RuntimeObject, NeedsNothingButTheCLibrary) {
  void* c = dlopen("libc.so.6", RTLD_NOW);
  ASSERT_NE(c, nullptr);
  for (const std::string& name : read_object().undefined) {
    if (name == "whet_image" || name == "_GLOBAL_OFFSET_TABLE_") continue;
    EXPECT_NE(dlsym(c, name.c_str()), nullptr) << name << " is not in libc";
    EXPECT_NE(name.substr(0, 2), "_Z") << name << " is a C++ name";
  }
  dlclose(c);
}

TEST(RuntimeObject, ExportsOneSymbol) { EXPECT_EQ(read_object().exported, (std::set<std::string>{"whet_model_v1"})); }

TEST(RuntimeObject, IsSmall) {
  std::uint64_t bytes = 0;
  for (const Elf64_Shdr& section : read_object().sections) {
    if (section.sh_flags & SHF_ALLOC) bytes += section.sh_size;
    EXPECT_FALSE(section.sh_flags & SHF_TLS) << "no thread-local storage";
    EXPECT_NE(section.sh_type, static_cast<std::uint32_t>(SHT_INIT_ARRAY)) << "nothing runs when a model is loaded";
  }
  EXPECT_LT(bytes, 300u * 1000);
}

}  // namespace
}  // namespace whet
