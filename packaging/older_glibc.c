// For the programs as they are released: what Debian 12's libraries ask of a C library that is newer than 2.34, in the programs themselves.
// packaging/elf.py makes the copies of the libraries that are shipped take it from there.
#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

// glibc 2.36. libstdc++ asks for it where std::random_device has no instruction of the processor to ask, LLVM for names of files.
unsigned arc4random(void);
unsigned arc4random(void) {
  unsigned value = 0;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) _exit(127);
  return value;
}

// glibc 2.35: the loaded file that has an address, for libgcc, which looks for the table of its exceptions.
struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int look_into(struct dl_phdr_info* file, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  const ElfW(Phdr)* table = NULL;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  int has_it = 0;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &file->dlpi_phdr[i];
    const uintptr_t from = file->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
    if (part->p_type == PT_GNU_EH_FRAME) table = part;
    if (part->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (to > end) end = to;
    has_it |= search->address >= from && search->address < to;
  }
  if (!has_it || table == NULL) return has_it ? -1 : 0;
  *search->result = (struct dl_find_object){0};
  search->result->dlfo_map_start = (void*)begin;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_eh_frame = (void*)(file->dlpi_addr + table->p_vaddr);
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
