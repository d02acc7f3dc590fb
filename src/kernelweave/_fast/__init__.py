"""Hot loops: free jitted functions, arrays in, arrays out.

Nothing here knows an object, an option or a string. Importing a module of this
package loads Numba, so the layers above import from here inside the functions
that need it.
"""

from numba import njit

#: The one decorator: compiled once per machine, and free of the interpreter's
#: lock, so that plain threads can run blocks side by side (see `kernelweave.parallel`).
jit = njit(cache=True, nogil=True, error_model="numpy")

#: The same for loops whose sums may be reordered, so that they use vector units.
jit_fastmath = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "nnan"})
