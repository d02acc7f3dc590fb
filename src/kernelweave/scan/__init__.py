"""Score every window of long sequences, from a file of any size, in bounded memory."""

from ..io.intervals import IntervalWriter, Regions
from .files import scan_file, scan_to_file
from .scanner import Hits, Progress, Scanner

__all__ = ["Hits", "IntervalWriter", "Progress", "Regions", "Scanner", "scan_file", "scan_to_file"]
