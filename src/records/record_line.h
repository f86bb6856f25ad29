#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/shared_text.h"
#include "json/document.h"
#include "trial/error.h"
#include "trial/outcome.h"
#include "trial/plan.h"
#include "trial/ranged.h"
#include "trial/value_range.h"

namespace whet {

/// The newest version that this program reads, and every one before. Measurements are lines of version 1, plans of version 2, those of
/// a record base of version 3, times of kernels and networks for ranges of sizes, plans that round and errors of layers of version 4, ranges
/// of values on samples, and plans and errors of whole numbers, of version 5, plans of one type of fewer bits of version 6.
constexpr int kRecordVersion = 6;

/// One line of a record file without its newline (docs/formats/record.md).
std::string to_line(const Record&);

/// A line of a record base, which RecordBase::parse reads. It stays in the file.
struct BaseLine {};
/// A line that a newer whet wrote. It stays in the file and is not used.
struct NewerRecord {
  std::int64_t version;
};
/// A line that this program cannot use, and the reason.
struct BadLine {
  std::string why;
};
using ParsedLine = std::variant<Record, Plan, RangedRecord, NetworkAtSizes, LayerError, RangesOnSamples, BaseLine,
                                NewerRecord, BadLine>;
ParsedLine parse_line(std::string_view line);

/// What many lines, parsed one after the other, have in common: a file may have 100,000.
struct LineRoom {
  JsonDocument json;
  SharedTexts texts;  ///< keys, names, targets and times: most of a file's lines have the same few
};
ParsedLine parse_line(std::string_view line, LineRoom&);

/// A workload key without the white space that JSON allows. Keys are compared in this form.
std::string canonical_key(std::string_view key);

/// `2026-11-21T10:00:00Z`, for `Record::at`.
std::string utc_now();

}  // namespace whet
