#include "compiler/cpu/image_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "runtime/model.h"

namespace whet {
namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t add_string(std::string& table, std::string_view text) {
  const std::uint32_t at = static_cast<std::uint32_t>(table.size());
  table.append(text).push_back('\0');
  return at;
}

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

struct Section {
  std::string name;
  Elf64_Shdr header{};
  std::string bytes;
};

/// Sections in file order: none, the parts, the image, its relocations, the note, symbols, strings, names, the stack's.
class ObjectWriter {
 public:
  ObjectWriter(const ModelObject& object, std::uint16_t machine)
      : object_(object),
        machine_(machine),
        image_(static_cast<std::uint16_t>(1 + object.parts.size())),
        symbols_(static_cast<std::uint16_t>(image_ + 3)) {}

  std::string write() {
    sections_.emplace_back();
    for (const std::string& part : object_.parts) add(".rodata.whet_part", SHT_PROGBITS, SHF_ALLOC, part);
    add(".data.rel.ro.whet_image", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, object_.image);
    add_relocations();
    add(".note.whet", SHT_NOTE, SHF_ALLOC, note()).header.sh_addralign = 4;
    add_symbols();
    add(".shstrtab", SHT_STRTAB, 0, "");
    add(".note.GNU-stack", SHT_PROGBITS, 0, "").header.sh_addralign = 1;
    for (Section& s : sections_) s.header.sh_name = add_string(sections_[symbols_ + 2u].bytes, s.name);
    return file();
  }

 private:
  /// Local symbols come first in a symbol table: one for each section that is pointed at, in order.
  std::uint64_t first_global() const { return image_ + 1u; }
  std::uint64_t symbol_of(const ImagePointer& pointer) const {
    switch (pointer.to) {
      case ImagePointer::To::part:
        return 1 + pointer.number;
      case ImagePointer::To::image:
        return image_;
      case ImagePointer::To::function:
        return first_global() + 1 + pointer.number;
      case ImagePointer::To::weights:
        break;
    }
    return first_global() + 1 + object_.functions.size();  // the start of the library
  }

  bool points_to_weights() const {
    return std::ranges::any_of(object_.pointers,
                               [](const ImagePointer& pointer) { return pointer.to == ImagePointer::To::weights; });
  }

  Section& add(const char* name, std::uint32_t type, std::uint64_t flags, std::string bytes) {
    Section s{name, {}, std::move(bytes)};
    s.header.sh_type = type;
    s.header.sh_flags = flags;
    s.header.sh_addralign = 64;
    return sections_.emplace_back(std::move(s));
  }

  void add_relocations() {
    const std::uint32_t type = machine_ == EM_AARCH64 ? R_AARCH64_ABS64 : R_X86_64_64;
    Section& s = add(".rela.data.rel.ro.whet_image", SHT_RELA, SHF_INFO_LINK, "");
    for (const ImagePointer& pointer : object_.pointers) {
      const bool to_weights = pointer.to == ImagePointer::To::weights;
      append(s.bytes, Elf64_Rela{pointer.at, ELF64_R_INFO(symbol_of(pointer), type),
                                 static_cast<std::int64_t>(pointer.addend + (to_weights ? kWeightsAddress : 0))});
    }
    s.header.sh_link = symbols_;
    s.header.sh_info = image_;
    s.header.sh_entsize = sizeof(Elf64_Rela);
  }

  static std::string note() {
    std::string bytes;
    append(bytes, Elf64_Nhdr{.n_namesz = 5, .n_descsz = 0, .n_type = 1});
    return bytes.append("whet\0\0\0\0", 8);
  }

  void add_symbols() {
    std::string table, strings(1, '\0');
    append(table, Elf64_Sym{});
    for (std::uint16_t section = 1; section <= image_; ++section)
      append(table, symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), STV_DEFAULT, section));
    append(table, symbol(add_string(strings, object_.symbol), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), STV_HIDDEN, image_,
                         object_.image.size()));
    const auto append_undefined = [&](const std::string& name) {
      append(table, symbol(add_string(strings, name), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF));
    };
    for (const std::string& function : object_.functions) append_undefined(function);
    if (points_to_weights()) append_undefined("__ehdr_start");  // the linker's name for the start of the library
    Elf64_Shdr& header = add(".symtab", SHT_SYMTAB, 0, std::move(table)).header;
    header.sh_link = symbols_ + 1u;
    header.sh_info = static_cast<std::uint32_t>(first_global());
    header.sh_entsize = sizeof(Elf64_Sym);
    add(".strtab", SHT_STRTAB, 0, std::move(strings));
  }

  std::string file() {
    std::string bytes(sizeof(Elf64_Ehdr), '\0');
    for (std::size_t s = 1; s < sections_.size(); ++s) {
      bytes.resize(round_up(bytes.size(), 64));
      sections_[s].header.sh_offset = bytes.size();
      sections_[s].header.sh_size = sections_[s].bytes.size();
      bytes += sections_[s].bytes;
    }
    bytes.resize(round_up(bytes.size(), 8));
    const Elf64_Ehdr header = file_header(bytes.size());
    for (const Section& s : sections_) append(bytes, s.header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  Elf64_Ehdr file_header(std::uint64_t section_table) const {
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_REL;
    h.e_machine = machine_;
    h.e_version = EV_CURRENT;
    h.e_ehsize = sizeof(Elf64_Ehdr);
    h.e_shoff = section_table;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = static_cast<std::uint16_t>(sections_.size());
    h.e_shstrndx = static_cast<std::uint16_t>(symbols_ + 2);
    return h;
  }

  const ModelObject& object_;
  const std::uint16_t machine_, image_, symbols_;  ///< indices of sections
  std::vector<Section> sections_;
};

}  // namespace

std::string write_object(const ModelObject& object, std::uint16_t machine) {
  return ObjectWriter(object, machine).write();
}

namespace {

/// The struct without its pointer to the weights.
ModelObject object_of_image(ModelImage image, std::string_view plan, const std::vector<std::string>& symbols) {
  using To = ImagePointer::To;
  image.plan_bytes = plan.size();
  ModelObject object{"whet_image", "", {std::string(plan)}, symbols, {}};
  append(object.image, image);
  object.pointers = {{To::part, offsetof(ModelImage, plan)},
                     {To::image, offsetof(ModelImage, entries), 0, sizeof(ModelImage)}};
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    object.pointers.push_back({To::function, object.image.size(), k});
    append(object.image, std::uint64_t{0});
  }
  return object;
}

}  // namespace

std::string image_object(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                         std::uint64_t weights_bytes, std::uint64_t weights_key) {
  ModelImage image{};
  image.weights_bytes = weights_bytes;
  image.weights_key = weights_key;
  image.file_backed = weights_key == 0 ? 1 : 0;
  ModelObject object = object_of_image(image, plan, symbols);
  if (weights_key == 0) object.pointers.push_back({ImagePointer::To::weights, offsetof(ModelImage, weights)});
  return write_object(object, machine);
}

std::string image_object_with(std::uint16_t machine, std::string_view plan, const std::vector<std::string>& symbols,
                              std::string weights) {
  ModelImage image{};
  image.weights_bytes = weights.size();  // of a program that may not lie in a file: none is dropped
  ModelObject object = object_of_image(image, plan, symbols);
  object.pointers.push_back({ImagePointer::To::part, offsetof(ModelImage, weights), object.parts.size()});
  object.parts.push_back(std::move(weights));
  return write_object(object, machine);
}

}  // namespace whet
