#pragma once

#include <string>

#include "workflow/pack.h"

namespace whet {

/// whet records pack: writes a record base, to standard output where `output` is empty. Gives the exit code.
Result<int> pack_records(PackOptions, const std::string& output);

/// "cpu-512 2026.12 (41 networks)", its origins, and of each kind of task how many it has and what they gained.
std::string show_text(const RecordBase&);
/// The best schedule of each task: what it is about, how much it gained and who taught it.
std::string best_text(const RecordBase&);

}  // namespace whet
