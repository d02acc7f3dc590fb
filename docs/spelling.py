"""Add the words of the pages that docs/words.txt does not know: python docs/spelling.py; read what it added."""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Add new words, and print them: misspelt ones are to be mended in the page and taken out again."""
    made = runpy.run_path(str(HERE.parent / "tests" / "test_docs.py"))
    texts = [made["TEXTS"][page] for page in made["WRITTEN"]] + [(HERE.parent / "README.md").read_text("utf-8")]
    path = HERE / "words.txt"
    known = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    found = set().union(*(made["words"](text) for text in texts))
    path.write_text("\n".join(sorted(known | found)) + "\n", encoding="utf-8")
    print("\n".join(sorted(found - known)))


if __name__ == "__main__":
    main()
