#include "artifact/model_plan.h"

#include <cstdio>
#include <cstring>

#include "artifact/model_plan_v1.h"
#include "artifact/plan_writer.h"

namespace whet {
namespace {

/// Copies what both forms of a plan have, ours to the stored one. A text is in the table of strings from then on.
struct ToStored {
  StringTable& strings;

  template <typename T>
  const ToStored& operator()(const T& ours, T& stored) const {
    return stored = ours, *this;
  }
  const ToStored& operator()(const std::string& ours, PlanString& stored) const {
    return stored = strings.add(ours), *this;
  }
  const ToStored& operator()(const Dim3& ours, std::uint32_t (&stored)[3]) const {
    return stored[0] = ours.x, stored[1] = ours.y, stored[2] = ours.z, *this;
  }
  const ToStored& flag(bool ours, std::uint32_t& flags, std::uint32_t flag) const {
    return flags |= ours ? flag : 0u, *this;
  }
};
/// The inverse.
struct FromStored {
  const ModelView& view;

  template <typename T>
  const FromStored& operator()(T& ours, const T& stored) const {
    return ours = stored, *this;
  }
  const FromStored& operator()(std::string& ours, const PlanString& stored) const {
    return ours = view.text(stored), *this;
  }
  const FromStored& operator()(Dim3& ours, const std::uint32_t (&stored)[3]) const {
    return ours = {stored[0], stored[1], stored[2]}, *this;
  }
  const FromStored& flag(bool& ours, std::uint32_t flags, std::uint32_t flag) const {
    return ours = flags & flag, *this;
  }
};

template <typename Copy, typename Tensor, typename Stored>
void copy_tensor(const Copy& copy, Tensor& t, Stored& s) {
  copy(t.name, s.name)(t.dtype, s.dtype)(t.bytes, s.bytes);
}
template <typename Copy, typename Launch, typename Stored>
void copy_launch(const Copy& copy, Launch& l, Stored& s) {
  copy(l.entry, s.entry)(l.grid, s.grid)(l.block, s.block)(l.block_memory, s.block_memory);
  copy(l.first_argument, s.first_argument)(l.argument_count, s.argument_count).flag(l.early, s.flags, kLaunchEarly);
}
template <typename Copy, typename Step, typename Stored>
void copy_step(const Copy& copy, Step& p, Stored& s) {
  copy(p.kind, s.kind)(p.entry, s.entry)(p.written, s.written)(p.workspace_offset, s.workspace_offset);
  copy(p.workspace_bytes, s.workspace_bytes)(p.worker_bytes, s.worker_bytes)(p.flops, s.flops)(p.bytes, s.bytes);
  copy(p.predicted_seconds, s.predicted_seconds)(p.node, s.node)(p.op, s.op);
  copy.flag(p.parallel, s.flags, kStepParallel).flag(p.barrier, s.flags, kStepBarrier);
  copy.flag(p.part, s.flags, kStepPart).flag(p.divisible, s.flags, kStepDivisible);
}
template <typename Copy, typename Plan, typename Header>
void copy_header(const Copy& copy, Plan& p, Header& h) {
  copy(p.arena_bytes, h.arena_bytes)(p.weights_bytes, h.weights_bytes)(p.flops, h.flops);
  copy(p.predicted_seconds, h.predicted_seconds)(p.entries, h.entries)(p.tuned_threads, h.tuned_threads);
  copy(p.name, h.name)(p.target, h.target)(p.required_isa, h.required_isa)(p.records, h.records)(p.compiler,
                                                                                                 h.compiler);
  copy(p.device, h.device)(p.images_bytes, h.images_bytes);
}

std::vector<PlanTensor> stored_tensors(const std::vector<ModelPlan::Tensor>& tensors, StringTable& strings,
                                       std::vector<std::int64_t>& dims) {
  std::vector<PlanTensor> stored;
  for (const ModelPlan::Tensor& t : tensors) {
    PlanTensor& s = stored.emplace_back();
    copy_tensor(ToStored{strings}, t, s);
    s.rank = static_cast<std::uint32_t>(t.shape.size());
    s.first_dim = static_cast<std::uint32_t>(dims.size());
    dims.insert(dims.end(), t.shape.begin(), t.shape.end());
  }
  return stored;
}

PlanStep stored_step(const ModelPlan::Step& step, StringTable& strings, std::vector<PlanArgument>& arguments,
                     std::vector<PlanLaunch>& launches) {
  PlanStep s{};
  copy_step(ToStored{strings}, step, s);
  s.first_argument = static_cast<std::uint32_t>(arguments.size());
  s.argument_count = static_cast<std::uint32_t>(step.arguments.size());
  s.first_launch = static_cast<std::uint32_t>(launches.size());
  s.launch_count = static_cast<std::uint32_t>(step.launches.size());
  arguments.insert(arguments.end(), step.arguments.begin(), step.arguments.end());
  for (const ModelPlan::Launch& launch : step.launches) copy_launch(ToStored{strings}, launch, launches.emplace_back());
  return s;
}

std::vector<ModelPlan::Tensor> read_tensors(const ModelView& view, const PlanTensor* stored, std::uint32_t count) {
  std::vector<ModelPlan::Tensor> tensors(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    copy_tensor(FromStored{view}, tensors[i], stored[i]);
    const std::int64_t* dims = view.dims + stored[i].first_dim;
    tensors[i].shape.assign(dims, dims + stored[i].rank);
  }
  return tensors;
}

ModelPlan::Step read_step(const ModelView& view, const PlanStep& s) {
  const PlanArgument* arguments = view.arguments + s.first_argument;
  ModelPlan::Step step;
  copy_step(FromStored{view}, step, s);
  step.arguments.assign(arguments, arguments + s.argument_count);
  step.launches.resize(s.launch_count);
  for (std::uint32_t i = 0; i < s.launch_count; ++i)
    copy_launch(FromStored{view}, step.launches[i], view.launches[s.first_launch + i]);
  return step;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string text_of(const PlanArgument& a) {
  static constexpr const char* kPlaces[] = {"arena", "weights", "input", "output", "sizes"};
  std::string text = kPlaces[static_cast<std::uint32_t>(a.place)];
  if (a.place == PlanPlace::input || a.place == PlanPlace::output) text += " " + std::to_string(a.index);
  return text + "+" + std::to_string(a.offset) + ":" + std::to_string(a.bytes);
}

std::string text_of(const char* what, const ModelPlan::Tensor& t) {
  std::string text = std::string(what) + " " + t.name + " dtype " + std::to_string(t.dtype) + " [";
  for (std::size_t d = 0; d < t.shape.size(); ++d) text += (d ? "x" : "") + std::to_string(t.shape[d]);
  return text + "] " + std::to_string(t.bytes) + " bytes\n";
}

std::string text_of(const Dim3& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

std::string text_of(const ModelPlan::Launch& l) {
  return "  launch " + l.entry + " " + text_of(l.grid) + " blocks of " + text_of(l.block) + " with " +
         std::to_string(l.block_memory) + " bytes, arguments " + std::to_string(l.first_argument) + ":" +
         std::to_string(l.argument_count) + (l.early ? ", early\n" : "\n");
}

std::string text_of(const ModelPlan::Step& s) {
  std::string text = s.barrier ? "barrier\n" : "";
  text += s.kind == PlanStepKind::copy ? "copy" : "kernel " + std::to_string(s.entry);
  text += s.parallel ? s.divisible ? " parallel in parts (" : " parallel (" : " (";
  for (std::size_t i = 0; i < s.arguments.size(); ++i) text += (i ? ", " : "") + text_of(s.arguments[i]);
  text += ")";
  if (s.workspace_bytes)
    text += " workspace arena+" + std::to_string(s.workspace_offset) + ":" + std::to_string(s.workspace_bytes);
  if (s.worker_bytes) text += " worker " + std::to_string(s.worker_bytes);
  if (s.written) text += " writes";
  for (unsigned i = 0; i < 32; ++i) text += s.written >> i & 1 ? " " + std::to_string(i) : "";
  if (s.part) text += " a part";
  text += " # " + s.node + ": " + s.op + ", " + number(s.flops) + " flops, " + number(s.bytes) + " bytes";
  if (s.predicted_seconds > 0) text += ", predicted " + number(s.predicted_seconds * 1e3) + " ms";
  text += "\n";
  for (const ModelPlan::Launch& launch : s.launches) text += text_of(launch);
  return text;
}

std::string text_of(const PlanImage& image) {
  static constexpr const char* kFormats[] = {"ptx", "cubin", "emulated"};
  return std::string("image ") + kFormats[static_cast<std::uint32_t>(image.format)] + " for " +
         std::to_string(image.arch) + " at " + std::to_string(image.offset) + ":" + std::to_string(image.bytes) + "\n";
}

}  // namespace

std::string write_plan(const ModelPlan& plan) {
  StringTable strings;
  std::vector<std::int64_t> dims;
  std::vector<PlanArgument> arguments;
  std::vector<PlanStep> steps;
  const std::vector<PlanTensor> inputs = stored_tensors(plan.inputs, strings, dims);
  const std::vector<PlanTensor> outputs = stored_tensors(plan.outputs, strings, dims);
  std::vector<PlanLaunch> launches;
  for (const ModelPlan::Step& step : plan.steps) steps.push_back(stored_step(step, strings, arguments, launches));

  PlanHeader header{};
  std::memcpy(header.magic, "whetplan", 8);
  header.version = kPlanVersion;
  header.header_bytes = sizeof(PlanHeader);
  copy_header(ToStored{strings}, plan, header);

  PlanWriter writer(sizeof header);
  header.inputs = writer.append(inputs);
  header.outputs = writer.append(outputs);
  header.dims = writer.append(dims);
  header.steps = writer.append(steps);
  header.arguments = writer.append(arguments);
  header.launches = writer.append(launches);
  header.images = writer.append(plan.images);
  header.strings = writer.append(strings.bytes().data(), strings.bytes().size());
  return writer.finish(header);
}

Result<ModelPlan> read_plan(std::string_view stored, std::uint64_t sizes_bytes) {
  if (is_plan_of_version_1(stored)) {
    WHET_TRY(const std::string upgraded, plan_of_version_1(stored));
    return read_plan(upgraded);
  }
  const std::vector<std::uint64_t> aligned = [&] {
    std::vector<std::uint64_t> words((stored.size() + 7) / 8);
    if (!stored.empty()) std::memcpy(words.data(), stored.data(), stored.size());
    return words;
  }();
  ModelView view;
  whet_error error;
  if (parse_model(aligned.data(), stored.size(), &view, &error, sizes_bytes) != 0) return Error{error.message};
  const PlanHeader& h = *view.header;
  ModelPlan plan;
  copy_header(FromStored{view}, plan, h);
  plan.images.assign(view.images, view.images + h.images.count);
  plan.inputs = read_tensors(view, view.inputs, h.inputs.count);
  plan.outputs = read_tensors(view, view.outputs, h.outputs.count);
  for (std::uint32_t i = 0; i < h.steps.count; ++i) plan.steps.push_back(read_step(view, view.steps[i]));
  return plan;
}

std::string to_text(const ModelPlan& plan) {
  std::string text =
      "model " + plan.name + " for " + plan.target + ", tuned for " + std::to_string(plan.tuned_threads) + " threads\n";
  text += "by " + plan.compiler + "; needs " + (plan.required_isa.empty() ? "nothing special" : plan.required_isa) +
          "; " + plan.records + "\n";
  text += "arena " + std::to_string(plan.arena_bytes) + ", weights " + std::to_string(plan.weights_bytes) + ", " +
          std::to_string(plan.entries) + " entry points, " + number(plan.flops) + " flops\n";
  if (!plan.device.empty()) text += "device " + plan.device + "\n";
  for (const PlanImage& image : plan.images) text += text_of(image);
  for (const ModelPlan::Tensor& t : plan.inputs) text += text_of("input", t);
  for (const ModelPlan::Tensor& t : plan.outputs) text += text_of("output", t);
  for (const ModelPlan::Step& s : plan.steps) text += text_of(s);
  return text;
}

}  // namespace whet
