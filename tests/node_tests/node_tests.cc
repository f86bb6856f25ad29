// The standard's own node tests, the compiled way: import, optimize, compile, run, compare.
//
//   node_tests FOLDER SKIPPED [--only GLOB] [--part K/N] [--by-operator] [--jobs N] [--target TEXT --emulator COMMAND]
//
// --part takes every N-th case, by the names' hashes. --emulator: models are compiled for the target and run by COMMAND, which
// is tests/aarch64/model_answers.cc on an emulated processor (scripts/emulated).
// FOLDER holds one folder a case: model.onnx and test_data_set_K/{input,output}_N.pb. SKIPPED lists the cases that need
// not pass, one `GLOB  reason` a line; a case of the list that passes is a failure too, so that the list stays short.
// Each case runs in a process of its own: a crash or a hang is that case's failure.

#include <fnmatch.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/hash.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "formats/import_model.h"
#include "import_onnx/reader.h"
#include "machine/detect.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSecondsPerCase = 120;

struct Skipped {
  std::string glob, reason;
  bool used = false;
};

struct Options {
  fs::path folder;
  std::vector<Skipped> skipped;
  std::string only = "*";
  std::uint64_t part = 0, parts = 1;
  std::string target = "cpu", emulator;
  bool by_operator = false;
  std::size_t jobs = 2;
};

Result<std::vector<Skipped>> read_skipped(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return Error{path.string() + ": cannot be read"};
  std::vector<Skipped> list;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t end = line.find(' '), reason = line.find_first_not_of(' ', end);
    if (reason == std::string::npos) return Error{path.string() + ": \"" + line + "\" gives no reason"};
    list.push_back({line.substr(0, end), line.substr(reason)});
  }
  return list;
}

/// A field of a serialized message.
struct Field {
  unsigned number = 0;
  std::string_view bytes;  ///< empty: a number
};

/// The fields of a message; nothing where the bytes are none.
std::optional<std::vector<Field>> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  const auto number = [&]() -> std::uint64_t {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (!bytes.empty()) {
    const std::uint64_t tag = number();
    Field field{static_cast<unsigned>(tag >> 3), {}};
    if ((tag & 7) == 2) {
      const std::uint64_t size = number();
      if (size > bytes.size()) return std::nullopt;
      field.bytes = bytes.substr(0, size);
      bytes.remove_prefix(size);
    } else if ((tag & 7) == 0) {
      (void)number();
    } else {
      return std::nullopt;
    }
    fields.push_back(field);
  }
  return fields;
}

/// A tensor; or the elements of a sequence, "NAME.0", "NAME.1", ...; or what an optional value holds. Tensors begin with their
/// extents or their type, the others with a name. `lists`: names of sequences.
Result<std::vector<NamedTensor>> tensors_of(const std::string& bytes, const std::string& what,
                                            const std::set<std::string>& lists) {
  const bool named = !bytes.empty() && bytes[0] == '\x0a';
  const auto fields = named ? fields_of(bytes) : std::nullopt;
  if (!fields) {
    WHET_TRY(NamedTensor one, parse_tensor_proto(bytes, what));
    return std::vector<NamedTensor>{std::move(one)};
  }
  const std::string name((*fields)[0].bytes);
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::vector<Field>& list) -> Status {
    for (const Field& field : list) {
      if (field.number != 3) continue;
      WHET_TRY(NamedTensor element, parse_tensor_proto(field.bytes, what));
      tensors.push_back({"", std::move(element.tensor)});
    }
    return ok_status();
  };
  WHET_RETURN_IF_ERROR(add(*fields));
  for (const Field& field : *fields) {
    if (field.number != 5) continue;
    const auto inner = fields_of(field.bytes);
    if (!inner) return Error{what + ": holds no sequence"};
    WHET_RETURN_IF_ERROR(add(*inner));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    tensors[i].name = lists.contains(name) ? name + "." + std::to_string(i) : name;
  return tensors;
}

/// The tensors PREFIX_0.pb, PREFIX_1.pb, ... of a data set.
Result<std::vector<NamedTensor>> numbered(const fs::path& set, const std::string& prefix,
                                          const std::set<std::string>& lists = {}) {
  std::vector<NamedTensor> tensors;
  for (int k = 0;; ++k) {
    const fs::path path = set / (prefix + "_" + std::to_string(k) + ".pb");
    if (!fs::exists(path)) return tensors;
    WHET_TRY(const std::string bytes, read_file(path.string()));
    WHET_TRY(std::vector<NamedTensor> some, tensors_of(bytes, path.string(), lists));
    for (NamedTensor& each : some) tensors.push_back(std::move(each));
  }
}

/// What rounding may change: a part of the largest magnitude.
double tolerance(DType dtype) {
  if (!is_float(dtype)) return 0;
  return dtype == DType::f16 ? 2e-3 : dtype == DType::f32 ? 1e-4 : 1e-7;
}

Status expect_equal(const std::string& what, const Tensor& got, const Tensor& want) {
  if (got.type() != want.type()) {
    return Error{what + ": is " + to_string(got.type()) + "; expected " + to_string(want.type())};
  }
  double largest = 0;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want.get(i))) largest = std::max(largest, std::abs(want.get(i)));
  }
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double a = got.get(i), b = want.get(i);
    const bool same =
        is_float(want.dtype()) ? a == b || (std::isnan(a) && std::isnan(b)) : got.integer(i) == want.integer(i);
    if (same || std::abs(a - b) <= tolerance(want.dtype()) * largest) continue;
    std::ostringstream text;
    text.precision(9);
    text << what << ": element " << i << " of " << to_string(want.type()) << " is " << a << "; expected " << b;
    return Error{text.str()};
  }
  return ok_status();
}

Status expect_all_equal(const std::string& way, const std::vector<Tensor>& got, const std::vector<NamedTensor>& want) {
  if (got.size() != want.size()) {
    return Error{way + ": " + std::to_string(got.size()) + " outputs; expected " + std::to_string(want.size())};
  }
  for (std::size_t k = 0; k < got.size(); ++k) {
    WHET_RETURN_IF_ERROR(expect_equal(way + ", output " + std::to_string(k), got[k], want[k].tensor));
  }
  return ok_status();
}

/// The first `count` entries of dimension `d`.
Tensor first_entries(const Tensor& x, std::size_t d, std::int64_t count) {
  Shape shape = x.shape();
  const std::int64_t inner = row_major_strides(shape)[d] * size_of(x.dtype()), extent = shape[d];
  shape[d] = count;
  Tensor result(x.dtype(), shape);
  for (std::int64_t outer = 0; outer < x.bytes() / inner / extent; ++outer) {
    std::memcpy(static_cast<char*>(result.data()) + outer * count * inner,
                static_cast<const char*>(x.data()) + outer * extent * inner, static_cast<std::size_t>(count * inner));
  }
  return result;
}

/// Outputs whose number of results depends on values have padding behind those, and the numbers are behind the model's own
/// outputs: without both.
std::vector<Tensor> without_padding(const Graph& graph, std::vector<Tensor> outputs,
                                    const std::vector<NamedTensor>& want) {
  for (std::size_t k = want.size(); k < outputs.size(); ++k) {
    const std::int64_t count = outputs[k].integer(0);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const Shape &x = outputs[i].shape(), &wanted = want[i].tensor.shape();
      if (graph.value(graph.outputs[i]).name + "_count" != graph.value(graph.outputs[k]).name) continue;
      for (std::size_t d = 0; d < x.size() && x.size() == wanted.size(); ++d)
        if (x[d] > count && wanted[d] == count) outputs[i] = first_entries(outputs[i], d, count);
    }
  }
  outputs.resize(std::min(outputs.size(), want.size()));
  return outputs;
}

/// The model's outputs on an emulated processor; tensors go there and come back as files of their bytes.
Result<std::vector<Tensor>> run_emulated(const std::string& emulator, const std::string& folder, const Graph& graph,
                                         const std::vector<Tensor>& inputs) {
  std::string command = emulator + " raw " + folder + "/model.so";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string path = folder + "/in" + std::to_string(i);
    std::ofstream(path).write(static_cast<const char*>(inputs[i].data()), inputs[i].bytes());
    command += " " + path;
  }
  command += " --";
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) command += " " + folder + "/out" + std::to_string(i);
  if (std::system((command + " > " + folder + "/complaint").c_str()) != 0) {
    std::string complaint;
    std::getline(std::ifstream(folder + "/complaint"), complaint);
    return Error{"on the emulated processor: " + (complaint.empty() ? "stopped without a word" : complaint)};
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorType& type = graph.value(graph.outputs[i]).type;
    Tensor output(type.dtype, type.shape);
    std::ifstream file(folder + "/out" + std::to_string(i));
    file.read(static_cast<char*>(output.data()), output.bytes());
    if (!file || file.peek() != EOF) return Error{"an output has another size than " + to_string(type)};
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<std::vector<Tensor>> run_compiled(const Options& how, const Graph& graph, const std::vector<Tensor>& inputs) {
  WHET_TRY(const FusedGraph fused, optimize(graph, {}));
  WHET_TRY(Target target, resolve_target(how.target));
  target.threads = 1;
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string path = scratch.path() + "/model.so";
  CompileOptions options;
  options.jobs = 1;
  WHET_RETURN_IF_ERROR(compile_model(fused, nullptr, target, path, options));
  if (!how.emulator.empty()) return run_emulated(how.emulator, scratch.path(), graph, inputs);
  OpenModelOptions open;
  open.threads = 1;
  open.pin = false;
  WHET_TRY(OpenedModel model, OpenedModel::open(path, open));
  return model.run(inputs);
}

Status run_set(const Options& how, const fs::path& folder, const fs::path& set) {
  const std::string path = (folder / "model.onnx").string();
  WHET_TRY(const std::string bytes, read_file(path));
  WHET_TRY(const OnnxModel model, parse_onnx(bytes, folder.string(), path));
  std::set<std::string> lists;
  for (const OnnxInput& input : model.inputs)
    if (input.is_sequence) lists.insert(input.name);
  WHET_TRY(const std::vector<NamedTensor> given, numbered(set, "input", lists));
  WHET_TRY(const std::vector<NamedTensor> want, numbered(set, "output"));
  ImportOptions options;
  const bool named = std::none_of(given.begin(), given.end(), [](const NamedTensor& t) { return t.name.empty(); });
  if (named) {
    for (const NamedTensor& input : given) options.values[input.name] = input.tensor;
  }
  WHET_TRY(const Graph graph, import_model(path, options));
  std::vector<Tensor> inputs;
  if (!named) {  // older cases: in the order of the model's inputs
    if (given.size() != graph.inputs.size()) return Error{"has another number of inputs than the model"};
    for (const NamedTensor& input : given) inputs.push_back(input.tensor);
  }
  for (ValueId id : named ? graph.inputs : std::vector<ValueId>()) {
    const auto value = options.values.find(graph.value(id).name);
    if (value == options.values.end()) return Error{"its data have no input " + graph.value(id).name};
    inputs.push_back(value->second);
  }
  WHET_TRY(const std::vector<Tensor> values, evaluate_graph(graph, inputs));
  std::vector<Tensor> interpreted;
  for (ValueId id : graph.outputs) interpreted.push_back(values[id.index()]);
  WHET_RETURN_IF_ERROR(expect_all_equal("interpreted", without_padding(graph, interpreted, want), want));
  WHET_TRY(const std::vector<Tensor> compiled, run_compiled(how, graph, inputs));
  return expect_all_equal("compiled", without_padding(graph, compiled, want), want);
}

Status run_case(const Options& how, const fs::path& folder) {
  int sets = 0;
  for (; fs::exists(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
    WHET_RETURN_IF_ERROR(run_set(how, folder, folder / ("test_data_set_" + std::to_string(sets))));
  }
  return sets > 0 ? ok_status() : Status(Error{"has no data"});
}

/// A case that runs in a process of its own.
struct Running {
  std::string name;
  pid_t process = 0;
  int pipe = 0;
};

Running start(const Options& how, const std::string& name) {
  int ends[2];
  WHET_CHECK(pipe(ends) == 0);
  std::cout << std::flush;
  const pid_t process = fork();
  WHET_CHECK(process >= 0);
  if (process > 0) {
    close(ends[1]);
    return {name, process, ends[0]};
  }
  close(ends[0]);
  alarm(kSecondsPerCase);
  const Status status = run_case(how, how.folder / name);
  const std::string text = status.ok() ? "ok" : status.error().message;
  const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

/// "ok", or what went wrong.
std::string finish(const Running& running) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(running.pipe, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(running.pipe);
  int status = 0;
  waitpid(running.process, &status, 0);
  if (WIFSIGNALED(status)) return std::string("CRASH: ") + strsignal(WTERMSIG(status));
  return text.empty() ? "CRASH: ended without a word" : text;
}

/// "resize" of "test_resize_upsample_sizes_cubic".
std::string family(const std::string& name) {
  const std::size_t begin = name.starts_with("test_") ? 5 : 0;
  return name.substr(begin, name.find('_', begin) - begin);
}

int run(Options& options) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(options.folder)) {
    const std::string name = entry.path().filename();
    if (fnmatch(options.only.c_str(), name.c_str(), 0) == 0 && hash_bytes(name) % options.parts == options.part)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::map<std::string, std::pair<int, int>> families;  // passed, all
  int passed = 0, skipped = 0, failed = 0;
  const auto judge = [&](const Running& running) {
    const std::string outcome = finish(running);
    const bool ok = outcome == "ok", crash = outcome.starts_with("CRASH");
    const auto skip = std::find_if(options.skipped.begin(), options.skipped.end(), [&](const Skipped& s) {
      return fnmatch(s.glob.c_str(), running.name.c_str(), 0) == 0;
    });
    const bool listed = skip != options.skipped.end();
    if (listed) skip->used = true;
    auto& count = families[family(running.name)];
    count.first += ok;
    ++count.second;
    if (ok && !listed) {
      ++passed;
    } else if (!ok && listed && !crash) {
      ++skipped;
    } else {
      ++failed;
      std::cout << "FAILED " << running.name << ": "
                << (ok ? "passes; take \"" + skip->glob + "\" from the list of skipped cases" : outcome) << "\n";
    }
  };
  std::vector<Running> running;
  for (const std::string& name : names) {
    if (running.size() == options.jobs) {
      judge(running.front());
      running.erase(running.begin());
    }
    running.push_back(start(options, name));
  }
  for (const Running& last : running) judge(last);
  for (const Skipped& skip : options.skipped) {
    if (skip.used || options.only != "*" || options.parts > 1) continue;
    ++failed;
    std::cout << "FAILED " << skip.glob << ": no case of the list of skipped ones has this name\n";
  }
  if (options.by_operator) {
    for (const auto& [name, count] : families) std::cout << name << " " << count.first << "/" << count.second << "\n";
  }
  std::cout << passed << " passed, " << skipped << " skipped, " << failed << " failed\n";
  return failed == 0 && passed > 0 ? 0 : 1;
}

int main_of(std::vector<std::string> arguments) {
  if (arguments.size() < 2) {
    std::cerr << "usage: node_tests FOLDER SKIPPED [--only GLOB] [--part K/N] [--by-operator] [--jobs N] "
                 "[--target TEXT --emulator COMMAND]\n";
    return 2;
  }
  Options options;
  options.folder = arguments[0];
  auto skipped = read_skipped(arguments[1]);
  if (!skipped.ok()) return std::cerr << skipped.error().message << "\n", 2;
  options.skipped = *skipped;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (arguments[i] == "--only" && i + 1 < arguments.size()) options.only = arguments[++i];
    if (arguments[i] == "--jobs" && i + 1 < arguments.size()) options.jobs = std::stoul(arguments[++i]);
    if (arguments[i] == "--target" && i + 1 < arguments.size()) options.target = arguments[++i];
    if (arguments[i] == "--emulator" && i + 1 < arguments.size()) options.emulator = arguments[++i];
    if (arguments[i] == "--part" && i + 1 < arguments.size()) {
      const std::string part = arguments[++i];
      options.part = std::stoul(part), options.parts = std::stoul(part.substr(part.find('/') + 1));
    }
    if (arguments[i] == "--by-operator") options.by_operator = true;
  }
  return run(options);
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::main_of({argv + 1, argv + argc}); }
