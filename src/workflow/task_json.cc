#include "workflow/task_json.h"

#include <string>
#include <vector>

#include "compute/names.h"

namespace whet {
namespace {

Json numbers_of(const std::vector<OpId>& ops) {
  Json list = Json::array();
  for (const OpId op : ops) list.add(op.value);
  return list;
}

Json axis_json(const Axis& axis, bool is_reduced, std::int64_t loop) {
  return Json::object()
      .set("name", axis.name)
      .set("extent", axis.extent)
      .set("role", axis.role == AxisRole::other ? "" : std::string(name_of(axis.role)))
      .set("reduced", is_reduced)
      .set("loop", loop);
}

}  // namespace

Json ops_json(const ComputeDag& dag) {
  Json list = Json::array();
  std::int64_t loop = 0;  // loops are numbered op by op
  for (std::int64_t number = 0; number < std::ssize(dag.ops); ++number) {
    const OpId id(number);
    const Op& op = dag.op(id);
    Json axes = Json::array();
    std::string family;
    if (!op.is_placeholder()) {
      const Element& element = op.element();
      for (const Axis& axis : element.axes) axes.add(axis_json(axis, false, loop++));
      for (const Axis& axis : element.reduce_axes) axes.add(axis_json(axis, true, loop++));
      if (element.family != OpFamily::other) family = name_of(element.family);
    }
    list.add(Json::object()
                 .set("op", number)
                 .set("name", op.name)
                 .set("input", op.is_placeholder())
                 .set("family", family)
                 .set("reads", numbers_of(inputs_of(dag, id)))
                 .set("readers", numbers_of(consumers_of(dag, id)))
                 .set("axes", std::move(axes)));
  }
  return list;
}

}  // namespace whet
