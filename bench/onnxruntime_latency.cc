// How long ONNX Runtime's CPU provider takes for a model: one burst of inferences, through its C API, without its
// headers.
//
//   onnxruntime_latency LIBRARY MODEL.onnx [--threads N] [--seconds S] [--warmup S] [--shapes] [INPUT.npy ...]
//   onnxruntime_latency LIBRARY MODEL.onnx [--threads N] --requests LIST --answer FILE
//
// Inputs come from the files, in the order of the model's inputs; the others are made up. Prints one line,
// `median_ms runs` (with --seconds 0 of one run), or with --shapes, instead of running, `NAME=1x3x48x192` for each input whose shape the model leaves
// open. With --requests it runs those of a list (requests.h) in one session: it says `ready`, and answers `times FIRST..END`
// and `answer K` as whet_requests does.
//
// The C API is a table of function pointers whose order never changes: the numbers below are positions in it.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "bursts.h"
#include "requests.h"

namespace {

constexpr std::uint32_t kApiVersion = 17;  ///< old enough for any release of the last years
constexpr int kErrors = 3;                 ///< log level: warnings are about the model, not the time
constexpr int kAllOptimizations = 99;
constexpr int kFloat = 1;                            ///< element type
constexpr int kBytesOf[] = {0, 4, 1, 1, 2, 2, 4, 8,  // by element type: -, f32, u8, i8, u16, i16, i32, i64,
                            0, 1, 2, 8, 4, 8};       // string, bool, f16, f64, u32, u64

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
  kTensorData = 51,
  kTensorInfo = 55,
  kElementType = 60,
  kRank = 61,
  kDimensions = 62,
  kElementCount = 64,
  kShapeOfTensor = 65,
  kCpuMemoryInfo = 69,
  kAllocator = 78,
  kReleaseValue = 96,
  kReleaseShape = 99
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

using bench::now;

struct Options {
  std::string library, model;
  int threads = 2;
  double seconds = 0.5, warmup = 0.2;
  bool shapes = false;
  std::string requests, answer;  ///< files
  std::vector<std::string> inputs;
};

Options parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] { return i + 1 < argc ? argv[++i] : (fail(word + " needs a value"), nullptr); };
    const auto value = [&] { return std::atof(next()); };
    if (word == "--threads") {
      options.threads = static_cast<int>(value());
    } else if (word == "--seconds") {
      options.seconds = value();
    } else if (word == "--warmup") {
      options.warmup = value();
    } else if (word == "--shapes") {
      options.shapes = true;
    } else if (word == "--requests") {
      options.requests = next();
    } else if (word == "--answer") {
      options.answer = next();
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

/// An input as the model has it; extents that it leaves open are negative.
struct Input {
  char* name = nullptr;
  int type = 0;
  std::vector<std::int64_t> shape;

  bool is_open() const {
    return std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; });
  }
};

void release(void* value) { reinterpret_cast<void (*)(void*)>(table[kReleaseValue])(value); }

/// A loaded model.
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
    for (std::size_t i = 0; i < inputs; ++i) inputs_.push_back(describe_input(i));
    for (const Input& input : inputs_) input_names_.push_back(input.name);
    values_.resize(inputs, nullptr);
    output_names_.resize(outputs);
    for (std::size_t i = 0; i < outputs; ++i) call(kOutputName, session_, i, allocator_, &output_names_[i]);
  }

  const std::vector<Input>& inputs() const { return inputs_; }

  /// Gives input `i` this memory, which stays the caller's.
  void set_input(std::size_t i, void* data, std::size_t bytes, const std::vector<std::int64_t>& shape) {
    if (values_[i] != nullptr) release(values_[i]);
    call(kCreateTensorWithData, memory_, data, bytes, shape.data(), shape.size(), inputs_[i].type, &values_[i]);
  }

  void run() {
    for (void* output : outputs()) release(output);
  }

  /// Runs, and writes the outputs, which are f32.
  void write_outputs(std::ostream& to) {
    for (void* output : outputs()) {
      void* shape = nullptr;
      void* data = nullptr;
      std::size_t count = 0;
      call(kShapeOfTensor, output, &shape);
      call(kElementCount, shape, &count);
      call(kTensorData, output, &data);
      to.write(static_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(float)));
      reinterpret_cast<void (*)(void*)>(table[kReleaseShape])(shape);
      release(output);
    }
  }

 private:
  Input describe_input(std::size_t i) {
    Input input;
    void* info = nullptr;
    const void* tensor = nullptr;
    std::size_t rank = 0;
    call(kInputName, session_, i, allocator_, &input.name);
    call(kInputTypeInfo, session_, i, &info);
    call(kTensorInfo, info, &tensor);
    call(kElementType, tensor, &input.type);
    call(kRank, tensor, &rank);
    input.shape.resize(rank);
    call(kDimensions, tensor, input.shape.data(), rank);
    if (input.type >= static_cast<int>(std::size(kBytesOf)) || kBytesOf[input.type] == 0)
      fail(std::string("input ") + input.name +
           " has an element type that is not supported: " + std::to_string(input.type));
    return input;
  }

  /// Of a run; the caller releases them.
  std::vector<void*> outputs() {
    std::vector<void*> outputs(output_names_.size(), nullptr);
    call(kRun, session_, static_cast<void*>(nullptr), input_names_.data(), values_.data(), values_.size(),
         output_names_.data(), outputs.size(), outputs.data());
    return outputs;
  }

  void* session_ = nullptr;
  void* allocator_ = nullptr;
  void* memory_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<char*> input_names_, output_names_;
  std::vector<void*> values_;
};

/// Of the model's inputs: the files' arrays, then made-up ones.
std::vector<Array> arrays_for(const Model& model, const Options& options) {
  const std::vector<Input>& inputs = model.inputs();
  if (options.inputs.size() > inputs.size())
    fail("more input files than the model has inputs: " + std::to_string(inputs.size()));
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool given = i < options.inputs.size();
    if (inputs[i].is_open() && !given)
      fail(std::string("input ") + inputs[i].name + " has an open shape and no file gives its value");
    arrays.push_back(given ? read_npy(options.inputs[i]) : made_up(inputs[i].shape, inputs[i].type));
  }
  return arrays;
}

/// `NAME=SHAPE` of the inputs whose shape the model leaves open.
void print_open_shapes(const Model& model, const std::vector<Array>& arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (model.inputs()[i].is_open()) std::printf("%s=%s\n", model.inputs()[i].name, text(arrays[i].shape).c_str());
}

void print_latency(Model& model, const Options& options) {
  for (const double start = now(); now() - start < options.warmup;) model.run();
  const std::size_t least = options.seconds > 0 ? bench::kLeastRuns : 1;
  std::vector<double> times;
  for (const double start = now(); now() - start < options.seconds || times.size() < least;) {
    const double before = now();
    model.run();
    times.push_back(now() - before);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.6f %zu\n", times[times.size() / 2] * 1e3, times.size());
}

void serve_requests(Model& model, const Options& options) {
  const bench::Requests requests(options.requests);
  if (requests.inputs() != model.inputs().size()) fail(options.requests + " is for a model with other inputs");
  const auto set = [&](std::size_t request) {
    for (std::size_t i = 0; i < requests.inputs(); ++i)
      model.set_input(i, requests.data(i), requests.bytes(request, i), requests.shapes(request)[i]);
  };
  const auto run = [&](std::size_t request) {
    set(request);
    model.run();
  };
  const auto outputs = [&](std::size_t request, std::ostream& to) {
    set(request);
    model.write_outputs(to);
  };
  bench::serve("ready", [&](const std::string& command, const std::string& argument, double) -> std::string {
    if (command == "times") return bench::times_of(requests, argument, run);
    return command == "answer" ? bench::write_answer(requests, argument, options.answer, outputs) : "error";
  });
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
  if (options.requests.empty()) {
    std::vector<Array> arrays = arrays_for(model, options);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      model.set_input(i, arrays[i].bytes.data(), arrays[i].bytes.size(), arrays[i].shape);
    options.shapes ? print_open_shapes(model, arrays) : print_latency(model, options);
  } else {
    serve_requests(model, options);
  }
  std::fflush(nullptr);
  std::_Exit(0);  // the session's threads need not be taken down
}
