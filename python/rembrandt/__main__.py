"""`python -m rembrandt`: the command line."""

from __future__ import annotations

import signal
import sys

from rembrandt import _rembrandt


def main() -> int:
    """Run the command line on the words that were typed."""
    # Ctrl-C ends a command at once, as it does elsewhere: files appear whole or not at all.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-m", "rembrandt"]
    return _rembrandt.command_line(sys.argv[1:], command, str(_rembrandt.__file__))


if __name__ == "__main__":
    sys.exit(main())
