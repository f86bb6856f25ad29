#pragma once

// A throw-away back end: a kind of target of its own, `toy`. Its code is the text of a Program, and its device interprets
// that. Everything that knows it is in this folder; tables.cc has a row for it in each table by target.

#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "codegen/machine_loops.h"
#include "compiler/library.h"
#include "cost/features.h"
#include "device/make_device.h"
#include "lower/passes.h"
#include "space/author.h"
#include "target/kinds.h"

namespace whet::toy {

constexpr std::string_view kKind = "toy";
constexpr CodeFormat kFormat{77};
Target target();

// target.cc
std::string target_text(const Target&);
Result<Target> parse(std::span<const std::string_view> switches);
std::optional<TargetDistance> distance(const Target& has, const Target& want);
std::vector<std::string> differences(const Target& has, const Target& want);
std::int64_t cache_bytes(const Target&);

// schedules.cc
std::span<const LoweringPass> passes();
std::span<const Template> templates();
const std::vector<const Rule*>& rules();
std::vector<float> features(const LoopTree&, const Target&);
const std::vector<std::string>& feature_names();
double seconds(const LoopTree&, const Target&);

// code.cc
Result<Kernel> compile(const Program&, const Target&);
Result<std::string> disassemble(const Kernel&, const Target&);
Result<std::vector<MachineLoop>> innermost_loops(const Kernel&, const Target&);

// device.cc
Result<std::unique_ptr<Device>> make_device(const Target&, const DeviceOptions&);

// model.cc
Status write_library(AssembledLibrary&, const std::vector<CompiledTask>&, const Target&, const std::string& output,
                     const CompileOptions&);
/// Runs a compiled model once.
Result<std::vector<Tensor>> run_model(const std::string& path, const std::vector<Tensor>& inputs);

}  // namespace whet::toy
