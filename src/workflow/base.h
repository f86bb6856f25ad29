#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "records/record_base.h"
#include "target/target.h"
#include "workflow/options.h"

namespace whet {

/// The record base that whet carries for vectors as wide as the target's (bases/, docs/formats/base.md). An empty one for targets
/// that have none: AArch64, GPUs, narrower vectors. It is read when it is first asked for; any thread may ask.
const RecordBase& shipped_base(const Target&);

/// A base of a text that the program has inside; "": an empty one, as one that cannot be read, which has a note then.
RecordBase carried_base(std::string_view text, const std::string& name);

/// Reads a base of its own file. Errors: as RecordBase::parse; the file cannot be read.
Result<RecordBase> read_base(const std::string& path);

/// `--base FILE`, `--no-base`: what is known of other networks.
struct BaseOptions {
  bool none = false;               ///< `--no-base`: nothing
  std::vector<std::string> files;  ///< these instead of the one that whet carries, whose name here is "shipped"
  /// An error where both are given.
  Status check() const;
};
/// The base of a command, all its files as one; an empty one where there is nothing. What cannot be read is a note: a base never
/// fails a command.
std::shared_ptr<const RecordBase> choose_base(const BaseOptions&, const Target&, const Tell&);

}  // namespace whet
