#pragma once

// How stored plans are written: their strings, and tables behind a header. Internal to model_plan.cc and
// sized_model_plan.cc.

#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "artifact/model_format.h"
#include "base/check.h"

namespace whet {

/// Collects strings, each distinct one once.
class StringTable {
 public:
  PlanString add(const std::string& full) {
    const std::string text = full.substr(0, full.find('\0'));
    const auto [found, is_new] = offsets_.try_emplace(text, static_cast<std::uint32_t>(bytes_.size()));
    if (is_new) bytes_.append(text.c_str(), text.size() + 1);
    return {found->second, static_cast<std::uint32_t>(text.size())};
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> offsets_;
};

/// Appends tables behind the header, each 8-byte aligned.
class PlanWriter {
 public:
  explicit PlanWriter(std::size_t header_bytes) : out_(header_bytes, '\0') {}

  template <typename T>
  PlanTable append(const T* entries, std::size_t count) {
    out_.resize((out_.size() + 7) / 8 * 8);
    const PlanTable table{static_cast<std::uint32_t>(out_.size()), static_cast<std::uint32_t>(count)};
    out_.append(reinterpret_cast<const char*>(entries), count * sizeof(T));
    WHET_CHECK(out_.size() < (std::uint64_t{1} << 32), "a plan is smaller than 4 GB");
    return table;
  }
  template <typename T>
  PlanTable append(const std::vector<T>& entries) {
    return append(entries.data(), entries.size());
  }

  template <typename Header>
  std::string finish(Header header) {
    out_.resize((out_.size() + 7) / 8 * 8);
    header.total_bytes = out_.size();
    std::memcpy(out_.data(), &header, sizeof header);
    header.checksum = whet_checksum(out_.data(), out_.size());
    std::memcpy(out_.data(), &header, sizeof header);
    return std::move(out_);
  }

 private:
  std::string out_;
};

}  // namespace whet
