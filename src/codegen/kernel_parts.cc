#include "codegen/kernel_parts.h"

#include <cctype>

namespace whet {

std::string symbol_of(const std::string& name) {
  std::string out = "whet_";
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

std::vector<std::int64_t> argument_bytes(const Program& program) {
  std::vector<std::int64_t> bytes;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.scope != Scope::argument) continue;
    const auto position = static_cast<std::size_t>(buffer.argument);
    if (bytes.size() <= position) bytes.resize(position + 1, 0);
    bytes[position] = size_of(buffer.dtype);
    for (std::int64_t extent : buffer.extents) bytes[position] *= extent;
  }
  return bytes;
}

}  // namespace whet
