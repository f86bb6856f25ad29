#include "space/rules/cpu/nest.h"

#include <algorithm>

#include "space/anatomy.h"
#include "space/cpu/element_nest.h"
#include "space/cpu/row_nest.h"
#include "space/cpu/scatter.h"

namespace whet {
namespace {

/// What `op` computes again under `loop` stays below half of what it computes alone.
bool places(Scheduler& s, OpId op, LoopId loop) {
  Scheduler trial = s;
  const double alone = iterations(trial.tree(), op);
  trial.compute_at(op, loop, StoredIn::memory);
  if (!trial.finish().ok() || iterations(trial.tree(), op) > 1.5 * alone || !is_whole(trial.tree(), op)) return false;
  s = std::move(trial);
  return true;
}

/// Placed under one of the nests, with everything open behind it; in `s`.
LoopId place(Scheduler& s, const std::map<OpId, LoopId>& groups, OpId op) {
  for (const auto& [nest, loop] : groups)
    if (loop.valid() && places(s, op, loop)) return loop;
  return {};
}

/// Leading axes of `op` under which all that it needs can be computed.
std::size_t axes_above(const Derivation& d, OpId op, const std::vector<OpId>& needed) {
  for (std::size_t axes = outer_axes(d.dag(), op); axes > 0; --axes) {
    Scheduler trial = d.scheduler();
    const LoopId loop = group_rows(trial, op, axes, 1);
    if (std::all_of(needed.begin(), needed.end(), [&](OpId other) { return places(trial, other, loop); })) return axes;
  }
  return 0;
}

/// Element by element: everything is decided in the nest itself.
void make_element_nest(Derivation& d, OpId op) {
  const std::vector<Axis>& axes = d.dag().op(op).element().axes;
  const std::string vectors = d.name_for(op, "vectors"), pixels = d.name_for(op, "pixels"),
                    across = d.name_for(op, "across"), shared = d.name_for(op, "parallel");
  const bool transposed = is_transpose(d.dag(), op);
  d.decide({vectors, "native vectors in a step along the innermost axis", single({1, 2, 4, 8}), 0}, {2});
  if (transposed)
    d.decide({across, "elements of a tile along the axis that is read along", single({2, 4, 8, 16}), 0},
             {std::max<std::int64_t>(turned_tile(d.dag(), op), 4)});
  else
    d.decide({pixels, "elements of the axis before the innermost one in a step", single({1, 2, 4, 8}), 0}, {1});
  std::vector<std::int64_t> counts{0};
  for (std::size_t k = 1; k <= std::min<std::size_t>(axes.size() + 1, 5); ++k)
    counts.push_back(static_cast<std::int64_t>(k));
  d.decide({shared, "how many outer loops are shared out among the workers; 0: as few as give each the same share",
            single(counts), 0},
           {0});
  d.act([op, target = d.target(), transposed, vectors, pixels, across, shared](ScheduleDraft& m) {
    element_nest(m.s, op,
                 {.vectors = m.chosen(vectors),
                  .pixels = transposed ? 1 : m.chosen(pixels),
                  .across = transposed ? m.chosen(across) : 1,
                  .shared = m.chosen(shared),
                  .target = target});
  });
  d.call("elements");
}

/// Written where data says: the order of the loops is given.
void make_scatter_nest(Derivation& d, OpId op) {
  const std::string shares = d.name_for(op, "shares");
  const std::int64_t workers = std::max(d.target().threads, 1);
  std::vector<std::int64_t> counts{1};
  if (workers > 1) counts.push_back(workers);
  d.decide({shares, "parts of it that the workers share; 1: one worker computes all of it", single(counts), 0},
           {workers});
  d.act([op, shares, lanes = lanes_of(d, op)](ScheduleDraft& m) {
    scatter_nest(m.s, op, 2 * lanes, static_cast<int>(m.chosen(shares)));
  });
  d.call("scatters");
}

}  // namespace

std::int64_t lanes_of(const Derivation& d, OpId op) {
  const auto bytes = std::max<std::int64_t>(size_of(d.dag().op(op).dtype), 1);
  return std::max<std::int64_t>(d.target().cpu().lanes(static_cast<int>(bytes)), 1);
}

std::vector<OpId> open_inputs(const Derivation& d, OpId op) {
  std::vector<OpId> needed;
  for (OpId other : d.ops()) {
    if (other >= op || d.treatment(other) != OpTreatment::open) continue;
    const std::vector<OpId> readers = consumers_of(d.dag(), other);
    if (std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
          return reader == op || std::find(needed.begin(), needed.end(), reader) != needed.end();
        }))
      needed.push_back(other);
  }
  return needed;
}

LoopId place_of(const Derivation& d, OpId op) {
  Scheduler trial = d.scheduler();
  for (OpId other : d.ops()) {
    if (other < op || d.treatment(other) != OpTreatment::open) continue;
    const LoopId loop = place(trial, d.groups(), other);
    if (other == op) return loop;
  }
  return {};
}

void make_nest(Derivation& d, OpId op) {
  const std::vector<OpId> needed = open_inputs(d, op);
  const bool reduces = d.dag().op(op).element().reducer.has_value();
  const std::size_t above = needed.empty() ? 0 : axes_above(d, op, needed);
  const std::size_t axes = reduces ? outer_axes(d.dag(), op) : above;
  d.set_treatment(op, OpTreatment::nest);
  if (!reduces && above == 0) return make_element_nest(d, op);
  if (find_scatter(d.dag(), op)) return make_scatter_nest(d, op);
  d.call("nests");
  if (axes == 0) {
    if (!reduces || !reduces_innermost(d.dag(), op)) vectorize(d, op);  // else rfactor does
    return;
  }
  const std::string rows = d.name_for(op, "rows");
  d.decide({rows, "rows computed together", single({1, 2, 4, 8}), 0}, {1});
  d.act([op, axes, rows, alone = needed.empty()](ScheduleDraft& m) {
    const LoopId loop = group_rows(m.s, op, axes, m.chosen(rows));
    m.groups[op] = loop;
    // Annotated at once where nothing will be computed under it, so that it is no row to be unrolled.
    alone ? m.s.annotate(loop, LoopKind::parallel) : m.parallel.push_back(loop);
  });
}

void vectorize(Derivation& d, OpId op) {
  const std::string vectors = d.dag().op(op).name + ".vectors";
  const std::string what = "native vectors in which " + d.dag().op(op).name + " is computed at a time";
  d.decide({vectors, what, single({1, 2, 4, 8}), 0}, {2});
  const auto rows = std::find_if(d.preferred().begin(), d.preferred().end(),
                                 [](const auto& choice) { return choice.first.ends_with("rows"); });
  const std::string rows_name = rows == d.preferred().end() ? "" : rows->first;
  d.act([op, lanes = lanes_of(d, op), vectors, rows_name](ScheduleDraft& m) {
    vectorize_rows(m.s, op, lanes * m.chosen(vectors), rows_name.empty() ? 1 : m.chosen(rows_name));
  });
}

}  // namespace whet
