#include "measure/build.h"

#include "runner/hello.h"
#include "runner/wire.h"

namespace whet {

template <>
constexpr auto kLast<BuiltArgument::Kind> = BuiltArgument::Kind::sizes;
template <>
constexpr auto kRow<BuiltArgument> = row<&BuiltArgument::kind, &BuiltArgument::index>;

namespace {

/// The kernel and its arguments travel as a job; what the arguments are to the task comes later, without a count.
struct AsJob {
  static void write(Packer& p, const BuildResult& r) {
    KernelJob job;
    job.kernel = r.kernel;
    for (const BuiltArgument& a : r.arguments) job.arguments.push_back(a.spec);
    p.put(encode(job));
  }
  static void read(Unpacker& u, BuildResult& r) {
    KernelJob job;
    u.accept(decode<KernelJob>(u.get<std::string_view>()), job);
    r.kernel = std::move(job.kernel);
    for (const ArgumentSpec& spec : job.arguments) r.arguments.push_back({.spec = spec});
  }
};
struct ArgumentsOfTask {
  static void write(Packer& p, const BuildResult& r) {
    for (const BuiltArgument& a : r.arguments) p.put(a);
  }
  static void read(Unpacker& u, BuildResult& r) {
    for (BuiltArgument& a : r.arguments) u.get(a);
  }
};

}  // namespace

template <>
constexpr auto kRow<BuildReport> =
    row<&BuildReport::registers, &BuildReport::spill_bytes, &BuildReport::block_memory, &BuildReport::instructions>;
template <>
constexpr auto kRow<BuildRequest> = row<&BuildRequest::dag, &BuildRequest::steps, &BuildRequest::target,
                                        &BuildRequest::within, &BuildRequest::emulated, &BuildRequest::driver>;
template <>
constexpr auto kRow<BuildResult> =
    row<&BuildResult::code, &BuildResult::message, AsJob{}, &BuildResult::report, &BuildResult::tree_hash,
        &BuildResult::packing, ArgumentsOfTask{}, &BuildResult::seconds>;
template struct Codec<BuildRequest>;
template struct Codec<BuildResult>;

int run_builder(int fd, const BuildFunction& build) {
  if (!send_hello(fd)) return 0;
  for (;;) {
    const ReceiveResult received = receive_frame(fd);
    if (!received.ok) return received.end == WireEnd::closed ? 0 : 3;
    const auto request = decode<BuildRequest>(received.frame.payload);
    if (received.frame.type != FrameType::build || !request) return 3;
    if (!send_frame(fd, FrameType::built, encode(build(*request)))) return 0;
  }
}

const Life kBuilder{"whet-builder", [](int fd) { return run_builder(fd, build_candidate); }};

}  // namespace whet
