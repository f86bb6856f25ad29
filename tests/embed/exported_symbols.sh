#!/usr/bin/env bash
# libwhet.so exports one symbol.
#   exported_symbols.sh LIBWHET
set -euo pipefail
found=$(nm -D --defined-only "$1" | awk '{ print $NF }' | sort)
[ "$found" = whet_tuner_v1 ] || { echo "exported are: $found; expected whet_tuner_v1 alone"; exit 1; }
! readelf -d "$1" | grep -q TEXTREL || { echo "its code is relocated when it is loaded"; exit 1; }
