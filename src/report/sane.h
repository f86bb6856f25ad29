#pragma once

#include "report/data.h"

namespace whet {

/// The data without figures that are none: times that are not positive and finite become "not known", as do rates, counts
/// of bytes and moments. Files and devices decide these, and nobody trusts them.
ReportData sane_report(ReportData);

}  // namespace whet
