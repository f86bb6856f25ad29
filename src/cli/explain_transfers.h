#pragma once

#include <string>
#include <vector>

#include "cli/explain.h"
#include "records/record_base.h"
#include "records/records.h"
#include "task/task.h"
#include "workflow/transferring.h"

namespace whet {

/// What a record base knows of a task.
struct TransferAnswer {
  std::string base;                   ///< its name; "": there is none
  std::vector<WeighedTransfer> list;  ///< the greatest expected gain first
  std::string why_none;               ///< why none is taken, where that is not said by each
  bool is_one_taken() const;
};
TransferAnswer transfer_answer(const Task&, const Records&, const RecordBase&, const Target&, const SpaceOptions&);

/// A table of the transfers: from where, how far, what they are expected to gain, and why each is or is not taken.
void print_transfers(const TransferAnswer&);
Json to_json(const TransferAnswer&);

}  // namespace whet
