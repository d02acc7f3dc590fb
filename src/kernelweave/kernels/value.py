"""Kernels are values: printed as they are typed, and compared by their parameters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from .values import hashable, same_value, typed


class Value(BaseEstimator):
    """A dataclass whose parameters are all that it is."""

    if TYPE_CHECKING:
        __dataclass_fields__: dict[str, Any]
    #: Parameters that are printed even where they have their defaults: who reads the text wants to know them.
    always_shown: tuple[str, ...] = ()
    #: scikit-learn reads signatures for these, which takes long.
    _get_param_names: Any = classmethod(cache(BaseEstimator._get_param_names.__func__))  # type: ignore

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(same_value(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash((type(self), *(hashable(value) for value in self.get_params(deep=False).values())))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # N_CHAR_MAX is scikit-learn's; a kernel always prints whole, so that it can be typed back
        fields, given = self.__dataclass_fields__, self.get_params(deep=False).items()
        shown = (f"{k}={typed(v)}" for k, v in given if k in self.always_shown or not same_value(v, fields[k].default))
        return f"{type(self).__name__}({', '.join(shown)})"
