#include <cstring>
#include <fstream>
#include <sstream>

#include "artifact/model_plan.h"
#include "program/interpret.h"
#include "program_text.h"
#include "toy.h"

namespace whet::toy {
namespace {

/// Numbers and strings one after the other, each string behind its length.
void put(std::ostream& out, const std::string& text) { out << text.size() << "\n" << text; }

std::string take(std::istream& in) {
  std::size_t size = 0;
  in >> size;
  in.get();
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  return text;
}

/// A compiled model in memory, and the tensors of one inference.
struct Session {
  ModelPlan plan;
  std::vector<std::string> codes;
  std::string arena, weights;
  std::vector<Tensor> inputs, outputs;

  char* place(const PlanArgument& a) {
    switch (a.place) {
      case PlanPlace::arena:
        return arena.data() + a.offset;
      case PlanPlace::weights:
        return weights.data() + a.offset;
      case PlanPlace::input:
        return static_cast<char*>(inputs[a.index].data()) + a.offset;
      case PlanPlace::output:
        return static_cast<char*>(outputs[a.index].data()) + a.offset;
      case PlanPlace::sizes:
        break;  // it has no ranges
    }
    return nullptr;
  }

  Status run(const ModelPlan::Step& step) {
    if (step.kind == PlanStepKind::copy) {
      std::memcpy(place(step.arguments[1]), place(step.arguments[0]), step.arguments[0].bytes);
      return ok_status();
    }
    WHET_TRY(const Program program, read_program(codes.at(step.entry)));
    std::vector<Tensor> tensors(step.arguments.size());
    for (const Buffer& b : program.buffers) {
      if (b.scope != Scope::argument) continue;
      Tensor& t = tensors[static_cast<std::size_t>(b.argument)] = Tensor(b.dtype, b.extents);
      std::memcpy(t.data(), place(step.arguments[static_cast<std::size_t>(b.argument)]),
                  static_cast<std::size_t>(t.bytes()));
    }
    WHET_RETURN_IF_ERROR(interpret(program, tensors));
    for (const Buffer& b : program.buffers)
      if (b.scope == Scope::argument && b.written) {
        const Tensor& t = tensors[static_cast<std::size_t>(b.argument)];
        std::memcpy(place(step.arguments[static_cast<std::size_t>(b.argument)]), t.data(),
                    static_cast<std::size_t>(t.bytes()));
      }
    return ok_status();
  }
};

}  // namespace

Status write_library(AssembledLibrary& library, const std::vector<CompiledTask>& tasks, const Target&,
                     const std::string& output, const CompileOptions&) {
  std::string weights(library.weights.bytes(), '\0');
  for (const WeightPiece& piece : library.weights.pieces())
    std::memcpy(weights.data() + piece.offset, piece.data, piece.bytes);
  std::ofstream file(output, std::ios::binary);
  put(file, stored_plan(library));
  put(file, weights);
  file << tasks.size() << "\n";
  for (const CompiledTask& task : tasks) put(file, task.kernel.code);
  return file ? ok_status() : Status(Error{output + ": cannot be written"});
}

Result<std::vector<Tensor>> run_model(const std::string& path, const std::vector<Tensor>& inputs) {
  std::ifstream file(path, std::ios::binary);
  Session session;
  WHET_TRY(session.plan, read_plan(take(file)));
  session.weights = take(file);
  std::size_t count = 0;
  file >> count;
  file.get();
  for (std::size_t i = 0; i < count; ++i) session.codes.push_back(take(file));
  if (!file) return Error{path + ": is no compiled model of the toy"};
  session.arena.resize(session.plan.arena_bytes);
  for (const Tensor& t : inputs) session.inputs.push_back(t.clone());
  for (const ModelPlan::Tensor& t : session.plan.outputs)
    session.outputs.emplace_back(static_cast<DType>(t.dtype), Shape(t.shape.begin(), t.shape.end()));
  for (const ModelPlan::Step& step : session.plan.steps) WHET_RETURN_IF_ERROR(session.run(step));
  return session.outputs;
}

}  // namespace whet::toy
