// The signatures of ARCHITECTURE.md's spine, as function types: whoever changes one changes the map too.

#include <gtest/gtest.h>

#include <type_traits>

#include "alternatives/alternatives.h"
#include "codegen/build.h"
#include "codegen/compile.h"
#include "compiler/compile.h"
#include "device/cpu/opened_model.h"
#include "formats/import_model.h"
#include "lower/lower.h"
#include "measure/measurer.h"
#include "passes/optimize.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "schedule/steps.h"
#include "search/strategy.h"
#include "space/space.h"
#include "task/task.h"
#include "tuner/network.h"
#include "tuner/plan_search.h"
#include "tuner/tuner.h"

namespace whet {
namespace {

/// Picks the overload with this signature; does not compile where there is none.
template <typename Signature>
constexpr bool has_signature(Signature*) {
  return true;
}

static_assert(has_signature<Result<Graph>(const std::string&, const ImportOptions&)>(import_model));
static_assert(has_signature<Result<FusedGraph>(const Graph&, const PassOptions&)>(optimize));
static_assert(has_signature<Result<std::vector<Task>>(const FusedGraph&, const Target&)>(extract_tasks));
static_assert(has_signature<DesignSpace(const ComputeDag&, const Target&, const SpaceOptions&)>(make_space));
static_assert(
    has_signature<Result<std::unique_ptr<Strategy>>(const std::string&, SearchSpace, std::uint64_t)>(make_strategy));
static_assert(has_signature<Result<LoopTree>(const ComputeDag&, const Steps&)>(replay));
static_assert(has_signature<Result<Lowered>(const LoopTree&, const Target&, const Shape&, const PassObserver&)>(lower));
static_assert(has_signature<Result<Kernel>(const Program&, const Target&)>(compile_kernel));
static_assert(has_signature<Result<Built>(const ComputeDag&, const Steps&, const Target&, const BuildOptions&,
                                          BuildProgress*)>(build));
static_assert(std::is_same_v<decltype(&Measurer::measure),
                             std::vector<Measured> (Measurer::*)(const MeasureTask&, const std::vector<std::string>&,
                                                                 const Incumbent&)>);
static_assert(std::is_same_v<decltype(std::declval<RecordFile&>().append(std::declval<const Record&>())), Status>);
static_assert(std::is_same_v<decltype(&Records::best), std::optional<RecordChoice> (Records::*)(
                                                           std::string_view, const Shape&, const Target&,
                                                           const std::function<bool(const Record&)>&) const>);
static_assert(
    has_signature<Result<TuneProgress>(const std::vector<Task>&, const Target&, Measurer&, RecordFile&,
                                       const TuneOptions&, const std::function<void(const TuneProgress&)>&)>(tune));
static_assert(has_signature<Result<NetworkTruth>(const FusedGraph&, const Target&, RecordFile&, Device&,
                                                 const NetworkOptions&)>(settle_in_network));
static_assert(has_signature<Result<Alternatives>(const FusedGraph&, const Target&, const AlternativeOptions&)>(
    find_alternatives));
static_assert(has_signature<Result<NetworkPlans>(const FusedGraph&, const Alternatives&, const std::vector<Price>&,
                                                 const PlanOptions&)>(best_plans));
static_assert(has_signature<Result<PlanSearch>(const FusedGraph&, const Target&, Measurer&, RecordFile&, Device&,
                                               const PlanSearchOptions&)>(search_plans));
static_assert(has_signature<Result<CompileReport>(const FusedGraph&, const ScheduleSource&, const Target&,
                                                  const std::string&, const CompileOptions&)>(compile_model));
static_assert(has_signature<Result<OpenedModel>(const std::string&, const OpenModelOptions&)>(OpenedModel::open));

TEST(Spine, IsAsTheMapShowsIt) {}

}  // namespace
}  // namespace whet
