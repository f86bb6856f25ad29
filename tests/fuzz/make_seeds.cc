// Seeds for the fuzzed programs, made by the code that they fuzz.
//
//   make_seeds SOURCE_DIR NODE_TESTS SEEDS     writes SEEDS/import, SEEDS/dag, SEEDS/steps, ...; NODE_TESTS may be absent
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "artifact/made_weights.h"
#include "artifact/model_plan.h"
#include "artifact/sized_model_plan.h"
#include "base/rng.h"
#include "codegen/compile.h"
#include "device/protocol/cpu/model_messages.h"
#include "device/protocol/messages.h"
#include "fleet/access.h"
#include "fleet/messages.h"
#include "fleet/names.h"
#include "import_mxnet/testing/symbol_writer.h"
#include "import_tf/testing/graph_writer.h"
#include "lower/lower.h"
#include "records/record_line.h"
#include "runner/messages.h"
#include "runner/wire.h"
#include "runtime/testing/weights_bytes.h"
#include "schedules.h"
#include "space/space.h"
#include "tensor_files/npy.h"

namespace {

namespace fs = std::filesystem;
using namespace whet;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& bytes) {
    fs::create_directories(folder_ / target);
    std::ofstream(folder_ / target / ("seed_" + std::to_string(count_++)), std::ios::binary) << bytes;
  }
  int count() const { return count_; }

 private:
  fs::path folder_;
  int count_ = 0;
};

/// One sample and several, of one input and of two.
void add_samples(Seeds& seeds) {
  Rng rng(56);
  const auto x = [&](Shape shape) { return Tensor::random({DType::f32, std::move(shape)}, rng); };
  const Tensor n = Tensor::of<double>(DType::i64, {2}, {7, 8});
  for (const Tensor& tensor : {x({1, 3}), x({2, 1, 3}), x({2, 3})}) {
    seeds.add("samples", format_npy(tensor));
    seeds.add("samples", format_npz({{"x", tensor}}).value());
  }
  seeds.add("samples", format_npz({{"x", x({2, 1, 3})}, {"n", n}}).value());
}

/// A small network of each of TensorFlow's and MXNet's files; the byte before it says which.
void add_frameworks(Seeds& seeds) {
  using namespace tensorflow;
  GraphWriter condition, body, graph;
  condition.constant("most", Tensor::of<std::int64_t>(DType::i32, {}, {3}))
      .node("less", "Less", {"i", "most:output:0"});
  body.constant("one", Tensor::of<std::int64_t>(DType::i32, {}, {1})).node("next", "AddV2", {"i", "one:output:0"});
  body.node("twice", "AddV2", {"a", "a"});
  graph.function("c", {"i", "a"}, {"less:z:0"}, condition).function("b", {"i", "a"}, {"next:z:0", "twice:z:0"}, body);
  graph.input("x", {1, 4, 4, 1}).constant("w", Tensor(DType::f32, {3, 3, 1, 2})).integers("shape", {1, -1});
  graph.constant("zero", Tensor::of<std::int64_t>(DType::i32, {}, {0}));
  graph.node("conv", "Conv2D", {"x", "w"}, {{"strides", of_integers({1, 2, 2, 1})}, {"padding", of_text("SAME")}});
  graph.node("loop", "While", {"zero", "conv"},
             {{"cond", of_function("c")}, {"body", of_function("b")}, {"T", of_types({DType::i32, DType::f32})}});
  graph.node("flat", "Reshape", {"loop:1", "shape"}).node("y", "Softmax", {"flat"});
  seeds.add("tensorflow", std::string(1, '\0') + graph.bytes());
  const auto signature = signature_message({{"x", "x:0"}}, {{"y", "y:0"}});
  seeds.add("tensorflow", "\1" + saved_model(graph, {{"serving_default", signature}}));
  seeds.add("tensorflow",
            "\2"
            R"({"format": "graph-model", "modelTopology": {"node": [{"name": "x", "op": "Placeholder",
      "attr": {"dtype": {"type": "DT_FLOAT"}, "shape": {"shape": {"dim": [{"size": "2"}]}}}},
      {"name": "y", "op": "Relu", "input": ["x"]}]}, "weightsManifest": []})");
  seeds.add("tensorflow", std::string("\3\0\3ab1\0\0\0\0\0\0\0\0\0", 15) + std::string(40, '\0'));
  mxnet::SymbolWriter symbol;
  const int data = symbol.null("data");
  const int pool =
      symbol.node("Pooling", "pool", {data}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  const int flat = symbol.node("Reshape", "flat", {pool}, {{"shape", "(0, -1)"}});
  seeds.add("mxnet", std::string(1, '\0') + symbol.json({symbol.node("softmax", "y", {flat})}));
  for (int version = 0; version <= 3; ++version)
    seeds.add("mxnet", "\1" + mxnet::params_bytes({{"arg:w", Tensor(DType::f32, {2, 3})}}, version));
}

std::string protobuf_field(int number, const std::string& message) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t size = message.size();
  for (; size >= 128; size >>= 7) bytes += static_cast<char>(size | 128);
  return bytes + static_cast<char>(size) + message;
}

/// The standard's node tests: each model with the values of its inputs as initializers, so that those which decide
/// shapes are known. Messages of protobuf one behind the other are one message: the initializers are appended as a
/// second graph (fields: graph 7, initializer 5).
void add_models(const fs::path& node_tests, Seeds& seeds) {
  constexpr std::size_t kMostBytes = 16384;
  if (!fs::exists(node_tests)) return;
  for (const auto& entry : fs::directory_iterator(node_tests)) {
    const std::string model = read(entry.path() / "model.onnx");
    std::string values;
    for (int k = 0;; ++k) {
      const fs::path path = entry.path() / "test_data_set_0" / ("input_" + std::to_string(k) + ".pb");
      if (!fs::exists(path)) break;
      values += protobuf_field(5, read(path));
    }
    if (model.empty() || model.size() + values.size() > kMostBytes) continue;
    seeds.add("import", model + (values.empty() ? "" : protobuf_field(7, values)));
  }
}

/// The smaller DAGs of the replay suite: the indented lines behind each `task NAME`.
void add_dags(const fs::path& suite, Seeds& seeds) {
  constexpr std::size_t kMostBytes = 1500;
  seeds.add("dag",
            "x = PLACEHOLDER [4] bf16\ny(i): bf16 = (x[i] + 0.5b) for i in 4\n"
            "z(i): i16 = (i16(x[i])*3i16) for i in 4\nreturn y, z\n");
  std::istringstream lines(read(suite));
  std::string dag;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) {
      dag += line.substr(2) + "\n";
    } else {
      if (!dag.empty() && dag.size() <= kMostBytes) seeds.add("dag", dag);
      dag.clear();
    }
  }
}

Record record_of(const ComputeDag& dag, const Target& target, const Candidate& candidate, const Steps& steps) {
  Record record;
  record.key = workload_key(dag);
  record.task = "a \"task\" of \xc3\xa4";
  record.target = to_string(target);
  record.candidate = candidate;
  record.steps = to_text(steps);
  record.tree_hash = "00c0ffee12345678";
  record.codegen = codegen_version(CodeFormat::native_object);
  record.outcome.code = OutcomeCode::ok;
  record.outcome.seconds = {1.5e-4, 2e-4};
  record.outcome.pace = 1.25;
  record.outcome.cache = "network", record.outcome.device = "anvil";
  record.within = {1, 8, 8, 64};
  record.seed = ~std::uint64_t{0};
  record.round = 3;
  record.predicted = 0.5;
  record.ranks_as = 1.25e-4;
  record.whet = "0.1.0", record.at = "2026-11-21T10:00:00Z";
  return record;
}

/// The bytes of frames as they go through a socket.
std::string frame(FrameType type, const std::string& payload) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return {};
  std::string bytes(payload.size() + 64, '\0');
  const ssize_t got = send_frame(ends[0], type, payload) ? recv(ends[1], bytes.data(), bytes.size(), 0) : 0;
  close(ends[0]);
  close(ends[1]);
  return bytes.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

void add_message(FrameType type, char number, const std::string& payload, Seeds& seeds) {
  seeds.add("messages", number + payload);
  if (payload.size() < 8192) seeds.add("wire", frame(type, payload) + frame(FrameType::measured, "x"));
}

/// A session's messages, each with its type before it, and a stream of them.
void add_session(const KernelJob& job, Seeds& seeds) {
  DeviceDescription device;
  device.name = "pi5", device.machine = "aarch64";
  device.cores = {{0, 0, 0, 1024, false, true, 0x410fd0b1}};
  const BlobName file{std::string(64, 'a'), 3};
  ModelOrder order;
  order.models = order.inputs = {file};
  order.cores = {0};
  ModelAnswer opened, times, profile;
  opened.kind = ModelAnswerKind::opened, times.kind = ModelAnswerKind::times, profile.kind = ModelAnswerKind::profile;
  opened.opened.inputs = {{"x", {DType::f32, {1, 8}}}};
  opened.sandbox = {"rlimits"};
  times.seconds = {1e-3, 2e-3};
  profile.profile.steps = {{"node", "op", 1, 2, 3, 4, 5, true}};
  SpotsRequest spots{{job, {}, {}, {}}, {}, {}};
  for (const ArgumentSpec& argument : job.arguments)
    if (argument.role == ArgumentRole::output)
      spots.outputs.push_back({argument.dtype,
                               static_cast<std::uint64_t>(argument.bytes),
                               static_cast<std::uint64_t>(argument.bytes),
                               0,
                               1e-4,
                               {0}});
  spots.passed = spots.check;
  const SpotsReply seen{OutcomeCode::ok, "", true, {{"abcd", -1, 0.5, 2, 3, 1}}};
  const std::pair<SessionType, std::string> messages[] = {
      {SessionType::hello, encode(SessionHello{1, 1, "0.1.0", 2, encode(device)})},
      {SessionType::open, encode(SessionOpen{"me", 10})},
      {SessionType::job, encode(SessionJob{10, {MeasureRequest{job, {}}, CheckRequest{job, {}, {}, {}}}, true})},
      {SessionType::item, encode(SessionItem{0, MeasureReply{OutcomeCode::ok, "", {1e-3}, false, 1}})},
      {SessionType::job, encode(SessionJob{10, {spots}})},
      {SessionType::item, encode(SessionItem{0, seen})},
      {SessionType::waiting, encode(SessionWaiting{1, "another session"})},
      {SessionType::need, encode(SessionNeed{{file}})},
      {SessionType::have, encode(SessionHave{"", {2}})},
      {SessionType::blob, encode(SessionBlob{file.hash, 2, "x", 4096})},
      {SessionType::order, encode(order)},
      {SessionType::answer, encode(opened)},
      {SessionType::answer, encode(times)},
      {SessionType::answer, encode(profile)}};
  std::string stream(1, '\0');
  for (const auto& [type, payload] : messages) {
    seeds.add("session", std::string(1, static_cast<char>(type)) + payload);
    stream += frames_of({type, 1, payload}, 500);
  }
  seeds.add("session", stream);
  seeds.add("session", std::string(1, static_cast<char>(SessionType::pong)) + encode(device));
}

/// A fleet's messages, subjects and file, as fleet_fuzz.cc tells them apart.
void add_fleet(Seeds& seeds) {
  Presence presence{Presence::State::busy, "0.1.0", "ann@laptop", "", 12, {}};
  presence.device.name = "pi5", presence.device.machine = "aarch64";
  presence.device.cores = {{0, 0, 0, 1024, false, true, 0x410fd0b1}};
  const FleetAnswer answer{FleetAnswer::Kind::lost, "pi5-01", "the link is lost", 1, {"item 0", "item 1"}};
  seeds.add("fleet", "j" + encode(FleetJob{kSessionHighest, "ann@laptop", "job"}));
  seeds.add("fleet", "j" + encode(FleetJob{kSessionHighest, "ann@laptop", "order", FleetJob::Kind::models}));
  seeds.add("fleet", "a" + encode(answer));
  std::string file(20000, 'x');
  file.replace(4096, 4096, made_weights().data(), 4096);
  seeds.add("fleet", "m" + encode_file_piece(file));
  seeds.add("fleet", "u" + encode(presence));
  seeds.add("fleet", "f" + to_text({FleetAccess::Role::agent, "tls://lab1:4222", "lab", ""}));
  const FleetSession ann{"ann", "0123abcd"};
  for (const std::string& subject : {job_subject({"pi5", Priority::low, ann, 12}), answer_subject(ann, 12, 0),
                                     note_subject(ann, 12), unit_subject({"pi5", "lab", "pi5-01"})})
    seeds.add("fleet", "s" + subject);
  for (const std::string& part : parts_of(answer, 7)) {
    seeds.add("fleet", "p" + part);
    seeds.add("fleet", "x" + std::string(1, '\0') + static_cast<char>(part.size()) + part);
  }
}

/// `kernel` has two inputs, the second constant, and an output.
void add_messages(const Kernel& kernel, Seeds& seeds) {
  KernelJob job;
  job.kernel = kernel;
  job.arguments = {{ArgumentRole::activation, DType::f32, 64, 1},
                   {ArgumentRole::constant, DType::f32, 32, 2},
                   {ArgumentRole::output, DType::f32, 16}};
  job.threads = 2;
  job.cpu.cores = {0, 1};
  KernelJob packing = job;
  packing.arguments = {{ArgumentRole::constant, DType::i8, 64, 7, 5}, {ArgumentRole::output, DType::f32, 32}};
  add_message(FrameType::measure, 0, encode(MeasureRequest{job, {}}), seeds);
  add_message(FrameType::measured, 1, encode(MeasureReply{OutcomeCode::runtime, "why", {1e-4, 2e-4}, true, 3}), seeds);
  add_message(FrameType::check, 2, encode(CheckRequest{job, {{0, std::string(64, 'x')}}, packing, {{1, 1}}}), seeds);
  add_message(FrameType::checked, 3, encode(CheckReply{OutcomeCode::ok, "", {"a", "bc"}}), seeds);
  add_message(FrameType::build, 4, encode(job), seeds);
  add_session(job, seeds);
}

/// Schedules of the fuzzed DAGs from their design spaces, and what they become.
void add_schedules(Seeds& seeds) {
  constexpr int kSamples = 12;
  const Target target = parse_target("cpu -mcpu=haswell -threads=2").value();
  Rng rng(1);
  for (int number = 0; number < fuzz::kDagCount; ++number) {
    const ComputeDag dag = parse_dag(fuzz::kDags[number]).value();
    const DesignSpace space = make_space(dag, target, {});
    for (int k = 0; k < kSamples; ++k) {
      const Candidate candidate = k == 0 ? space.default_candidate() : space.sample(rng);
      const auto scheduled = space.schedule(candidate);
      if (!scheduled.ok()) continue;
      seeds.add("steps", static_cast<char>(number) + to_text(scheduled->steps));
      seeds.add("record", to_line(record_of(dag, target, candidate, scheduled->steps)));
      if (k % 4 != 0) continue;
      auto lowered = lower(scheduled->tree, target);
      if (!lowered.ok()) continue;
      lowered->program.name = "kernel";  // as object_fuzz looks for it
      auto kernel = compile_kernel(lowered->program, target);
      if (!kernel.ok()) continue;
      seeds.add("object", kernel->code);
      // The same Program for AArch64.
      if (auto other = compile_kernel(lowered->program, parse_target("cpu -mcpu=cortex-a72").value()); other.ok())
        seeds.add("object", other->code);
      if (k == 0) add_messages(*kernel, seeds);
    }
  }
}

/// y[n, 4] of x[n, 4], n in 2..16, by a kernel that reads n.
void add_plan_of_range(Seeds& seeds) {
  ModelPlan plan;
  plan.name = "net", plan.entries = 1, plan.tuned_threads = 2;
  plan.inputs = {{"x", 0, {16, 4}, 256}};
  plan.outputs = {{"y", 0, {16, 4}, 256}};
  ModelPlan::Step kernel;
  kernel.arguments = {{PlanPlace::sizes, 0, 0, 8}, {PlanPlace::input, 0, 0, 256}, {PlanPlace::output, 0, 0, 256}};
  plan.steps = {kernel};
  PlanFunctions changing;
  changing.slots = 1;
  changing.numbers = {{PlanNumberOp::size, 0, 0}, {PlanNumberOp::constant, 0, 16}, {PlanNumberOp::mul, 1, 0}};
  changing.fields = {{PlanFieldKind::extent, 0, 0},
                     {PlanFieldKind::extent, 2, 0},
                     {PlanFieldKind::bytes, 1, 2},
                     {PlanFieldKind::bytes, 2, 2},
                     {PlanFieldKind::value, 0, 0}};
  seeds.add("plan", write_sized_plan({{{"n", 0, 0, {}, 2, 16, 1}}, {plan}, 0, {{0, {2}, {16}}}, {changing}}));
}

void add_plan(Seeds& seeds) {
  ModelPlan plan;
  plan.name = "net", plan.target = "cpu -mcpu=haswell", plan.required_isa = "avx2", plan.compiler = "0.1.0";
  plan.entries = 2, plan.tuned_threads = 2, plan.arena_bytes = 4096, plan.weights_bytes = 1024;
  plan.inputs = {{"x", 0, {1, 4, 4}, 64}};
  plan.outputs = {{"y", 0, {16}, 64}, {"z", 4, {64}, 64}};
  ModelPlan::Step kernel;
  kernel.arguments = {{PlanPlace::input, 0, 0, 64}, {PlanPlace::weights, 0, 64, 128}, {PlanPlace::arena, 0, 128, 64}};
  kernel.parallel = true, kernel.workspace_offset = 64, kernel.workspace_bytes = 64, kernel.worker_bytes = 32;
  kernel.flops = 100, kernel.predicted_seconds = 1e-4, kernel.node = "conv", kernel.op = "conv2d";
  ModelPlan::Step copy;
  copy.kind = PlanStepKind::copy, copy.barrier = true;
  copy.arguments = {{PlanPlace::arena, 0, 128, 64}, {PlanPlace::output, 1, 0, 64}};
  plan.steps = {kernel, copy};
  plan.steps.push_back(kernel);
  plan.steps.back().entry = 1;
  plan.steps.back().arguments = {{PlanPlace::arena, 0, 128, 64}, {PlanPlace::output, 0, 0, 64}};
  seeds.add("plan", write_plan(plan));
  seeds.add("plan", write_plan({}));
  ModelPlan larger = plan;
  larger.inputs = {{"x", 0, {2, 4, 4}, 128}};
  seeds.add("plan", write_sized_plan({{{"x.0", 0, 0, {1, 2}}}, {plan, larger}, 0}));
  add_plan_of_range(seeds);
}

/// One a kind (docs/formats/serve.md).
constexpr const char* kRequests[] = {
    R"({"id": 1, "do": "tasks"})",
    R"({"do": "define", "name": "own", "dag": "a = PLACEHOLDER [4]\nb(i) = (a[i] + 1f) for i in 4\nreturn b"})",
    R"({"do": "space", "task": 0})",
    R"({"do": "seeds", "task": 0})",
    R"({"do": "transfers", "task": 0})",
    R"({"do": "sample", "task": 0, "count": 3, "seed": 9})",
    R"({"do": "neighbours", "task": 0, "candidate": {"sketch": "nests", "choices": {}}})",
    R"({"do": "steps", "task": 0, "candidates": [{"steps": "split l1 8 guard;vectorize l3"}]})",
    R"({"id": "x", "do": "measure", "task": 0, "end_early": true, "candidates": [{"steps": "parallel l0", "sketch": "mine", "choices": {"oc": [8, 2]}}]})",
    R"({"do": "best", "task": 0})",
    R"({"do": "template", "task": 0, "name": "own", "alone": true, "decisions": [{"name": "j", "extent": 32, "options": [[8, 4], [4, 8]]}, {"name": "unroll", "options": [0, 1]}], "rows": [[[8, 4], 0, "split l1 4 guard;vectorize l4"], [[4, 8], 1, "vectorize l2"]]})",
    R"({"id": 3, "do": "tune", "task": [0], "trials": 4, "round": 2, "strategy": "descent", "early_stop": 3, "no_seeds": true})",
    R"({"do": "tune", "seconds": 0.01, "strategy": "random"})",
    R"({"do": "compile", "output": "x.so"})",
    R"({"do": "features", "task": 0, "candidates": [{"steps": "split l1 8 guard;vectorize l4"}]})",
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "usage: make_seeds SOURCE_DIR NODE_TESTS SEEDS\n", 2;
  const fs::path source = argv[1];
  Seeds seeds(argv[3]);
  add_models(argv[2], seeds);
  add_dags(source / "tests/replay/schedules.txt", seeds);
  for (const char* dag : fuzz::kDags) seeds.add("dag", dag);
  for (const char* definition :
       {"x = PLACEHOLDER []\ny() = (x[]*sigmoid((x[]*{alpha=1}f)))\nreturn y\n",
        "x = PLACEHOLDER [N, C]\ns = PLACEHOLDER [C]\ny(n, c) = (x[n, c]*s[c]) for n in N, c in C\nreturn y\n",
        "n = SIZE 1..4 at 2\nx = PLACEHOLDER [n, C]\ny(i) += x[i, ({k[0]} - 1)] for i in n, r in {k[1]}\nreturn y\n"})
    seeds.add("define", definition);
  seeds.add("dag",
            "n = SIZE 2..40:2 at 8\nx = PLACEHOLDER [(n + 1), 4]\ni = PLACEHOLDER [n] i64 < (n + 1)\n"
            "m(a, b) = (x[i[a], b]*(1f/f32(n))) for a in n, b in 4\nreturn m\n");
  std::istringstream lines(
      read(source / "src/records/testdata/v1.jsonl") + read(source / "src/records/testdata/v2.jsonl") +
      read(source / "src/records/testdata/v4.jsonl") + read(source / "src/records/testdata/v5.jsonl") +
      read(source / "src/records/testdata/v6.jsonl"));
  for (std::string line; std::getline(lines, line);) seeds.add("record", line);
  seeds.add("base", read(source / "src/records/testdata/v3.jsonl"));
  for (const char* plan : {"plan_v1.bin", "plan_v2.bin", "plan_v2_device.bin", "plan_v3.bin"}) {
    seeds.add("plan", read(source / "src/artifact/testdata" / plan));
  }
  for (const char* request : kRequests) seeds.add("serve", request);
  for (const char* requests : {"24 310\n31\n", "\xef\xbb\xbf# of a day\r\n512 1000000000\r\n\r\n", "2x128\t7\n1x64"})
    seeds.add("lengths", requests);
  for (const auto& file : fs::directory_iterator(source / "src/codegen/gpu/testdata/hooks"))
    seeds.add("ptx", ".extern .shared .align 128 .b8 block_memory[];\n" + read(file.path()));
  add_samples(seeds);
  for (const std::size_t size : {0, 64, 1024}) seeds.add("weights", weights_bytes(7, std::string(size, 'w')));
  add_plan(seeds);
  add_schedules(seeds);
  add_fleet(seeds);
  add_frameworks(seeds);
  std::cout << seeds.count() << " seeds\n";
  return 0;
}
