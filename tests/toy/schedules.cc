#include <array>

#include "lower/guards.h"
#include "program/simplify.h"
#include "program/verify.h"
#include "toy.h"

namespace whet::toy {
namespace {

/// The device runs loops one iteration after the other, and has no use for intrinsics.
Stmt serial(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        if (loop == nullptr) return Stmt();
        Loop out = *loop;
        if (out.kind != LoopKind::parallel) out.kind = LoopKind::serial;
        out.intrinsic = Intrinsic::none, out.body = serial(out.body);
        return make_stmt(std::move(out));
      },
      nullptr);
}

Result<Program> make_serial(Program program, const Target&) {
  program.body = serial(program.body);
  return program;
}
Result<Program> guards(Program program, const Target&) { return resolve_guards(std::move(program)); }
Result<Program> simplified(Program program, const Target&) { return simplify(program); }
Result<Program> verified(Program program, const Target&) {
  WHET_RETURN_IF_ERROR(verify(program));
  return program;
}

constexpr std::array kPasses = {LoweringPass{"serial", make_serial}, LoweringPass{"resolve_guards", guards},
                                LoweringPass{"simplify", simplified}, LoweringPass{"verify", verified}};

/// The first loop of the output in blocks: one decision.
std::optional<Sketch> blocks(const ComputeDag& dag, const Target&) {
  const OpId output = dag.outputs.front();
  const Op& op = dag.op(output);
  if (op.is_placeholder() || op.shape.empty()) return std::nullopt;
  Decision size{.name = "block", .meaning = "iterations of a block of the first loop", .extent = op.shape[0]};
  for (std::int64_t n = 1; n <= op.shape[0]; n *= 2) size.options.push_back({n});
  Sketch sketch{.name = "blocks", .decisions = {size}, .preferred = {{"block", {1}}}};
  sketch.build = [output](Scheduler& s, const Choices& choices) {
    const std::int64_t n = choices.at("block").front();
    if (n > 1) s.split(s.loops(output).front(), n, Tail::guard);
  };
  return sketch;
}

constexpr Template kTemplates[] = {{blocks}};

}  // namespace

std::span<const LoweringPass> passes() { return kPasses; }
std::span<const Template> templates() { return kTemplates; }
const std::vector<const Rule*>& rules() {
  static const std::vector<const Rule*> none;
  return none;
}

std::vector<float> features(const LoopTree& tree, const Target&) { return {static_cast<float>(to_text(tree).size())}; }
const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = {"letters"};
  return names;
}
double seconds(const LoopTree& tree, const Target&) { return 1e-6 * static_cast<double>(to_text(tree).size()); }

}  // namespace whet::toy
