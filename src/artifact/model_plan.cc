#include "artifact/model_plan.h"

#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "artifact/model_plan_v1.h"
#include "base/check.h"

namespace whet {
namespace {

/// Collects strings, each distinct one once.
class StringTable {
 public:
  PlanString add(const std::string& full) {
    const std::string text = full.substr(0, full.find('\0'));
    const auto [found, is_new] = offsets_.try_emplace(text, static_cast<std::uint32_t>(bytes_.size()));
    if (is_new) bytes_.append(text.c_str(), text.size() + 1);
    return {found->second, static_cast<std::uint32_t>(text.size())};
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> offsets_;
};

/// Appends tables behind the header, each 8-byte aligned.
class PlanWriter {
 public:
  PlanWriter() : out_(sizeof(PlanHeader), '\0') {}

  template <typename T>
  PlanTable append(const T* entries, std::size_t count) {
    out_.resize((out_.size() + 7) / 8 * 8);
    const PlanTable table{static_cast<std::uint32_t>(out_.size()), static_cast<std::uint32_t>(count)};
    out_.append(reinterpret_cast<const char*>(entries), count * sizeof(T));
    WHET_CHECK(out_.size() < (std::uint64_t{1} << 32), "a plan is smaller than 4 GB");
    return table;
  }
  template <typename T>
  PlanTable append(const std::vector<T>& entries) {
    return append(entries.data(), entries.size());
  }

  std::string finish(PlanHeader header) {
    out_.resize((out_.size() + 7) / 8 * 8);
    header.total_bytes = out_.size();
    std::memcpy(out_.data(), &header, sizeof header);
    header.checksum = whet_checksum(out_.data(), out_.size());
    std::memcpy(out_.data(), &header, sizeof header);
    return std::move(out_);
  }

 private:
  std::string out_;
};

std::vector<PlanTensor> stored_tensors(const std::vector<ModelPlan::Tensor>& tensors, StringTable& strings,
                                       std::vector<std::int64_t>& dims) {
  std::vector<PlanTensor> stored;
  for (const ModelPlan::Tensor& t : tensors) {
    PlanTensor s{};
    s.name = strings.add(t.name);
    s.dtype = t.dtype;
    s.rank = static_cast<std::uint32_t>(t.shape.size());
    s.first_dim = static_cast<std::uint32_t>(dims.size());
    s.bytes = t.bytes;
    dims.insert(dims.end(), t.shape.begin(), t.shape.end());
    stored.push_back(s);
  }
  return stored;
}

PlanLaunch stored_launch(const ModelPlan::Launch& launch, StringTable& strings) {
  PlanLaunch l{};
  l.entry = strings.add(launch.entry);
  const Dim3 &grid = launch.grid, &block = launch.block;
  l.grid[0] = grid.x, l.grid[1] = grid.y, l.grid[2] = grid.z;
  l.block[0] = block.x, l.block[1] = block.y, l.block[2] = block.z;
  l.block_memory = launch.block_memory;
  l.flags = launch.early ? kLaunchEarly : 0u;
  l.first_argument = launch.first_argument;
  l.argument_count = launch.argument_count;
  return l;
}

PlanStep stored_step(const ModelPlan::Step& step, StringTable& strings, std::vector<PlanArgument>& arguments,
                     std::vector<PlanLaunch>& launches) {
  PlanStep s{};
  s.kind = step.kind;
  s.entry = step.entry;
  s.first_argument = static_cast<std::uint32_t>(arguments.size());
  s.argument_count = static_cast<std::uint32_t>(step.arguments.size());
  s.flags = (step.parallel ? kStepParallel : 0u) | (step.barrier ? kStepBarrier : 0u) | (step.part ? kStepPart : 0u) |
            (step.divisible ? kStepDivisible : 0u);
  s.written = step.written;
  s.first_launch = static_cast<std::uint32_t>(launches.size());
  s.launch_count = static_cast<std::uint32_t>(step.launches.size());
  s.workspace_offset = step.workspace_offset;
  s.workspace_bytes = step.workspace_bytes;
  s.worker_bytes = step.worker_bytes;
  s.flops = step.flops;
  s.bytes = step.bytes;
  s.predicted_seconds = step.predicted_seconds;
  s.node = strings.add(step.node);
  s.op = strings.add(step.op);
  arguments.insert(arguments.end(), step.arguments.begin(), step.arguments.end());
  for (const ModelPlan::Launch& launch : step.launches) launches.push_back(stored_launch(launch, strings));
  return s;
}

std::vector<ModelPlan::Tensor> read_tensors(const ModelView& view, const PlanTensor* stored, std::uint32_t count) {
  std::vector<ModelPlan::Tensor> tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PlanTensor& s = stored[i];
    const std::int64_t* dims = view.dims + s.first_dim;
    tensors.push_back({view.text(s.name), s.dtype, {dims, dims + s.rank}, s.bytes});
  }
  return tensors;
}

ModelPlan::Launch read_launch(const ModelView& view, const PlanLaunch& l) {
  ModelPlan::Launch launch;
  launch.entry = view.text(l.entry);
  launch.grid = {l.grid[0], l.grid[1], l.grid[2]};
  launch.block = {l.block[0], l.block[1], l.block[2]};
  launch.block_memory = l.block_memory;
  launch.early = l.flags & kLaunchEarly;
  launch.first_argument = l.first_argument;
  launch.argument_count = l.argument_count;
  return launch;
}

ModelPlan::Step read_step(const ModelView& view, const PlanStep& s) {
  const PlanArgument* arguments = view.arguments + s.first_argument;
  ModelPlan::Step step;
  step.kind = s.kind;
  step.entry = s.entry;
  step.arguments.assign(arguments, arguments + s.argument_count);
  step.parallel = s.flags & kStepParallel;
  step.barrier = s.flags & kStepBarrier;
  step.part = s.flags & kStepPart;
  step.divisible = s.flags & kStepDivisible;
  step.written = s.written;
  step.workspace_offset = s.workspace_offset;
  step.workspace_bytes = s.workspace_bytes;
  step.worker_bytes = s.worker_bytes;
  step.flops = s.flops;
  step.bytes = s.bytes;
  step.predicted_seconds = s.predicted_seconds;
  step.node = view.text(s.node);
  step.op = view.text(s.op);
  for (std::uint32_t i = 0; i < s.launch_count; ++i)
    step.launches.push_back(read_launch(view, view.launches[s.first_launch + i]));
  return step;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string text_of(const PlanArgument& a) {
  static constexpr const char* kPlaces[] = {"arena", "weights", "input", "output"};
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
  header.arena_bytes = plan.arena_bytes;
  header.weights_bytes = plan.weights_bytes;
  header.flops = plan.flops;
  header.predicted_seconds = plan.predicted_seconds;
  header.entries = plan.entries;
  header.tuned_threads = plan.tuned_threads;
  header.name = strings.add(plan.name);
  header.target = strings.add(plan.target);
  header.required_isa = strings.add(plan.required_isa);
  header.records = strings.add(plan.records);
  header.compiler = strings.add(plan.compiler);
  header.device = strings.add(plan.device);
  header.images_bytes = plan.images_bytes;

  PlanWriter writer;
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

Result<ModelPlan> read_plan(std::string_view stored) {
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
  if (parse_model(aligned.data(), stored.size(), &view, &error) != 0) return Error{error.message};
  const PlanHeader& h = *view.header;
  ModelPlan plan;
  plan.name = view.text(h.name);
  plan.target = view.text(h.target);
  plan.required_isa = view.text(h.required_isa);
  plan.records = view.text(h.records);
  plan.compiler = view.text(h.compiler);
  plan.device = view.text(h.device);
  plan.images.assign(view.images, view.images + h.images.count);
  plan.images_bytes = h.images_bytes;
  plan.entries = h.entries;
  plan.tuned_threads = h.tuned_threads;
  plan.arena_bytes = h.arena_bytes;
  plan.weights_bytes = h.weights_bytes;
  plan.flops = h.flops;
  plan.predicted_seconds = h.predicted_seconds;
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
