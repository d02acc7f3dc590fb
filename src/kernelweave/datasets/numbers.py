"""Generated numbers: shapes, waves and columns whose structure is known."""

from __future__ import annotations

import numpy as np

from ..errors import InputError


def make_star(
    n: int = 500,
    distance: float = 2.0,
    *,
    radius: float = 4.0,
    n_points: int = 6,
    depth: float = 0.3,
    noise: float = 0.3,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes shaped like the outlines of stars, one inside the other.

    The nearer the outlines, the finer is the detail that separates them: the boundary follows every point
    of the star while they touch, and a circle will do once they are far apart.

    Parameters
    ----------
    n : int
        Number of samples; half of them, rounded up, on the inner star.
    distance : float
        How much longer the mean radius of the outer star is, in units of X.
    radius : float
        Mean radius of the inner star.
    n_points : int
        How many points a star has.
    depth : float
        How far the points stand out, relative to the radius; below 1.
    noise : float
        Standard deviation of the noise in both coordinates, in units of X.
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,)
        −1 on the inner star, 1 on the outer one.

    Examples
    --------
    >>> from kernelweave.datasets import make_star
    >>> X, y = make_star(6, random_state=0)
    >>> X.shape, y.tolist()
    ((6, 2), [-1, -1, -1, 1, 1, 1])
    """
    _check_count("n", n, 2)
    _check_at_least("distance", distance, 0.0)
    _check_at_least("noise", noise, 0.0)
    if not 0 <= depth < 1:
        raise InputError(f"depth must be at least 0 and below 1, or the star crosses its centre; got {depth!r}.")
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) < (n + 1) // 2, -1, 1)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    # a triangle wave: straight edges, sharp points
    outline = 1.0 + depth * (2.0 / np.pi) * np.arcsin(np.cos(n_points * angle))
    length = (radius + distance * (y > 0)) * outline
    X = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal((n, 2)), y


def make_sines(
    n: int = 500,
    frequencies: tuple[float, ...] | list[float] = (1.0,),
    *,
    slope: float = 0.0,
    length: float = 10.0,
    noise: float = 0.1,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of Σ_f sin(f · x) + slope · x, with noise.

    Every part has its own scale: fast waves want narrow kernels, slow ones wide kernels, and a
    straight line the widest there is.

    Parameters
    ----------
    n : int
        Number of samples, evenly spaced.
    frequencies : sequence of float
        Frequency of every wave, in radians per unit of X.
    slope : float
        Slope of the straight line.
    length : float
        x runs from 0 to this.
    noise : float
        Standard deviation of the noise in y.
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (n, 1)
    y : array of shape (n,)

    Examples
    --------
    >>> from kernelweave.datasets import make_sines
    >>> X, y = make_sines(3, frequencies=[1.0], length=3.14159, noise=0.0)
    >>> y.round(3).tolist()
    [0.0, 1.0, 0.0]
    """
    _check_count("n", n, 2)
    _check_at_least("noise", noise, 0.0)
    rng = np.random.default_rng(random_state)
    x = np.linspace(0.0, length, n)
    y = slope * x + np.sin(np.multiply.outer(x, np.asarray(frequencies, dtype=np.float64))).sum(axis=1)
    return x[:, None], y + noise * rng.standard_normal(n)


def make_relevant(
    n: int = 200,
    n_relevant: int = 2,
    n_irrelevant: int = 6,
    *,
    noise: float = 0.1,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a regression problem in which only the first features matter, the first one most.

    y = Σ_c sin(π x_c) / (c + 1) over the relevant features c = 0, 1, ..., each uniform in [−1, 1].

    Parameters
    ----------
    n : int
        Number of samples.
    n_relevant, n_irrelevant : int
        How many features y depends on, and how many it does not.
    noise : float
        Standard deviation of the noise in y.
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (n, n_relevant + n_irrelevant)
    y : array of shape (n,)

    Examples
    --------
    >>> from kernelweave.datasets import make_relevant
    >>> X, y = make_relevant(5, n_relevant=1, n_irrelevant=2, random_state=0)
    >>> X.shape, y.shape
    ((5, 3), (5,))
    """
    _check_count("n", n, 2)
    _check_count("n_relevant", n_relevant, 1)
    _check_count("n_irrelevant", n_irrelevant, 0)
    _check_at_least("noise", noise, 0.0)
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1.0, 1.0, (n, n_relevant + n_irrelevant))
    y = np.sin(np.pi * X[:, :n_relevant]) @ (1.0 / np.arange(1, n_relevant + 1))
    return X, y + noise * rng.standard_normal(n)


def _check_count(name: str, value: int, least: int) -> None:
    if not (isinstance(value, (int, np.integer)) and value >= least):
        raise InputError(f"{name} must be a whole number ≥ {least}; got {value!r}.")


def _check_at_least(name: str, value: float, least: float) -> None:
    if not (np.isfinite(value) and value >= least):
        raise InputError(f"{name} must be a finite number ≥ {least:g}; got {value!r}.")
