"""Score every window of long sequences, from a file of any size, in bounded memory."""

from ..io.intervals import IntervalWriter, Regions
from .files import scan_file, scan_to_file
from .peaks import Peaks, call_peaks, q_values
from .scanner import Hits, Progress, Scanner

__all__ = [
    "Hits",
    "IntervalWriter",
    "Peaks",
    "Progress",
    "Regions",
    "Scanner",
    "call_peaks",
    "q_values",
    "scan_file",
    "scan_to_file",
]
