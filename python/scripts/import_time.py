"""Seconds that `import rembrandt` takes in a fresh process, the best of ten: `python import_time.py`."""

import subprocess
import sys

CODE = "import time; began = time.perf_counter(); import rembrandt; print(time.perf_counter() - began)"


def main() -> None:
    words = [sys.executable, "-c", CODE]
    seconds = [float(subprocess.run(words, check=True, capture_output=True, text=True).stdout) for _ in range(10)]
    print(f"{min(seconds):.3f} s")


if __name__ == "__main__":
    main()
