"""A demonstration on data whose truth is known: `kernelweave demo`, or `python -m kernelweave.demo`.

Two problems. Windows of DNA, some with a splice site: does the machine find where the signal is, and which word lengths
carry it? And a table of four groups of columns, of which two decide the outcome, each in its own way: does learning
find out which? Data, models, pages and a picture are left in a folder, to be looked at and to be used again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cli.console import console, facts, table
from .cli.fit import weights_table

if TYPE_CHECKING:
    import numpy as np

    from .kernels import Kernel
    from .sequences import SequenceSet

#: Groups of columns, with how many columns each has.
GROUPS = {"ring": 2, "trend": 3, "weather": 3, "lottery": 3}
N_ROWS, N_TRAIN = 300, 200
#: Windows of DNA: to learn from, and to test on.
N_WINDOWS, N_TEST = 2000, 1000
WINDOW, SITE = 101, 43
MAX_DEGREE = 8


# -- the data ----------------------------------------------------------------------------------------------------------


def make_table(seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return columns, and an outcome that depends on the distance from zero in `ring` and on the first `trend`."""
    import numpy as np

    rng = np.random.default_rng(seed)
    groups = {name: rng.standard_normal((N_ROWS, width)) for name, width in GROUPS.items()}
    signal = 2.5 * np.exp(-np.linalg.norm(groups["ring"], axis=1)) + 0.8 * groups["trend"][:, 0]
    signal += 0.1 * rng.standard_normal(N_ROWS)
    columns = {f"{name}_{i + 1}": column for name, group in groups.items() for i, column in enumerate(group.T)}
    return columns, np.where(signal > np.median(signal), "high", "low")


def columns_of(group: str) -> list[str]:
    """Return the names of the columns of a group."""
    return [f"{group}_{i + 1}" for i in range(GROUPS[group])]


def table_kernel() -> Kernel:
    """Offer every group twice: as straight lines and as neighbourhoods."""
    from .kernels import RBF, Linear
    from .kernels.base import add_all

    return add_all([kernel.on(columns_of(group)) for group in GROUPS for kernel in (Linear(), RBF())])


def true_terms() -> tuple[str, str]:
    """Return the terms that made the outcome."""
    return f"RBF().on({columns_of('ring')!r})", f"Linear().on({columns_of('trend')!r})"


def read_windows() -> tuple[SequenceSet, list[str], np.ndarray]:
    """Return windows around an AG, their names, and whether it ends an intron (1) or is there by chance (−1).

    `datasets.make_splice_sites` made them; they come with the package, because compiling it takes longer than reading.
    """
    from .io import read_labelled_fasta

    with as_file(files(__package__) / "data" / "splice_sites.fa.gz") as path:
        X, names, y = read_labelled_fasta(path)
    assert names is not None
    assert y is not None
    return X, names, y


def fasta(names: Sequence[str], sequences: Any, labels: Any) -> str:
    """Return sequences with their labels in the headers."""
    rows = zip(names, sequences, labels, strict=True)
    return "".join(f">{name} label={y}\n{x}\n" for name, x, y in rows)


def write_table(path: Path, columns: dict[str, Any], outcome: Any) -> None:
    """Write columns and the outcome as CSV."""
    lines = [",".join([*columns, "outcome"])]
    rows = zip(*columns.values(), outcome, strict=True)
    lines += [",".join([*(f"{value:.6f}" for value in row[:-1]), str(row[-1])]) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


# -- the two parts -----------------------------------------------------------------------------------------------------


class Demo:
    """Two problems solved, into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, console()

    def splice_sites(self) -> Any:
        """Learn from windows of DNA; return the model."""
        from .estimators import MKLClassifier
        from .kernels import WeightedDegree

        X, names, y = read_windows()
        train, test = slice(0, N_WINDOWS), slice(N_WINDOWS, None)
        for part, name in ((train, "train"), (test, "test")):
            (self.folder / f"sites_{name}.fa").write_text(fasta(names[part], X[part], y[part]), encoding="ascii")
        self._title("Splice sites: which word lengths tell a site from an AG by chance?")
        self.out.print(
            f"{N_WINDOWS:,} windows of {WINDOW} letters, one in five a site; one term for every word length."
        )
        kernel = WeightedDegree(degree=MAX_DEGREE).split("degree")
        model = self._fitted(MKLClassifier(kernel, class_weight="balanced", n_jobs=-1), X[train], y[train])
        self._curves(model, X[test], y[test] == 1)
        self._save_and_report(model, "sites", X_test=X[test], y_test=y[test], names_test=names[test])
        return model

    def table(self) -> Any:
        """Learn from the table; return the model."""
        import numpy as np

        from .estimators import MKLClassifier
        from .norms import Fixed

        columns, outcome = make_table()
        train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
        parts = [{name: column[part, None] for name, column in columns.items()} for part in (train, test)]
        for part, name in ((train, "train"), (test, "test")):
            cut = {key: column[part] for key, column in columns.items()}
            write_table(self.folder / f"table_{name}.csv", cut, outcome[part])
        self._title("A table: which columns decide, and how?")
        self.out.print("'ring' and 'trend' made the outcome, 'weather' and 'lottery' are noise.")
        kernel = table_kernel()
        model = self._fitted(MKLClassifier(kernel, n_jobs=-1), parts[0], outcome[train])
        model.feature_names_in_ = np.array(list(columns), dtype=object)
        equal = MKLClassifier(kernel, norm=Fixed(np.full(2 * len(GROUPS), 0.5 / len(GROUPS))))
        equal.fit(parts[0], outcome[train])
        made = table(
            "accuracy",
            f"train ({N_TRAIN})",
            f"test ({N_ROWS - N_TRAIN})",
            right=(f"train ({N_TRAIN})", f"test ({N_ROWS - N_TRAIN})"),
        )
        for title, one in (("learned weights", model), ("equal weights", equal)):
            scores = (one.score(X, y) for X, y in zip(parts, (outcome[train], outcome[test]), strict=True))
            made.add_row(title, *(f"{score:.3f}" for score in scores))
        self.out.print(made)
        self._save_and_report(model, "table", X_test=parts[1], y_test=outcome[test])
        return model

    def _title(self, text: str) -> None:
        self.out.print()
        self.out.print(text, style="bold")

    def _fitted(self, model: Any, X: Any, y: Any) -> Any:
        """Fit, and print what was learned and how sure that is."""
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        self.out.print(weights_table(model))
        rows = {
            "objective": f"{model.objective_:.4f}  what this machine and these weights reach",
            "lower bound": f"{model.lower_bound_:.4f}  what no machine and no weights can be below",
            "gap": f"{model.gap_:.1e}  their relative distance; asked for {model.tol:g}",
            "stopped": f"{model.stop_reason_}, {model.n_iter_} steps of solver {model.solver_!r}, {seconds:.1f} s",
        }
        self.out.print(facts(rows))
        return model

    def _curves(self, model: Any, X: Any, positive: Any) -> None:
        from sklearn.metrics import average_precision_score, roc_auc_score

        scores = model.decision_function(X)
        area, precision = roc_auc_score(positive, scores), average_precision_score(positive, scores)
        text = (
            f"{N_TEST:,} new windows: auROC {area:.3f}, auPRC {precision:.3f} (chance: 0.5 and {positive.mean():.2f})"
        )
        self.out.print(text)

    def _save_and_report(self, model: Any, name: str, **tested: Any) -> None:
        from .io.model_file import save
        from .report import build

        save(model, self.folder / f"{name}.kw")
        build(model, path=self.folder / f"{name}.html", title=f"Demonstration: {name}", **tested)

    def pictures(self, sites: Any, weights: Any) -> None:
        """Draw what was learned, or say what is missing for it."""
        try:
            draw(sites, weights, self.folder / "learned.png")
        except ModuleNotFoundError as error:
            missing = (error.name or "matplotlib").partition(".")[0]
            self.out.print(f"No picture: {missing} is not installed. Get it with: pip install 'kernelweave[plot]'")

    def say_where(self) -> None:
        """Say what is there now, and what to do with it."""
        folder = self.folder
        self._title("Where to look next")
        rows = {
            "pages": f"{folder}/sites.html and {folder}/table.html; open them in a browser",
            "pictures": f"{folder}/learned.png" if (folder / "learned.png").exists() else "none",
            "try": f"kernelweave inspect {folder}/sites.kw",
            "": f"kernelweave predict {folder}/sites.kw {folder}/sites_test.fa | head",
            " ": f"kernelweave explain {folder}/sites.kw --output {folder}/importance",
            "  ": f"kernelweave cv {folder}/table_train.csv --target outcome --C 0.1,1,10",
            "read": "docs/howto/examples.md for examples to copy, docs/reference/command_line.md for all commands",
        }
        self.out.print(facts(rows))


def draw(sites: Any, weights: Any, path: Path) -> None:
    """Draw what every letter around the site adds, and the weights of the table's terms, as one picture."""
    from matplotlib.figure import Figure

    from .explain import SequenceLogoDisplay, logo

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(5, 3))
    letters, shown = logo(sites), slice(SITE - 20, SITE + 6)
    SequenceLogoDisplay(letters.values[shown], letters.letters, start=SITE - 20).plot(left)
    left.set_title(f"DNA: what every letter says about a splice site (AG at {SITE})", fontsize=10)
    names = [f"{kind} on {group}" for group in GROUPS for kind in ("Linear", "RBF")]
    true = [term in true_terms() for term in weights.term_names_]
    right.barh(names, weights.weights_, color=["#d1603d" if made else "#9aa5ab" for made in true])
    right.invert_yaxis()  # the first term on top, as it is typed
    right.spines[["top", "right"]].set_visible(False)
    right.set_xlabel("learned weight; orange made the data")
    right.set_title("A table: which columns decide, and how", fontsize=10)
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve both problems, print what was learned, and leave everything in a folder."""
    parser = argparse.ArgumentParser(prog="python -m kernelweave.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the results")
    folder = parser.parse_args(arguments).output
    folder.mkdir(parents=True, exist_ok=True)
    demo = Demo(folder)
    demo.out.print("The first run compiles its inner loops, which takes some seconds; later runs find them ready.")
    sites = demo.splice_sites()
    weights = demo.table()
    demo.pictures(sites, weights)
    demo.say_where()


if __name__ == "__main__":
    main()
