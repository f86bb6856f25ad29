#include "compiler/cpu/link.h"

#include <elf.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "base/new_file.h"
#include "compiler/cpu/image_object.h"
#include "tensor_files/file.h"
#include "whet/model_file.h"

LLD_HAS_DRIVER(elf)

namespace whet {
namespace {

/// The exit code of a child that could not write the library; the pipe has the reason.
constexpr int kNotWritten = 2;

/// The linker's word, in a child of its own; never returns. The library goes through standard output into the open file: a file that
/// the linker gets by its name it replaces by another one, under a name and with a mode of its own choice.
[[noreturn]] void link_in_child(const std::vector<const char*>& arguments, int complaints, int library) {
  llvm::raw_fd_ostream out(complaints, /*shouldClose=*/false, /*unbuffered=*/true);
  if (dup2(library, STDOUT_FILENO) < 0) _exit(1);
  const lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    out << llvm::outs().error().message();
    _exit(kNotWritten);
  }
  _exit(result.retCode == 0 ? 0 : 1);
}

std::string read_all(int file) {
  std::string text;
  char chunk[4096];
  while (true) {
    const ssize_t got = read(file, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

/// A file that is read and changed in place.
class LinkedFile {
 public:
  LinkedFile(const std::string& path, int file) : path_(path), file_(file) {}

  Result<std::uint64_t> bytes() const {
    struct stat status;
    if (fstat(file_, &status) != 0) return Error{path_ + ": " + std::strerror(errno)};
    return static_cast<std::uint64_t>(status.st_size);
  }
  Status read(void* data, std::uint64_t bytes, std::uint64_t at) const {
    if (whet_read_at(file_, data, bytes, at) != 0) return Error{path_ + ": cannot read it again"};
    return ok_status();
  }
  Status write(const void* data, std::uint64_t bytes, std::uint64_t at) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t put =
          pwrite(file_, static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(at + done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return cannot_write();
      done += static_cast<std::uint64_t>(put);
    }
    return ok_status();
  }
  Status lengthen(std::uint64_t bytes) const {
    return ftruncate(file_, static_cast<off_t>(bytes)) == 0 ? ok_status() : cannot_write();
  }

 private:
  Status cannot_write() const {
    return Error{"cannot write \"" + path_ + "\": " + std::strerror(errno), ErrorKind::io};
  }

  std::string path_;
  int file_;
};

/// Of what the loader puts at an address, its place in the file.
std::uint64_t offset_of(std::uint64_t address, const std::vector<Elf64_Phdr>& headers) {
  const auto segment = std::ranges::find_if(headers, [&](const Elf64_Phdr& h) {
    return h.p_type == PT_LOAD && h.p_vaddr <= address && address < h.p_vaddr + h.p_filesz;
  });
  WHET_CHECK(segment != headers.end(), "a segment has the address");
  return address - segment->p_vaddr + segment->p_offset;
}

/// `count` plain structs of the file.
template <typename T>
Result<std::vector<T>> read_array(const LinkedFile& file, std::uint64_t at, std::uint64_t count) {
  std::vector<T> array(count);
  WHET_RETURN_IF_ERROR(file.read(array.data(), count * sizeof(T), at));
  return array;
}

/// Points the library's pointers to weights, which are relative to its start, to where these are.
Status move_pointers(const LinkedFile& file, const std::vector<Elf64_Phdr>& headers, std::uint64_t weights) {
  const auto dynamic = std::ranges::find(headers, std::uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  WHET_CHECK(dynamic != headers.end(), "a library has a dynamic section");
  WHET_TRY(const std::vector<Elf64_Dyn> entries,
           read_array<Elf64_Dyn>(file, dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn)));
  std::uint64_t address = 0, bytes = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_RELA) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_RELASZ) bytes = entry.d_un.d_val;
  }
  const std::uint64_t at = offset_of(address, headers);
  WHET_TRY(std::vector<Elf64_Rela> pointers, read_array<Elf64_Rela>(file, at, bytes / sizeof(Elf64_Rela)));
  constexpr auto kBefore = static_cast<std::int64_t>(kWeightsAddress);
  for (Elf64_Rela& pointer : pointers) {
    if (pointer.r_addend >= kBefore) pointer.r_addend += static_cast<std::int64_t>(weights) - kBefore;
  }
  return file.write(pointers.data(), bytes, at);
}

/// Puts the weights behind a library as a segment, which takes the program header of the image object's note: the last one,
/// so that the loaded segments keep their ascending order.
Status append_weights(const LinkedFile& file, const WeightTable& weights) {
  if (weights.bytes() == 0) return ok_status();
  Elf64_Ehdr elf;
  WHET_RETURN_IF_ERROR(file.read(&elf, sizeof elf, 0));
  std::vector<Elf64_Phdr> headers(elf.e_phnum);
  WHET_RETURN_IF_ERROR(file.read(headers.data(), headers.size() * sizeof(Elf64_Phdr), elf.e_phoff));
  std::uint64_t page = 1, code_end = 0;
  for (const Elf64_Phdr& h : headers) {
    if (h.p_type != PT_LOAD) continue;
    page = std::max(page, h.p_align);
    code_end = h.p_vaddr + h.p_memsz;
  }
  WHET_CHECK(headers.back().p_type == PT_NOTE, "the image object's note has the last program header");
  if (code_end > kWeightsAddress) {
    return Error{"the code of the model takes " + std::to_string(code_end) + " bytes; a library has room for " +
                 std::to_string(kWeightsAddress)};
  }
  WHET_TRY(const std::uint64_t end, file.bytes());
  const std::uint64_t begin = (end + page - 1) / page * page;
  const std::uint64_t address = (code_end + page - 1) / page * page;
  headers.back() = {.p_type = PT_LOAD,
                    .p_flags = PF_R,
                    .p_offset = begin,
                    .p_vaddr = address,
                    .p_paddr = address,
                    .p_filesz = weights.bytes(),
                    .p_memsz = weights.bytes(),
                    .p_align = page};
  WHET_RETURN_IF_ERROR(file.write(headers.data(), headers.size() * sizeof(Elf64_Phdr), elf.e_phoff));
  WHET_RETURN_IF_ERROR(move_pointers(file, headers, address));
  WHET_RETURN_IF_ERROR(file.lengthen(begin + weights.bytes()));
  for (const WeightPiece& piece : weights.pieces())
    WHET_RETURN_IF_ERROR(file.write(piece.data, piece.bytes, begin + piece.offset));
  return ok_status();
}

/// (whet_checksum_add takes whole pieces.)
Status append_trailer(const LinkedFile& file, std::uint64_t weights_key) {
  Elf64_Ehdr elf;
  WHET_RETURN_IF_ERROR(file.read(&elf, sizeof elf, 0));
  WHET_TRY(const std::uint64_t bytes, file.bytes());
  whet_checksum_state state;
  whet_checksum_begin(&state);
  std::vector<char> chunk(1 << 20);
  while (state.bytes < bytes) {
    const std::uint64_t take = std::min<std::uint64_t>(bytes - state.bytes, chunk.size());
    WHET_RETURN_IF_ERROR(file.read(chunk.data(), take, state.bytes));
    whet_checksum_add(&state, chunk.data(), take);
  }
  whet_file_trailer trailer{};
  std::memcpy(trailer.magic, "whet.so\n", 8);
  trailer.version = WHET_MODEL_FORMAT_VERSION;
  trailer.machine = elf.e_machine;
  trailer.file_bytes = bytes + sizeof trailer;
  trailer.checksum = whet_checksum_end(&state);
  trailer.weights_key = weights_key;
  return file.write(&trailer, sizeof trailer, bytes);
}

/// Makes a model of a library.
Status append_rest(const LinkedFile& file, const WeightTable& weights, std::uint64_t weights_key) {
  WHET_RETURN_IF_ERROR(append_weights(file, weights));
  return append_trailer(file, weights_key);
}

}  // namespace

Status run_linker(const std::vector<std::string>& command, int library, const std::string& output) {
  std::vector<const char*> arguments;
  for (const std::string& word : command) arguments.push_back(word.c_str());
  // Of a program with threads, one at a time: the child of another link would hold this one's pipe open.
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{std::string("cannot start the linker: ") + std::strerror(errno)};
  const pid_t child = fork();
  if (child == 0) link_in_child(arguments, ends[1], library);
  close(ends[1]);
  const std::string complaints = child > 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  if (child < 0) return Error{std::string("cannot start the linker: ") + std::strerror(errno)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Error{"the linker died by signal " + std::to_string(WTERMSIG(status)) + ": " + complaints};
  }
  if (WEXITSTATUS(status) == kNotWritten) return Error{"cannot write \"" + output + "\": " + complaints, ErrorKind::io};
  if (WEXITSTATUS(status) != 0) return Error{"the linker failed: " + complaints};
  return ok_status();
}

Status link_model(std::string_view runtime, const std::vector<std::string>& objects, const WeightTable& weights,
                  const std::string& output, const std::string& scratch, int threads, std::uint64_t weights_key) {
  const std::string first = scratch + "/runtime.o", exports = scratch + "/exports";
  WHET_RETURN_IF_ERROR(write_file(first, runtime));
  WHET_RETURN_IF_ERROR(write_file(exports, "{ global: whet_model_v1; local: *; };\n"));
  std::vector<std::string> command = {"ld.lld",
                                      "-shared",
                                      "--gc-sections",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "-z",
                                      "now",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "noexecstack",
                                      "--strip-all",
                                      "--version-script=" + exports,
                                      "--threads=" + std::to_string(threads),
                                      "-o",
                                      "-",
                                      first};
  command.insert(command.end(), objects.begin(), objects.end());
  constexpr mode_t kExecutable = 0777;
  WHET_TRY(NewFile library, NewFile::open(output, kExecutable));
  WHET_RETURN_IF_ERROR(run_linker(command, library.fd(), output));
  WHET_RETURN_IF_ERROR(append_rest(LinkedFile(output, library.fd()), weights, weights_key));
  return library.keep();
}

}  // namespace whet
