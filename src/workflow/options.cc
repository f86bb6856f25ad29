#include "workflow/options.h"

#include <charconv>

#include "device/local/gpus.h"
#include "machine/detect.h"

namespace whet {
namespace {

/// A positive number that is all of `text`; 0 else.
std::int64_t positive_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

Result<Shape> parse_shape(const std::string& entry, std::string_view text) {
  Shape shape;
  while (true) {
    const std::size_t end = text.find('x');
    const std::int64_t extent = positive_number(text.substr(0, end));
    if (extent == 0) {
      return Error{"--shape is \"" + entry + "\"; expected an input's name and positive extents, like data=1x3x224x224",
                   ErrorKind::wrong_use};
    }
    shape.push_back(extent);
    if (end == std::string_view::npos) return shape;
    text.remove_prefix(end + 1);
  }
}

/// The number of WHET_NUM_THREADS; 0 where it is not set.
Result<int> threads_of_environment(const std::optional<std::string>& set) {
  if (!set) return 0;
  const std::string& text = *set;
  const std::int64_t threads = positive_number(text);
  if (threads == 0 || threads > kMaxThreads)
    return Error{"WHET_NUM_THREADS is \"" + text + "\"; expected a number from 1 to " + std::to_string(kMaxThreads)};
  return static_cast<int>(threads);
}

/// The GPU whose target is asked for.
Result<LocalGpu> gpu_here(const DeviceName& device, Zygote* zygote) {
  const std::string advice = "; name one, as in --target \"cuda -model=h100\"";
  if (device.kind == DeviceName::Kind::emulated) return Error{"the emulated device stands for any GPU" + advice};
  const Result<std::vector<LocalGpu>> gpus = zygote != nullptr ? find_gpus(*zygote) : find_gpus();
  if (!gpus.ok()) return Error{gpus.error().message + advice, gpus.error().kind};
  const auto number = static_cast<std::size_t>(device.number);
  if (number >= gpus->size())
    return Error{"there is no device cuda:" + std::to_string(number) + "; the driver has " +
                 std::to_string(gpus->size()) + ", counted from 0"};
  return gpus->at(number);
}

/// Of a processor of another architecture nothing on this machine tells how many threads it runs.
Result<TargetOnCores> on_another_machine(TargetOnCores place, const TargetOptions& options) {
  if (options.threads > 0) place.target.threads = options.threads;
  const std::optional<CoreKind> kind = parse_core_kind(options.cores);
  if (options.cores != "" && !kind)
    return Error{"--cores is \"" + options.cores + "\"; expected big, little or prime for " + place.target.cpu().mcpu +
                 ", which is no processor of this machine"};
  if (kind) place.target.cpu().cores = *kind;
  WHET_TRY(place.cores, choose_cores("", 1));
  return place;
}

}  // namespace

Result<TargetOnCores> choose_target(const TargetOptions& options, const DeviceName& device, Zygote* zygote) {
  TargetOnCores place;
  if (options.target == "cuda") {
    WHET_TRY(LocalGpu gpu, gpu_here(device, zygote));
    place.target.machine = gpu.target;
    place.gpu = std::move(gpu.name);
  } else {
    WHET_TRY(place.target, resolve_target(options.target.empty() ? "cpu" : options.target));
  }
  if (!place.target.is_cpu()) {  // one thread of the host starts the kernels
    if (options.threads > 0)
      return Error{"--threads is for processors; the target is \"" + to_string(place.target) + "\"",
                   ErrorKind::wrong_use};
    WHET_TRY(place.cores, choose_cores(options.cores, 1));
    return place;
  }
  if (is_foreign(place.target)) return on_another_machine(std::move(place), options);
  const bool target_says_threads = options.target.find("-threads") != std::string::npos;
  const bool target_says_cores = options.target.find("-cores") != std::string::npos;
  int threads = options.threads;
  if (threads == 0 && target_says_threads) threads = place.target.threads;
  if (threads == 0) {
    WHET_TRY(threads, threads_of_environment(options.environment_threads));
    if (threads > 0) place.note = std::to_string(threads) + " threads: WHET_NUM_THREADS says so";
  }
  std::string wanted = options.cores;
  if (wanted.empty() && target_says_cores) wanted = name_of(place.target.cpu().cores);
  WHET_TRY(place.cores, choose_cores(wanted, threads));
  place.target.threads = static_cast<int>(place.cores.cpus.size());
  place.target.cpu().cores = place.cores.kind;
  return place;
}

Result<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& entries) {
  std::map<std::string, Shape> shapes;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.rfind('=');
    const std::string name = equals == std::string::npos ? "" : entry.substr(0, equals);
    WHET_TRY(Shape shape, parse_shape(entry, name.empty() ? "" : std::string_view(entry).substr(equals + 1)));
    shapes[name] = std::move(shape);
  }
  return shapes;
}

std::string cores_text(const Cores& cores) { return "cores " + cpu_list_text(cores.cpus) + "; " + name_of(cores.kind); }

}  // namespace whet
