#include "measure/build.h"

#include "runner/hello.h"
#include "runner/wire.h"

namespace whet {

std::string encode(const BuildRequest& r) {
  Packer p;
  p.text(r.dag);
  p.text(r.steps);
  p.text(r.target);
  p.u64(r.within.size());
  for (std::int64_t extent : r.within) p.i64(extent);
  p.u8(r.emulated);
  p.u32(static_cast<std::uint32_t>(r.driver));
  return p.take();
}

std::optional<BuildRequest> decode_build_request(std::string_view bytes) {
  Unpacker u(bytes);
  BuildRequest r;
  r.dag = u.text();
  r.steps = u.text();
  r.target = u.text();
  for (std::size_t n = u.count(8); n > 0; --n) r.within.push_back(u.i64());
  const std::uint8_t emulated = u.u8();
  r.emulated = emulated != 0;
  r.driver = static_cast<int>(u.u32());
  if (!u.done() || emulated > 1) return std::nullopt;
  return r;
}

std::string encode(const BuildResult& r) {
  KernelJob job;
  job.kernel = r.kernel;
  for (const BuiltArgument& a : r.arguments) job.arguments.push_back(a.spec);
  Packer p;
  p.u8(static_cast<std::uint8_t>(r.code));
  p.text(r.message);
  p.text(encode(job));
  p.u32(static_cast<std::uint32_t>(r.report.registers));
  p.i64(r.report.spill_bytes);
  p.i64(r.report.block_memory);
  p.i64(r.report.instructions);
  p.text(r.tree_hash);
  p.text(r.packing);
  for (const BuiltArgument& a : r.arguments) {
    p.u8(static_cast<std::uint8_t>(a.kind));
    p.u32(a.index);
  }
  p.f64(r.seconds);
  return p.take();
}

std::optional<BuildResult> decode_build_result(std::string_view bytes) {
  Unpacker u(bytes);
  BuildResult r;
  const std::optional<OutcomeCode> code = outcome_code(u.u8());
  r.message = u.text();
  auto job = decode_kernel_job(u.text());
  r.report.registers = static_cast<std::int32_t>(u.u32());
  r.report.spill_bytes = u.i64();
  r.report.block_memory = u.i64();
  r.report.instructions = u.i64();
  r.tree_hash = u.text();
  r.packing = u.text();
  if (!job || !code) return std::nullopt;
  r.code = *code;
  r.kernel = std::move(job->kernel);
  for (const ArgumentSpec& spec : job->arguments) {
    const std::uint8_t kind = u.u8();
    if (kind > 2) return std::nullopt;
    r.arguments.push_back({static_cast<BuiltArgument::Kind>(kind), u.u32(), spec});
  }
  r.seconds = u.f64();
  if (!u.done()) return std::nullopt;
  return r;
}

int run_builder(int fd, const BuildFunction& build) {
  if (!send_hello(fd)) return 0;
  for (;;) {
    const ReceiveResult received = receive_frame(fd);
    if (!received.ok) return received.end == WireEnd::closed ? 0 : 3;
    const auto request = decode_build_request(received.frame.payload);
    if (received.frame.type != FrameType::build || !request) return 3;
    if (!send_frame(fd, FrameType::built, encode(build(*request)))) return 0;
  }
}

const Life kBuilder{"whet-builder", [](int fd) { return run_builder(fd, build_candidate); }};

}  // namespace whet
