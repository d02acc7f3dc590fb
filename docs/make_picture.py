"""Draw the picture of the README: python docs/make_picture.py"""

from pathlib import Path
from tempfile import TemporaryDirectory

from kernelweave.demo import Demo, draw

with TemporaryDirectory() as folder:
    demo = Demo(Path(folder))
    draw(demo.splice_sites(), demo.table(), Path(__file__).parent / "_static" / "learned.png")
