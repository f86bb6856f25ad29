#include "import_tf/table.h"

#include <optional>

namespace whet::tensorflow {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 20;

/// Numbers of 7 bits a byte, from `at` on; none where the bytes end before.
std::optional<std::uint64_t> read_number(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 63 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

class TableReader {
 public:
  TableReader(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) {}

  Result<std::map<std::string, std::string>> read() {
    constexpr std::size_t kFooter = 48;
    constexpr std::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
    if (bytes_.size() < kFooter || !bytes_.ends_with(kMagic)) return Error{what_ + ": is no index of a checkpoint"};
    const std::string_view footer = bytes_.substr(bytes_.size() - kFooter);
    std::size_t at = 0;
    if (!read_number(footer, at) || !read_number(footer, at)) return damaged();  // of what is not needed
    WHET_TRY(const std::string_view index, block(footer, at));
    WHET_RETURN_IF_ERROR(each(index, [&](const std::string&, std::string_view handle) -> Status {
      std::size_t start = 0;
      WHET_TRY(const std::string_view inner, block(handle, start));
      return each(inner, [&](const std::string& key, std::string_view value) -> Status {
        held_ += key.size() + value.size() + 3;
        // Keys share their beginnings, and blocks may be named twice.
        if (entries_.size() >= kMostEntries || held_ > 64 * bytes_.size() + (1 << 20))
          return Error{what_ + ": has more entries than its size allows"};
        entries_.emplace(key, std::string(value));
        return ok_status();
      });
    }));
    return std::move(entries_);
  }

 private:
  Error damaged() const { return Error{what_ + ": is damaged or cut off"}; }

  /// The block that a place and a size at `at` name; a byte behind it says how it is compressed.
  Result<std::string_view> block(std::string_view handle, std::size_t at) const {
    const auto place = read_number(handle, at), size = read_number(handle, at);
    if (!place || !size || *place >= bytes_.size() || *size >= bytes_.size() - *place) return damaged();
    if (bytes_[*place + *size] != 0)
      return Error{what_ + ": is compressed, which is not supported; TensorFlow writes it without"};
    return bytes_.substr(*place, *size);
  }

  template <typename Use>
  Status each(std::string_view block, Use use) const {
    if (block.size() < 4) return damaged();
    std::uint64_t restarts = 0;
    for (std::size_t i = 0; i < 4; ++i)
      restarts |= static_cast<std::uint64_t>(static_cast<unsigned char>(block[block.size() - 4 + i])) << (8 * i);
    if (restarts > block.size() / 4 - 1) return damaged();
    block = block.substr(0, block.size() - 4 * (restarts + 1));
    std::string key;
    for (std::size_t at = 0; at < block.size();) {
      const auto shared = read_number(block, at), rest = read_number(block, at), size = read_number(block, at);
      const bool fits = shared && rest && size && *shared <= key.size() && *rest <= block.size() - at &&
                        *size <= block.size() - at - *rest;
      if (!fits) return damaged();
      key.resize(*shared);
      key += block.substr(at, *rest);
      WHET_RETURN_IF_ERROR(use(key, block.substr(at + *rest, *size)));
      at += *rest + *size;
    }
    return ok_status();
  }

  std::string_view bytes_;
  const std::string& what_;
  std::map<std::string, std::string> entries_;
  std::size_t held_ = 0;
};

}  // namespace

Result<std::map<std::string, std::string>> parse_table(std::string_view bytes, const std::string& what) {
  return TableReader(bytes, what).read();
}

}  // namespace whet::tensorflow
