// Requests to `whet serve`: each gets an answer of one line, a JSON object with an error that is a sentence, or without one. A search
// tells its rounds before, a line each.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "fuzz.h"
#include "measure/testing/formula_measurer.h"
#include "workflow/serve.h"

using namespace whet;

namespace {

constexpr const char* kDense = R"(x = PLACEHOLDER [1, 64]
w = PLACEHOLDER [64, 32] const
dense(i, j) += (x[i, k]*w[k, j]) for i in 1, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)";

/// A server with an empty record file of its own.
struct Fresh {
  Fresh() : path(std::filesystem::temp_directory_path() / ("whet_serve_fuzz_" + std::to_string(getpid()))) {
    std::filesystem::remove(path);
    file.emplace(RecordFile::open(path).value());
    const ComputeDag dag = parse_dag(kDense).value();
    // A search ends soon, whatever trials it asks for.
    ServeOptions serving{.interrupted = [this] { return ++asked > 16; }, .compile = {}};
    server.emplace(std::vector<Task>{{workload_key(dag), "dense", dag, 1, {0}}},
                   parse_target("cpu -mcpu=haswell -threads=1").value(), SpaceOptions{}, 0, measurer, *file,
                   std::make_shared<const RecordBase>(), std::move(serving));
  }
  ~Fresh() { std::filesystem::remove(path); }

  std::string path;
  int asked = 0;
  std::optional<RecordFile> file;
  FormulaMeasurer measurer =
      FormulaMeasurer::timing([](const std::string& steps) { return 1e-6 * (1.0 + steps.size()); });
  std::optional<TaskServer> server;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<Fresh> fresh;
  static int requests = 0;
  constexpr int kRequestsOfAServer = 1000;  // its records are kept in memory
  if (requests++ % kRequestsOfAServer == 0) fresh = nullptr, fresh = std::make_unique<Fresh>();
  fresh->asked = 0;
  const auto listen = [](const std::string& line) {
    fuzz::require(line.find('\n') == std::string::npos && parse_json(line).ok(), "an event is a JSON object a line");
    return true;
  };
  const std::string answer = fresh->server->answer(fuzz::text_of(data, size), listen);
  fuzz::require(answer.find('\n') == std::string::npos, "an answer is one line");
  const Result<Json> read = parse_json(answer);
  fuzz::require(read.ok() && read->is_object(), "an answer is a JSON object");
  fuzz::require(read->find("id") != nullptr, "an answer has an id");
  if (const Json* error = read->find("error")) fuzz::require_sentence(error->string());
  return 0;
}
