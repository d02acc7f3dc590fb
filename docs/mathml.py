"""Formulas as MathML, which browsers draw by themselves: no script, no font and no address is needed."""

from __future__ import annotations

import re
from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml

#: What docutils does not know, and what it knows it by.
SAME = {
    r"\\t?frac(\w)(\w)": r"\frac{\1}{\2}",  # \frac12 would be read as 12 over what follows
    r"\\t?frac(\w)(?=\{)": r"\frac{\1}",
    r"\\[lr]Vert\b": r"\|",
    r"\\[lr]vert\b": "|",
    r"\\dots\b": r"\ldots",
    r"\\[Bb]ig\b(?=[^a-z])": "",
    r"\\textstyle\b": "",
}


def converted(text: str, as_block: bool) -> str:
    """Return a formula as MathML."""
    for one, other in SAME.items():
        text = re.sub(one, lambda found, other=other: re.sub(r"\\([12])", lambda m: found[int(m[1])], other), text)
    return str(tex2mathml(text, as_block=as_block))


def inline(writer: Any, node: Any) -> None:
    """Write a formula inside a line."""
    from docutils import nodes

    writer.body.append(converted(node.astext(), False))
    raise nodes.SkipNode


def block(writer: Any, node: Any) -> None:
    """Write a formula on lines of its own."""
    from docutils import nodes

    writer.body.append(f'<div class="math">{converted(node.astext(), True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
