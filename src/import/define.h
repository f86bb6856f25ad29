#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "import/options.h"
#include "import/site.h"

/// Operators by definitions that somebody wrote down: docs/operators/own.md.
namespace whet {

/// The attributes of a node that are numbers, or lists of them, as the notation writes numbers: "3", "-0.5", "1e-05".
using AttributeNumbers = std::map<std::string, std::vector<std::string>>;
std::string number_text(std::int64_t);
std::string number_text(double);
template <typename T>
std::vector<std::string> number_texts(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T value : values) texts.push_back(number_text(value));
  return texts;
}

/// The node's results by the definition of its operator `op`. Its operands are the placeholders, in order; a name among the extents of a
/// placeholder is the extent that the operand has there; `{alpha}` is an attribute. Errors name the node and the file.
Status give_defined(NodeSite&, const OperatorDefinition&, const std::string& op, const std::vector<ValueId>& operands,
                    const AttributeNumbers&);

/// The DAG of one size, of which the operators of a graph are made: families and roles that nobody wrote are recognised
/// (compute/recognise.h), and an element of an index tensor beyond its bound counts as the nearest one inside. Errors: loads that may be
/// outside of their tensors.
Result<ComputeDag> as_definition(const ComputeDag&);
/// What computes one of its outputs. Whether an input is a constant is the graph's business.
std::shared_ptr<const ComputeDag> definition_of(ComputeDag, OpId output);

/// The end of the sentence about an operator that is not read: how to define it.
std::string how_to_define(const std::string& op);

}  // namespace whet
