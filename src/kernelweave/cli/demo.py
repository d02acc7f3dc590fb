"""`kernelweave demo`: watch it learn."""

from __future__ import annotations

import click


@click.command(short_help="Train on made data whose truth is known, and look at the results.")
@click.option(
    "--output", "-o", type=click.Path(), default="demo_output", show_default=True, help="Folder for the results."
)
def demo(output: str) -> None:
    """Train on a table and a set of sequences whose truth is known, and see whether learning finds it."""
    from ..demo import main

    main(["--output", output])
