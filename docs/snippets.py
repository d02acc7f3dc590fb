"""The snippets of the documentation, and a way to run them: python docs/snippets.py [page ...].

A page is run from top to bottom: its blocks of Python share one namespace, as in a notebook, and lines of shell that
call `kernelweave` run between them, all in an empty folder. What a page takes for granted (``X_train``, say) is made by
a comment that no reader sees::

    <!-- before
    X_train, y_train = ...
    -->

Further comments, each before the block that it speaks of:

    <!-- not run: needs a cluster -->
    <!-- slow -->           only the build of the documentation runs it, and all blocks after it
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import time
import warnings
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = sorted(
    path
    for path in HERE.rglob("*.md")
    if path.relative_to(HERE).parts[0] not in ("_build", "gallery") and path.name != "choices.md"
)
_FOUND = re.compile(
    r"^<!-- (?P<note>before|not run|slow)\b:?(?P<text>.*?)-->|^```(?P<kind>python|sh)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Snippet:
    """One block of a page."""

    page: Path
    line: int
    kind: str
    code: str
    slow: bool = False

    @property
    def name(self) -> str:
        """The place, as editors understand it."""
        return f"{self.page.name}:{self.line}"


def snippets(page: Path) -> list[Snippet]:
    """Return the blocks that are run, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Snippet] = []
    skip = slow = False
    for match in _FOUND.finditer(text):
        if match["note"] == "not run":
            skip = True
        elif match["note"] == "slow":
            slow = True
        elif match["note"] == "before":
            line = text.count("\n", 0, match.start("text")) + 1
            found.append(Snippet(page, line, "python", match["text"], slow))
        elif skip:
            skip = False
        else:
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(Snippet(page, line, match["kind"], match["code"], slow))
    return found


def run(found: list[Snippet]) -> None:
    """Run snippets one after the other in this folder."""
    module = ModuleType("__page__")  # a module of its own, as classes look up where they were made
    sys.modules["__page__"] = module
    names: dict[str, Any] = module.__dict__
    for snippet in found:
        if snippet.kind == "python":
            # as many empty lines before, so that a traceback names the line of the page
            code = compile("\n" * (snippet.line - 1) + snippet.code, str(snippet.page), "exec")
            exec(code, names)
        else:
            for line in snippet.code.replace("\\\n", " ").splitlines():
                if line.strip() and not line.lstrip().startswith("#"):
                    run_line(line, snippet.name)


def run_line(line: str, name: str) -> str:
    """Run a line as a shell would, and return what it printed; what is piped elsewhere is only looked at."""
    from click.testing import CliRunner

    from kernelweave.cli.app import cli

    words = shlex.split(line, comments=True)
    end = next((i for i, word in enumerate(words) if word in (">", "|")), len(words))
    if words[0] != "kernelweave":
        raise ValueError(f"{name}: blocks of sh hold lines of kernelweave alone, but there is {line!r}")
    result = CliRunner().invoke(cli, words[1:end], catch_exceptions=False)
    if result.exit_code != 0:
        raise RuntimeError(f"{name}: {line}\nended with {result.exit_code}: {result.stderr}")
    if words[end : end + 1] == [">"]:
        Path(words[end + 1]).write_text(result.stdout, encoding="utf-8")
    return str(result.stdout)


def main(names: list[str]) -> None:
    """Run all snippets of all pages, or of some, each page in an empty folder."""
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("error")
    for page in [path for path in PAGES if not names or path.stem in names]:
        found = snippets(page)
        if not found:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            run(found)
        print(f"{page.relative_to(HERE)}: {len(found)} blocks, {time.perf_counter() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
