#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/model_plan.h"
#include "base/result.h"

namespace whet {

/// Joins relocatable objects (the embedded `runtime`, the kernels, an image object with the weights in it) into one object whose only
/// visible symbol is whet_NAME_v1, and writes the static archive `output` with it: any number of such archives live in one program.
///   objects  their paths
///   scratch  a directory for the files in between
///   threads  that the linker may use
Status write_archive(std::string_view runtime, const std::vector<std::string>& objects, const std::string& name,
                     const std::string& output, const std::string& scratch, int threads);

/// The C header of an archive: whet_NAME_v1, NAME_open, and for a model of one size NAME_run with its inputs and outputs.
///   own_weights  NAME_open takes the path of the weights file
std::string c_header(const std::string& name, const ModelPlan&, bool several_sizes, bool own_weights = false);

}  // namespace whet
