"""What an estimator chooses for its user: C and the weights, where they are "auto" or nothing was said at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Auto, Kernel, as_kernel
from ..losses import Loss
from ..mkl import Problem
from ..mkl.choosing import Choice, choose_by_leaving_out
from ..mkl.choosing_each import choose_for_each
from ..norms import Fixed, WeightNorm, as_norm
from ..validation import check_positive

AUTO = "auto"
#: Most samples for a machine that rests on all of them, where no loss is given.
MAX_SQUARED = 5000
#: Most ways to choose weights that a note names.
MAX_WAYS = 3


class Choosing:
    """What estimators share: which of their parameters are given, and which they choose."""

    kernel: Any
    norm: Any
    solver: Any
    learn_C: bool
    notes_: list[str]

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _searches(self) -> bool:
        return False

    def _searched_C(self) -> float:
        raise NotImplementedError

    def _searched_note(self) -> str:
        raise NotImplementedError

    def _kernel(self) -> Kernel:
        return kernel_of(self.kernel)

    def _chosen(self) -> tuple[bool, bool]:
        """Say whether C, and the weights, are chosen by what is missed when samples are left out."""
        return not self.learn_C and is_chosen(getattr(self, "C", 1.0), self.kernel), self._chooses_weights()

    def _chooses_weights(self) -> bool:
        return is_chosen(self.norm, self.kernel) and self.solver == "auto" and not self.learn_C

    def _plain_loss(self, usual: str) -> str:
        """Return the loss where none is given: "squared" where C is chosen by its left-out errors, if not too large."""
        return "squared" if self._chosen()[0] and getattr(self, "_n", 0) <= MAX_SQUARED else usual

    def _cost(self) -> float:
        """Return C as it was given: 1 where it was not, or is chosen later."""
        C = getattr(self, "C", None)
        if self._searches():
            return self._searched_C()
        return (
            1.0
            if C is None or self._chosen()[0]
            else check_positive("C", C, what='a finite number > 0, "auto", "cv", or a list')
        )

    def _norm(self) -> WeightNorm:
        """Return the norm as it was given: 1 where it was not, or weights are chosen."""
        return as_norm(1 if self.norm is None or is_chosen(self.norm, self.kernel) else self.norm)

    def _note_choices(self, choices: list[Any], said: list[str]) -> None:
        """Keep what was chosen, and say so."""
        C_too, weights_too = self._chosen()
        self.loss_ = self._loss().name
        if hasattr(self, "C") and not self.learn_C:
            loss, found = self._loss(), [self._cost()]
            if C_too:
                found = [choice.cost(loss.quadratic) for choice in choices]
            self.C_ = found[0] if len(found) == 1 else np.array(found)
        if self._searches():
            said = [*said, self._searched_note()]
        self.notes_ = [*said, *notes_of(choices, getattr(self, "C_", None), weights_too), *self.notes_]


def kernel_of(parameter: Any) -> Kernel:
    """Return the kernel that the parameter of an estimator stands for: `Auto()` where none is given."""
    return Auto() if parameter is None else as_kernel(parameter)


def is_auto(parameter: Any) -> bool:
    """Say whether a parameter leaves the choice to the estimator; None does so where no kernel is given."""
    return parameter is None or (isinstance(parameter, str) and parameter == AUTO) or hasattr(parameter, "chosen")


def is_chosen(parameter: Any, kernel: Any) -> bool:
    """Say whether C or the norm is chosen: where it is "auto", and where neither it nor a kernel is given."""
    return is_auto(parameter) and (parameter is not None or is_auto(kernel))


def with_choice(problem: Problem, share: np.ndarray, C_too: bool, weights_too: bool) -> tuple[Problem, Choice | None]:
    """Return the problem with C and weights that were chosen, and how."""
    if not C_too and not weights_too:
        return problem, None
    choice = choose_by_leaving_out(problem, share, weights_too)
    if C_too:
        C = choice.cost(problem.machines[0].loss.quadratic)
        problem = replace(problem, machines=[replace(machine, C=C * machine.C) for machine in problem.machines])
    return (replace(problem, norm=Fixed(choice.weights)) if weights_too else problem), choice


@dataclass(frozen=True)
class Group:
    """Machines that are solved together, by their numbers among all, and the problem that they make."""

    numbers: list[int]
    problem: Problem


def grouped(
    problem: Problem, share: np.ndarray, shared: bool, apart: bool, C_too: bool, weights_too: bool
) -> tuple[list[Group], list[Choice]]:
    """Return which machines are solved together, and what was chosen for each of them, where `apart`.

    Parameters
    ----------
    problem : of all machines
    share : how much every sample counts
    shared : whether all machines have the same weights
    apart : whether machines stand for targets of their own, and choose apart from each other
    C_too, weights_too : what is chosen
    """
    machines, choices = list(problem.machines), list[Choice]()
    if apart and (C_too or weights_too):
        choices = choose_for_each(problem, share, weights_too, own_weights=not shared)
        if C_too:
            quadratic = machines[0].loss.quadratic
            machines = [replace(m, C=c.cost(quadratic) * m.C) for m, c in zip(machines, choices, strict=True)]
        if weights_too:
            by_weights: dict[bytes, list[int]] = {}
            for number, choice in enumerate(choices):
                by_weights.setdefault(choice.weights.tobytes(), []).append(number)
            return [
                Group(
                    some, replace(problem, machines=[machines[i] for i in some], norm=Fixed(choices[some[0]].weights))
                )
                for some in by_weights.values()
            ], choices
    numbers = [list(range(len(machines)))] if shared else [[number] for number in range(len(machines))]
    return [Group(some, replace(problem, machines=[machines[i] for i in some])) for some in numbers], choices


def notes_of(choices: Sequence[Choice], C: Any, weights_too: bool) -> list[str]:
    """Return what to say of what was chosen."""
    if not choices:
        return []
    named = list(dict.fromkeys(choice.how for choice in choices))
    ways = " and ".join(named) if len(named) <= MAX_WAYS else f"{', '.join(named[:MAX_WAYS])}, ..."
    what = f"C = {C:.3g}" if isinstance(C, float) else "C"
    verb = f"and the weights ({ways}) were" if weights_too else "was"
    return [f"{what} {verb} chosen by what is missed when samples are left out"]
