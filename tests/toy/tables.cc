// The tables by target, with the toy's rows behind the CPU's. They stand in for the tables of the rooms: the linker takes
// these functions, and leaves the rooms' files, which hold nothing else, in their libraries.

#include "artifact/code_format.h"
#include "codegen/generators.h"
#include "cost/cpu/features.h"
#include "lower/cpu/passes.h"
#include "space/cpu/author.h"
#include "toy.h"

namespace whet {

std::span<const TargetKind> target_kinds() {
  static constexpr TargetKind kKinds[] = {
      {"cpu", "cpu -mcpu=haswell -threads=2", cpu_text, parse_cpu, cpu_distance, cpu_differences, cpu_cache_bytes},
      {toy::kKind, "toy", toy::target_text, toy::parse, toy::distance, toy::differences, toy::cache_bytes}};
  return kKinds;
}

std::span<const CodeFormatRow> code_formats() {
  static constexpr CodeFormatRow kFormats[] = {{CodeFormat::native_object, "native_object", 8},
                                               {toy::kFormat, "toy", 1}};
  return kFormats;
}

std::span<const TargetCode> target_codes() {
  static constexpr TargetCode kCodes[] = {{"cpu", CodeFormat::native_object}, {toy::kKind, toy::kFormat}};
  return kCodes;
}

std::span<const PassTable> pass_tables() {
  static constexpr PassTable kTables[] = {{"cpu", cpu_passes}, {toy::kKind, toy::passes}};
  return kTables;
}

std::span<const SpaceAuthor> space_authors() {
  static constexpr SpaceAuthor kAuthors[] = {{"cpu", cpu_templates, cpu_rules},
                                             {toy::kKind, toy::templates, toy::rules}};
  return kAuthors;
}

std::span<const FeatureSet> feature_sets() {
  static constexpr FeatureSet kSets[] = {{"cpu", cpu_features, cpu_feature_names, cpu_seconds},
                                         {toy::kKind, toy::features, toy::feature_names, toy::seconds}};
  return kSets;
}

std::span<const CodeGenerator> code_generators() {
  static constexpr CodeGenerator kGenerators[] = {
      {"cpu", compile_for_cpu, disassemble_for_cpu, innermost_loops_for_cpu},
      {toy::kKind, toy::compile, toy::disassemble, toy::innermost_loops}};
  return kGenerators;
}

std::span<const DeviceKind> device_kinds() {
  static constexpr DeviceKind kDevices[] = {{toy::kKind, toy::make_device}};
  return kDevices;
}

std::span<const LibraryOfFormat> library_writers() {
  static constexpr LibraryOfFormat kWriters[] = {{toy::kFormat, toy::write_library}};
  return kWriters;
}

}  // namespace whet
