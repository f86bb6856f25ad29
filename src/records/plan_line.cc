#include "records/plan_line.h"

#include <cmath>
#include <optional>
#include <utility>

#include "records/error_line.h"
#include "trial/outcome.h"

namespace whet {
namespace {

Json kernels_json(const std::vector<PlannedKernel>& kernels) {
  Json list = Json::array();
  for (const PlannedKernel& kernel : kernels)
    list.add(Json::object().set(kernel.transform ? "copies" : "computes", kernel.node).set("forms", kernel.forms));
  return list;
}

Json tried_json(const std::vector<TriedPlan>& tried) {
  Json list = Json::array();
  for (const TriedPlan& each : tried) {
    Json item = Json::object()
                    .set("kernels", each.kernels)
                    .set("network_seconds", each.network_seconds)
                    .set("usual_network_seconds", each.usual_network_seconds)
                    .set("comparisons", each.comparisons)
                    .set("slower", each.slower)
                    .set("least_usual_seconds", each.least_usual)
                    .set("most_usual_seconds", each.most_usual)
                    .set("adopted", each.adopted);
    if (each.weights_bytes > 0)
      item.set("weights_bytes", each.weights_bytes).set("usual_weights_bytes", each.usual_weights_bytes);
    list.add(std::move(item));
  }
  return list;
}

Json precision_json(const PlanPrecision& precision) {
  Json allowed = Json::array();
  for (const std::string& limit : precision.allowed) allowed.add(limit);
  Json json = Json::object();
  json.set("samples", precision.samples)
      .set("weights", precision.weights)
      .set("allowed", allowed)
      .set("calibration", precision.calibration)
      .set("held_out", precision.held_out)
      .set("share", precision.share)
      .set("held_out_share", precision.held_out_share)
      .set("error", precision.error)
      .set("held_out_error", precision.held_out_error)
      .set("budget", precision.budget);
  if (!precision.ranges.empty()) json.set("ranges", to_json(precision.ranges));
  if (!precision.uniform.empty()) json.set("uniform", precision.uniform);
  return json;
}

/// Fills a Plan; the first thing that is wrong is in `why`.
class PlanReader {
 public:
  explicit PlanReader(JsonView line) : line_(line), plan_(line["plan"]) {}
  std::string why;

  bool read(Plan& p) {
    p.version = static_cast<int>(line_["v"].integer());
    return text(plan_, "graph", p.graph) && text(line_, "target", p.target) && kernels("kernels", p.kernels) &&
           kernels("runner_up", p.runner_up) && rest(p) && tried(p.tried) && precision(p.precision);
  }

 private:
  bool fail(const std::string& reason) { return why = reason, false; }

  bool text(JsonView from, const char* name, std::string& out) {
    if (!from[name].is_string() || from[name].string().empty())
      return fail("\"" + std::string(name) + "\" of a plan is no text");
    out = from[name].string();
    return true;
  }
  bool kernels(const char* name, std::vector<PlannedKernel>& out) {
    const JsonView list = plan_[name];
    if (list.is_null()) return true;
    if (!list.is_array()) return fail("\"" + std::string(name) + "\" of a plan is no list");
    for (const JsonView item : list.items()) {
      PlannedKernel kernel;
      kernel.transform = item["copies"].is_string();
      const char* role = kernel.transform ? "copies" : "computes";
      if (!text(item, role, kernel.node) || !text(item, "forms", kernel.forms)) return false;
      out.push_back(std::move(kernel));
    }
    return true;
  }
  bool tried(std::vector<TriedPlan>& out) {
    const JsonView list = plan_["tried"];
    if (list.is_null()) return true;
    if (!list.is_array()) return fail("\"tried\" of a plan is no list");
    for (const JsonView item : list.items()) {
      TriedPlan each;
      if (!count(item, "kernels", each.kernels) || !count(item, "comparisons", each.comparisons) ||
          !count(item, "slower", each.slower) || !seconds_of(item, "network_seconds", each.network_seconds) ||
          !seconds_of(item, "usual_network_seconds", each.usual_network_seconds) ||
          !seconds_of(item, "least_usual_seconds", each.least_usual) ||
          !seconds_of(item, "most_usual_seconds", each.most_usual) ||
          !count(item, "weights_bytes", each.weights_bytes) ||
          !count(item, "usual_weights_bytes", each.usual_weights_bytes))
        return false;
      each.adopted = item["adopted"].bool_or(false);
      out.push_back(each);
    }
    return true;
  }
  bool precision(std::optional<PlanPrecision>& out) {
    const JsonView from = plan_["precision"];
    if (from.is_null()) return true;
    PlanPrecision p;
    if (!text(from, "samples", p.samples) || !text(from, "weights", p.weights) ||
        !count(from, "calibration", p.calibration) || !count(from, "held_out", p.held_out))
      return false;
    const std::pair<const char*, double*> parts[] = {{"share", &p.share},
                                                     {"held_out_share", &p.held_out_share},
                                                     {"error", &p.error},
                                                     {"held_out_error", &p.held_out_error},
                                                     {"budget", &p.budget}};
    for (const auto& [name, number] : parts) {
      if (!from[name].is_number() || !std::isfinite(from[name].number()) || from[name].number() < 0)
        return fail("\"" + std::string(name) + "\" of a plan's precision is no part");
      *number = from[name].number();
    }
    if (!from["allowed"].is_array()) return fail("\"allowed\" of a plan is no list");
    for (const JsonView limit : from["allowed"].items()) {
      if (!limit.is_string()) return fail("\"allowed\" of a plan is no list of texts");
      p.allowed.emplace_back(limit.string());
    }
    if (!from["ranges"].is_null()) {
      std::optional<ValueRanges> ranges = value_ranges_of(from["ranges"]);
      if (!ranges)
        return fail("\"ranges\" of a plan's precision is no list of values with finite numbers, the least first");
      p.ranges = std::move(*ranges);
    }
    if (!from["uniform"].is_null() && !text(from, "uniform", p.uniform)) return false;
    out = std::move(p);
    return true;
  }
  bool count(JsonView from, const char* name, std::int64_t& out) {
    const JsonView value = from[name];
    if (value.is_null()) return true;
    if (!value.is_integer() || value.integer() < 0) return fail("\"" + std::string(name) + "\" of a plan is no count");
    out = value.integer();
    return true;
  }
  bool seconds(const char* name, double& out) { return seconds_of(plan_, name, out); }
  bool seconds_of(JsonView from, const char* name, double& out) {
    const JsonView value = from[name];
    if (value.is_null()) return true;
    if (!value.is_number() || !std::isfinite(value.number()) || value.number() < 0)
      return fail("\"" + std::string(name) + "\" of a plan is no time");
    out = value.number();
    return true;
  }
  /// Of kernels or of a network; 0: it is not known.
  bool known_seconds(const char* name, double& out) {
    if (!seconds(name, out)) return false;
    return out == 0 || is_kernel_time(out) || fail("\"" + std::string(name) + "\" of a plan is no time");
  }
  bool rest(Plan& p) {
    p.name = plan_["name"].string_or("");
    p.whet = line_["whet"].string_or("");
    p.at = line_["at"].string_or("");
    return known_seconds("seconds", p.seconds) && known_seconds("usual_seconds", p.usual_seconds) &&
           known_seconds("bound_seconds", p.bound_seconds) && known_seconds("runner_up_seconds", p.runner_up_seconds) &&
           seconds("seconds_a_byte", p.excess.seconds_a_byte) &&
           seconds("seconds_a_kernel", p.excess.seconds_a_kernel) &&
           known_seconds("network_seconds", p.network_seconds) &&
           known_seconds("usual_network_seconds", p.usual_network_seconds);
  }

  JsonView line_, plan_;
};

}  // namespace

std::string to_line(const Plan& p) {
  Json plan = Json::object();
  plan.set("graph", p.graph).set("name", p.name).set("kernels", kernels_json(p.kernels));
  plan.set("seconds", p.seconds).set("usual_seconds", p.usual_seconds).set("bound_seconds", p.bound_seconds);
  if (p.runner_up_seconds > 0)
    plan.set("runner_up", kernels_json(p.runner_up)).set("runner_up_seconds", p.runner_up_seconds);
  if (p.excess.seconds_a_byte > 0) plan.set("seconds_a_byte", p.excess.seconds_a_byte);
  if (p.excess.seconds_a_kernel > 0) plan.set("seconds_a_kernel", p.excess.seconds_a_kernel);
  if (p.network_seconds > 0)
    plan.set("network_seconds", p.network_seconds).set("usual_network_seconds", p.usual_network_seconds);
  if (!p.tried.empty()) plan.set("tried", tried_json(p.tried));
  if (p.precision) plan.set("precision", precision_json(*p.precision));
  Json line = Json::object();
  line.set("v", p.version).set("plan", plan).set("target", p.target).set("whet", p.whet).set("at", p.at);
  return dump(line);
}

std::variant<Plan, std::string> plan_of(JsonView line) {
  Plan plan;
  PlanReader reader(line);
  if (!reader.read(plan)) return std::move(reader.why);
  return plan;
}

}  // namespace whet
