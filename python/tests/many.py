"""Small kernels in any number, and what ranks and workers run of them."""

from __future__ import annotations

import sys
from pathlib import Path

import nestegg


def kernel(number: int) -> str:
    """A kernel that differs from those of other numbers."""
    return f"""kernel small{number}
domain {{ [i] : 0 <= i < 8 }}
arg a : float64 read
arg x : float64[8] read
arg y : float64[8] write
for i
  y[i] = a*x[i]*{number}.5 + a*x[i]
end
"""


def results(found: list[nestegg.Result | nestegg.Error]) -> list[nestegg.Result]:
    """Results, none of which failed."""
    for one in found:
        if isinstance(one, nestegg.Error):
            raise one
    return [one for one in found if isinstance(one, nestegg.Result)]


def n_made(found: list[nestegg.Result | nestegg.Error]) -> int:
    """How many were not in the cache."""
    return sum(not one.from_cache for one in results(found))


def every_rank(folder: str, n_kernels: int) -> None:
    """Each rank asks for all kernels, as a program on many ranks does."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    comm.Barrier()
    found = nestegg.optimize_many(map(kernel, range(n_kernels)), cache=folder)
    made = comm.gather(n_made(found))
    texts = comm.gather([one.kernel_text for one in results(found)])
    if comm.rank == 0:
        assert made is not None
        assert texts is not None
        assert all(text == texts[0] for text in texts)
        print(comm.size, sum(made))


def one_rank(folder: str, n_kernels: int) -> None:
    """One rank has the kernels, and the others work for it."""
    from mpi4py import MPI
    from mpi4py.futures import MPICommExecutor

    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            found = nestegg.optimize_many(map(kernel, range(n_kernels)), executor=executor, cache=folder)
            print(MPI.COMM_WORLD.size, n_made(found))


def pool(folder: str, n_kernels: int) -> None:
    """As `python -m mpi4py.futures` starts it."""
    from mpi4py import MPI
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        found = nestegg.optimize_many(map(kernel, range(n_kernels)), executor=executor, cache=folder)
        print(MPI.COMM_WORLD.size, n_made(found))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import many

    getattr(many, sys.argv[1])(sys.argv[2], int(sys.argv[3]))
