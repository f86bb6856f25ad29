#include "device/remote/model_host.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "device/remote/cpu/remote_model.h"

namespace whet {

std::vector<BlobSource> each_once(const std::vector<BlobSource>& sources) {
  std::vector<BlobSource> each;
  for (const BlobSource& source : sources)
    if (std::ranges::find(each, source.name.hash, [](const BlobSource& s) { return s.name.hash; }) == each.end())
      each.push_back(source);
  return each;
}

Result<std::vector<BlobSource>> ModelFiles::name(const ModelHost& host, const std::vector<ModelLibrary>& files,
                                                 const std::vector<Tensor>& inputs) {
  if (files.size() > kMostModels || inputs.size() > kMostModelInputs)
    return Error{host.address() + ": a device elsewhere opens " + std::to_string(kMostModels) + " models with " +
                 std::to_string(kMostModelInputs) + " inputs at most"};
  std::vector<BlobSource> sources;
  for (const ModelLibrary& file : files) {
    auto known = names_.find(file.path);
    if (known == names_.end()) {
      WHET_RETURN_IF_ERROR(check_model_for(host.description(), file.path));
      WHET_TRY(BlobName name, name_blob(file.path));
      known = names_.emplace(file.path, std::move(name)).first;
    }
    sources.push_back({known->second, file.path, {}, {}});
  }
  for (const Tensor& input : inputs) {
    const std::string_view bytes(static_cast<const char*>(input.data()), static_cast<std::size_t>(input.bytes()));
    sources.push_back({{sha256(bytes), bytes.size()}, "", bytes, {}});
  }
  return sources;
}

void name_in(ModelOrder& order, const std::vector<BlobSource>& sources, std::size_t models) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    (i < models ? order.models : order.inputs).push_back(sources[i].name);
}

Result<std::vector<ModelAnswer>> without_failure(const ModelHost& host, const std::vector<ModelLibrary>& files,
                                                 std::vector<ModelAnswer> answers) {
  if (answers.empty() || answers.back().kind != ModelAnswerKind::failed) return answers;
  const ModelAnswer& last = answers.back();
  const bool is_one = last.model >= 0 && static_cast<std::size_t>(last.model) < files.size();
  if (is_one) return Error{files[static_cast<std::size_t>(last.model)].path + ": " + last.sentence};
  return Error{(files.size() == 1 ? files.front().path : host.address()) + ": " + last.sentence};
}

Result<std::vector<ModelTimes>> time_on(ModelHost& host, const std::vector<ModelLibrary>& files, const ModelRun& run) {
  const Error no_sense{host.address() + ": the device's answer about compiled models makes no sense"};
  std::vector<ModelTimes> times(files.size());
  ModelOrder order = order_with(run.open);
  order.work = ModelWork::bursts;
  order.timed_seconds = run.burst_seconds;
  order.runs = static_cast<std::uint32_t>(run.bursts);
  WHET_TRY(const std::vector<ModelAnswer> answers, host.run_models(files, run.inputs, order));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const ModelAnswer& answer = answers[i];
    if (answer.kind != ModelAnswerKind::burst || answer.model != static_cast<std::int32_t>(i % files.size()))
      return no_sense;
    times[i % files.size()].bursts.push_back({answer.seconds[0], answer.seconds[1]});
  }
  if (answers.size() != files.size() * static_cast<std::size_t>(run.bursts)) return no_sense;
  return times;
}

}  // namespace whet
