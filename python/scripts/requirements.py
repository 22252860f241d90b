"""Prints what the package and its tests need, one word each."""

import pathlib
import re

text = (pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text()
lists = re.findall(r"^(?:dependencies|test) = \[(.*?)\]", text, re.M | re.S)
print(*(name.strip(' "').replace(" ", "") for part in lists for name in part.split(",") if name.strip()))
