#include "artifact/cpu/object_loader.h"

#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/cpu/relocate.h"

namespace whet {
namespace {

constexpr uint64_t kMaxSections = 128;
constexpr uint64_t kMaxArena = uint64_t{1} << 30;  // 32-bit relocations must reach across it
constexpr uint64_t kStubBytes = 16;

struct Helper {
  const char* name;
  void* address;
};
const Helper kHelpers[] = {{"memcpy", reinterpret_cast<void*>(&memcpy)},
                           {"memset", reinterpret_cast<void*>(&memset)},
                           {"memmove", reinterpret_cast<void*>(&memmove)}};
constexpr uint64_t kHelperCount = sizeof kHelpers / sizeof kHelpers[0];

/// The beginning of a name as a message has it. A damaged file may name anything, and a message is one line.
struct OnOneLine {
  explicit OnOneLine(const char* name) {
    for (size_t i = 0; i + 1 < sizeof text && name[i] != '\0'; ++i)
      text[i] = static_cast<unsigned char>(name[i]) < ' ' ? '?' : name[i];
  }
  char text[101] = {};
};

/// Loads one object; every read of the file goes through `read` or `string_at`, which check its bounds.
class Loader {
 public:
  Loader(const MachineRelocations& machine, const char* object, uint64_t bytes, char* error, size_t error_bytes)
      : machine_(machine), object_(object), bytes_(bytes), error_(error), error_bytes_(error_bytes) {}

  bool load(const char* symbol, LoadedObject* loaded) {
    if (!read_header() || !read_sections() || !lay_out()) return false;
    void* arena = mmap(nullptr, arena_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) return fail("no memory for a kernel of %llu bytes", ull(arena_bytes_));
    arena_ = static_cast<char*>(arena);
    uint64_t entry = 0;
    const bool good = fill() && relocate() && find_entry(symbol, &entry) && protect();
    if (!good) {
      munmap(arena_, arena_bytes_);
      return false;
    }
    loaded->arena = arena_;
    loaded->arena_bytes = arena_bytes_;
    loaded->entry = reinterpret_cast<whet_kernel>(arena_ + entry);
    return true;
  }

 private:
  static unsigned long long ull(uint64_t value) { return value; }

  __attribute__((format(printf, 2, 3))) bool fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_, error_bytes_, format, arguments);
    va_end(arguments);
    return false;
  }

  bool inside(uint64_t offset, uint64_t size) const { return offset <= bytes_ && size <= bytes_ - offset; }

  template <typename T>
  bool read(uint64_t offset, T* out) {
    if (!inside(offset, sizeof(T))) return fail("kernel object: truncated at byte %llu", ull(bytes_));
    memcpy(out, object_ + offset, sizeof(T));
    return true;
  }

  bool read_header() {
    if (!read(0, &header_)) return false;
    if (memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return fail("kernel object: not an ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != machine_.machine || header_.e_type != ET_REL)
      return fail("kernel object: expected a relocatable %s ELF file, found type %d for machine %d", machine_.name,
                  header_.e_type, header_.e_machine);
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0 || header_.e_shnum > kMaxSections)
      return fail("kernel object: %d section headers of %d bytes, expected 1 to %llu of %zu", header_.e_shnum,
                  header_.e_shentsize, ull(kMaxSections), sizeof(Elf64_Shdr));
    return true;
  }

  bool read_sections() {
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      if (header_.e_shoff > bytes_) return fail("kernel object: section headers lie outside the file");
      Elf64_Shdr& section = sections_[i];
      if (!read(header_.e_shoff + i * sizeof(Elf64_Shdr), &section)) return false;
      if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL && !inside(section.sh_offset, section.sh_size))
        return fail("kernel object: section %llu lies outside the file", ull(i));
      if (section.sh_type == SHT_SYMTAB) {
        if (symtab_ != 0) return fail("kernel object: more than one symbol table");
        symtab_ = i;
      }
    }
    if (symtab_ == 0) return fail("kernel object: no symbol table");
    strtab_ = sections_[symtab_].sh_link;
    if (strtab_ >= header_.e_shnum || sections_[strtab_].sh_type != SHT_STRTAB)
      return fail("kernel object: the symbol table names no string table");
    return true;
  }

  /// A null section has no bytes, whatever its header claims.
  bool is_loaded(uint64_t section) const {
    return section < header_.e_shnum && sections_[section].sh_type != SHT_NULL &&
           (sections_[section].sh_flags & SHF_ALLOC) != 0;
  }

  /// Gives every loaded section its offset in the arena; the stubs of the helpers come first.
  bool lay_out() {
    arena_bytes_ = kHelperCount * kStubBytes;
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      if (!is_loaded(i)) continue;
      const Elf64_Shdr& section = sections_[i];
      if ((section.sh_flags & SHF_WRITE) != 0 && section.sh_size != 0)
        return fail("kernel object: section %llu is writable data, which kernels must not have", ull(i));
      const uint64_t align = section.sh_addralign == 0 ? 1 : section.sh_addralign;
      if ((align & (align - 1)) != 0 || align > 4096 || section.sh_size > kMaxArena)
        return fail("kernel object: section %llu has %llu bytes aligned to %llu", ull(i), ull(section.sh_size),
                    ull(align));
      place_[i] = (arena_bytes_ + align - 1) & ~(align - 1);
      arena_bytes_ = place_[i] + section.sh_size;
      if (arena_bytes_ > kMaxArena) return fail("kernel object: more than %llu bytes to load", ull(kMaxArena));
    }
    return true;
  }

  bool fill() {
    for (uint64_t i = 0; i < kHelperCount; ++i) {
      memcpy(arena_ + i * kStubBytes, machine_.stub, machine_.stub_bytes);
      memcpy(arena_ + i * kStubBytes + machine_.stub_bytes, &kHelpers[i].address, sizeof(void*));
    }
    for (uint64_t i = 0; i < header_.e_shnum; ++i)
      if (is_loaded(i) && sections_[i].sh_type != SHT_NOBITS)
        memcpy(arena_ + place_[i], object_ + sections_[i].sh_offset, sections_[i].sh_size);
    return true;
  }

  bool read_symbol(uint64_t index, Elf64_Sym* symbol) {
    if (index >= sections_[symtab_].sh_size / sizeof(Elf64_Sym))
      return fail("kernel object: symbol %llu of %llu", ull(index),
                  ull(sections_[symtab_].sh_size / sizeof(Elf64_Sym)));
    return read(sections_[symtab_].sh_offset + index * sizeof(Elf64_Sym), symbol);
  }

  /// The name, if it ends inside the string table; else an error.
  const char* name_of(const Elf64_Sym& symbol) {
    const Elf64_Shdr& table = sections_[strtab_];
    if (symbol.st_name < table.sh_size) {
      const char* name = object_ + table.sh_offset + symbol.st_name;
      if (memchr(name, 0, table.sh_size - symbol.st_name) != nullptr) return name;
    }
    fail("kernel object: a symbol's name lies outside the string table");
    return nullptr;
  }

  bool resolve(const Elf64_Sym& symbol, uint64_t* offset) {
    if (symbol.st_shndx == SHN_UNDEF) {
      const char* name = name_of(symbol);
      if (name == nullptr) return false;
      for (uint64_t i = 0; i < kHelperCount; ++i)
        if (strcmp(name, kHelpers[i].name) == 0) return *offset = i * kStubBytes, true;
      return fail("kernel object: undefined symbol `%s`; kernels may refer to memcpy, memset and memmove alone",
                  OnOneLine(name).text);
    }
    if (!is_loaded(symbol.st_shndx) || symbol.st_value > sections_[symbol.st_shndx].sh_size)
      return fail("kernel object: a symbol lies outside the loaded sections");
    *offset = place_[symbol.st_shndx] + symbol.st_value;
    return true;
  }

  bool relocate() {
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (section.sh_type == SHT_REL && is_loaded(section.sh_info))
        return fail("kernel object: relocations without addends are not expected on %s", machine_.name);
      if (section.sh_type != SHT_RELA || !is_loaded(section.sh_info)) continue;
      for (uint64_t k = 0; k < section.sh_size / sizeof(Elf64_Rela); ++k) {
        Elf64_Rela relocation;
        if (!read(section.sh_offset + k * sizeof relocation, &relocation)) return false;
        if (!apply(relocation, section.sh_info)) return false;
      }
    }
    return true;
  }

  bool apply(const Elf64_Rela& relocation, uint64_t section) {
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    const uint64_t width = machine_.width(type);
    if (width == 0) return fail("kernel object: relocation type %llu is not supported", ull(type));
    if (relocation.r_offset > sections_[section].sh_size || width > sections_[section].sh_size - relocation.r_offset)
      return fail("kernel object: a relocation lies outside its section");
    Elf64_Sym symbol;
    uint64_t target = 0;
    if (!read_symbol(ELF64_R_SYM(relocation.r_info), &symbol) || !resolve(symbol, &target)) return false;
    char* place = arena_ + place_[section] + relocation.r_offset;
    const uint64_t address = reinterpret_cast<uint64_t>(arena_) + target + static_cast<uint64_t>(relocation.r_addend);
    switch (machine_.apply(type, place, reinterpret_cast<uint64_t>(place), address)) {
      case Relocated::done:
        return true;
      case Relocated::misaligned:
        return fail("kernel object: relocation type %llu has a target that is not aligned", ull(type));
      default:
        return fail("kernel object: a relocation does not reach its target");
    }
  }

  bool find_entry(const char* wanted, uint64_t* entry) {
    const uint64_t count = sections_[symtab_].sh_size / sizeof(Elf64_Sym);
    for (uint64_t i = 1; i < count; ++i) {
      Elf64_Sym symbol;
      if (!read_symbol(i, &symbol)) return false;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      const char* name = name_of(symbol);
      if (name == nullptr) return false;
      if (strcmp(name, wanted) != 0) continue;
      if (!is_loaded(symbol.st_shndx) || symbol.st_value >= sections_[symbol.st_shndx].sh_size)
        return fail("kernel object: `%.100s` lies outside the code", wanted);
      return resolve(symbol, entry);
    }
    return fail("kernel object: no function `%.100s`", wanted);
  }

  bool protect() {
    // Nothing on x86-64; elsewhere the instruction cache does not see what was stored.
    __builtin___clear_cache(arena_, arena_ + arena_bytes_);
    if (mprotect(arena_, arena_bytes_, PROT_READ | PROT_EXEC) == 0) return true;
    return fail("the system does not allow executable memory for a kernel");
  }

  const MachineRelocations& machine_;
  const char* object_;
  uint64_t bytes_;
  char* error_;
  size_t error_bytes_;
  Elf64_Ehdr header_ = {};
  Elf64_Shdr sections_[kMaxSections];
  uint64_t place_[kMaxSections] = {};  // offsets in the arena, of loaded sections
  uint64_t symtab_ = 0, strtab_ = 0;
  uint64_t arena_bytes_ = 0;
  char* arena_ = nullptr;
};

}  // namespace

bool load_object(const char* object, std::size_t bytes, const char* symbol, LoadedObject* loaded, char* error,
                 std::size_t error_bytes) {
  return load_object_of(host_relocations(), object, bytes, symbol, loaded, error, error_bytes);
}

bool load_object_of(const MachineRelocations& machine, const char* object, std::size_t bytes, const char* symbol,
                    LoadedObject* loaded, char* error, std::size_t error_bytes) {
  return Loader(machine, object, bytes, error, error_bytes).load(symbol, loaded);
}

void unload_object(LoadedObject* loaded) {
  if (loaded->arena != nullptr) munmap(loaded->arena, loaded->arena_bytes);
  *loaded = LoadedObject{};
}

}  // namespace whet
