// How long ONNX Runtime's CPU provider takes for a model: one burst of inferences, through its C API, without its
// headers.
//
//   onnxruntime_latency LIBRARY MODEL.onnx [--threads N] [--seconds S] [--warmup S] [--shapes] [INPUT.npy ...]
//
// Inputs come from the files, in the order of the model's inputs; the others are made up. Prints one line,
// `median_ms runs`, or with --shapes, instead of running, `NAME=1x3x48x192` for each input whose shape the model leaves
// open.
//
// The C API is a table of function pointers whose order never changes: the numbers below are positions in it.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kApiVersion = 17;  ///< old enough for any release of the last years
constexpr int kErrors = 3;                 ///< log level: warnings are about the model, not the time
constexpr int kAllOptimizations = 99;
constexpr int kFloat = 1;                            ///< element type
constexpr int kBytesOf[] = {0, 4, 1, 1, 2, 2, 4, 8,  // by element type: -, f32, u8, i8, u16, i16, i32, i64,
                            0, 1, 2, 8, 4, 8};       // string, bool, f16, f64, u32, u64
constexpr int kLeastRuns = 3;

enum Slot {
  kErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateOptions = 10,
  kSetOptimizationLevel = 23,
  kSetIntraThreads = 24,
  kSetInterThreads = 25,
  kInputCount = 30,
  kOutputCount = 31,
  kInputTypeInfo = 33,
  kInputName = 36,
  kOutputName = 37,
  kCreateTensorWithData = 49,
  kTensorInfo = 55,
  kElementType = 60,
  kRank = 61,
  kDimensions = 62,
  kCpuMemoryInfo = 69,
  kAllocator = 78,
  kReleaseValue = 96
};

void** table = nullptr;

[[noreturn]] void fail(const std::string& sentence) {
  std::fprintf(stderr, "onnxruntime_latency: %s\n", sentence.c_str());
  std::exit(1);
}

/// Calls a function of the table that returns a status; ends the program where the status is an error.
template <typename... Arguments>
void call(Slot slot, Arguments... arguments) {
  void* status = reinterpret_cast<void* (*)(Arguments...)>(table[slot])(arguments...);
  if (status != nullptr) fail(reinterpret_cast<const char* (*)(void*)>(table[kErrorMessage])(status));
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Options {
  std::string library, model;
  int threads = 2;
  double seconds = 0.5, warmup = 0.2;
  bool shapes = false;
  std::vector<std::string> inputs;
};

Options parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::atof(argv[++i]) : (fail(word + " needs a value"), 0.0); };
    if (word == "--threads") {
      options.threads = static_cast<int>(value());
    } else if (word == "--seconds") {
      options.seconds = value();
    } else if (word == "--warmup") {
      options.warmup = value();
    } else if (word == "--shapes") {
      options.shapes = true;
    } else {
      words.push_back(word);
    }
  }
  if (words.size() < 2) fail("a library and a model are required");
  options.library = words[0];
  options.model = words[1];
  options.inputs.assign(words.begin() + 2, words.end());
  return options;
}

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;
};

/// The row-major array of a .npy file, version 1; the element type is trusted to be the input's.
Array read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  if (all.size() < 10 || all.compare(0, 8, "\x93NUMPY\x01\0", 8) != 0) fail(path + ": not a .npy file of version 1");
  const std::size_t start = 10 + static_cast<unsigned char>(all[8]) + 256u * static_cast<unsigned char>(all[9]);
  const std::string header = all.substr(10, start - 10);
  const std::size_t open = header.find('('), close = header.find(')');
  if (all.size() < start || close == std::string::npos || open > close) fail(path + ": its header has no shape");
  Array array;
  for (std::size_t at = open; (at = header.find_first_of("0123456789", at)) < close;) {
    array.shape.push_back(std::atoll(header.c_str() + at));
    at = header.find_first_not_of("0123456789", at);
  }
  array.bytes.assign(all.begin() + static_cast<std::ptrdiff_t>(start), all.end());
  return array;
}

Array made_up(const std::vector<std::int64_t>& shape, int type) {
  Array array{shape, {}};
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  array.bytes.resize(count * static_cast<std::size_t>(kBytesOf[type]));
  if (type != kFloat) return array;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  float* values = reinterpret_cast<float*>(array.bytes.data());
  for (std::size_t i = 0; i < count; ++i) values[i] = normal(random);
  return array;
}

std::string text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t extent : shape) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out;
}

/// A loaded model with its inputs set.
class Model {
 public:
  explicit Model(const Options& options) {
    void* env = nullptr;
    void* settings = nullptr;
    call(kCreateEnv, kErrors, "bench", &env);
    call(kCreateOptions, &settings);
    call(kSetIntraThreads, settings, options.threads);
    call(kSetInterThreads, settings, 1);
    call(kSetOptimizationLevel, settings, kAllOptimizations);
    call(kCreateSession, env, options.model.c_str(), settings, &session_);
    call(kAllocator, &allocator_);
    call(kCpuMemoryInfo, 1, 0, &memory_);
    std::size_t inputs = 0, outputs = 0;
    call(kInputCount, session_, &inputs);
    call(kOutputCount, session_, &outputs);
    if (options.inputs.size() > inputs) fail("more input files than the model has inputs: " + std::to_string(inputs));
    arrays_.resize(inputs);
    for (std::size_t i = 0; i < inputs; ++i) add_input(i, options);
    output_names_.resize(outputs);
    for (std::size_t i = 0; i < outputs; ++i) call(kOutputName, session_, i, allocator_, &output_names_[i]);
  }

  void run() {
    std::vector<void*> outputs(output_names_.size(), nullptr);
    call(kRun, session_, static_cast<void*>(nullptr), input_names_.data(), values_.data(), values_.size(),
         output_names_.data(), outputs.size(), outputs.data());
    for (void* output : outputs) reinterpret_cast<void (*)(void*)>(table[kReleaseValue])(output);
  }

  /// `NAME=SHAPE` of the inputs whose shape the model leaves open.
  const std::vector<std::string>& open_shapes() const { return open_shapes_; }

 private:
  void add_input(std::size_t i, const Options& options) {
    char* name = nullptr;
    void* info = nullptr;
    const void* tensor = nullptr;
    void* value = nullptr;
    int type = 0;
    std::size_t rank = 0;
    call(kInputName, session_, i, allocator_, &name);
    call(kInputTypeInfo, session_, i, &info);
    call(kTensorInfo, info, &tensor);
    call(kElementType, tensor, &type);
    call(kRank, tensor, &rank);
    std::vector<std::int64_t> shape(rank);
    call(kDimensions, tensor, shape.data(), rank);
    if (type >= static_cast<int>(std::size(kBytesOf)) || kBytesOf[type] == 0) {
      fail(std::string("input ") + name + " has an element type that is not supported: " + std::to_string(type));
    }
    const bool open = std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; });
    const bool given = i < options.inputs.size();
    if (open && !given) fail(std::string("input ") + name + " has an open shape and no file gives its value");
    arrays_[i] = given ? read_npy(options.inputs[i]) : made_up(shape, type);
    Array& array = arrays_[i];
    if (open) open_shapes_.push_back(std::string(name) + "=" + text(array.shape));
    call(kCreateTensorWithData, memory_, static_cast<void*>(array.bytes.data()), array.bytes.size(), array.shape.data(),
         array.shape.size(), type, &value);
    input_names_.push_back(name);
    values_.push_back(value);
  }

  void* session_ = nullptr;
  void* allocator_ = nullptr;
  void* memory_ = nullptr;
  std::vector<Array> arrays_;  ///< what `values_` point into
  std::vector<char*> input_names_, output_names_;
  std::vector<void*> values_;
  std::vector<std::string> open_shapes_;
};

void print_latency(Model& model, const Options& options) {
  for (const double start = now(); now() - start < options.warmup;) model.run();
  std::vector<double> times;
  for (const double start = now(); now() - start < options.seconds || times.size() < kLeastRuns;) {
    const double before = now();
    model.run();
    times.push_back(now() - before);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.6f %zu\n", times[times.size() / 2] * 1e3, times.size());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  void* library = dlopen(options.library.c_str(), RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  void* symbol = dlsym(library, "OrtGetApiBase");
  if (symbol == nullptr) fail(options.library + " exports no OrtGetApiBase; expected a library of ONNX Runtime");
  void** base = reinterpret_cast<void** (*)()>(symbol)();
  table = reinterpret_cast<void** (*)(std::uint32_t)>(base[0])(kApiVersion);
  if (table == nullptr) fail(options.library + " is older than version 1." + std::to_string(kApiVersion));
  Model model(options);
  if (options.shapes) {
    for (const std::string& shape : model.open_shapes()) std::printf("%s\n", shape.c_str());
  } else {
    print_latency(model, options);
  }
  std::fflush(nullptr);
  std::_Exit(0);  // the session's threads need not be taken down
}
