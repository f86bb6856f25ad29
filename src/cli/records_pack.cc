// whet records pack, and what show and best print of record bases.

#include "cli/records_pack.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/counted.h"
#include "base/shown.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/table.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// "conv f32 > depthwise f32" of a kind, which goes on with what is read and the axes.
std::string family_of(std::string_view kind) {
  std::string text;
  while (!kind.empty()) {
    const std::size_t end = std::min(kind.find(" > "), kind.size());
    text += (text.empty() ? "" : " > ") + std::string(kind.substr(0, std::min(kind.find('('), end)));
    kind.remove_prefix(std::min(end + 3, kind.size()));
  }
  return text;
}

std::string size_text(const RecordBase& base) {
  std::int64_t schedules = 0;
  for (const BaseTask& task : base.tasks()) schedules += std::ssize(task.entries);
  return counted(std::ssize(base.tasks()), "task") + ", " + counted(schedules, "schedule");
}

std::string origins_text(const RecordBase& base) {
  std::vector<std::int64_t> schedules(base.origins().size());
  for (const BaseTask& task : base.tasks())
    for (const BaseEntry& entry : task.entries) ++schedules[entry.origin];
  Table table({{"Network", false}, {"Target", false}, {"Machine", false}, {"Code"}, {"Schedules"}, {"Measured"}});
  for (std::size_t i = 0; i < base.origins().size(); ++i) {
    const BaseOrigin& origin = base.origins()[i];
    table.add({origin.network, origin.target, origin.machine, std::to_string(origin.codegen),
               std::to_string(schedules[i]), origin.at});
  }
  return table.to_plain_text();
}

std::string kinds_text(const RecordBase& base) {
  struct Kind {
    std::int64_t tasks = 0, schedules = 0;
    double logs = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const BaseTask& task : base.tasks()) {
    Kind& kind = kinds[family_of(task.anchor.kind) + (task.over_parts > 0 ? ", chained" : "")];
    double gain = 0;
    for (const BaseEntry& entry : task.entries) gain = std::max(gain, entry.gain);
    ++kind.tasks, kind.schedules += std::ssize(task.entries), kind.logs += std::log(gain);
  }
  Table table({{"Kind", false}, {"Tasks"}, {"Schedules"}, {"Gain"}});
  for (const auto& [name, kind] : kinds)
    table.add({name, std::to_string(kind.tasks), std::to_string(kind.schedules),
               fmt::format("{:.2f}", std::exp(kind.logs / static_cast<double>(kind.tasks)))});
  return table.to_plain_text();
}

}  // namespace

Result<int> pack_records(PackOptions options, const std::string& output) {
  options.name = output.empty() ? "base" : std::filesystem::path(output).stem().string();
  WHET_TRY(const RecordBase base, pack_base(options, tell_user));
  if (output.empty()) {
    fmt::print("{}", base.text());
    return kDone;
  }
  WHET_RETURN_IF_ERROR(write_file(output, base.text()));
  fmt::print("{}: {} of {}\n", output, size_text(base), base.name());
  return kDone;
}

std::string show_text(const RecordBase& base) {
  return fmt::format("{}: {}\n{}{}", base.name(), size_text(base), origins_text(base), kinds_text(base));
}

std::string best_text(const RecordBase& base) {
  std::string text;
  for (const BaseTask& task : base.tasks()) {
    const BaseEntry& best = *std::ranges::max_element(task.entries, {}, &BaseEntry::gain);
    const BaseOrigin& origin = base.origins()[best.origin];
    text += fmt::format("{:8.2f} x  {}  of {} [{}]\n            {}\n", best.gain, shown(describe(task.anchor)),
                        shown(origin.network), shown(origin.target), shown(to_json(best.candidate)));
  }
  return text;
}

}  // namespace whet
