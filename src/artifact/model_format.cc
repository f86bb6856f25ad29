#include "artifact/model_format.h"

#include <initializer_list>

#include "artifact/plan_checks.h"

namespace whet {
namespace {

static_assert(sizeof(PlanHeader) == 192 && sizeof(PlanTensor) == 32 && sizeof(PlanArgument) == 24 &&
                  sizeof(PlanStep) == 96 && sizeof(PlanLaunch) == 48 && sizeof(PlanImage) == 24,
              "the plan's structs are stored: their layout never changes within a version");

constexpr std::uint64_t kElementBytes[] = {4, 8, 2, 1, 1, 4, 8, 1, 2, 2};  // by the number of DType

/// The walk over everything a plan's header points at.
class Checker {
 public:
  Checker(const void* data, ModelView* view, std::uint64_t sizes_bytes, whet_error* error)
      : data_(static_cast<const char*>(data)), view_(*view), sizes_bytes_(sizes_bytes), error_(error) {}

  int check() {
    view_.header = reinterpret_cast<const PlanHeader*>(data_);
    if (tables() != 0 || header_strings() != 0) return -1;
    if (tensors("input", view_.inputs, header().inputs.count) != 0) return -1;
    if (tensors("output", view_.outputs, header().outputs.count) != 0) return -1;
    if (header().tuned_threads < 1)
      return whet_fail(error_, "the model's plan is tuned for 0 threads; expected 1 or more");
    for (std::uint32_t i = 0; i < header().arguments.count; ++i) {
      if (argument(i) != 0) return -1;
    }
    for (std::uint32_t i = 0; i < header().images.count; ++i) {
      if (image(i) != 0) return -1;
    }
    for (std::uint32_t i = 0; i < header().steps.count; ++i) {
      if (step(i) != 0) return -1;
    }
    return 0;
  }

  /// What changes with the sizes.
  int check_again(PlanTensor* inputs, PlanTensor* outputs) {
    if (measure("input", inputs, header().inputs.count) != 0) return -1;
    if (measure("output", outputs, header().outputs.count) != 0) return -1;
    for (std::uint32_t i = 0; i < header().arguments.count; ++i) {
      if (argument(i) != 0) return -1;
    }
    for (std::uint32_t i = 0; i < header().steps.count; ++i) {
      if (view_.steps[i].kind == PlanStepKind::copy && copy_step(i, view_.steps[i]) != 0) return -1;
    }
    return 0;
  }

 private:
  const PlanHeader& header() const { return *view_.header; }

  /// The bytes of the tensors' extents, which `shape` checks.
  int measure(const char* what, PlanTensor* tensors, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      tensors[i].bytes = kElementBytes[tensors[i].dtype];
      for (std::uint32_t d = 0; d < tensors[i].rank; ++d)
        tensors[i].bytes *= static_cast<std::uint64_t>(view_.dims[tensors[i].first_dim + d]);
      if (shape(what, i, tensors[i]) != 0) return -1;
    }
    return 0;
  }

  template <typename T>
  int table(const char* what, PlanTable table, const T** out) {
    return check_plan_table(what, table, data_, sizeof(PlanHeader), header().total_bytes, out, error_);
  }

  int tables() {
    return table("inputs", header().inputs, &view_.inputs) != 0 ||
                   table("outputs", header().outputs, &view_.outputs) != 0 ||
                   table("extents", header().dims, &view_.dims) != 0 ||
                   table("steps", header().steps, &view_.steps) != 0 ||
                   table("arguments", header().arguments, &view_.arguments) != 0 ||
                   table("launches", header().launches, &view_.launches) != 0 ||
                   table("images", header().images, &view_.images) != 0 ||
                   table("strings", header().strings, &view_.strings) != 0
               ? -1
               : 0;
  }

  int string(const char* what, std::uint32_t index, PlanString s) {
    return check_plan_string(what, index, s, view_.strings, header().strings.count, error_);
  }

  int header_strings() {
    const PlanHeader& h = header();
    for (PlanString s : {h.name, h.target, h.required_isa, h.records, h.compiler, h.device}) {
      if (string("the header's text", 0, s) != 0) return -1;
    }
    return 0;
  }

  int tensors(const char* what, const PlanTensor* tensors, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (string(what, i, tensors[i].name) != 0 || shape(what, i, tensors[i]) != 0) return -1;
    }
    return 0;
  }

  int shape(const char* what, std::uint32_t index, const PlanTensor& tensor) {
    if (tensor.dtype >= sizeof kElementBytes / sizeof kElementBytes[0] || tensor.rank > kMaxRank ||
        !inside(tensor.first_dim, tensor.rank, header().dims.count)) {
      return whet_fail(error_,
                       "the model's plan: %s %u has dtype %u and %u extents from %u on; expected a known dtype and "
                       "extents among the %u stored",
                       what, index, tensor.dtype, tensor.rank, tensor.first_dim, header().dims.count);
    }
    std::uint64_t bytes = kElementBytes[tensor.dtype];
    for (std::uint32_t d = 0; d < tensor.rank; ++d) {
      const std::int64_t extent = view_.dims[tensor.first_dim + d];
      if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) || bytes >> 62) {
        return whet_fail(error_, "the model's plan: extent %u of %s %u is %lld; expected a size that memory can hold",
                         d, what, index, static_cast<long long>(extent));
      }
    }
    if (bytes != tensor.bytes) {
      return whet_fail(error_, "the model's plan: %s %u has %llu bytes; its extents make %llu", what, index,
                       Wide(tensor.bytes), Wide(bytes));
    }
    return 0;
  }

  /// Bytes of what an argument points into; false for a place or index that does not exist.
  bool place_bytes(const PlanArgument& argument, std::uint64_t* bytes) const {
    switch (argument.place) {
      case PlanPlace::arena:
        *bytes = header().arena_bytes;
        return true;
      case PlanPlace::weights:
        *bytes = header().weights_bytes;
        return true;
      case PlanPlace::input:
        if (argument.index >= header().inputs.count) return false;
        *bytes = view_.inputs[argument.index].bytes;
        return true;
      case PlanPlace::output:
        if (argument.index >= header().outputs.count) return false;
        *bytes = view_.outputs[argument.index].bytes;
        return true;
      case PlanPlace::sizes:
        *bytes = sizes_bytes_;
        return sizes_bytes_ > 0;
    }
    return false;
  }

  int argument(std::uint32_t index) {
    const PlanArgument& a = view_.arguments[index];
    std::uint64_t size = 0;
    if (!place_bytes(a, &size) || a.offset % kPlanAlignment != 0 || !inside(a.offset, a.bytes, size)) {
      return whet_fail(error_,
                       "the model's plan: argument %u is place %u, number %u, offset %llu, %llu bytes; expected an "
                       "aligned range inside the %llu bytes there",
                       index, static_cast<unsigned>(a.place), a.index, Wide(a.offset), Wide(a.bytes), Wide(size));
    }
    return 0;
  }

  int step(std::uint32_t index) {
    const PlanStep& s = view_.steps[index];
    if (string("step", index, s.node) != 0 || string("step", index, s.op) != 0) return -1;
    if (!inside(s.first_argument, s.argument_count, header().arguments.count)) {
      return whet_fail(error_, "the model's plan: step %u has arguments %u to %llu; there are %u", index,
                       s.first_argument, Wide(s.first_argument) + s.argument_count, header().arguments.count);
    }
    if (s.workspace_offset % kPlanAlignment != 0 ||
        !inside(s.workspace_offset, s.workspace_bytes, header().arena_bytes) || s.worker_bytes >> 40) {
      return whet_fail(error_, "the model's plan: step %u has a workspace outside the arena of %llu bytes", index,
                       Wide(header().arena_bytes));
    }
    if (!inside(s.first_launch, s.launch_count, header().launches.count)) {
      return whet_fail(error_, "the model's plan: step %u has launches %u to %llu; there are %u", index, s.first_launch,
                       Wide(s.first_launch) + s.launch_count, header().launches.count);
    }
    if (s.kind == PlanStepKind::kernel && header().device.length != 0) return device_step(index, s);
    if (s.launch_count != 0) {
      return whet_fail(error_,
                       "the model's plan: step %u has %u launches; expected none, as only a device's kernels have "
                       "launches",
                       index, s.launch_count);
    }
    return s.kind == PlanStepKind::copy ? copy_step(index, s) : kernel_step(index, s);
  }

  int kernel_step(std::uint32_t index, const PlanStep& s) {
    if (s.kind != PlanStepKind::kernel || s.entry >= header().entries) {
      return whet_fail(error_,
                       "the model's plan: step %u is of kind %u and calls entry point %u; there are %u entry points",
                       index, static_cast<unsigned>(s.kind), s.entry, header().entries);
    }
    return 0;
  }

  int device_step(std::uint32_t index, const PlanStep& s) {
    if (s.launch_count == 0) {
      return whet_fail(error_, "the model's plan: step %u has no launch; expected one or more for %s", index,
                       view_.text(header().device));
    }
    for (std::uint32_t i = 0; i < s.launch_count; ++i) {
      const PlanLaunch& launch = view_.launches[s.first_launch + i];
      if (string("launch", s.first_launch + i, launch.entry) != 0) return -1;
      bool threads = true;
      for (int d = 0; d < 3; ++d) threads = threads && launch.grid[d] > 0 && launch.block[d] > 0;
      if (!threads || !inside(launch.first_argument, launch.argument_count, s.argument_count)) {
        return whet_fail(error_,
                         "the model's plan: launch %u has arguments %u to %llu, or no threads; expected some of the %u "
                         "arguments of step %u, and a thread or more",
                         s.first_launch + i, launch.first_argument, Wide(launch.first_argument) + launch.argument_count,
                         s.argument_count, index);
      }
    }
    return 0;
  }

  int image(std::uint32_t index) {
    const PlanImage& i = view_.images[index];
    if (i.format > PlanImageFormat::emulated || !inside(i.offset, i.bytes, header().images_bytes)) {
      return whet_fail(error_,
                       "the model's plan: image %u is of format %u, %llu bytes at %llu; expected a known format inside "
                       "the %llu bytes of images",
                       index, static_cast<unsigned>(i.format), Wide(i.bytes), Wide(i.offset),
                       Wide(header().images_bytes));
    }
    return 0;
  }

  int copy_step(std::uint32_t index, const PlanStep& s) {
    const PlanArgument* a = view_.arguments + s.first_argument;
    if (s.argument_count != 2 || a[0].bytes != a[1].bytes ||
        (a[1].place != PlanPlace::arena && a[1].place != PlanPlace::output)) {
      return whet_fail(error_,
                       "the model's plan: step %u copies with %u arguments; expected two of equal size, the second in "
                       "the arena or an output",
                       index, s.argument_count);
    }
    return 0;
  }

  const char* data_;
  ModelView& view_;
  std::uint64_t sizes_bytes_;
  whet_error* error_;
};

}  // namespace

int check_plan_frame(const void* data, std::uint64_t bytes, std::uint32_t version, std::uint32_t header_bytes,
                     whet_error* error) {
  if (bytes < header_bytes) {
    return whet_fail(error, "the model's plan has %llu bytes; expected at least %u", Wide(bytes), header_bytes);
  }
  PlanFrame frame;
  memcpy(&frame, data, sizeof frame);
  if (memcmp(frame.magic, "whetplan", 8) != 0) {
    return whet_fail(error,
                     "the model's plan does not begin with \"whetplan\"; expected a plan written by whet compile");
  }
  if (frame.version != version) {
    return whet_fail(error, "the model's plan has version %u; this runtime reads version %u (compile the model again)",
                     frame.version, version);
  }
  if (frame.header_bytes != header_bytes || frame.total_bytes != bytes) {
    return whet_fail(error, "the model's plan says %llu bytes with a header of %u; it has %llu and a header of %u",
                     Wide(frame.total_bytes), frame.header_bytes, Wide(bytes), header_bytes);
  }
  const std::uint64_t written = frame.checksum;
  frame.checksum = 0;
  whet_checksum_state state;
  whet_checksum_begin(&state);
  whet_checksum_add(&state, &frame, sizeof frame);
  whet_checksum_add(&state, static_cast<const char*>(data) + sizeof frame, bytes - sizeof frame);
  if (whet_checksum_end(&state) != written) {
    return whet_fail(error, "the model's plan does not have the checksum that was written with it (was it damaged?)");
  }
  return 0;
}

int check_plan_range(const char* what, PlanTable table, int entry_bytes, int alignment, std::uint32_t header_bytes,
                     std::uint64_t total_bytes, whet_error* error) {
  if (table.offset % static_cast<std::uint32_t>(alignment) == 0 && table.offset >= header_bytes &&
      inside(table.offset, std::uint64_t{table.count} * static_cast<std::uint32_t>(entry_bytes), total_bytes))
    return 0;
  return whet_fail(error,
                   "the model's plan has its %s at offset %u, %u of %d bytes; expected them inside its %llu bytes",
                   what, table.offset, table.count, entry_bytes, Wide(total_bytes));
}

int check_plan_string(const char* what, std::uint32_t index, PlanString s, const char* strings, std::uint32_t size,
                      whet_error* error) {
  if (!inside(s.offset, std::uint64_t{s.length} + 1, size) || strings[s.offset + s.length] != '\0' ||
      memchr(strings + s.offset, '\0', s.length) != nullptr) {
    return whet_fail(error,
                     "the model's plan: the name of %s %u is at %u with %u bytes; expected it inside the %u bytes "
                     "of strings, with one zero at its end",
                     what, index, s.offset, s.length, size);
  }
  return 0;
}

int parse_model(const void* data, std::uint64_t bytes, ModelView* view, whet_error* error, std::uint64_t sizes_bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % 8 != 0) {
    return whet_fail(error, "the model's plan is not 8-byte aligned in memory");
  }
  if (check_plan_frame(data, bytes, kPlanVersion, sizeof(PlanHeader), error) != 0) return -1;
  *view = ModelView{};
  return Checker(data, view, sizes_bytes, error).check();
}

int parse_again(const ModelView& view, PlanTensor* inputs, PlanTensor* outputs, std::uint64_t sizes_bytes,
                whet_error* error) {
  ModelView changed = view;
  return Checker(view.header, &changed, sizes_bytes, error).check_again(inputs, outputs);
}

}  // namespace whet
