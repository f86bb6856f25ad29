#include "compiler/cpu/weights_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/new_file.h"
#include "tensor_files/file.h"
#include "whet/model_file.h"

namespace whet {
namespace {

constexpr std::uint64_t kUnit = 32;  ///< that whet_checksum_add takes multiples of

/// The file behind its header, in order, in parts of multiples of kUnit.
template <typename Visit>
Status visit_contents(const WeightTable& weights, const Visit& visit) {
  static const std::array<char, WHET_WEIGHTS_BEGIN> zeros{};
  WHET_RETURN_IF_ERROR(visit(std::string_view(zeros.data(), WHET_WEIGHTS_BEGIN - sizeof(whet_weights_header))));
  std::uint64_t at = 0;
  const auto zeros_until = [&](std::uint64_t end) -> Status {
    while (at < end) {
      const std::uint64_t take = std::min<std::uint64_t>(end - at, zeros.size());
      WHET_RETURN_IF_ERROR(visit(std::string_view(zeros.data(), take)));
      at += take;
    }
    return ok_status();
  };
  for (const WeightPiece& piece : weights.pieces()) {
    WHET_RETURN_IF_ERROR(zeros_until(piece.offset));
    const char* const data = static_cast<const char*>(piece.data);
    const std::uint64_t whole = piece.bytes / kUnit * kUnit;
    if (whole > 0) WHET_RETURN_IF_ERROR(visit(std::string_view(data, whole)));
    at += whole;
    if (whole == piece.bytes) continue;
    std::array<char, kUnit> last{};
    std::memcpy(last.data(), data + whole, piece.bytes - whole);
    WHET_RETURN_IF_ERROR(visit(std::string_view(last.data(), last.size())));
    at += kUnit;
  }
  return zeros_until(weights.bytes());
}

/// The plan without names and predictions, which do not decide where weights lie.
ModelPlan bare(ModelPlan plan) {
  plan.name.clear(), plan.records.clear(), plan.compiler.clear();
  plan.predicted_seconds = 0;
  for (auto* tensors : {&plan.inputs, &plan.outputs})
    for (ModelPlan::Tensor& tensor : *tensors) tensor.name.clear();
  for (ModelPlan::Step& step : plan.steps) step.node.clear(), step.op.clear(), step.predicted_seconds = 0;
  return plan;
}

Result<whet_file_trailer> trailer_of(const std::string& path) {
  whet_file_trailer trailer{};
  WHET_TRY(const std::uint64_t bytes, file_size(path));
  const Error no_model{path +
                       ": is no compiled model of whet; --like takes a library that whet compile --weights-file "
                       "wrote"};
  if (bytes < sizeof trailer) return no_model;
  WHET_TRY(const std::string last, read_file_part(path, bytes - sizeof trailer, sizeof trailer));
  std::memcpy(&trailer, last.data(), sizeof trailer);
  if (std::memcmp(trailer.magic, "whet.so\n", 8) != 0) return no_model;
  if (trailer.version != WHET_MODEL_FORMAT_VERSION || trailer.file_bytes != bytes)
    return Error{path + ": is a compiled model of another version, or cut short; compile it anew"};
  if (trailer.weights_key == 0)
    return Error{path + ": has its weights inside; --like takes a library that whet compile --weights-file wrote"};
  return trailer;
}

/// The plan that lies in a library, which has no weights that could look like one.
Result<SizedModelPlan> plan_in(const std::string& path) {
  WHET_TRY(const std::string library, read_file(path));
  for (std::size_t at = library.find("whetplan"); at != std::string::npos; at = library.find("whetplan", at + 1)) {
    std::uint64_t bytes = 0;
    if (at % kPlanAlignment != 0 || at + sizeof(PlanHeader) > library.size()) continue;
    std::memcpy(&bytes, library.data() + at + offsetof(PlanHeader, total_bytes), sizeof bytes);
    if (bytes > library.size() - at) continue;
    Result<SizedModelPlan> plan = read_sized_plan(std::string_view(library).substr(at, bytes));
    if (plan.ok()) return plan;
  }
  return Error{path + ": its plan is not found; compile it anew"};
}

std::string bytes_of_weights(const ModelPlan::Step& step) {
  std::uint64_t bytes = 0;
  for (const PlanArgument& a : step.arguments) bytes += a.place == PlanPlace::weights ? a.bytes : 0;
  return std::to_string(bytes) + " bytes of weights";
}

std::string shape_text(const ModelPlan::Tensor& tensor) {
  std::string text;
  for (const std::int64_t extent : tensor.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return tensor.name + " of " + text;
}

/// "its input is x of 1x3, not x of 1x4"; "" where they are alike.
std::string difference(const char* what, const std::vector<ModelPlan::Tensor>& now,
                       const std::vector<ModelPlan::Tensor>& then) {
  const auto count = [&](const auto& tensors) { return std::to_string(tensors.size()) + " " + what + "s"; };
  if (now.size() != then.size()) return "it has " + count(now) + ", not " + std::to_string(then.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].shape != then[i].shape || now[i].dtype != then[i].dtype)
      return std::string("its ") + what + " is " + shape_text(now[i]) + ", not " + shape_text(then[i]);
  return "";
}

/// The first thing in which a network differs from that of a library; "" where only kernels or places do.
std::string difference(const ModelPlan& now, const ModelPlan& then) {
  for (const auto& [what, tensors] : {std::pair("input", &ModelPlan::inputs), std::pair("output", &ModelPlan::outputs)})
    if (std::string found = difference(what, now.*tensors, then.*tensors); !found.empty()) return found;
  for (std::size_t s = 0; s < std::min(now.steps.size(), then.steps.size()); ++s) {
    const ModelPlan::Step &a = now.steps[s], &b = then.steps[s];
    if (a.op != b.op) return a.node + " is " + a.op + ", not " + b.op;
    if (bytes_of_weights(a) != bytes_of_weights(b))
      return a.node + " has " + bytes_of_weights(a) + ", not " + bytes_of_weights(b);
  }
  if (now.steps.size() != then.steps.size())
    return "it has " + std::to_string(now.steps.size()) + " kernels, not " + std::to_string(then.steps.size());
  return "";
}

}  // namespace

std::uint64_t weights_key(const AssembledLibrary& library, const std::vector<CompiledTask>& tasks) {
  SizedModelPlan plan{library.sizes, {}, static_cast<std::uint32_t>(library.usual), library.boxes, {}};
  for (const AssembledModel& variant : library.variants) {
    plan.variants.push_back(bare(variant.plan));
    plan.functions.push_back(variant.functions);
  }
  const std::string stored = write_sized_plan(plan);
  std::uint64_t key = whet_checksum(stored.data(), stored.size());
  for (const CompiledTask& task : tasks)
    key = whet_checksum_mix(key, whet_checksum(task.kernel.code.data(), task.kernel.code.size()));
  return key == 0 ? 1 : key;
}

Status write_weights_file(const WeightTable& weights, std::uint64_t key, const std::string& path) {
  whet_weights_header header{};
  std::memcpy(header.magic, "whet.wts", 8);
  header.version = WHET_WEIGHTS_FORMAT_VERSION;
  header.begin = WHET_WEIGHTS_BEGIN;
  header.weights_bytes = weights.bytes();
  header.file_bytes = WHET_WEIGHTS_BEGIN + weights.bytes();
  header.key = key;
  whet_checksum_state state;
  whet_checksum_begin(&state);
  WHET_RETURN_IF_ERROR(visit_contents(weights, [&](std::string_view part) {
    whet_checksum_add(&state, part.data(), part.size());
    return ok_status();
  }));
  header.checksum = whet_checksum_end(&state);
  header.header_checksum = whet_checksum(&header, offsetof(whet_weights_header, header_checksum));
  WHET_TRY(NewFile file, NewFile::open(path));
  WHET_RETURN_IF_ERROR(file.write({reinterpret_cast<const char*>(&header), sizeof header}));
  WHET_RETURN_IF_ERROR(visit_contents(weights, [&](std::string_view part) { return file.write(part); }));
  return file.keep();
}

Status check_like(const std::string& path, const AssembledLibrary& library, std::uint64_t key) {
  WHET_TRY(const whet_file_trailer trailer, trailer_of(path));
  if (trailer.weights_key == key) return ok_status();
  WHET_TRY(const SizedModelPlan then, plan_in(path));
  const ModelPlan &old = then.variants.at(then.usual), &now = library.variants.at(library.usual).plan;
  if (old.target != now.target)
    return Error{path + ": is compiled for \"" + old.target + "\", and the weights for \"" + now.target +
                 "\"; give --target"};
  if (then.variants.size() != library.variants.size() || then.sizes.size() != library.sizes.size())
    return Error{now.name + " has other sizes than " + path +
                 "; give the --sizes or --shape that it was compiled with"};
  if (const std::string found = difference(now, old); !found.empty())
    return Error{now.name + " is not the model of " + path + ": " + found + "; compile it anew"};
  return Error{now.name + " needs other kernels, or other places for its weights, than " + path +
               " has: it was compiled with other records or options, by another whet, or the values of weights changed "
               "the network (equal ones that are shared, numbers in kernels); compile it anew"};
}

}  // namespace whet
