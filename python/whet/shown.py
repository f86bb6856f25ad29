"""How values are shown on one line."""

_WIDTH = 60


def short(text: str) -> str:
    """A text on one line; of a long one the middle is left out.

    >>> short("conv2d+bias+relu 1x56x56x64 k3 s1 p1 and\\\\n a name that was made by joining many names")
    'conv2d+bias+relu 1x56x56x64 k3…as made by joining many names'
    """
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[:_WIDTH // 2] + "…" + line[1 - _WIDTH // 2:]


def milliseconds(value: float) -> str:
    """With four digits.

    >>> milliseconds(0.0123456), milliseconds(1234.5)
    ('0.01235 ms', '1234 ms')
    """
    return f"{value:.0f} ms" if value >= 1000 else f"{value:.4g} ms"
