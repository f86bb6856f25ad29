#include "workflow/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/write_place.h"
#include "tensor_files/file.h"
#include "whet/model_file.h"

namespace whet {
namespace {

/// What tells the kind of a file: its first bytes, and as many of its last as the trailer of a model has.
struct FileEnds {
  std::string first, last;
};

/// A kind of files, as users call it.
struct KindOfFile {
  FileKind kind;
  const char* name;
  bool (*is)(const FileEnds&);  ///< null: the room that opens it tells
};

bool is_weights(const FileEnds& file) { return file.first.starts_with("whet.wts"); }
bool is_model(const FileEnds& file) {
  return file.last.starts_with("whet.so\n") ||
         (file.first.starts_with("!<arch>\n") && file.first.find("whet.o/ ") != std::string::npos);
}
bool is_page(const FileEnds& file) {
  return file.first.starts_with("<!DOCTYPE html>") && file.first.find("<title>whet: ") != std::string::npos;
}
bool is_events(const FileEnds& file) { return file.first.starts_with("{\"v\":1,\"event\":"); }
bool is_trace(const FileEnds& file) { return file.first.starts_with("{\"traceEvents\":"); }
/// The name of a zip's first file lies at a fixed place; one without files begins with its end.
bool is_tensors(const FileEnds& file) {
  constexpr std::size_t kLength = 26, kName = 30;
  if (file.first.starts_with("\x93NUMPY") || file.first.starts_with("PK\x05\x06")) return true;
  if (!file.first.starts_with("PK\x03\x04") || file.first.size() < kName) return false;
  const std::size_t length = static_cast<unsigned char>(file.first[kLength]);
  return std::string_view(file.first).substr(kName, length).ends_with(".npy");
}
/// The version of the format, then the producer. Other tools' networks are the user's.
bool is_onnx(const FileEnds& file) {
  return file.first.starts_with("\x08") && std::string_view(file.first).substr(2).starts_with("\x12\x04whet");
}
bool is_ptx(const FileEnds& file) { return file.first.starts_with(".version "); }

bool is_code(const FileEnds& file) {
  return file.first.starts_with("# Kernels of whet") || file.first.starts_with("; Kernels of whet");
}

bool is_header(const FileEnds& file) { return file.first.find("\n#ifndef WHET_HEADER_OF_") != std::string::npos; }

constexpr KindOfFile kKinds[] = {
    {FileKind::model, "compiled model", is_model},   {FileKind::records, "record file", nullptr},
    {FileKind::page, "report of whet", is_page},     {FileKind::events, "file of whet's events", is_events},
    {FileKind::trace, "trace of whet", is_trace},    {FileKind::tensors, ".npy or .npz file", is_tensors},
    {FileKind::onnx, "ONNX file of whet", is_onnx},  {FileKind::ptx, "PTX file", is_ptx},
    {FileKind::header, "header of whet", is_header}, {FileKind::weights, "weights file of whet", is_weights},
    {FileKind::code, "listing of whet", is_code},
};

/// Up to `most` bytes from `at`.
std::string read_part(int file, std::size_t most, off_t at) {
  std::string bytes(most, '\0');
  const ssize_t got = ::pread(file, bytes.data(), most, at);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// Nothing where there is no regular file, or an empty one: then nothing is lost.
std::optional<FileEnds> ends_of(const std::string& path) {
  constexpr std::size_t kFirst = 4096;
  struct stat info{};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  std::optional<FileEnds> ends;
  if (file < 0 && errno != ENOENT) return FileEnds{};  // of no kind
  if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
    ends = {read_part(file, kFirst, 0),
            read_part(file, sizeof(whet_file_trailer),
                      std::max<off_t>(0, info.st_size - static_cast<off_t>(sizeof(whet_file_trailer))))};
  if (file >= 0) ::close(file);
  return ends;
}

bool is_descriptor(const OutputFile& output) {
  return output.kind == FileKind::events &&
         std::ranges::all_of(output.path, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string path_of(const OutputFile& output) {
  return is_descriptor(output) ? "/proc/self/fd/" + output.path : output.path;
}

/// Whether both are one file, which may not be there yet. Devices and pipes hold nothing.
bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one{}, other{};
  const bool has_one = ::stat(a.c_str(), &one) == 0, has_other = ::stat(b.c_str(), &other) == 0;
  if (has_one && has_other) return one.st_dev == other.st_dev && one.st_ino == other.st_ino && S_ISREG(one.st_mode);
  if (has_one || has_other) return false;
  const auto place = [](const std::string& path) {
    std::error_code code;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(write_place(path).path, code), code);
  };
  return place(a) == place(b);
}

/// "x.npy", "name=x.npy": names may have a "=", and so may paths.
bool is_input(const std::string& path, const std::string& input) {
  if (is_same_file(path, input)) return true;
  const std::size_t equals = input.find('=');
  return equals != std::string::npos && is_input(path, input.substr(equals + 1));
}

Status check_output(const OutputFile& output, const std::vector<std::string>& inputs) {
  const std::string path = path_of(output);
  for (const std::string& input : inputs)
    if (is_input(path, input))
      return Error{
          fmt::format("{} is \"{}\", which this command reads; give it another name", output.option, output.path)};
  if (is_descriptor(output)) return ok_status();
  if (const Status can = can_write_file(path); !can.ok()) return can.error().at(output.option);
  if (write_place(path).in_place) return ok_status();
  const KindOfFile& kind = *std::ranges::find(kKinds, output.kind, &KindOfFile::kind);
  const std::optional<FileEnds> ends = kind.is == nullptr ? std::nullopt : ends_of(path);
  if (!ends || kind.is(*ends)) return ok_status();
  return Error{fmt::format("{} is \"{}\", which is there and is no {}; give it another name, or remove the file",
                           output.option, output.path, kind.name)};
}

}  // namespace

Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty()) continue;
    for (std::size_t k = 0; k < i; ++k)
      if (!outputs[k].path.empty() && is_same_file(path_of(outputs[k]), path_of(outputs[i])))
        return Error{fmt::format("{} and {} are both \"{}\"; give each a file of its own", outputs[k].option,
                                 outputs[i].option, outputs[i].path)};
    WHET_RETURN_IF_ERROR(check_output(outputs[i], inputs));
  }
  return ok_status();
}

}  // namespace whet
