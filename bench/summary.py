"""The results of the benchmarks as one page: `python -m bench.summary [--into FILE]`.

With `--into`, what stands between the two marks of that file is replaced.
"""

import argparse
import json
from pathlib import Path

from bench.runner import RESULTS

ORDER = ("publish", "relay", "consume", "latency", "growth", "pages", "dead_letters")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--into", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.into is None:
        print(page(options.results))
        return
    put_into(options.into, options.results)


def put_into(file: Path, results: Path) -> None:
    """Replace what stands between the two marks of the file."""
    head, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{file} has no {BEGIN} and {END}")
    text = f"{head}{BEGIN}\n\n{page(results)}\n{END}{tail}"
    file.write_text(text, encoding="utf-8")


def write(results: Path) -> None:
    """summary.md beside the results."""
    (results / "summary.md").write_text(page(results), encoding="utf-8")


def page(results: Path) -> str:
    """Every result that is there, in a fixed order, and what it was measured on."""
    names = [name for name in ORDER if (results / f"{name}.md").exists()]
    texts = [(results / f"{name}.md").read_text(encoding="utf-8") for name in names]
    return "\n".join([_circumstances(results, names), *texts])


def _circumstances(results: Path, names: list[str]) -> str:
    lines = []
    for name in names:
        found = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))["circumstances"]
        lines.append(f"- {name}: " + ", ".join(f"{key} {value}" for key, value in found.items()))
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
