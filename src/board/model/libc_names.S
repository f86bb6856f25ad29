// The functions of the C library that whet-model calls, as a library without code: linked against it, the program asks for names without
// versions, which whatever C library the board has gives it. With WHET_NO_NAMES it has none: older C libraries keep threads and dlopen in
// libraries of their own, which models need too.
.text
#ifndef WHET_NO_NAMES
.irp name, __libc_start_main, __errno_location, _exit, abort, atoi, bcmp, clock_gettime, close, dlclose, dlerror, dlopen, dlsym, free, \
  geteuid, getpid, getppid, getrlimit, malloc, memcmp, memcpy, memmove, memset, mmap, munmap, open, prctl, pread, realloc, recv, recvmsg, send, \
  setgroups, setresgid, setresuid, setrlimit, snprintf, strchr, strcmp, strerror, strlen, strncmp, syscall, sysconf, vsnprintf, write
.globl \name
.type \name, %function
\name:
.endr
#endif
.byte 0
.section .note.GNU-stack, "", %progbits
