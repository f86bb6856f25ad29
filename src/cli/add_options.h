#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "workflow/fleet.h"
#include "workflow/measuring.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/tuning.h"
#include "workflow/tuning_sizes.h"

namespace whet {

// The options that several commands share, each bound to a member of a struct of `workflow`. What the environment has to
// say about them is read here.

/// MODEL and add_shapes.   compiled  the model may also be a library that `whet compile` wrote
void add_options(Arguments&, ModelOptions&, bool compiled = false);
/// The options that decide shapes and contents: --shape, --seed, and those of zoo models.
void add_shapes(Arguments&, ModelOptions&);
/// --sizes.
void add_sizes(Arguments&, ModelOptions&);
/// --tuning-sizes and --lengths.
void add_tuning_sizes(Arguments&, TuningSizeOptions&);
/// --hot-sizes.
void add_hot_sizes(Arguments&, TuningSizeOptions&);
/// Those of add_shapes.
const std::vector<std::string>& shape_options();
/// "zoo:resnet-18", ...
std::vector<std::string> built_in_networks();
/// --batch, --image and --layout.
void add_zoo(Arguments&, ModelOptions&);
/// --input and --fill.
void add_inputs(Arguments&, ModelOptions&);
///   thread_counts  where it is given, --threads may be a list, and goes there
void add_options(Arguments&, TargetOptions&, std::string* thread_counts = nullptr);
void add_options(Arguments&, FleetOptions&);
///   thread_counts  as for TargetOptions
void add_options(Arguments&, MeasuringOptions&, std::string* thread_counts = nullptr);
/// `what` is left out or allowed: "schedules", "records".
void add_options(Arguments&, RoundingOptions&, const std::string& what);
/// --precision alone.
void add_precision(Arguments&, RoundingOptions&, const std::string& meaning);
/// How candidates are measured: --cache, --repeat, --builders, the limits of time.
void add_measuring(Arguments&, TuneSettings&);
void add_options(Arguments&, BaseOptions&);
void add_options(Arguments&, RecordOptions&);
void add_options(Arguments&, RunnableOptions&);

/// A line on standard error: where the notes of `workflow` go.
void tell_user(const std::string& note);

}  // namespace whet
