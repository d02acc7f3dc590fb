"""One page that shows what a model learned; see `build`."""

from .builder import build

__all__ = ["build"]
