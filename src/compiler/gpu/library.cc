#include "compiler/gpu/library.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "artifact/emulated_module.h"
#include "codegen/gpu/compile.h"
#include "codegen/gpu/ptxas.h"
#include "compiler/cpu/image_object.h"
#include "compiler/cpu/link.h"
#include "compiler/gpu/ptx_module.h"
#include "compiler/scratch.h"
#include "runtime/cuda/model.h"
#include "runtime/embedded.h"

namespace whet {
namespace {

/// Each kernel's launches, on all arguments of its step.
void add_launches(const std::vector<CompiledTask>& tasks, bool early, ModelPlan& plan) {
  for (ModelPlan::Step& step : plan.steps) {
    if (step.kind != PlanStepKind::kernel) continue;
    for (const Launch& launch : tasks[step.entry].kernel.launches) {
      ModelPlan::Launch planned{launch.entry, launch.grid, launch.block,
                                static_cast<std::uint32_t>(launch.block_memory)};
      planned.early = early;
      planned.argument_count = static_cast<std::uint32_t>(step.arguments.size());
      step.launches.push_back(std::move(planned));
    }
  }
}

/// What the session must know to find which steps wait for which.
void add_writes(const AssembledModel& model, std::vector<ModelPlan::Step>& steps) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const std::vector<bool>& written = model.written[s];
    for (std::size_t i = 0; i < written.size() && i < 32; ++i)
      if (written[i]) steps[s].written |= std::uint32_t{1} << i;
    steps[s].part = model.part[s];
  }
}

class ImageSection {
 public:
  void add(PlanImageFormat format, int arch, const std::string& bytes) {
    table.push_back({format, static_cast<std::uint32_t>(arch), all.size(), bytes.size()});
    all += bytes;
  }
  std::vector<PlanImage> table;
  std::string all;
};

Result<std::string> ptx_of(const std::vector<CompiledTask>& tasks) {
  std::vector<std::string_view> texts;
  for (const CompiledTask& task : tasks) texts.push_back(task.kernel.code);
  return join_ptx(texts);
}

Result<ImageSection> images_of(const std::string& ptx, const std::vector<CompiledTask>& tasks, int arch, bool cubin) {
  ImageSection images;
  images.add(PlanImageFormat::ptx, arch, ptx + '\0');  // as the driver reads it
  if (cubin) {
    WHET_TRY(const AssembledPtx assembled, assemble_ptx(installed_ptxas(), ptx, arch));
    images.add(PlanImageFormat::cubin, arch, assembled.cubin);
  }
  if (!std::ranges::all_of(tasks, [](const CompiledTask& task) { return task.emulated.has_value(); })) return images;
  std::vector<EmulatedModule> modules;
  for (const CompiledTask& task : tasks) {
    WHET_TRY(EmulatedModule module, read_emulated_module(task.emulated->code));
    modules.push_back(std::move(module));
  }
  images.add(PlanImageFormat::emulated, arch, write_emulated_module(joined(modules)));
  return images;
}

std::string cuda_image_object(const std::string& plan, const std::string& images, std::uint64_t weights_bytes) {
  using To = ImagePointer::To;
  CudaModelImage image{};
  image.plan_bytes = plan.size();
  image.images_bytes = images.size();
  image.weights_bytes = weights_bytes;
  image.file_backed = 1;
  ModelObject object{
      "whet_cuda_image", std::string(reinterpret_cast<const char*>(&image), sizeof image), {plan, images}};
  object.pointers = {{To::part, offsetof(CudaModelImage, plan), 0},
                     {To::part, offsetof(CudaModelImage, images), 1},
                     {To::weights, offsetof(CudaModelImage, weights)}};
  return write_object(object, kElfX86_64);
}

}  // namespace

Status write_gpu_library(AssembledLibrary& library, const std::vector<CompiledTask>& tasks, const Target& target,
                         const std::string& output, const CompileOptions& options) {
  const int arch = target.gpu().arch;
  if (options.cubin && installed_ptxas().path.empty())
    return Error{"ptxas, which makes machine code of PTX, is not in CUDA_HOME, in PATH or in /usr/local/cuda"};
  WHET_TRY(library.ptx, ptx_of(tasks));
  WHET_TRY(const ImageSection images, images_of(library.ptx, tasks, arch, options.cubin));
  for (AssembledModel& model : library.variants) {
    model.plan.device = "cuda sm_" + std::to_string(arch);
    add_launches(tasks, kernels_start_early(target.gpu()), model.plan);
    add_writes(model, model.plan.steps);
    model.plan.images = images.table;
    model.plan.images_bytes = images.all.size();
  }

  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string path = scratch.path() + "/image.o";
  std::ofstream file(path, std::ios::binary);
  file << cuda_image_object(stored_plan(library), images.all, library.weights.bytes()) << std::flush;
  if (!file) return Error{path + ": cannot write: " + std::strerror(errno)};
  return link_model(cuda_runtime_object(), {path}, library.weights, output, scratch.path(), std::max(1, options.jobs));
}

}  // namespace whet
