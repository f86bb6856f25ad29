#include "compiler/image_object.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "runtime/model.h"

namespace whet {
namespace {

#ifndef SHF_X86_64_LARGE
constexpr std::uint64_t SHF_X86_64_LARGE = 1 << 28;
#endif

/// The sections in file order; the numbers are their indices.
enum Section : std::uint16_t {
  kNull,
  kPlan,
  kImage,
  kRelocations,
  kWeights,
  kSymbols,
  kStrings,
  kNames,
  kStack,
  kSections
};

constexpr const char* kSectionNames[kSections] = {"",
                                                  ".rodata.whet_plan",
                                                  ".data.rel.ro.whet_image",
                                                  ".rela.data.rel.ro.whet_image",
                                                  ".lrodata.whet_weights",
                                                  ".symtab",
                                                  ".strtab",
                                                  ".shstrtab",
                                                  ".note.GNU-stack"};

/// Local symbols come first in a symbol table: one for each section that is pointed at.
enum LocalSymbol : std::uint32_t { kNoSymbol, kPlanSymbol, kImageSymbol, kWeightsSymbol, kLocalSymbols };

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

/// The bytes of every section but the weights.
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
  for (std::uint16_t section : {kPlan, kImage, kWeights}) {
    append(table, symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), STV_DEFAULT, section));
  }
  append(table, symbol(add_string(strings, "whet_image"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_HIDDEN, kImage,
                       sizeof(ModelImage)));
  for (const std::string& kernel : kernels) {
    append(table, symbol(add_string(strings, kernel), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF));
  }
}

/// The ModelImage, then the table of entry points, all pointers by relocation.
void add_image(Contents& c, std::uint16_t machine, std::uint64_t plan_bytes, std::size_t kernels,
               std::uint64_t weights_bytes) {
  const std::uint32_t type = machine == EM_AARCH64 ? R_AARCH64_ABS64 : R_X86_64_64;
  const auto point = [&](std::uint64_t at, std::uint32_t to, std::int64_t addend) {
    append(c.section[kRelocations], Elf64_Rela{at, ELF64_R_INFO(std::uint64_t{to}, type), addend});
  };
  ModelImage image{};
  image.plan_bytes = plan_bytes;
  image.weights_bytes = weights_bytes;
  image.file_backed = 1;
  append(c.section[kImage], image);
  point(offsetof(ModelImage, plan), kPlanSymbol, 0);
  point(offsetof(ModelImage, entries), kImageSymbol, sizeof(ModelImage));
  point(offsetof(ModelImage, weights), kWeightsSymbol, 0);
  for (std::size_t k = 0; k < kernels; ++k) {
    point(c.section[kImage].size(), static_cast<std::uint32_t>(kLocalSymbols + 1 + k), 0);
    append(c.section[kImage], std::uint64_t{0});
  }
}

Elf64_Shdr header_of(Section section, const Contents& c, std::uint16_t machine, std::uint64_t offset,
                     std::uint64_t bytes) {
  Elf64_Shdr h{};
  h.sh_name = c.name[section];
  h.sh_offset = offset;
  h.sh_size = bytes;
  h.sh_addralign = 64;
  h.sh_type = SHT_PROGBITS;
  switch (section) {
    case kPlan:
      h.sh_flags = SHF_ALLOC;
      break;
    case kImage:
      h.sh_flags = SHF_ALLOC | SHF_WRITE;
      break;
    case kWeights:
      // "Large": the linker keeps it out of the way of code, which reaches its data by 32-bit distances.
      h.sh_flags = SHF_ALLOC | (machine == EM_X86_64 ? SHF_X86_64_LARGE : 0);
      h.sh_addralign = 4096;
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

/// A file that remembers whether any write failed.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {}
  ~Writer() {
    if (file_) std::fclose(file_);
  }
  void write(const void* data, std::uint64_t bytes) {
    ok_ = ok_ && file_ && (bytes == 0 || std::fwrite(data, 1, bytes, file_) == bytes);
    at_ += bytes;
  }
  void pad_to(std::uint64_t offset) {
    static const char zeros[4096] = {};
    WHET_CHECK(offset >= at_, "sections and weights are written in order");
    while (at_ < offset) write(zeros, std::min<std::uint64_t>(offset - at_, sizeof zeros));
  }
  Status close() {
    ok_ = file_ && std::fclose(file_) == 0 && ok_;
    file_ = nullptr;
    if (!ok_) return Error{path_ + ": cannot write: " + std::strerror(errno)};
    return ok_status();
  }

 private:
  std::string path_;
  std::FILE* file_;
  std::uint64_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

Status write_image_object(const std::string& path, std::uint16_t machine, std::string_view plan,
                          const std::vector<std::string>& symbols, const std::vector<WeightPiece>& weights,
                          std::uint64_t weights_bytes) {
  Contents c;
  c.section[kPlan] = plan;
  add_symbols(c, symbols);
  add_image(c, machine, plan.size(), symbols.size(), weights_bytes);
  for (int s = 0; s < kSections; ++s) c.name[s] = add_string(c.section[kNames], kSectionNames[s]);

  std::uint64_t offsets[kSections] = {}, bytes[kSections] = {};
  std::uint64_t at = sizeof(Elf64_Ehdr);
  for (int s = kPlan; s < kSections; ++s) {
    bytes[s] = s == kWeights ? weights_bytes : c.section[s].size();
    offsets[s] = at = round_up(at, s == kWeights ? 4096 : 64);
    at += bytes[s];
  }
  const std::uint64_t section_table = round_up(at, 8);

  Writer out(path);
  const Elf64_Ehdr header = file_header(machine, section_table);
  out.write(&header, sizeof header);
  for (int s = kPlan; s < kSections; ++s) {
    out.pad_to(offsets[s]);
    out.write(c.section[s].data(), c.section[s].size());
    if (s != kWeights) continue;
    for (const WeightPiece& piece : weights) {
      out.pad_to(offsets[s] + piece.offset);
      out.write(piece.data, piece.bytes);
    }
    out.pad_to(offsets[s] + weights_bytes);
  }
  out.pad_to(section_table);
  const Elf64_Shdr none{};
  out.write(&none, sizeof none);
  for (int s = kPlan; s < kSections; ++s) {
    const Elf64_Shdr h = header_of(static_cast<Section>(s), c, machine, offsets[s], bytes[s]);
    out.write(&h, sizeof h);
  }
  return out.close();
}

}  // namespace whet
