#pragma once

#include <string>
#include <variant>
#include <vector>

#include "json/document.h"
#include "records/record_base.h"

namespace whet {

/// What bases are written as. Later versions of record files, up to `kRecordVersion`, have read them alike.
inline constexpr int kBaseVersion = 3;

/// The first line of a record base: its name and who taught it.
struct BaseHead {
  std::string name, made;  ///< "cpu-512", "2026.12"
  std::vector<BaseOrigin> origins;
  friend bool operator==(const BaseHead&, const BaseHead&) = default;
};

/// Lines of a base without their newlines (docs/formats/base.md).
std::string to_line(const BaseHead&);
std::string to_line(const BaseTask&);

/// Whether a line of a record file belongs to a base.
bool is_of_base(JsonView line);
/// What such a line of this version says, or what is wrong with it, to be read behind "line 118": "names no sketch". The origins of its
/// entries may be any.
std::variant<BaseHead, BaseTask, std::string> base_line_of(JsonView line);

}  // namespace whet
