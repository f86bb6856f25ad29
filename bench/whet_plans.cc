// Times the exact choice among all alternatives of networks. Nobody has measured a kernel: prices are made up from estimates.
//   whet_plans MODEL...     MODEL: a file, zoo:NAME, or densenet121, which is built here; a JSON object a line and a kind of prices
//   whet_plans --budget LAYERS LAYOUTS [BUDGETS]    a made-up network of precisions under a budget of squared errors; a JSON object a seed

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "choice/choice.h"
#include "formats/import_model.h"
#include "machine/cores.h"
#include "machine/detect.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "plan/plan.h"

namespace whet {
namespace {

int fail(const std::string& message) {
  fmt::print(stderr, "whet_plans: {}\n", message);
  return 1;
}

using testing::GraphBuilder;

ValueId layer(GraphBuilder& b, const std::string& name, ValueId x, std::int64_t channels, std::int64_t kernel) {
  const ValueId before = b.relu(name + "_relu", b.batch_norm(name + "_norm", x));
  return b.conv(name, before, channels, kernel, 1, kernel / 2);
}

/// Huang et al., "Densely Connected Convolutional Networks", CVPR 2017.
Graph densenet121() {
  GraphBuilder b;
  b.graph.name = "densenet121";
  const PoolOperator first{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const PoolOperator half{PoolKind::average, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, Layout::channels_first};
  const ValueId stem = b.conv("stem", b.input("image", {1, 3, 224, 224}), 64, 7, 2, 3);
  ValueId x = b.add("pool", first, {b.relu("stem_relu", b.batch_norm("stem_norm", stem))});
  const std::vector<int> blocks = {6, 12, 24, 16};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (int l = 0; l < blocks[i]; ++l) {
      const std::string name = fmt::format("b{}_{}", i, l);
      const ValueId narrow = layer(b, name + "_1x1", x, 128, 1);
      x = b.add(name + "_cat", ConcatOperator{1}, {x, layer(b, name + "_3x3", narrow, 32, 3)});
    }
    if (i + 1 == blocks.size()) break;
    const std::string name = fmt::format("t{}", i);
    x = b.add(name + "_pool", half, {layer(b, name, x, b.graph.value(x).type.shape[1] / 2, 1)});
  }
  const ValueId last = b.relu("last_relu", b.batch_norm("last_norm", x));
  return b.finish({b.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {last})});
}

enum class Prices { estimated, hoped, scattered };

std::string_view name_of(Prices kind) {
  return kind == Prices::estimated ? "estimated" : kind == Prices::hoped ? "hoped" : "scattered";
}

/// Estimated: other kernels take what the usual ones do. Hoped: 0.9 of that, and copies half of their estimates, as a search
/// begins. Scattered: each task's estimate times 0.85 to 1.15, as kernels of one group differ between layouts.
std::vector<Price> prices_as(Prices kind, std::vector<Price> prices, const Alternatives& alternatives) {
  if (kind == Prices::estimated) return prices;
  if (kind == Prices::hoped) {
    for (std::size_t a = alternatives.usual; a < prices.size(); ++a)
      prices[a].seconds *= alternatives.all[a].kind == AlternativeKind::transform ? 0.5 : 0.9;
    return prices;
  }
  Rng rng(1);
  std::vector<double> factors;
  for (std::size_t t = 0; t < alternatives.tasks.size(); ++t) factors.push_back(0.85 + 0.3 * rng.uniform());
  for (std::size_t a = 0; a < prices.size(); ++a)
    if (const int task = alternatives.all[a].task; task >= 0)
      prices[a].seconds *= factors[static_cast<std::size_t>(task)];
  return prices;
}

/// The process's time on a processor: it does not wait, and other programs do not count.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Status time_choices(const std::string& name, const Target& target) {
  Result<Graph> graph = name == "densenet121" ? Result<Graph>(densenet121()) : import_model(name, {});
  if (!graph.ok()) return graph.error();
  WHET_TRY(const FusedGraph fused, optimize(std::move(*graph), {}));
  const double before = processor_seconds();
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {.forms = forms_for(target)}));
  const double finding = processor_seconds() - before;
  const std::vector<Price> estimates = prices_of(alternatives, Records(), target, {});
  for (const Prices kind : {Prices::estimated, Prices::hoped, Prices::scattered}) {
    const std::vector<Price> prices = prices_as(kind, estimates, alternatives);
    const double start = processor_seconds();
    WHET_TRY(const NetworkPlans plans, best_plans(fused, alternatives, prices));
    const double seconds = processor_seconds() - start;
    fmt::print(
        "{{\"network\": \"{}\", \"prices\": \"{}\", \"groups\": {}, \"alternatives\": {}, \"tasks\": {}, "
        "\"found_s\": {:.3f}, \"solved_s\": {:.3f}, \"optimal\": {}, \"gap\": {:.6f}, \"plan_of_usual\": {:.4f}}}\n",
        name, name_of(kind), fused.groups.size(), alternatives.all.size() - alternatives.usual,
        alternatives.tasks.size(), finding, seconds, plans.optimal, plans.gap,
        plans.best.front().seconds / plans.usual.seconds);
    std::fflush(stdout);
  }
  return ok_status();
}

// ---- budgets ----

/// A network of layers one behind the other, each on several layouts and, channels last, in four precisions: f32, i16, bf16 and bytes.
/// Layouts differ by 15%, lowered kernels by what their instructions give; conversions take what the bytes take. Errors as five trained
/// networks had them: five layers of a hundred have most of the squares, bf16 errs by a quarter of bytes, i16 by a twelfth.
ChoiceProblem precision_problem(int layers, int layouts, int budgets, std::uint64_t seed) {
  Rng rng(seed);
  constexpr int kPrecisions = 4;
  const int forms = layouts + kPrecisions - 1;  // the first layout in four precisions
  const std::vector<double> time = {1, 0.52, 0.51, 0.27}, bytes = {1, 0.5, 0.5, 0.25};
  const std::vector<double> error = {0, 1.0 / 12, 0.25, 1};
  ChoiceProblem problem;
  problem.values = (layers + 1) * forms;
  problem.given = {0}, problem.wanted = {layers * forms};
  for (int value = 0; value < problem.values; ++value) problem.tensors.push_back(value / forms);
  const auto stored = [&](int tensor, int form) { return tensor * forms + form; };
  const auto precision_of = [&](int form) { return form < layouts ? 0 : form - layouts + 1; };
  for (int tensor = 0; tensor <= layers; ++tensor) {
    const double copy = std::pow(10.0, rng.uniform(-6, -4.5));
    for (int from = 0; from < forms; ++from)
      for (int to = 0; to < forms; ++to)
        if (from != to && (from == 0 || to == 0))
          problem.items.push_back({{stored(tensor, from)},
                                   {stored(tensor, to)},
                                   copy * (bytes[precision_of(from)] + bytes[precision_of(to)]) / 2});
    if (tensor == layers) break;
    const double seconds = std::pow(10.0, rng.uniform(-5, -3));
    for (int in = 0; in < forms; ++in)
      for (int out = 0; out < forms; ++out) {
        const int precision = precision_of(in);
        const bool blocked = (in > 0 && in < layouts) || (out > 0 && out < layouts);
        if (blocked && (precision > 0 || precision_of(out) > 0)) continue;
        ChoiceItem item{
            {stored(tensor, in)}, {stored(tensor + 1, out)}, seconds * time[precision] * rng.uniform(0.9, 1.1)};
        for (int b = 0; b < budgets; ++b) {
          const double alone = std::pow(10.0, rng.uniform(-4, -1.5)) * error[precision];
          item.uses.push_back(alone * alone);
        }
        problem.items.push_back(std::move(item));
      }
  }
  problem.budgets.assign(static_cast<std::size_t>(budgets), 1e-4);  // 1%
  return problem;
}

int time_budgets(int layers, int layouts, int budgets) {
  constexpr std::uint64_t kSeeds = 3;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ChoiceProblem problem = precision_problem(layers, layouts, budgets, seed);
    ChoiceOptions exact;
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      const ChoiceItem& item = problem.items[i];
      for (double use : item.uses)
        if (use > 0) exact.forbidden.push_back(static_cast<int>(i));
    }
    ChoiceOptions options{.seconds_limit = 20, .gap = 1e-3};
    const double start = processor_seconds();
    const Result<ChosenPlans> plans = choose_plans(problem, options);
    const double seconds = processor_seconds() - start;
    const Result<ChosenPlans> without = choose_plans(problem, exact);
    if (!plans.ok() || !without.ok()) return fail((plans.ok() ? without : plans).error().message);
    fmt::print(
        "{{\"layers\": {}, \"layouts\": {}, \"budgets\": {}, \"seed\": {}, \"items\": {}, \"solved_s\": {:.3f}, "
        "\"optimal\": {}, \"gap\": {:.6f}, \"plan_of_exact\": {:.4f}}}\n",
        layers, layouts, budgets, seed, problem.items.size(), seconds, plans->optimal, plans->gap,
        plans->plans.front().seconds / without->plans.front().seconds);
    std::fflush(stdout);
  }
  return 0;
}

/// A whole number of 1 to 1000; 0 for anything else.
int number_in(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && number > 0 && number <= 1000 ? number : 0;
}

int run(int argc, char** argv) {
  if (argc < 2) return fail("usage: whet_plans MODEL...");
  if (std::string_view(argv[1]) == "--budget") {
    const int layers = argc > 2 ? number_in(argv[2]) : 0, layouts = argc > 3 ? number_in(argv[3]) : 0;
    const int budgets = argc > 4 ? number_in(argv[4]) : 1;
    if (layers == 0 || layouts == 0 || budgets == 0 || argc > 5)
      return fail("usage: whet_plans --budget LAYERS LAYOUTS [BUDGETS], each a whole number of 1 to 1000");
    return time_budgets(layers, layouts, budgets);
  }
  const Result<Cores> cores = choose_cores("", 0);
  if (!cores.ok()) return fail(cores.error().message);
  Target target = detect_target();
  target.threads = static_cast<int>(cores->cpus.size());
  for (int i = 1; i < argc; ++i)
    if (const Status timed = time_choices(argv[i], target); !timed.ok()) return fail(timed.error().message);
  return 0;
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
