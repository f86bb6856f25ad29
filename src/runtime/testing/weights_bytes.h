#pragma once

#include <cstring>
#include <string>

#include "whet/model_file.h"

namespace whet {

/// Makes the checksums of a weights file those of its bytes.
inline void sign_weights(std::string& file) {
  whet_weights_header header;
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  header.checksum = whet_checksum(file.data() + sizeof header, file.size() - sizeof header);
  header.header_checksum = whet_checksum(&header, offsetof(whet_weights_header, header_checksum));
  std::memcpy(file.data(), &header, sizeof header);
}

/// A weights file with these weights, whose bytes are a multiple of 64.
inline std::string weights_bytes(std::uint64_t key, const std::string& weights) {
  whet_weights_header header{};
  std::memcpy(header.magic, "whet.wts", 8);
  header.version = WHET_WEIGHTS_FORMAT_VERSION;
  header.begin = WHET_WEIGHTS_BEGIN;
  header.file_bytes = WHET_WEIGHTS_BEGIN + weights.size();
  header.weights_bytes = weights.size();
  header.key = key;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.resize(WHET_WEIGHTS_BEGIN);
  file += weights;
  sign_weights(file);
  return file;
}

}  // namespace whet
