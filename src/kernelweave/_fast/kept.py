"""Compiled functions on disk, as Numba keeps them, but checked before they are believed.

Numba reads its files as they are: one that was cut off is a traceback, and one with a flipped bit is run. Here a digest
ends every file, and what does not fit is compiled anew.
"""

import hashlib
import pickle
import warnings

from numba.core.caching import IndexDataCacheFile

_DIGEST = 16
#: Names the layout, so that files without a digest are those of another version.
_LAYOUT = "checked 1"


class CheckedFiles(IndexDataCacheFile):
    """The index and the data files of one function."""

    #: Whether somebody was told: one message is enough, however many files there are.
    told = False

    def __init__(self, cache_path, filename_base, source_stamp):
        super().__init__(cache_path, filename_base, source_stamp)
        self._version = f"{self._version} {_LAYOUT}"

    def save(self, key, data):
        """Keep a compiled function; where that cannot be, it is there for this process all the same."""
        try:
            super().save(key, data)
        except OSError as error:
            self._warn_once(f"Compiled functions cannot be kept in {self._cache_path} ({error.strerror})")

    def _dump(self, obj):
        data = super()._dump(obj)
        return data + hashlib.blake2b(data, digest_size=_DIGEST).digest()

    def _load_index(self):
        try:
            with open(self._index_path, "rb") as file:
                version, data = pickle.load(file), file.read()
        except FileNotFoundError:
            return {}
        except OSError:
            raise
        except Exception:  # whatever broken bytes bring about
            return self._damaged(self._index_path) or {}
        if version != self._version:
            return {}
        found = self._checked(data)
        if found is None:
            return self._damaged(self._index_path) or {}
        stamp, overloads = found
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name):
        with open(self._data_path(name), "rb") as file:
            found = self._checked(file.read())
        return self._damaged(self._data_path(name)) if found is None else found

    def _checked(self, data):
        """Return what was kept, or None where the digest differs."""
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        return pickle.loads(body) if hashlib.blake2b(body, digest_size=_DIGEST).digest() == digest else None

    def _damaged(self, path):
        self._warn_once(f"A compiled function in {path} was damaged, and is compiled anew; this takes some seconds")

    @classmethod
    def _warn_once(cls, text):
        if not CheckedFiles.told:
            CheckedFiles.told = True
            warnings.warn(f"{text}.", UserWarning, stacklevel=2)


def checked(function):
    """Let a jitted function keep its compiled forms in checked files."""
    files = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if type(files) is IndexDataCacheFile:  # None where compiling is switched off
        base = files._index_name.removesuffix(".nbi")
        function._cache._cache_file = CheckedFiles(files._cache_path, base, files._source_stamp)
    return function
