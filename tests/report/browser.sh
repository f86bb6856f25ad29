#!/usr/bin/env bash
# The golden report in Debian's chromium; skipped (exit code 77) with a line where that, node, or the two npm packages are missing.
#   browser.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source=$1 binary=$2
modules=${WHET_NODE_MODULES:-$binary/npm/node_modules}
skip() { echo "skipped: $1; scripts/bootstrap --all installs it"; exit 77; }
command -v node > /dev/null || skip "node is missing"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing"
for package in playwright-core axe-core; do [ -d "$modules/$package" ] || skip "npm's $package is missing"; done
node "$source/tests/report/browser.mjs" "$modules" "$source/src/report/testdata/page.html" "${WHET_SCREENSHOTS:-}"
