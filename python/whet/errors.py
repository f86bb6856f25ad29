"""What goes wrong, as one sentence of whet's."""


class Error(Exception):
    """Something cannot be done; the text is whet's sentence, which names the thing, what was found and what would be right."""


class UsageError(Error, ValueError):
    """An argument or option makes no sense."""


class Note(UserWarning):
    """A sentence about what was assumed or skipped, given by `warnings`."""
