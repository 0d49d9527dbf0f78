"""Kernels like those that loopy's documentation, its tests and its users exercise, written anew.

Each is a function that makes a translation unit, with the sizes to run it at and the range of its integer data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import loopy as lp
import numpy as np
from loopy.symbolic import TypeCast
from loopy.types import NumpyType
from pymbolic import primitives as p
from pymbolic import var

import nestegg

F64, F32, I32, I64 = np.float64, np.float32, np.int32, np.int64
C128, C64 = np.complex128, np.complex64
PRIVATE, GLOBAL = lp.AddressSpace.PRIVATE, lp.AddressSpace.GLOBAL


@dataclass(frozen=True)
class Case:
    """A kernel and the data that it runs on.

    Attributes
    ----------
    name
        Its name.
    make
        Makes the translation unit.
    sizes
        Values of integer scalars.
    ranges
        For integer arrays the numbers that they may hold, from 0; 4 for others.
    refused
        A word of the reason, where the format cannot hold it.
    """

    name: str
    make: Callable[[], lp.TranslationUnit]
    sizes: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, int] = field(default_factory=dict)
    refused: str | None = None

    def sizes_of(self, t_unit: lp.TranslationUnit) -> dict[str, int]:
        """The sizes that loops and arrays depend on: the parameters of the format's kernel."""
        parameters = json.loads(nestegg.dump(t_unit))["parameters"]
        return {parameter["name"]: self.sizes[parameter["name"]] for parameter in parameters}


CASES: list[Case] = []


def case(
    sizes: Mapping[str, int] | None = None,
    ranges: Mapping[str, int] | None = None,
    refused: str | None = None,
) -> Callable[[Callable[[], lp.TranslationUnit]], Callable[[], lp.TranslationUnit]]:
    def add(make: Callable[[], lp.TranslationUnit]) -> Callable[[], lp.TranslationUnit]:
        CASES.append(Case(make.__name__, make, sizes or {}, ranges or {}, refused))
        return make

    return add


def knl(domains: Any, text: Any, data: Any, **more: Any) -> lp.TranslationUnit:
    return lp.make_kernel(domains, text, data, target=lp.CTarget(), lang_version=(2018, 2), **more)


def arr(name: str, shape: Any = (), dtype: Any = F64, **more: Any) -> lp.GlobalArg:
    return lp.GlobalArg(name, dtype, shape=shape, **more)


def val(name: str, dtype: Any = F64) -> lp.ValueArg:
    return lp.ValueArg(name, dtype)


def size(name: str) -> lp.ValueArg:
    return lp.ValueArg(name, I32)


def table(name: str, values: Any, address_space: Any = GLOBAL) -> lp.TemporaryVariable:
    return lp.TemporaryVariable(
        name, np.asarray(values).dtype, initializer=np.asarray(values), read_only=True, address_space=address_space
    )


def huge_value(kernel: Any, name: str) -> Any:
    """loopy's C target begins reductions of extrema with names that it does not know."""
    dtype = {"HUGE_VAL": F64, "INFINITY": F32, "INT_MAX": I32, "INT_MIN": I32}.get(name)
    return None if dtype is None else (NumpyType(np.dtype(dtype)), name)


# {{{ linear algebra and einsums


@case({"n": 17})
def axpy() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = y[i] + a*x[i]", [arr("y", "n"), arr("x", "n"), val("a"), size("n")])


@case({"n": 5, "m": 7})
def matvec() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "y[i] = sum(j, A[i,j]*x[j])",
        [arr("y", "n"), arr("A", "n,m"), arr("x", "m"), size("n"), size("m")],
    )


@case({"n": 5, "m": 4, "l": 6})
def matmul() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l}",
        "C[i,j] = alpha*sum(k, A[i,k]*B[k,j]) + beta*C[i,j]",
        [arr("C", "n,m"), arr("A", "n,l"), arr("B", "l,m"), val("alpha"), val("beta"), size("n"), size("m"), size("l")],
    )


@case()
def matmul_columns() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i<5 and 0<=j<4 and 0<=k<3}",
        "C[i,j] = sum(k, A[i,k]*B[k,j])",
        [arr("C", (5, 4), order="F"), arr("A", (5, 3), order="F"), arr("B", (3, 4))],
    )


@case({"n": 4})
def three_matrices() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k,l]: 0<=i,j,k,l<n}",
        "D[i,l] = sum([j,k], A[i,j]*B[j,k]*C[k,l])",
        [arr(name, "n,n") for name in "DABC"] + [size("n")],
    )


@case()
def einsum_made() -> lp.TranslationUnit:
    t_unit = lp.make_einsum("eij,ej->ei", ("jac", "u"), default_order="C")
    t_unit = lp.fix_parameters(t_unit, Ne=6, Ni=3, Nj=3)
    t_unit = t_unit.copy(target=lp.CTarget())
    return lp.add_dtypes(t_unit, {"jac": F64, "u": F64})


@case({"n": 6})
def outer_product() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i,j<n}", "A[i,j] = 2*x[i]*y[j] + x[i]*y[j]", [arr("A", "n,n"), arr("x", "n"), arr("y", "n"), size("n")])


@case({"n": 6})
def quadratic_form() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i,j<n}",
        "r[0] = sum([i,j], x[i]*A[i,j]*x[j])",
        [arr("r", (1,)), arr("A", "n,n"), arr("x", "n"), size("n")],
    )


@case({"n": 6, "b": 3})
def batched_matvec_single() -> lp.TranslationUnit:
    return knl(
        "{[e,i,j]: 0<=e<b and 0<=i,j<n}",
        "y[e,i] = sum(j, A[e,i,j]*x[e,j])*s",
        [arr("y", "b,n", F32), arr("A", "b,n,n", F32), arr("x", "b,n", F32), val("s", F32), size("n"), size("b")],
    )


@case({"n": 5})
def cholesky_update() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: 0<=j<=i}", "{[k]: 0<=k<j}"],
        "L[i,j] = A[i,j] - sum(k, M[i,k]*M[j,k])",
        [arr("L", "n,n"), arr("A", "n,n"), arr("M", "n,n"), size("n")],
    )


@case()
def strided_rows() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<4 and 0<=j<3}",
        "y[i] = sum(j, 3*A[i,j]*x[j] + A[i,j])",
        [arr("y", (4,)), arr("A", (4, 3), strides=(8, 1)), arr("x", (3,), strides=(2,))],
    )


@case({"n": 4})
def permuted_axes() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i,j,k<n}",
        "B[i,j,k] = A[i,j,k]*c[k] + A[i,j,k]*c[j]",
        [arr("B", "n,n,n", dim_tags="N1,N2,N0"), arr("A", "n,n,n", dim_tags="N0,N1,N2"), arr("c", "n"), size("n")],
    )


# }}}

# {{{ stencils and time loops


@case({"n": 12})
def laplace_1d() -> lp.TranslationUnit:
    return knl(
        "{[i]: 1<=i<n-1}",
        "v[i] = (u[i-1] - 2*u[i] + u[i+1])/(h*h)",
        [arr("v", "n"), arr("u", "n"), val("h"), size("n")],
    )


@case({"n": 8, "m": 9})
def laplace_2d() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "lap[i,j] = u[i,j+1] + u[i+2,j+1] + u[i+1,j] + u[i+1,j+2] - 4*u[i+1,j+1]",
        [arr("lap", "n,m"), arr("u", "n+2,m+2"), size("n"), size("m")],
    )


@case({"n": 8})
def variable_coefficients() -> lp.TranslationUnit:
    return knl(
        "{[i]: 1<=i<n-1}",
        """
        kl(i) := 0.5*(k[i] + k[i-1])
        v[i] = (kl(i+1)*(u[i+1] - u[i]) - kl(i)*(u[i] - u[i-1]))/dx**2
        """,
        [arr("v", "n"), arr("u", "n"), arr("k", "n"), val("dx"), size("n")],
    )


@case({"n": 9})
def weno_like() -> lp.TranslationUnit:
    return knl(
        "{[i]: 2<=i<n-2}",
        """
        for i
            <> b0 = (u[i-2] - 2*u[i-1] + u[i])**2 {id=b0}
            <> b1 = (u[i-1] - 2*u[i] + u[i+1])**2 {id=b1}
            <> w0 = 1/(eps + b0)**2 {id=w0,dep=b0}
            <> w1 = 1/(eps + b1)**2 {id=w1,dep=b1}
            f[i] = (w0*u[i-1] + w1*u[i+1])/(w0 + w1) {dep=w0:w1}
        end
        """,
        [arr("f", "n"), arr("u", "n"), val("eps"), size("n")],
    )


@case({"n": 10, "nt": 4})
def heat_in_time() -> lp.TranslationUnit:
    t_unit = knl(
        ["{[t]: 0<=t<nt}", "{[i]: 1<=i<n-1}"],
        "u[t+1,i] = u[t,i] + c*(u[t,i-1] - 2*u[t,i] + u[t,i+1])",
        [arr("u", "nt+1,n"), val("c"), size("n"), size("nt")],
    )
    return lp.prioritize_loops(t_unit, "t,i")


@case({"n": 10, "nt": 3})
def leapfrog() -> lp.TranslationUnit:
    t_unit = knl(
        ["{[t]: 0<=t<nt}", "{[i,j]: 0<=i<n-1 and 1<=j<n-1}"],
        """
        for t
            e[i] = e[i] + dt*(h[i+1] - h[i]) {id=e}
            h[j] = h[j] + dt*(e[j] - e[j-1]) {id=h,dep=e}
        end
        """,
        [arr("e", "n"), arr("h", "n"), val("dt"), size("n"), size("nt")],
        seq_dependencies=True,
    )
    return lp.prioritize_loops(lp.prioritize_loops(t_unit, "t,i"), "t,j")


@case({"n": 6})
def advection_3d() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 1<=i,j,k<n-1}",
        """
        r[i,j,k] = a*(u[i+1,j,k] - u[i-1,j,k])/(2*h) + b*(u[i,j+1,k] - u[i,j-1,k])/(2*h) \
            + c*(u[i,j,k+1] - u[i,j,k-1])/(2*h)
        """.replace("\\\n", ""),
        [arr("r", "n,n,n"), arr("u", "n,n,n"), val("a"), val("b"), val("c"), val("h"), size("n")],
    )


@case({"n": 12})
def running_sum() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: 0<=j<=i}"],
        "s[i] = sum(j, x[j]*w)",
        [arr("s", "n"), arr("x", "n"), val("w"), size("n")],
    )


@case({"n": 7})
def recurrence() -> lp.TranslationUnit:
    return knl("{[i]: 1<=i<n}", "x[i] = a*x[i-1] + b*x[i]", [arr("x", "n"), val("a"), val("b"), size("n")])


# }}}

# {{{ reductions


@case({"n": 9})
def sum_of_squares() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "r[0] = sum(i, x[i]**2)", [arr("r", (1,)), arr("x", "n"), size("n")])


@case({"n": 5})
def product_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i,j<n}", "r[i] = product(j, 1 + x[i,j])", [arr("r", "n"), arr("x", "n,n"), size("n")])


@case()
def max_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i<4 and 0<=j<5}", "r[i] = reduce(max, j, fabs(x[i,j]))", [arr("r", (4,)), arr("x", (4, 5))], symbol_manglers=[huge_value])


@case()
def min_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i<4 and 0<=j<5}", "r[i] = reduce(min, j, 2*x[i,j])", [arr("r", (4,)), arr("x", (4, 5))], symbol_manglers=[huge_value])


@case()
def integer_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i<4 and 0<=j<5}", "r[i] = sum(j, x[i,j]*j)", [arr("r", (4,), I32), arr("x", (4, 5), I32)])


@case()
def any_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i<4 and 0<=j<5}", "r[i] = reduce(any, j, x[i,j] > 0.9)", [arr("r", (4,), I32), arr("x", (4, 5))])


@case()
def all_reduction() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i<4 and 0<=j<5}", "r[i] = reduce(all, j, x[i,j] > 0.1)", [arr("r", (4,), I32), arr("x", (4, 5))])


@case()
def argmax_reduction() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<4 and 0<=j<5}",
        "<> v, w[i] = argmax(j, x[i,j], j)",
        [arr("w", (4,), I32), arr("x", (4, 5))],
        symbol_manglers=[huge_value],
    )


@case({"n": 30}, {"x": 3})
def last_of_equal_extrema() -> lp.TranslationUnit:
    """Of integers below 3 many are equal, and the last one counts."""
    return knl(
        "{[i,j]: 0<=i,j<n}",
        """
        v[0], at[0] = argmax(i, x[i], i) {id=max}
        u[0], at[1] = argmin(j, x[j], 2*j + 1) {id=min}
        """,
        [arr("v", (1,), I32), arr("u", (1,), I32), arr("at", (2,), I32), arr("x", "n", I32), size("n")],
        symbol_manglers=[huge_value],
    )


@case({"n": 6})
def pivots() -> lp.TranslationUnit:
    """As in elimination with pivots: the largest entry of each column below the diagonal; the last column has none."""
    return knl(
        ["{[k]: 0<=k<n}", "{[i]: k<i<n}"],
        """
        for k
            <> best, <> at = argmax(i, fabs(a[i,k]), i) {id=find}
            pivot[k] = at {id=pivot, dep=find}
            scale[k] = if(at >= 0, 1/best, 0.0) {id=scale, dep=find}
        end
        """,
        [arr("pivot", "n", I32), arr("scale", "n"), arr("a", "n,n"), size("n")],
        symbol_manglers=[huge_value],
    )


@case({"n": 4, "m": 7}, {"name": 50})
def nearest_neighbours() -> lp.TranslationUnit:
    """The name of the nearest point, where a point is asked for; names have another order than points."""
    return knl(
        "{[i,j,d]: 0<=i<n and 0<=j<m and 0<=d<3}",
        """
        for i
            <> wanted = x[i,0] > 0.3 {id=wanted}
            distance[i], near[i] = argmin(j, sum(d, (x[i,d] - y[j,d])**2)/w[j], name[j]) {if=wanted, dep=wanted}
        end
        """,
        [
            arr("distance", "n"),
            arr("near", "n", I32),
            arr("x", "n,3"),
            arr("y", "m,3"),
            arr("w", "m"),
            arr("name", "m", I32),
            size("n"),
            size("m"),
        ],
        symbol_manglers=[huge_value],
    )


@case()
def largest_sums() -> lp.TranslationUnit:
    """Where a maximum and what is compared with it are rounded in different ways, no point has the maximum."""
    return knl(
        "{[i,j]: 0<=i<8 and 0<=j<6}",
        "v[j], at[j] = argmax(i, ((s*c[j]*a[i]/(d[i,j] + 2.5) + 0.3*c[j]*a[i]/(0.3 + 2.5)) + exp(-c[j]*c[j])), i)",
        [arr("v", (6,)), arr("at", (6,), I32), arr("a", (8,)), arr("c", (6,)), arr("d", (8, 6)), val("s")],
        symbol_manglers=[huge_value],
    )


@case({"n": 4})
def largest_of_a_block() -> lp.TranslationUnit:
    return knl(
        ["{[e]: 0<=e<n}", "{[i,j]: -2<=i<=2 and 0<=j<3}"],
        "v[e], at[e] = argmax([i, j], x[e,i+2,j]*s[j], 3*i + j)",
        [arr("v", "n", F32), arr("at", "n", I32), arr("x", "n,5,3", F32), arr("s", (3,), F32), size("n")],
        symbol_manglers=[huge_value],
    )


@case({"n": 5, "m": 8}, {"begins": 2})
def last_segments() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "total[i], any[i] = reduce(segmented(sum), j, (w[j]*x[i,j], begins[i,j] != 0))",
        [arr("total", "n"), arr("any", "n", I32), arr("w", "m"), arr("x", "n,m"), arr("begins", "n,m", I32), size("n"), size("m")],
    )


@case({"n": 5, "m": 8})
def product_since_the_last_small_one() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        """
        for i
            <> factor, <> is_cut = reduce(segmented(product), j, (x[i,j], x[i,j] < 0.3)) {id=factor}
            y[i] = a*factor + if(is_cut, 1.0, 0.0) {dep=factor}
        end
        """,
        [arr("y", "n"), arr("x", "n,m"), val("a"), size("n"), size("m")],
    )


@case({"n": 5}, refused="other number than 0 or 1")
def numbers_as_flags() -> lp.TranslationUnit:
    return knl(
        "{[j]: 0<=j<n}",
        "s[0], f[0] = reduce(segmented(sum), j, (x[j], m[j]))",
        [arr("s", (1,)), arr("f", (1,), I32), arr("x", "n"), arr("m", "n", I32), size("n")],
    )


@case()
def nested_reductions() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i<4 and 0<=j<3 and 0<=k<5}",
        "r[i] = sum(j, a[j]*sum(k, b[k]*x[i,j,k]))",
        [arr("r", (4,)), arr("a", (3,)), arr("b", (5,)), arr("x", (4, 3, 5))],
    )


@case({"n": 6})
def two_sums_over_one_iname() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i,j<n}",
        """
        a[i] = sum(j, x[i,j]) {id=a}
        b[i] = sum(j, x[i,j]*x[i,j]) {id=b}
        """,
        [arr("a", "n"), arr("b", "n"), arr("x", "n,n"), size("n")],
    )


@case({"n": 6})
def mean_and_variance() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i,j,k<n}",
        """
        for i
            <> mean = sum(j, x[i,j])/n {id=mean}
            v[i] = sum(k, (x[i,k] - mean)**2)/n {dep=mean}
        end
        """,
        [arr("v", "n"), arr("x", "n,n"), size("n")],
    )


@case({"n": 6})
def softmax() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i,j,k<n}",
        """
        for i
            <> s = sum(j, exp(x[i,j])) {id=s}
            y[i,k] = exp(x[i,k])/s {dep=s}
        end
        """,
        [arr("y", "n,n"), arr("x", "n,n"), size("n")],
    )


# }}}

# {{{ gathers, scatters, triangles


@case({"n": 8}, {"map": 8})
def gather() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = 2*x[map[i]] + x[map[i]]*x[i]", [arr("y", "n"), arr("x", "n"), arr("map", "n", I32), size("n")])


@case({"ne": 5, "nv": 9}, {"map": 9})
def gather_scatter() -> lp.TranslationUnit:
    t_unit = knl(
        ["{[e]: 0<=e<ne}", "{[i,j,q]: 0<=i,j<3 and 0<=q<4}"],
        """
        for e, i
            <> t = sum([q,j], phi[q,i]*w[q]*phi[q,j]*u[map[e,j]]) {id=t}
            r[map[e,i]] = r[map[e,i]] + t*det[e] {dep=t}
        end
        """,
        [
            arr("r", "nv"),
            arr("u", "nv"),
            arr("map", "ne,3", I32),
            arr("det", "ne"),
            table("phi", np.linspace(0.1, 1.2, 12).reshape(4, 3)),
            table("w", np.array([0.1, 0.2, 0.3, 0.4])),
            size("ne"),
            size("nv"),
        ],
    )
    return lp.prioritize_loops(t_unit, "e,i")


@case({"n": 6})
def lower_triangle() -> lp.TranslationUnit:
    return knl(
        ["{[i,j]: 0<=i<n and 0<=j<=i}"], "A[i,j] = x[i]*x[j] + c*x[i]", [arr("A", "n,n"), arr("x", "n"), val("c"), size("n")]
    )


@case({"n": 6})
def band() -> lp.TranslationUnit:
    return knl(
        ["{[i,j]: 0<=i,j<n and -1<=i-j<=1}"],
        "A[i,j] = (x[i] + x[j])*(x[i] + x[j])",
        [arr("A", "n,n"), arr("x", "n"), size("n")],
    )


@case({"n": 6})
def blocks() -> lp.TranslationUnit:
    t_unit = knl("{[i]: 0<=i<16}", "y[i] = x[i]*a + x[i]*b", [arr("y", (16,)), arr("x", (16,)), val("a"), val("b")])
    return lp.split_iname(t_unit, "i", 4)


@case({"n": 19})
def split_with_remainder() -> lp.TranslationUnit:
    t_unit = knl("{[i]: 0<=i<n}", "y[i] = x[i]*a + x[i]*b", [arr("y", "n"), arr("x", "n"), val("a"), val("b"), size("n")])
    return lp.split_iname(t_unit, "i", 4, inner_tag="unr")


@case({"n": 9, "nnz": 30}, {"start": 9, "col": 9})
def csr() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: 0<=j<len}"],
        """
        for i
            <> len = start[i+1] - start[i] {id=len}
            y[i] = sum(j, a[start[i]+j]*x[col[start[i]+j]]) {dep=len}
        end
        """,
        [arr("y", "n"), arr("start", "n+1", I32), arr("col", "nnz", I32), arr("a", "nnz"), arr("x", "n"), size("n"), size("nnz")],
    )


@case({"n": 9, "nnz": 30}, {"start": 20, "col": 9})
def csr_from_start_to_end() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: lo<=j<hi}"],
        """
        for i
            <> lo = start[i]
            <> hi = start[i+1]
            y[i] = sum(j, alpha*a[j]*x[col[j]])
        end
        """,
        [
            arr("y", "n"), arr("start", "n+1", I32), arr("col", "nnz", I32), arr("a", "nnz"), arr("x", "n"),
            val("alpha"), size("n"), size("nnz"),
        ],
    )


@case({"n": 9, "nnz": 30}, {"start": 9})
def rows_of_lengths() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[jj]: 0<=jj<row_len}", "{[kk]: 0<=kk<row_len}"],
        """
        for i
            <> row_len = start[i+1] - start[i]
            total[i] = sum(jj, scale[i]*a[start[i] + jj])
            for kk
                b[start[i] + kk] = b[start[i] + kk] + scale[i]*factor*a[start[i] + kk]
            end
        end
        """,
        [
            arr("total", "n"), arr("start", "n+1", I32), arr("a", "nnz"), arr("b", "nnz"), arr("scale", "n"),
            val("factor"), size("n"), size("nnz"),
        ],
    )


@case({"n_boxes": 5, "n_lists": 12, "n_particles": 20}, {"lists": 10, "sources_of": 5, "starts": 12, "counts": 6})
def near_field() -> lp.TranslationUnit:
    return knl(
        [
            "{[box]: 0<=box<n_boxes}",
            "{[source_box]: source_box_start<=source_box<source_box_end}",
            "{[target, source]: target_start<=target<target_end and source_start<=source<source_end}",
        ],
        """
        for box
            <> source_box_start = lists[box]
            <> source_box_end = lists[box+1]
            <> target_start = starts[box]
            <> target_end = target_start + counts[box]
            for source_box
                <> b = sources_of[source_box]
                <> source_start = starts[b]
                <> source_end = source_start + counts[b]
                for target
                    u[target] = u[target] + sum(source, strength*q[source]/(1 + (x[target] - x[source])**2))
                end
            end
        end
        """,
        [
            arr("lists", "n_boxes+1", I32), arr("sources_of", "n_lists", I32), arr("starts", "n_boxes", I32),
            arr("counts", "n_boxes", I32), arr("u", "n_particles"), arr("q", "n_particles"), arr("x", "n_particles"),
            val("strength"), size("n_boxes"), size("n_lists"), size("n_particles"),
        ],
    )


@case({"n": 4, "n_dofs": 60}, {"layers": 12, "map": 40})
def extruded_columns() -> lp.TranslationUnit:
    return knl(
        ["{[column]: 0<=column<n}", "{[layer]: start<=layer<end_layer}", "{[p, d]: 0<=p<2 and 0<=d<3}"],
        """
        for column
            <> start = layers[column, 0]
            <> end_layer = layers[column, 1]
            for layer
                <> t = height*sum(p, basis[p]*u[map[column, 0] + layer + p]) {id=t}
                for d
                    out[map[column, d] + layer] = out[map[column, d] + layer] + t*height {id=out, dep=t}
                end
            end
        end
        """,
        [
            arr("layers", "n, 2", I32), arr("map", "n, 3", I32), arr("basis", (2,)), arr("u", "n_dofs"),
            arr("out", "n_dofs"), val("height"), size("n"), size("n_dofs"),
        ],
    )


@case({"n": 6, "nnz": 40}, {"start": 12, "first": 12})
def rows_with_a_window() -> lp.TranslationUnit:
    """A loop that starts at the greatest of two bounds, one in a loop around, and ends at the least of three."""
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: lo<=j<hi and least<=j<=lo+i and j<20}"],
        """
        <> least = first[0]
        for i
            <> lo = start[i]
            <> hi = start[i+1] + 6
            y[i] = sum(j, s*x[j]*i)
        end
        """,
        [arr("y", "n"), arr("x", "nnz"), arr("start", "n+1", I32), arr("first", (1,), I32), val("s"), size("n"), size("nnz")],
    )


@case({"n": 5, "nnz": 40}, {"start": 12, "count": 9})
def two_inames_that_data_end() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j, k]: 0<=j<m and 0<=k<m}"],
        """
        for i
            <> m = count[i]
            y[start[i] + j] = y[start[i] + j] + sum(k, s*x[start[i] + k]*x[start[i] + j])
        end
        """,
        [arr("y", "nnz"), arr("x", "nnz"), arr("start", "n", I32), arr("count", "n", I32), val("s"), size("n"), size("nnz")],
    )


@case({"n": 6, "nnz": 20}, {"count": 9}, refused="an extremum of no values")
def largest_of_rows() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[j]: 0<=j<m}"],
        """
        for i
            <> m = count[i]
            y[i] = max(j, x[j])
        end
        """,
        [arr("y", "n"), arr("x", "nnz"), arr("count", "n", I32), size("n"), size("nnz")],
        symbol_manglers=[huge_value],
    )


@case({"n": 8})
def integer_division() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        "y[i] = x[i//2] + x[i%3]*x[i//2]",
        [arr("y", "n"), arr("x", "n"), size("n")],
    )


@case({"n": 8})
def c_division_of_integers() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        "y[i] = (i-4)/3",
        [arr("y", "n", I32), size("n")],
    )


@case({"n": 8})
def division_of_integers_as_floats() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = x[i]*((i+1)/3)", [arr("y", "n"), arr("x", "n"), size("n")])


# }}}

# {{{ conditions


@case({"n": 9})
def predicate() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        """
        y[i] = x[i]*x[i] {id=a}
        y[i] = 2*x[i]*a {id=b,dep=a,if=i>3}
        """,
        [arr("y", "n"), arr("x", "n"), val("a"), size("n")],
    )


@case({"n": 9})
def if_else() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        """
        for i
            if x[i] > 0.5
                y[i] = sqrt(x[i]) {id=a,nosync=b}
            else
                y[i] = x[i]*x[i] {id=b,nosync=a}
            end
        end
        """,
        [arr("y", "n"), arr("x", "n"), size("n")],
    )


@case({"n": 9}, {"flag": 2})
def number_as_condition() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        "y[i] = if(flag[i], a*x[i], x[i]) {if=flag[i]}",
        [arr("y", "n"), arr("x", "n"), arr("flag", "n", I32), val("a"), size("n")],
    )


@case({"n": 9})
def condition_as_number() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = (i > 3)*x[i]*a", [arr("y", "n"), arr("x", "n"), val("a"), size("n")])


@case({"n": 9})
def logic() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        "y[i] = if((x[i] > 0.2 and not (x[i] > 0.8)) or i == 0, x[i]*a, x[i] - a)",
        [arr("y", "n"), arr("x", "n"), val("a"), size("n")],
    )


@case({"n": 9})
def clamp() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = fmin(fmax(x[i], lo), hi)*lo", [arr("y", "n"), arr("x", "n"), val("lo"), val("hi"), size("n")]
    )


@case({"n": 9})
def boundary_rows() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i,j<n}",
        "A[i,j] = if(i == 0 or i == n-1, if(i == j, 1.0, 0.0), B[i,j]*s)",
        [arr("A", "n,n"), arr("B", "n,n"), val("s"), size("n")],
    )


# }}}

# {{{ functions and types


@case({"n": 7})
def functions() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        "y[i] = sin(x[i])*cos(x[i]) + exp(-x[i])*sqrt(fabs(x[i])) + atan2(x[i], 2.0) + log(1 + x[i])",
        [arr("y", "n"), arr("x", "n"), size("n")],
    )


@case({"n": 7})
def powers() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = x[i]**2 + x[i]**3.5 + pow(x[i], a)", [arr("y", "n"), arr("x", "n"), val("a"), size("n")]
    )


@case({"n": 7})
def mixed_precision() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = x[i]*z[i] + 0.5*x[i]", [arr("y", "n"), arr("x", "n", F32), arr("z", "n"), size("n")]
    )


@case({"n": 7})
def single_precision() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = a*x[i]*x[i] + a*x[i] + 0.1f*a", [arr("y", "n", F32), arr("x", "n", F32), val("a", F32), size("n")]
    )


@case({"n": 7})
def integers() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = (x[i] << 2) + (x[i] & 3)*i - if(x[i] > 2, x[i], 2)", [arr("y", "n", I64), arr("x", "n", I64), size("n")]
    )


@case({"n": 7})
def typed_cast() -> lp.TranslationUnit:
    cast = TypeCast(F64, lp.symbolic.parse("k[i]"))
    insn = lp.Assignment("y[i]", p.Product((cast, lp.symbolic.parse("x[i]"))), id="y")
    return knl("{[i]: 0<=i<n}", [insn], [arr("y", "n"), arr("x", "n"), arr("k", "n", I32), size("n")])


@case({"n": 7})
def unsigned_numbers() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = x[i] + 1", [arr("y", "n", np.uint32), arr("x", "n", np.uint32), size("n")])


@case({"n": 7}, refused="difference of unsigned")
def unsigned_difference() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = x[i] - 1", [arr("y", "n", np.uint32), arr("x", "n", np.uint32), size("n")])


@case({"n": 7}, {"facet": 3, "side": 2})
def facet_numbers() -> lp.TranslationUnit:
    return knl(
        "{[e, i]: 0<=e<n and 0<=i<4}",
        """
        <> f = facet[e] {id=f}
        y[e, i] = y[e, i] + phi[f, i]*x[e]*phi[f, side[0]] {dep=f}
        """,
        [
            arr("y", "n, 4"),
            arr("phi", "3, 4"),
            arr("x", "n"),
            arr("facet", "n", np.uint32),
            arr("side", 1, np.uint8),
            size("n"),
        ],
    )


# }}}

# {{{ complex numbers


@case({"n": 7})
def complex_squares() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = x[i]*x[i]", [arr("y", "n", C128), arr("x", "n", C128), size("n")])


@case({"n": 7})
def complex_multiples() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "y[i] = 2*x[i]\nz[i] = 3*x[i]", [arr("y", "n", C128), arr("z", "n", C128), arr("x", "n", C128), size("n")]
    )


@case({"n": 9})
def complex_axpy() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = y[i] + a*x[i]", [arr("y", "n", C128), arr("x", "n", C128), val("a", C128), size("n")])


@case({"n": 9})
def complex_dot() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}", "s = sum(i, conj(x[i])*w[i]*y[i])", [arr("s", (), C128), arr("x", "n", C128), arr("y", "n", C128), arr("w", "n"), size("n")]
    )


@case({"n": 5, "m": 6})
def complex_matvec() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "y[i] = alpha*sum(j, A[i,j]*x[j]) + beta*y[i]",
        [arr("y", "n", C64), arr("A", "n,m", C64), arr("x", "m", C64), val("alpha", C64), val("beta", F32), size("n"), size("m")],
    )


@case()
def complex_columns() -> lp.TranslationUnit:
    return knl(
        "{[i,j,k]: 0<=i<4 and 0<=j<3 and 0<=k<2}",
        "C[i,j] = sum(k, A[i,k]*conj(B[j,k]))",
        [arr("C", (4, 3), C128, order="F"), arr("A", (4, 2), C128, order="F"), arr("B", (3, 2), C128, strides=(6, 2))],
    )


@case({"n": 4, "m": 3, "ld": 5})
def complex_rows() -> lp.TranslationUnit:
    """Rows that are longer in memory than their extent."""
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "y[i,j] = x[i,j]*conj(x[i,0])",
        [arr("y", "n,m", C128, strides=("ld", 1)), arr("x", "n,m", C128, strides=("2*ld", 1)), size("n"), size("m"), size("ld")],
    )


@case({"ne": 3})
def helmholtz_elements() -> lp.TranslationUnit:
    """Element matrices of a wave equation in the frequency domain with a complex wave number, absorbing on one facet."""
    rng = np.random.default_rng(20)
    return knl(
        ["{[e]: 0<=e<ne}", "{[q,i,j,a,b]: 0<=q<4 and 0<=i,j<3 and 0<=a,b<2}"],
        """
        for e, i, j
            <> stiffness = sum([q, a], w[q]*det[e]*dphi[a,q,i]*dphi[a,q,j]) {id=stiffness}
            A[e,i,j] = stiffness - k**2*sum(b, w[b]*c[e,b]*phi[b,i]*phi[b,j])*det[e] - 1j*k*phi[0,i]*phi[0,j] {dep=stiffness}
        end
        """,
        [
            arr("A", "ne,3,3", C128),
            arr("det", "ne"),
            arr("c", "ne,2", C128),
            table("dphi", rng.random((2, 4, 3))),
            table("phi", rng.random((4, 3))),
            table("w", rng.random(4)),
            val("k", C128),
            size("ne"),
        ],
    )


@case({"n": 3})
def twiddle_factors() -> lp.TranslationUnit:
    """A step of a transform of Fourier with four points, and a table of roots of unity."""
    return knl(
        ["{[b]: 0<=b<n}", "{[k,j]: 0<=k,j<4}"],
        "X[b,k] = sum(j, W[k,j]*x[b,j])",
        [
            arr("X", "n,4", C128),
            arr("x", "n,4", C128),
            table("W", np.exp(-2j * np.pi * np.outer(np.arange(4), np.arange(4)) / 4)),
            size("n"),
        ],
    )


@case({"n": 6})
def butterflies() -> lp.TranslationUnit:
    """In place: what the second store reads the first one has written."""
    return knl(
        "{[i]: 0<=i<n}",
        """
        for i
            <> t = w[i]*x[i,1] {id=t}
            x[i,1] = x[i,0] - t {id=second, dep=t}
            x[i,0] = x[i,0] + t {id=first, dep=second}
            x[i,1] = x[i,1]*x[i,1] {dep=first}
        end
        """,
        [arr("x", "n,2", C64), arr("w", "n", C64), size("n")],
    )


@case({"n": 6})
def plane_waves() -> lp.TranslationUnit:
    return knl(
        "{[i,d]: 0<=i<n and 0<=d<3}",
        """
        for i
            <> phase = sum(d, k[d]*x[i,d]) {id=phase}
            <> wave = exp(1j*phase - 0.25*(0.5 + 1j)*phase) {id=wave, dep=phase}
            u[i] = wave/(2.5 + 1j*phase) + exp(2 - 1j*phase) {dep=wave}
            power[i] = abs(wave)**2 + real(wave)*imag(conj(wave)) {dep=wave}
        end
        """,
        [arr("u", "n", C128), arr("power", "n"), arr("x", "n,3"), arr("k", (3,)), size("n")],
    )


@case({"n": 6, "m": 5})
def greens_functions() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "u[i] = sum(j, q[j]*exp(1j*kappa*fabs(x[i] - y[j]))/(fabs(x[i] - y[j]) + 1.0)) + 0.5*sinh(g[0])*cos(g[1])",
        [arr("u", "n", C128), arr("q", "m", C128), arr("g", (2,), C128), arr("x", "n"), arr("y", "m"), val("kappa"), size("n"), size("m")],
    )


@case({"n": 6, "m": 5})
def julia_set() -> lp.TranslationUnit:
    return knl(
        ["{[i]: 0<=i<n}", "{[s]: 0<=s<m}"],
        """
        for i
            z = z0[i] {id=start}
            count[i] = 0 {id=zero}
            for s
                <> is_inside = abs(z) < 2 {id=inside, dep=start}
                z = z*z + c {id=step, if=is_inside, dep=inside}
                z = conj(z)/2 {id=back, if=c != z0[i], dep=step}
                count[i] = count[i] + if(is_inside, 1, 0) {dep=back:zero}
            end
        end
        """,
        [lp.TemporaryVariable("z", C128, shape=(), address_space=PRIVATE), arr("z0", "n", C128), arr("count", "n", I32), val("c", C128), size("n"), size("m")],
        loop_priority=frozenset([("i", "s")]),
    )


@case({"n": 6})
def complex_branches() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        """
        for i
            t[0, i] = if(i > 0, x[i-1]*x[i-1]*x[i], 1j) {id=zeroth}
            t[1, i] = x[i]**3 + x[i]**(-2) {id=first}
            y[i] = t[1, i]/t[0, i] + i*x[i] {id=y, dep=zeroth:first}
            z[i] = real(x[i]) {id=z, if=x[i] != x[0]}
            m[i] = if(x[i] != x[0], 1, 0)
        end
        """,
        [
            arr("y", "n", C128),
            arr("z", "n", C128),
            arr("x", "n", C128),
            arr("m", "n", I32),
            lp.TemporaryVariable("t", C128, shape=lp.auto, address_space=PRIVATE),
            size("n"),
        ],
    )


@case({"n": 7}, refused="`sqrt` of a complex number")
def complex_roots() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = sqrt(x[i])", [arr("y", "n", C128), arr("x", "n", C128), size("n")])


@case({"n": 7}, refused="power of a complex number that is not a whole number")
def complex_powers() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = x[i]**2.5", [arr("y", "n", C128), arr("x", "n", C128), size("n")])


# }}}

# {{{ finite elements, spectral elements, discontinuous Galerkin


@case()
def mass_matrix() -> lp.TranslationUnit:
    return knl(
        "{[q,i,j]: 0<=q<6 and 0<=i,j<3}",
        """
        <> det = fabs((X[1,0]-X[0,0])*(X[2,1]-X[0,1]) - (X[2,0]-X[0,0])*(X[1,1]-X[0,1])) {id=det}
        A[i,j] = A[i,j] + sum(q, w[q]*phi[q,i]*phi[q,j])*det {dep=det}
        """,
        [
            arr("A", (3, 3)),
            arr("X", (3, 2)),
            table("phi", np.random.default_rng(1).random((6, 3))),
            table("w", np.random.default_rng(2).random(6)),
        ],
    )


@case({"ne": 4})
def stiffness_of_elements() -> lp.TranslationUnit:
    t_unit = knl(
        ["{[e]: 0<=e<ne}", "{[q,i,j,a,b]: 0<=q<4 and 0<=i,j<3 and 0<=a,b<2}"],
        "A[e,i,j] = sum([q,a,b], w[q]*G[e,a,b]*dphi[a,q,i]*dphi[b,q,j])",
        [
            arr("A", "ne,3,3"),
            arr("G", "ne,2,2"),
            table("dphi", np.random.default_rng(3).random((2, 4, 3))),
            table("w", np.random.default_rng(4).random(4)),
            size("ne"),
        ],
    )
    return lp.prioritize_loops(t_unit, "e,i,j")


@case({"ne": 3})
def sum_factorized() -> lp.TranslationUnit:
    return knl(
        ["{[e]: 0<=e<ne}", "{[i,j,k,p,q,p2,q2]: 0<=i,j,k,p,q,p2,q2<4}"],
        """
        for e
            t[i,q] = sum(j, B[q,j]*u[e,i,j]) {id=t}
            v[e,p,q2] = sum(k, B[p,k]*t[k,q2]) {id=v,dep=t}
        end
        """,
        [
            arr("v", "ne,4,4"),
            arr("u", "ne,4,4"),
            table("B", np.random.default_rng(5).random((4, 4))),
            lp.TemporaryVariable("t", F64, shape=(4, 4), address_space=PRIVATE),
            size("ne"),
        ],
    )


@case({"ne": 3})
def flux_differences() -> lp.TranslationUnit:
    return knl(
        ["{[e]: 0<=e<ne}", "{[i,j]: 0<=i,j<5}"],
        "r[e,i] = sum(j, 2*D[i,j]*(u[e,i] + u[e,j])*0.5*(rho[e,i] + rho[e,j])*0.5)",
        [arr("r", "ne,5"), arr("u", "ne,5"), arr("rho", "ne,5"), table("D", np.random.default_rng(6).random((5, 5))), size("ne")],
    )


@case({"ne": 3})
def seismic() -> lp.TranslationUnit:
    return knl(
        ["{[e]: 0<=e<ne}", "{[i,j,l]: 0<=i,j,l<4}"],
        """
        for e, i, j
            <> ux = sum(l, D[i,l]*u[e,l,j]) {id=ux,dup=l}
            <> uy = sum(l, D[j,l]*u[e,i,l]) {id=uy,dup=l}
            s[e,i,j] = (lam + 2*mu)*(ux + uy) + mu*(ux - uy) {dep=ux:uy}
        end
        """,
        [arr("s", "ne,4,4"), arr("u", "ne,4,4"), table("D", np.random.default_rng(7).random((4, 4))), val("lam"), val("mu"), size("ne")],
    )


@case()
def tsfc_like() -> lp.TranslationUnit:
    """As TSFC writes kernels: sequential, every loop closed, accumulation into the tensor, an empty C instruction."""
    i, j, q = var("j0"), var("k0"), var("ip")
    insns = [
        lp.Assignment(var("t0"), -1 * var("coords")[0], within_inames=frozenset(), id="a"),
        lp.Assignment(
            var("t1"),
            lp.symbolic.parse("fabs((t0 + coords[2])*(t0*(-1) + coords[5]))"),
            within_inames=frozenset(),
            id="b",
            depends_on=frozenset(["a"]),
        ),
        lp.Assignment(
            var("t2"), var("t4")[q] * var("t1"), within_inames=frozenset(["ip"]), id="c", depends_on=frozenset(["b"])
        ),
        lp.Assignment(
            var("A")[i, j],
            var("A")[i, j] + var("t2") * var("t3")[q, i] * var("t3")[q, j],
            within_inames=frozenset(["ip", "j0", "k0"]),
            id="d",
            depends_on=frozenset(["c"]),
        ),
        lp.CInstruction(
            (), "", read_variables=frozenset(["A", "coords"]), within_inames=frozenset(), id="nothing", depends_on=frozenset(["d"])
        ),
    ]
    temporaries = [
        lp.TemporaryVariable(name, F64, shape=(), address_space=lp.AddressSpace.LOCAL) for name in ("t0", "t1", "t2")
    ] + [
        lp.TemporaryVariable("t3", F64, shape=(3, 3), initializer=np.random.default_rng(8).random((3, 3)), read_only=True, address_space=lp.AddressSpace.LOCAL),
        lp.TemporaryVariable("t4", F64, shape=(3,), initializer=np.array([0.2, 0.3, 0.5]), read_only=True, address_space=lp.AddressSpace.LOCAL),
    ]
    return lp.make_kernel(
        ["{[ip]: 0<=ip<3}", "{[j0]: 0<=j0<3}", "{[k0]: 0<=k0<3}"],
        insns,
        [arr("A", (3, 3)), arr("coords", (6,)), *temporaries],
        seq_dependencies=True,
        target=lp.CTarget(),
        lang_version=(2018, 2),
        loop_priority=frozenset([("ip", "j0", "k0")]),
        name="form_cell_integral",
    )


@case({"ne": 4, "nv": 10}, {"map": 10})
def wrapper_around_element_kernel() -> lp.TranslationUnit:
    element = lp.make_function(
        "{[i,j]: 0<=i,j<3}",
        "b[i] = b[i] + sum(j, (M[i,j] + M[j,i])*x[j])",
        [arr("b", (3,)), arr("x", (3,)), table("M", np.random.default_rng(9).random((3, 3)), lp.AddressSpace.LOCAL)],
        name="element",
        target=lp.CTarget(),
        lang_version=(2018, 2),
    )
    wrapper = lp.make_kernel(
        ["{[e]: 0<=e<ne}", "{[i0,i1,i2,k0,k1,k2]: 0<=i0,i1,i2,k0,k1,k2<3}"],
        """
        for e
            t0[i0] = x[map[e,i0]] {id=gather}
            t1[i1] = 0 {id=zero}
            [k0]: t1[k0] = element([k1]: t1[k1], [k2]: t0[k2]) {id=call,dep=gather:zero}
            y[map[e,i2]] = y[map[e,i2]] + t1[i2] {id=scatter,dep=call}
        end
        """,
        [
            arr("y", "nv"),
            arr("x", "nv"),
            arr("map", "ne,3", I32),
            lp.TemporaryVariable("t0", F64, shape=(3,), address_space=PRIVATE),
            lp.TemporaryVariable("t1", F64, shape=(3,), address_space=PRIVATE),
            size("ne"),
            size("nv"),
        ],
        name="wrap",
        target=lp.CTarget(),
        lang_version=(2018, 2),
    )
    return lp.merge([wrapper, element])


@case({"n": 5})
def callee() -> lp.TranslationUnit:
    inner = lp.make_function(
        "{[i]: 0<=i<4}",
        "y[i] = 2*x[i] + a*x[i]",
        [arr("y", (4,)), arr("x", (4,)), val("a"), ...],
        name="twice",
        target=lp.CTarget(),
        lang_version=(2018, 2),
    )
    outer = lp.make_kernel(
        ["{[e]: 0<=e<n}", "{[j,k]: 0<=j,k<4}"],
        "[j]: Y[e,j] = twice([k]: X[e,k], a)",
        [arr("Y", "n,4"), arr("X", "n,4"), val("a"), size("n")],
        name="callee",
        target=lp.CTarget(),
        lang_version=(2018, 2),
    )
    return lp.merge([outer, inner])


# }}}

# {{{ particles, expansions, others


@case({"n": 5, "m": 6})
def n_body() -> lp.TranslationUnit:
    return knl(
        "{[i,j,d]: 0<=i<n and 0<=j<m and 0<=d<3}",
        """
        for i, j
            <> r2 = sum(d, (t[i,d] - s[j,d])**2) {id=r2}
            <> r = 1/sqrt(r2 + eps) {id=r,dep=r2}
            g[i,j] = q[j]*r*r*r {dep=r}
        end
        """,
        [arr("g", "n,m"), arr("t", "n,3"), arr("s", "m,3"), arr("q", "m"), val("eps"), size("n"), size("m")],
    )


@case({"n": 5, "m": 6})
def potential() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        "pot[i] = sum(j, q[j]*log((x[i]-y[j])**2 + eps))",
        [arr("pot", "n"), arr("x", "n"), arr("y", "m"), arr("q", "m"), val("eps"), size("n"), size("m")],
    )


@case({"n": 5})
def multipole() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        """
        for i
            <> dx = x[i] - c0 {id=dx}
            <> dx2 = dx*dx {id=dx2,dep=dx}
            <> dx3 = dx*dx*dx {id=dx3,dep=dx}
            e0[i] = w[i] {id=e0}
            e1[i] = w[i]*dx {id=e1,dep=dx}
            e2[i] = w[i]*dx2/2 {id=e2,dep=dx2}
            e3[i] = w[i]*dx3/6 + w[i]*dx*dx2 {id=e3,dep=dx3:dx2}
        end
        """,
        [arr("e0", "n"), arr("e1", "n"), arr("e2", "n"), arr("e3", "n"), arr("x", "n"), arr("w", "n"), val("c0"), size("n")],
    )


@case({"n": 4})
def lattice() -> lp.TranslationUnit:
    return knl(
        "{[i,j,a,b,c]: 0<=i,j<n and 0<=a,b,c<3}",
        "R[i,j,a,c] = sum(b, U[i,j,a,b]*V[i,j,b,c] - V[i,j,a,b]*U[i,j,b,c])",
        [arr(name, "n,n,3,3") for name in "RUV"] + [size("n")],
    )


@case({"n": 6})
def with_nop() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i,j<n}",
        """
        for i
            <> s = x[i]*x[i] {id=s}
            ... nop {id=mid,dep=s}
            y[i,j] = s*x[j] {dep=mid}
        end
        """,
        [arr("y", "n,n"), arr("x", "n"), size("n")],
    )


@case({"n": 6})
def with_priority() -> lp.TranslationUnit:
    t_unit = knl(
        "{[i,j]: 0<=i,j<n}", "y[j,i] = x[i]*x[i]*z[j]", [arr("y", "n,n"), arr("x", "n"), arr("z", "n"), size("n")]
    )
    return lp.prioritize_loops(t_unit, "j,i")


@case({"n": 6})
def c_instruction() -> lp.TranslationUnit:
    return lp.make_kernel(
        "{[i]: 0<=i<n}",
        [
            lp.CInstruction(
                (("i", var("i")),), "t = 2*x[i];", read_variables=frozenset(["x", "i"]), assignees=(var("t"),), id="c", within_inames=frozenset(["i"])
            ),
            lp.Assignment("y[i]", "t*t + x[i]*x[i]", depends_on=frozenset(["c"]), id="y", within_inames=frozenset(["i"])),
        ],
        [arr("y", "n"), arr("x", "n"), lp.TemporaryVariable("t", F64, shape=(), address_space=PRIVATE), size("n")],
        target=lp.CTarget(),
        lang_version=(2018, 2),
        name="c_instruction",
    )


@case({"n": 6})
def substitution_rules() -> lp.TranslationUnit:
    return knl(
        "{[i,j]: 0<=i,j<n}",
        """
        g(a, b) := sqrt(a*a + b*b)
        h(a) := g(a, a) + g(a, 1.0)
        y[i,j] = h(x[i])*h(z[j])
        """,
        [arr("y", "n,n"), arr("x", "n"), arr("z", "n"), size("n")],
    )


@case({"n": 5})
def linear_subscripts() -> lp.TranslationUnit:
    return knl("{[i,j]: 0<=i,j<n}", "y[[i*n+j]] = 2*x[[j*n+i]] + x[i,j]*x[i,j]", [arr("y", "n,n"), arr("x", "n,n"), size("n")])


@case({"n": 5})
def unrolled() -> lp.TranslationUnit:
    t_unit = knl(
        ["{[i]: 0<=i<n}", "{[k]: 0<=k<3}"], "y[i,k] = x[i]*c[k] + x[i]", [arr("y", "n,3"), arr("x", "n"), arr("c", (3,)), size("n")]
    )
    return lp.tag_inames(t_unit, "k:unr")


@case({"n": 5})
def precomputed() -> lp.TranslationUnit:
    t_unit = knl(
        "{[i,j]: 0<=i<n and 0<=j<4}",
        """
        sq(j) := exp(c[j])
        y[i,j] = x[i]*sq(j) + sq(j)
        """,
        [arr("y", "n,4"), arr("x", "n"), arr("c", (4,)), size("n")],
    )
    return lp.precompute(t_unit, "sq", "j", default_tag=None, temporary_address_space=PRIVATE)


@case({"n": 5})
def assumptions() -> lp.TranslationUnit:
    return knl(
        "{[i]: 1<=i<n}", "y[i] = x[i-1]*x[i] + x[i]", [arr("y", "n"), arr("x", "n"), size("n")], assumptions="n >= 2"
    )


@case({"n": 5})
def linearized() -> lp.TranslationUnit:
    t_unit = knl("{[i,j]: 0<=i,j<n}", "y[i] = sum(j, a[i,j]*x[j])*x[i]", [arr("y", "n"), arr("a", "n,n"), arr("x", "n"), size("n")])
    return lp.linearize(lp.preprocess_program(t_unit))


@case({"n": 5})
def without_extent() -> lp.TranslationUnit:
    return knl("{[i]: 0<=i<n}", "y[i] = 2*x[i]", [arr("y", None, strides=(1,)), arr("x", "n"), size("n")])


@case({"start": 2, "end": 7}, {"map": 12})
def pyop2_wrapper() -> lp.TranslationUnit:
    return knl(
        ["[start, end] -> {[n]: start<=n<end}", "{[i, j]: 0<=i<3 and 0<=j<2}", "{[k, l]: 0<=k<3 and 0<=l<2}"],
        """
        for n
            for i, j
                t[i, j] = x[map[n, i], j] {id=gather}
            end
            for k, l
                y[map[n, k], l] = y[map[n, k], l] + 3*t[k, l]*t[2 - k, l] {dep=gather}
            end
        end
        """,
        [
            lp.GlobalArg("y", F64, shape=(None, 2)),
            lp.GlobalArg("x", F64, shape=(None, 2)),
            lp.GlobalArg("map", I32, shape=(None, 3)),
            lp.TemporaryVariable("t", F64, shape=(3, 2), address_space=PRIVATE),
            size("start"),
            size("end"),
        ],
    )


@case({"n": 5}, refused="storage")
def shared_storage() -> lp.TranslationUnit:
    return knl(
        "{[i]: 0<=i<n}",
        """
        for i
            t[0] = x[i] {id=t}
            y[i] = t[0]*t[0] {dep=t}
        end
        """,
        [arr("y", "n"), arr("x", "n"), lp.TemporaryVariable("t", F64, shape=(1,), base_storage="store", address_space=PRIVATE), size("n")],
    )


# }}}
