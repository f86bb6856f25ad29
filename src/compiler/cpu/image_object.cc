#include "compiler/cpu/image_object.h"

#include <elf.h>

#include <cstring>

#include "runtime/model.h"

namespace whet {
namespace {

/// The sections in file order; the numbers are their indices.
enum Section : std::uint16_t {
  kNull,
  kPlan,
  kImage,
  kRelocations,
  kNote,
  kSymbols,
  kStrings,
  kNames,
  kStack,
  kSections
};

constexpr const char* kSectionNames[kSections] = {
    "",        ".rodata.whet_plan", ".data.rel.ro.whet_image", ".rela.data.rel.ro.whet_image", ".note.whet", ".symtab",
    ".strtab", ".shstrtab",         ".note.GNU-stack"};

/// Local symbols come first in a symbol table: one for each section that is pointed at.
enum LocalSymbol : std::uint32_t { kNoSymbol, kPlanSymbol, kImageSymbol, kLocalSymbols };

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t add_string(std::string& table, std::string_view text) {
  const std::uint32_t at = static_cast<std::uint32_t>(table.size());
  table.append(text).push_back('\0');
  return at;
}

struct Contents {
  std::string section[kSections];
  std::uint32_t name[kSections] = {};
};

Elf64_Sym symbol(std::uint32_t name, unsigned char info, unsigned char visibility, std::uint16_t section,
                 std::uint64_t size = 0) {
  Elf64_Sym s{};
  s.st_name = name;
  s.st_info = info;
  s.st_other = visibility;
  s.st_shndx = section;
  s.st_size = size;
  return s;
}

void add_symbols(Contents& c, const std::vector<std::string>& kernels) {
  std::string& table = c.section[kSymbols];
  std::string& strings = c.section[kStrings];
  strings.push_back('\0');
  append(table, Elf64_Sym{});
  for (std::uint16_t section : {kPlan, kImage}) {
    append(table, symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), STV_DEFAULT, section));
  }
  append(table, symbol(add_string(strings, "whet_image"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_HIDDEN, kImage,
                       sizeof(ModelImage)));
  for (const std::string& kernel : kernels) {
    append(table, symbol(add_string(strings, kernel), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF));
  }
  // The linker's name for the start of the library.
  append(table,
         symbol(add_string(strings, "__ehdr_start"), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF));
}

/// The ModelImage, then the table of entry points, all pointers by relocation.
void add_image(Contents& c, std::uint16_t machine, std::uint64_t plan_bytes, std::size_t kernels,
               std::uint64_t weights_bytes) {
  const std::uint32_t type = machine == EM_AARCH64 ? R_AARCH64_ABS64 : R_X86_64_64;
  const auto point = [&](std::uint64_t at, std::uint64_t to, std::uint64_t addend) {
    append(c.section[kRelocations], Elf64_Rela{at, ELF64_R_INFO(to, type), static_cast<std::int64_t>(addend)});
  };
  const std::uint64_t first_kernel = kLocalSymbols + 1, start = first_kernel + kernels;
  ModelImage image{};
  image.plan_bytes = plan_bytes;
  image.weights_bytes = weights_bytes;
  image.file_backed = 1;
  append(c.section[kImage], image);
  point(offsetof(ModelImage, plan), kPlanSymbol, 0);
  point(offsetof(ModelImage, entries), kImageSymbol, sizeof(ModelImage));
  point(offsetof(ModelImage, weights), start, kWeightsAddress);
  for (std::size_t k = 0; k < kernels; ++k) {
    point(c.section[kImage].size(), first_kernel + k, 0);
    append(c.section[kImage], std::uint64_t{0});
  }
}

void add_note(Contents& c) {
  append(c.section[kNote], Elf64_Nhdr{.n_namesz = 5, .n_descsz = 0, .n_type = 1});
  c.section[kNote].append("whet\0\0\0\0", 8);
}

Elf64_Shdr header_of(Section section, const Contents& c, std::uint64_t offset) {
  Elf64_Shdr h{};
  h.sh_name = c.name[section];
  h.sh_offset = offset;
  h.sh_size = c.section[section].size();
  h.sh_addralign = 64;
  h.sh_type = SHT_PROGBITS;
  switch (section) {
    case kPlan:
      h.sh_flags = SHF_ALLOC;
      break;
    case kImage:
      h.sh_flags = SHF_ALLOC | SHF_WRITE;
      break;
    case kNote:
      h.sh_type = SHT_NOTE;
      h.sh_flags = SHF_ALLOC;
      h.sh_addralign = 4;
      break;
    case kRelocations:
      h.sh_type = SHT_RELA;
      h.sh_flags = SHF_INFO_LINK;
      h.sh_link = kSymbols;
      h.sh_info = kImage;
      h.sh_entsize = sizeof(Elf64_Rela);
      break;
    case kSymbols:
      h.sh_type = SHT_SYMTAB;
      h.sh_link = kStrings;
      h.sh_info = kLocalSymbols;
      h.sh_entsize = sizeof(Elf64_Sym);
      break;
    case kStrings:
    case kNames:
      h.sh_type = SHT_STRTAB;
      break;
    default:
      h.sh_addralign = 1;
  }
  return h;
}

Elf64_Ehdr file_header(std::uint16_t machine, std::uint64_t section_table) {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_REL;
  h.e_machine = machine;
  h.e_version = EV_CURRENT;
  h.e_ehsize = sizeof(Elf64_Ehdr);
  h.e_shoff = section_table;
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = kSections;
  h.e_shstrndx = kNames;
  return h;
}

}  // namespace

std::string image_object(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                         std::uint64_t weights_bytes) {
  Contents c;
  c.section[kPlan] = plan;
  add_symbols(c, symbols);
  add_image(c, machine, plan.size(), symbols.size(), weights_bytes);
  add_note(c);
  for (int s = 0; s < kSections; ++s) c.name[s] = add_string(c.section[kNames], kSectionNames[s]);

  std::string object(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> headers(kSections);
  for (int s = kPlan; s < kSections; ++s) {
    object.resize(round_up(object.size(), 64));
    headers[static_cast<std::size_t>(s)] = header_of(static_cast<Section>(s), c, object.size());
    object += c.section[s];
  }
  object.resize(round_up(object.size(), 8));
  const Elf64_Ehdr header = file_header(machine, object.size());
  for (const Elf64_Shdr& h : headers) append(object, h);
  std::memcpy(object.data(), &header, sizeof header);
  return object;
}

}  // namespace whet
