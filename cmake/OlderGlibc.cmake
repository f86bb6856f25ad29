# whet_older_glibc: what programs that are shipped (scripts/release) define for the libraries beside them.
add_library(whet_older_glibc OBJECT ${CMAKE_SOURCE_DIR}/packaging/older_glibc.c)
foreach(symbol arc4random _dl_find_object)
  target_link_options(whet_older_glibc INTERFACE -Wl,--export-dynamic-symbol=${symbol})
endforeach()
