"""Runs a command whose standard output is a terminal of its own, and prints what it wrote there.
  on_terminal.py COLUMNS ROWS COMMAND...
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def run(columns, rows, command, environment=None):
    """(exit code, what the terminal got)"""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvpe(command[0], command, environment or os.environ)
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), written.decode()


if __name__ == "__main__":
    code, text = run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    sys.stdout.write(text)
    sys.exit(code)
