"""What can go wrong, by kind, so that callers can tell the kinds apart."""


class KernelweaveError(Exception):
    """Root of every error this library raises on purpose."""


class InputError(KernelweaveError, ValueError):
    """The data or a parameter is wrong; the message names it and the remedy."""


class InputTypeError(InputError, TypeError):
    """A value of the wrong kind was given (text where numbers are needed, say)."""


class MissingLabelError(InputError):
    """A sample has no label where one is needed; it may be elsewhere, or not be needed after all."""


class MemoryBudgetError(KernelweaveError, MemoryError):
    """The work would not fit into the memory budget; the message says how much it needs."""


class TimeLimitError(KernelweaveError, RuntimeError):
    """The time limit was over before there was anything to return; the message says what to raise."""


class ModelFormatError(KernelweaveError, ValueError):
    """A file is not a model file, is damaged, or is of a version that this library does not read."""


class CheckpointError(KernelweaveError, ValueError):
    """A checkpoint cannot be gone on from: it is damaged, or of other data or parameters."""


class EngineError(KernelweaveError, RuntimeError):
    """Workers are gone, do not answer, or fail; the message names worker and shard, and says what to do."""


class InternalError(KernelweaveError, RuntimeError):
    """What the library worked out contradicts itself: a fault of the library, or of a kernel or loss given to it."""


class DataWarning(UserWarning):
    """The data were accepted, but hold something the user should know."""


class EngineWarning(UserWarning):
    """The engine works, but the user should know something of the cluster that it runs on."""
