// Parts of the static C library that whet-device has no use for, in place of those that the linker would bring: 80 KB.

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the library's names

// Messages are in English: no catalogues, and no conversion between character sets for them.
char* __dcgettext(const char* /*domain*/, const char* message, int /*category*/) { return const_cast<char*>(message); }
char* dcgettext(const char* /*domain*/, const char* message, int /*category*/) { return const_cast<char*>(message); }
char* gettext(const char* message) { return const_cast<char*>(message); }

// Each new thread has its state of the resolver set here. Nothing looks up a host's name.
__thread void* __libc_resp __attribute__((tls_model("initial-exec"))) = nullptr;

// NOLINTEND(bugprone-reserved-identifier)
}
