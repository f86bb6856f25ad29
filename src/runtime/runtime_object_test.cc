#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/cpu/embedded_aarch64.h"
#include "runtime/embedded.h"

namespace whet {
namespace {

/// The object's sections and symbols.
struct Object {
  std::vector<Elf64_Shdr> sections;
  std::set<std::string> undefined, exported;
};

template <typename T>
std::vector<T> read_array(const char* object, std::uint64_t offset, std::uint64_t count) {
  std::vector<T> out(count);
  std::memcpy(out.data(), object + offset, count * sizeof(T));
  return out;
}

Object read_object(const char* begin) {
  Object object;
  const Elf64_Ehdr header = read_array<Elf64_Ehdr>(begin, 0, 1)[0];
  object.sections = read_array<Elf64_Shdr>(begin, header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* names = begin + object.sections[section.sh_link].sh_offset;
    for (const Elf64_Sym& symbol :
         read_array<Elf64_Sym>(begin, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      if (symbol.st_shndx == SHN_UNDEF) object.undefined.insert(names + symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT) {
        object.exported.insert(names + symbol.st_name);
      }
    }
  }
  return object;
}

Object cpu_object() { return read_object(whet_runtime_object_begin); }
Object cuda_object() { return read_object(whet_cuda_runtime_object_begin); }

void expect_c_library_alone(const Object& object, const std::string& image) {
  void* c = dlopen("libc.so.6", RTLD_NOW);
  ASSERT_NE(c, nullptr);
  for (const std::string& name : object.undefined) {
    if (name == image || name == "_GLOBAL_OFFSET_TABLE_") continue;
    EXPECT_NE(dlsym(c, name.c_str()), nullptr) << name << " is not in libc";
    EXPECT_NE(name.substr(0, 2), "_Z") << name << " is a C++ name";
  }
  EXPECT_EQ(object.undefined.count(image), 1u);
  dlclose(c);
}

/// Its bytes in memory. Nothing of it runs when a model is loaded.
std::uint64_t bytes_in_memory(const Object& object) {
  std::uint64_t bytes = 0;
  for (const Elf64_Shdr& section : object.sections) {
    if (section.sh_flags & SHF_ALLOC) bytes += section.sh_size;
    EXPECT_FALSE(section.sh_flags & SHF_TLS) << "no thread-local storage";
    EXPECT_NE(section.sh_type, static_cast<std::uint32_t>(SHT_INIT_ARRAY)) << "nothing runs when a model is loaded";
  }
  return bytes;
}

TEST(RuntimeObject, IsTheSameForAArch64) {
  if (aarch64_runtime_object().empty()) GTEST_SKIP() << "this build makes nothing for AArch64";
  const Object object = read_object(whet_aarch64_runtime_object_begin);
  expect_c_library_alone(object, "whet_image");
  EXPECT_EQ(object.exported, (std::set<std::string>{"whet_model_v1"}));
  EXPECT_LT(bytes_in_memory(object), 66u * 1000);
}

TEST(RuntimeObject, NeedsNothingButTheCLibrary) {
  expect_c_library_alone(cpu_object(), "whet_image");
  expect_c_library_alone(cuda_object(), "whet_cuda_image");
}

/// Archives are linked with any C library. musl has none of these, which glibc has.
TEST(RuntimeObject, NeedsNothingThatGlibcAloneHas) {
  for (const Object& object : {cpu_object(), cuda_object()})
    for (const char* name :
         {"pthread_attr_setaffinity_np", "__sched_cpualloc", "__sched_cpufree", "__snprintf_chk", "__memcpy_chk",
          "__strcpy_chk", "__isoc23_strtol", "__isoc23_strtoul", "qsort_r", "secure_getenv"})
      EXPECT_EQ(object.undefined.count(name), 0u) << name;
}

TEST(RuntimeObject, ExportsOneSymbol) {
  EXPECT_EQ(cpu_object().exported, (std::set<std::string>{"whet_model_v1"}));
  EXPECT_EQ(cuda_object().exported, (std::set<std::string>{"whet_model_v1"}));
}

TEST(RuntimeObject, IsSmall) {
  EXPECT_LT(bytes_in_memory(cpu_object()), 69u * 1000);
  EXPECT_LT(bytes_in_memory(cuda_object()), 128u * 1000);
}

/// A model for the CPU pays nothing for devices: it opens no library and has nothing of CUDA in it.
TEST(RuntimeObject, HasNothingOfDevicesForTheCpu) {
  const Object object = cpu_object();
  for (const char* name : {"dlopen", "dlsym", "dlerror", "dlclose", "sscanf", "__isoc99_sscanf", "whet_cuda_image"}) {
    EXPECT_EQ(object.undefined.count(name), 0u) << name;
  }
  const std::string bytes(whet_runtime_object_begin, whet_runtime_object_end);
  for (const char* text : {"libcuda", "cuInit", "CUDA_ERROR"}) EXPECT_EQ(bytes.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace whet
