#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "workflow/tuning.h"

namespace whet {

/// "1,2,4": numbers of threads, each once, at least one.
Result<std::vector<int>> parse_thread_counts(const std::string& list);

/// A table, and a sentence a number of threads about what the best of others costs there.
std::string thread_table_text(const ThreadTable&);
Json to_json(const ThreadTable&);

}  // namespace whet
