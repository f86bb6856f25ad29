#pragma once

#include "report/data.h"

namespace whet::testing_report {

/// A tuned network of three tasks, with something for every section: figures that nobody measured.
ReportData made_up();

/// `tasks` tasks of `trials` trials each.
ReportData large(int tasks, int trials);

}  // namespace whet::testing_report
