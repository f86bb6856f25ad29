#include "records/ranged_line.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "compute/size.h"

namespace whet {
namespace {

constexpr std::size_t kMostTimedSizes = 1024;

bool read_values(JsonView list, std::vector<std::int64_t>& out) {
  if (!list.is_array() || list.items().empty() || list.items().size() > kMostSizes) return false;
  for (const JsonView value : list.items()) {
    if (!value.is_integer() || value.integer() < 1 || value.integer() > kLargestSize) return false;
    out.push_back(value.integer());
  }
  return true;
}

bool is_hash(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Fills a NetworkAtSizes; the first thing that is wrong is in `why`.
class NetworkReader {
 public:
  explicit NetworkReader(JsonView line) : line_(line), network_(line["network"]) {}
  std::string why;

  bool read(NetworkAtSizes& out) {
    out.version = static_cast<int>(line_["v"].integer());
    out.name = network_["name"].string_or("");
    out.whet = line_["whet"].string_or("");
    out.at = line_["at"].string_or("");
    return text(network_, "graph", out.graph) && text(network_, "ranges", out.ranges) &&
           text(line_, "target", out.target) && points(out.points);
  }

 private:
  bool fail(const std::string& reason) { return why = reason, false; }

  bool text(JsonView from, const char* name, std::string& out) {
    if (!from[name].is_string() || from[name].string().empty())
      return fail("\"" + std::string(name) + "\" of a network at sizes is no text");
    out = from[name].string();
    return true;
  }
  bool points(std::vector<TimedAtSizes>& out) {
    const JsonView list = network_["points"];
    if (!list.is_array() || list.items().size() > kMostTimedSizes)
      return fail("\"points\" of a network at sizes is no list of " + std::to_string(kMostTimedSizes) + " at most");
    for (const JsonView item : list.items()) {
      TimedAtSizes point;
      if (!read_values(item["at"], point.at)) return fail("\"at\" of a network at sizes has what is no size");
      if (!out.empty() && out.front().at.size() != point.at.size())
        return fail("\"at\" of a network at sizes has another number of sizes than the one before");
      point.share = item["share"].number_or(0);
      if (!(point.share >= 0 && point.share <= 1)) return fail("\"share\" of a network at sizes is no share");
      if (!seconds(item, "untuned", point.untuned) || !seconds(item, "ranged", point.ranged) ||
          !seconds(item, "exact", point.exact))
        return false;
      point.hot = item["hot"].bool_or(false);
      point.keeps_untuned = item["keeps_untuned"].bool_or(false);
      out.push_back(std::move(point));
    }
    return true;
  }
  bool seconds(JsonView from, const char* name, double& out) {
    out = from[name].number_or(0);
    return out == 0 || is_kernel_time(out) || fail("\"" + std::string(name) + "\" of a network at sizes is no time");
  }

  JsonView line_, network_;
};

}  // namespace

Json range_json(const RangedRecord& r) {
  return Json::object()
      .set("task", r.range)
      .set("sizes", r.sizes)
      .set("at", Json::array_of(r.at))
      .set("from", Json::array_of(r.from));
}

std::string read_range(JsonView line, RangedRecord& out) {
  const JsonView range = line["range"];
  if (!range.is_object()) return "\"range\" is no object";
  out.range = range["task"].string_or("");
  if (!is_hash(out.range)) return "\"range\" has no \"task\" of 16 hexadecimal digits";
  out.sizes = range["sizes"].string_or("");
  if (!read_values(range["at"], out.at)) return "\"at\" of \"range\" has what is no size";
  if (!read_values(range["from"], out.from)) return "\"from\" of \"range\" has what is no size";
  if (out.at.size() != out.from.size()) return "\"at\" and \"from\" of \"range\" are of different numbers of sizes";
  return "";
}

std::variant<NetworkAtSizes, std::string> network_of(JsonView line) {
  NetworkAtSizes network;
  NetworkReader reader(line);
  if (!reader.read(network)) return std::move(reader.why);
  return network;
}

std::string to_line(const NetworkAtSizes& n) {
  Json points = Json::array();
  for (const TimedAtSizes& each : n.points) {
    Json point = Json::object().set("at", Json::array_of(each.at)).set("share", each.share);
    if (each.untuned > 0) point.set("untuned", each.untuned);
    if (each.ranged > 0) point.set("ranged", each.ranged);
    if (each.exact > 0) point.set("exact", each.exact);
    if (each.hot) point.set("hot", true);
    if (each.keeps_untuned) point.set("keeps_untuned", true);
    points.add(std::move(point));
  }
  Json network =
      Json::object().set("graph", n.graph).set("name", n.name).set("ranges", n.ranges).set("points", std::move(points));
  return dump(Json::object()
                  .set("v", n.version)
                  .set("network", std::move(network))
                  .set("target", n.target)
                  .set("whet", n.whet)
                  .set("at", n.at));
}

}  // namespace whet
