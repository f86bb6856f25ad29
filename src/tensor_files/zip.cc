#include "tensor_files/zip.h"

#include <zlib.h>

#include <algorithm>

namespace whet {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndOfDirectory = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::uint64_t kIn64 = 0xffffffff;  ///< "see the zip64 field"

/// The little-endian number of `count` bytes at `at`, which must lie inside.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

void append(std::string& out, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint32_t checksum(std::string_view content) {
  uLong crc = crc32(0, nullptr, 0);
  while (!content.empty()) {  // zlib counts in 32 bits
    const std::size_t part = std::min<std::size_t>(content.size(), 1u << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(part));
    content.remove_prefix(part);
  }
  return static_cast<std::uint32_t>(crc);
}

struct CentralEntry {
  ZipMember member;
  std::uint64_t packed_size = 0, offset = 0;
  std::size_t length = 0;  ///< of the entry itself
};

/// Replaces sizes that are in the zip64 extra field: those, in this order, whose 32-bit field is all ones.
void read_zip64(std::string_view extra, CentralEntry& entry) {
  while (extra.size() >= 4) {
    const std::uint64_t id = number(extra, 0, 2), length = number(extra, 2, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return;
    if (id == 1) {
      std::string_view field = extra.substr(0, length);
      for (std::uint64_t* value : {&entry.member.size, &entry.packed_size, &entry.offset}) {
        if (*value != kIn64 || field.size() < 8) continue;
        *value = number(field, 0, 8);
        field.remove_prefix(8);
      }
    }
    extra.remove_prefix(length);
  }
}

Result<CentralEntry> parse_central(std::string_view bytes, std::size_t at, const std::string& what) {
  const Error damaged{what + ": the zip directory is damaged"};
  if (at > bytes.size() || bytes.size() - at < kCentralSize || number(bytes, at, 4) != kCentralHeader) return damaged;
  const std::uint64_t flags = number(bytes, at + 8, 2), method = number(bytes, at + 10, 2);
  const std::size_t name = number(bytes, at + 28, 2), extra = number(bytes, at + 30, 2),
                    comment = number(bytes, at + 32, 2);
  CentralEntry entry;
  entry.length = kCentralSize + name + extra + comment;
  if (bytes.size() - at < entry.length) return damaged;
  entry.member.name = std::string(bytes.substr(at + kCentralSize, name));
  if (std::ranges::any_of(entry.member.name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }))
    return Error{what + ": a member of the zip file has control characters in its name"};
  entry.member.crc = static_cast<std::uint32_t>(number(bytes, at + 16, 4));
  entry.packed_size = number(bytes, at + 20, 4);
  entry.member.size = number(bytes, at + 24, 4);
  entry.offset = number(bytes, at + 42, 4);
  entry.member.deflated = method == Z_DEFLATED;
  read_zip64(bytes.substr(at + kCentralSize + name, extra), entry);
  if ((flags & 1) != 0) return Error{what + ": member \"" + entry.member.name + "\" is encrypted"};
  if (method != 0 && method != Z_DEFLATED) {
    return Error{what + ": member \"" + entry.member.name + "\" is packed by method " + std::to_string(method) +
                 "; expected stored or deflated"};
  }
  return entry;
}

Status locate_data(std::string_view bytes, CentralEntry& entry, const std::string& what) {
  const Error damaged{what + ": member \"" + entry.member.name + "\" is damaged or cut off"};
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < kLocalSize) return damaged;
  const std::string_view local = bytes.substr(entry.offset);
  if (number(local, 0, 4) != kLocalHeader) return damaged;
  const std::size_t begin = kLocalSize + number(local, 26, 2) + number(local, 28, 2);
  if (begin > local.size() || entry.packed_size > local.size() - begin) return damaged;
  entry.member.packed = local.substr(begin, entry.packed_size);
  return ok_status();
}

}  // namespace

Result<std::vector<ZipMember>> parse_zip(std::string_view bytes, const std::string& what) {
  // The end record is before a comment of at most 65535 bytes.
  std::size_t end = std::string_view::npos;
  for (std::size_t back = kEndSize; back <= std::min<std::size_t>(bytes.size(), kEndSize + 65535); ++back) {
    if (number(bytes, bytes.size() - back, 4) == kEndOfDirectory) {
      end = bytes.size() - back;
      break;
    }
  }
  if (end == std::string_view::npos) return Error{what + ": not a zip file, or cut off"};
  std::vector<ZipMember> members;
  std::size_t at = number(bytes, end + 16, 4), packed = 0;
  for (std::uint64_t i = 0; i < number(bytes, end + 10, 2); ++i) {
    WHET_TRY(CentralEntry entry, parse_central(bytes.substr(0, end), at, what));
    WHET_RETURN_IF_ERROR(locate_data(bytes, entry, what));
    at += entry.length;
    packed += entry.packed_size;
    if (packed > bytes.size()) return Error{what + ": members of the zip file overlap"};
    members.push_back(std::move(entry.member));
  }
  return members;
}

Result<std::string> unzip(const ZipMember& member, const std::string& what) {
  const Error damaged{what + ": member \"" + member.name + "\" does not unpack to its recorded size and checksum"};
  std::string content;
  if (!member.deflated) {
    content = std::string(member.packed);
  } else {
    // No deflate stream grows by more than about 1032: a larger claim is a lie that would cost memory.
    if (member.size > member.packed.size() * 1100 + 1024) return damaged;
    content.resize(member.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return damaged;
    std::size_t read = 0, written = 0;
    int state = Z_OK;
    while (state == Z_OK) {
      const std::size_t in = std::min<std::size_t>(member.packed.size() - read, 1u << 30);
      const std::size_t out = std::min<std::size_t>(content.size() - written, 1u << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.packed.data() + read));
      stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
      stream.avail_in = static_cast<uInt>(in);
      stream.avail_out = static_cast<uInt>(out);
      state = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      written += out - stream.avail_out;
      if (state == Z_OK && in == stream.avail_in && out == stream.avail_out) state = Z_BUF_ERROR;  // no progress
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END || written != content.size()) return damaged;
  }
  if (content.size() != member.size || checksum(content) != member.crc) return damaged;
  return content;
}

Status ZipWriter::add(const std::string& name, std::string_view content) {
  if (bytes_.size() + content.size() + name.size() > 0xffff0000u || name.size() > 0xffff || count_ >= 0xffff) {
    return Error{"member \"" + name + "\" does not fit: a .npz file is limited to 4 GiB here; save .npy files instead"};
  }
  const std::uint64_t offset = bytes_.size();
  // Version 2.0, no flags, stored, 1 January 1980: the same content gives the same bytes.
  std::string common;
  for (std::uint64_t field : {20, 0, 0, 0, 0x21}) append(common, field, 2);
  append(common, checksum(content), 4);
  append(common, content.size(), 4);
  append(common, content.size(), 4);
  append(common, name.size(), 2);
  append(common, 0, 2);
  append(bytes_, kLocalHeader, 4);
  bytes_ += common + name;
  bytes_ += content;
  append(directory_, kCentralHeader, 4);
  append(directory_, 20, 2);
  directory_ += common;
  append(directory_, 0, 6);  // comment, disk, internal attributes
  append(directory_, 0, 4);  // external attributes
  append(directory_, offset, 4);
  directory_ += name;
  ++count_;
  return ok_status();
}

Result<std::string> ZipWriter::finish() && {
  const std::uint64_t offset = bytes_.size();
  bytes_ += directory_;
  append(bytes_, kEndOfDirectory, 4);
  append(bytes_, 0, 4);
  append(bytes_, count_, 2);
  append(bytes_, count_, 2);
  append(bytes_, directory_.size(), 4);
  append(bytes_, offset, 4);
  append(bytes_, 0, 2);
  return std::move(bytes_);
}

}  // namespace whet
