#pragma once

#include <string>

#include "artifact/kernel.h"
#include "records/record_line.h"
#include "records/records.h"

namespace whet::testing_records {

/// A record of a trial of `key` that took `seconds`.
inline Record timed(std::string key, std::string steps, double seconds,
                    std::string target = "cpu -mcpu=znver5 -threads=2") {
  Record r;
  r.key = std::move(key);
  r.task = "conv2d 1x56x56x64";
  r.target = std::move(target);
  r.candidate = {"tile", {{"oc", {2, 16}}, {"unroll", {4}}}};
  r.steps = std::move(steps);
  r.tree_hash = "00c0ffee";
  r.codegen = codegen_version(CodeFormat::native_object);
  r.outcome = {OutcomeCode::ok, "", {seconds, seconds * 1.1}, false, 0.01, 0.005};
  r.outcome.cache = "network";
  r.outcome.device = "anvil";
  r.seed = 7;
  r.whet = "0.1.0";
  r.at = "2026-11-21T10:00:00Z";
  return r;
}
inline Record failed(std::string key, std::string steps, OutcomeCode code, std::string message) {
  Record r = timed(std::move(key), std::move(steps), 1);
  r.outcome.code = code;
  r.outcome.message = std::move(message);
  r.outcome.seconds.clear();
  r.outcome.build_seconds = r.outcome.run_seconds = 0;
  return r;
}

}  // namespace whet::testing_records
