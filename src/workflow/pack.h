#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "records/record_base.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// What `whet records pack` makes a record base of.
struct PackOptions {
  std::vector<std::string> files;       ///< bases, and where a model is given record files of its runs
  ModelOptions model;                   ///< whose records they are; no `model`: the files are bases
  TuningSizeOptions tuning_sizes = {};  ///< of a model with sizes: at which of them it was tuned
  std::string network;  ///< what the base calls it: "resnet50 batch 8"; "": by the model's name and --batch
  std::vector<std::string> without;  ///< networks to leave out (RecordBase::without)
  std::string name;                  ///< of the base: "cpu-512"
};

/// One base of all that the files know. Of records, each target that they were measured on is an origin, and each file a run; of a model with
/// sizes those of the sizes at which it is tuned teach.
/// The machine is called by this machine's processor where that can run the target, else by the target's: records are packed where
/// they were made. No name of a host or user and no path enters.
/// Errors: a file cannot be read or holds neither; the model; no record is of its tasks.
Result<RecordBase> pack_base(const PackOptions&, const Tell&);

}  // namespace whet
