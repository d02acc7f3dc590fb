"""The shape of the package: imports go down only, files stay short, `import kernelweave` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "kernelweave"
ROOT = Path(__file__).parents[1] / "src" / PACKAGE
MAX_LINES = 400

#: The package's own `__init__` re-exports what users need from layers 0 to 4.
FRONT_DOOR = 4

#: The modules of every layer. A module inside a package shares its package's layer unless it is named here.
LAYERS = {
    -1: ("_fast",),
    0: (
        "choices",
        "clock",
        "cluster",
        "datasets",
        "engines",
        "errors",
        "io",
        "kernels",
        "matrices",
        "memory",
        "parallel",
        "progress",
        "sequences",
        "validation",
        "letters",
        "multiview",
        "usual",
        "categories",
        "omics",
        "presence",
        "units",
        "views",
    ),
    1: ("gram",),
    2: ("dual", "losses", "norms"),
    3: ("mkl",),
    4: ("estimators", "explain", "io.checkpoint", "io.model_file", "io.model_reader", "scan", "testing"),
    5: ("__main__", "cli", "demo", "report"),
}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names}

#: What a bare `import kernelweave` must not load.
HEAVY = ("numba", "matplotlib", "pandas", "polars", "highspy", "sklearn", "dask", "distributed")


def modules(root):
    """Dotted name -> file, for every module below `root`; the package itself is kernelweave."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return found


def layer(module):
    """The layer of a dotted module name, or None if the table does not know it."""
    if module == PACKAGE:
        return FRONT_DOOR
    name = module.removeprefix(PACKAGE + ".")
    while name not in LAYER_OF and "." in name:
        name = name.rpartition(".")[0]
    return LAYER_OF.get(name)


def imports(module, path, known):
    """(line, imported module) for every import of the package's own modules, wherever in the file it stands."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            full = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in known else base for name in full]
        else:
            continue
        yield from ((node.lineno, name) for name in targets if name.split(".")[0] == PACKAGE)


def complaints(root):
    """Every module without a layer and every import that goes up, one sentence each."""
    known = modules(root)
    said = [
        f"{name}: not in the table; add it to LAYERS in tests/test_layers.py" for name in known if layer(name) is None
    ]
    for name, path in known.items():
        here = layer(name)
        for line, target in imports(name, path, known):
            there = layer(target)
            if here is not None and there is not None and there > here:
                said.append(f"{name}, line {line}: layer {here} imports {target} of layer {there}")
    return said


def test_imports_go_down_only():
    assert not complaints(ROOT)


def test_files_stay_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules(ROOT).items()}
    assert lengths
    assert not {name: lines for name, lines in lengths.items() if lines > MAX_LINES}


def test_import_is_light():
    code = f"import sys, {PACKAGE}; print(*(name for name in {HEAVY} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not loaded


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("gram/dense.py", "from kernelweave.mkl import run", "gram.dense, line 1: layer 1 imports kernelweave.mkl of"),
        ("gram/dense.py", "import kernelweave.mkl.silp as silp", "imports kernelweave.mkl.silp of layer 3"),
        ("gram/dense.py", "from ..mkl.silp import SILP", "imports kernelweave.mkl.silp of layer 3"),
        ("gram/__init__.py", "from .. import mkl", "imports kernelweave.mkl of layer 3"),
        ("gram/dense.py", "def f():\n    if True:\n        from kernelweave import mkl", "gram.dense, line 3"),
        ("gram/dense.py", "from kernelweave import MKLClassifier", "imports kernelweave of layer 4"),
        ("io/fasta.py", "from kernelweave.io import model_file", "imports kernelweave.io.model_file of layer 4"),
        ("_fast/smo.py", "from kernelweave import errors", "layer -1 imports kernelweave.errors of layer 0"),
        ("__init__.py", "from .report import build", "kernelweave, line 1: layer 4 imports kernelweave.report of"),
        ("brand_new.py", "", "kernelweave.brand_new: not in the table; add it to LAYERS"),
    ],
)
def test_checker_complains(tmp_path, file, text, complaint):
    fake_tree(tmp_path, {file: text})
    (said,) = complaints(tmp_path)
    assert complaint in said


def test_checker_accepts_imports_that_go_down(tmp_path):
    fake_tree(
        tmp_path,
        {
            "__init__.py": "from .mkl import run",
            "mkl/silp.py": "import numpy\nfrom . import run\nfrom ..gram import bind\nfrom .._fast import jit",
            "gram/dense.py": "def f():\n    from kernelweave import errors, kernels",
            "io/model_file.py": "from kernelweave.mkl.silp import SILP",
            "demo.py": "from kernelweave import MKLClassifier",
        },
    )
    assert complaints(tmp_path) == []


def fake_tree(root, files):
    """A small package with one module of several layers, some of its files replaced by `files`."""
    names = ("__init__", "_fast/__init__", "errors", "kernels/__init__", "io/__init__", "io/model_file")
    names += ("gram/__init__", "mkl/__init__", "mkl/silp", "report/__init__")
    for name, text in {**{f"{name}.py": "" for name in names}, **files}.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
