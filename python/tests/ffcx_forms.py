"""Forms as users of FEniCSx write them: each function gives the forms and expressions of one problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import basix
import basix.ufl
import numpy as np
import ufl
from basix.ufl import blocked_element, element, mixed_element, quadrature_element
from ufl import (
    Coefficient,
    Constant,
    FacetArea,
    FacetNormal,
    FunctionSpace,
    Identity,
    Mesh,
    SpatialCoordinate,
    TestFunction,
    TestFunctions,
    TrialFunction,
    TrialFunctions,
    as_matrix,
    avg,
    conditional,
    curl,
    derivative,
    det,
    div,
    dot,
    ds,
    dS,
    dx,
    exp,
    grad,
    gt,
    inner,
    inv,
    jump,
    ln,
    max_value,
    nabla_grad,
    sin,
    sqrt,
    sym,
    tr,
    variable,

)

DIMENSION = {"interval": 1, "triangle": 2, "quadrilateral": 2, "tetrahedron": 3, "hexahedron": 3}

Problem = Callable[[], list[Any]]

def mesh(cell: str, degree: int = 1, gdim: int | None = None) -> Any:
    return Mesh(element("Lagrange", cell, degree, shape=(gdim or DIMENSION[cell],)))

def poisson(cell: str, degree: int) -> list[Any]:
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, degree))
    u, v, f, k = TrialFunction(V), TestFunction(V), Coefficient(V), Constant(V.ufl_domain())
    return [k * inner(grad(u), grad(v)) * dx, inner(f, v) * dx]

def poisson_tensor(cell: str, degree: int) -> list[Any]:
    """Of elements that FFCx can factorize sums over."""
    kind = getattr(basix.CellType, cell)

    def tensor(order: int) -> Any:
        return basix.ufl.wrap_element(basix.create_tp_element(basix.ElementFamily.P, kind, order, basix.LagrangeVariant.gll_warped))

    domain = Mesh(blocked_element(tensor(1), shape=(DIMENSION[cell],)))
    V = FunctionSpace(domain, tensor(degree))
    u, v, f, k = TrialFunction(V), TestFunction(V), Coefficient(V), Constant(domain)
    return [k * inner(grad(u), grad(v)) * dx, inner(f, v) * dx]


def mass(cell: str, degree: int, family: str = "Lagrange") -> list[Any]:
    V = FunctionSpace(mesh(cell), element(family, cell, degree))
    return [inner(TrialFunction(V), TestFunction(V)) * dx]

def helmholtz_weighted() -> list[Any]:
    V = FunctionSpace(mesh("tetrahedron"), element("Lagrange", "tetrahedron", 2))
    u, v, f = TrialFunction(V), TestFunction(V), Coefficient(V)
    return [f * inner(grad(u), grad(v)) * dx - f**2 * inner(u, v) * dx]

def helmholtz_complex(cell: str = "triangle") -> list[Any]:
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, 2))
    domain = V.ufl_domain()
    u, v, f, k = TrialFunction(V), TestFunction(V), Coefficient(V), Constant(domain)
    a = inner(grad(u), grad(v)) * dx - k**2 * inner(u, v) * dx - 1j * k * inner(u, v) * ds
    return [a, inner(f * exp(1j * k * SpatialCoordinate(domain)[0]), v) * dx, abs(f) ** 2 * dx, ufl.real(f) / k * dx]

def advection_complex() -> list[Any]:
    cell = "quadrilateral"
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, 1))
    u, v, f = TrialFunction(V), TestFunction(V), Coefficient(V)
    return [(2.0 + 1.0j) * f / (f + 3) * inner(u, v) * dx + ufl.conj(f) * inner(u.dx(0), v) * dx, sqrt(f) * ufl.conj(v) * dx]

def elasticity(cell: str, degree: int) -> list[Any]:
    d = DIMENSION[cell]
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, degree, shape=(d,)))
    u, v = TrialFunction(V), TestFunction(V)
    mu, lmbda, f = Constant(V.ufl_domain()), Constant(V.ufl_domain()), Coefficient(V)

    def sigma(w: Any) -> Any:
        return 2 * mu * sym(grad(w)) + lmbda * tr(sym(grad(w))) * Identity(d)

    return [inner(sigma(u), sym(grad(v))) * dx, inner(f, v) * dx + inner(f, v) * ds]

def hyperelasticity(cell: str, degree: int) -> list[Any]:
    d = DIMENSION[cell]
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, degree, shape=(d,)))
    u, du, v = Coefficient(V), TrialFunction(V), TestFunction(V)
    mu, lmbda = Constant(V.ufl_domain()), Constant(V.ufl_domain())
    F = Identity(d) + 0.05 * grad(u)
    J = det(F)
    psi = mu / 2 * (tr(F.T * F) - d) - mu * ln(J) + lmbda / 2 * ln(J) ** 2
    residual = derivative(psi * dx, u, v)
    return [residual, derivative(residual, u, du)]

def st_venant_kirchhoff() -> list[Any]:
    V = FunctionSpace(mesh("tetrahedron"), element("Lagrange", "tetrahedron", 1, shape=(3,)))
    u, v = Coefficient(V), TestFunction(V)
    F = Identity(3) + grad(u)
    E = variable(0.5 * (F.T * F - Identity(3)))
    S = ufl.diff(tr(E) ** 2 / 2 + inner(E, E), E)
    return [inner(F * S, grad(v)) * dx]

def stokes(cell: str) -> list[Any]:
    d = DIMENSION[cell]
    W = FunctionSpace(mesh(cell), mixed_element([element("Lagrange", cell, 2, shape=(d,)), element("Lagrange", cell, 1)]))
    (u, p), (v, q) = TrialFunctions(W), TestFunctions(W)
    return [(inner(grad(u), grad(v)) - inner(p, div(v)) - inner(div(u), q)) * dx]

def navier_stokes() -> list[Any]:
    V = FunctionSpace(mesh("triangle"), element("Lagrange", "triangle", 2, shape=(2,)))
    u, v, w = TrialFunction(V), TestFunction(V), Coefficient(V)
    return [inner(dot(w, nabla_grad(u)), v) * dx + 0.5 * inner(div(w) * u, v) * dx]

def mixed_poisson() -> list[Any]:
    cell = "triangle"
    W = FunctionSpace(mesh(cell), mixed_element([element("RT", cell, 2), element("DG", cell, 1)]))
    (s, u), (t, v) = TrialFunctions(W), TestFunctions(W)
    return [(inner(s, t) + inner(div(t), u) + inner(div(s), v)) * dx]

def curl_curl() -> list[Any]:
    V = FunctionSpace(mesh("tetrahedron"), element("N1curl", "tetrahedron", 1))
    u, v = TrialFunction(V), TestFunction(V)
    return [inner(curl(u), curl(v)) * dx - inner(u, v) * dx]

def interior_penalty(cell: str, degree: int) -> list[Any]:
    V = FunctionSpace(mesh(cell), element("DG", cell, degree))
    u, v, n, h = TrialFunction(V), TestFunction(V), FacetNormal(V.ufl_domain()), FacetArea(V.ufl_domain())
    alpha = Constant(V.ufl_domain())
    return [
        inner(grad(u), grad(v)) * dx
        - inner(avg(grad(u)), jump(v, n)) * dS
        - inner(jump(u, n), avg(grad(v))) * dS
        + alpha("+") / avg(h) * inner(jump(u, n), jump(v, n)) * dS
        + alpha / h * inner(u, v) * ds
    ]

def upwind() -> list[Any]:
    cell = "triangle"
    V = FunctionSpace(mesh(cell), element("DG", cell, 1))
    W = FunctionSpace(V.ufl_domain(), element("Lagrange", cell, 1, shape=(2,)))
    u, v, b, n = TrialFunction(V), TestFunction(V), Coefficient(W), FacetNormal(V.ufl_domain())
    flux = 0.5 * (dot(b, n) + abs(dot(b, n)))
    return [inner(jump(flux * u), jump(v)) * dS + inner(conditional(gt(dot(b, n), 0), dot(b, n) * u, 0), v) * ds]

def permuted_facets() -> list[Any]:
    cell = "tetrahedron"
    V = FunctionSpace(mesh(cell), element("DG", cell, 1))
    f, g, v = Coefficient(V), Coefficient(V), TestFunction(V)
    return [inner(f("+") * g("-"), v("+")) * dS]

def robin() -> list[Any]:
    V = FunctionSpace(mesh("hexahedron"), element("Lagrange", "hexahedron", 2))
    u, v, k = TrialFunction(V), TestFunction(V), Constant(V.ufl_domain())
    return [k * inner(u, v) * ds, inner(exp(SpatialCoordinate(V.ufl_domain())[1]), v) * ds]

def curved() -> list[Any]:
    V = FunctionSpace(mesh("triangle", 2), element("Lagrange", "triangle", 2))
    u, v = TrialFunction(V), TestFunction(V)
    return [inner(grad(u), grad(v)) * dx]

def manifold() -> list[Any]:
    V = FunctionSpace(mesh("triangle", 1, 3), element("Lagrange", "triangle", 2))
    u, v = TrialFunction(V), TestFunction(V)
    return [inner(grad(u), grad(v)) * dx]

def points() -> list[Any]:
    V = FunctionSpace(mesh("triangle"), element("Lagrange", "triangle", 2))
    u, v, f = TrialFunction(V), TestFunction(V), Coefficient(V)
    return [f * inner(u, v) * ufl.dP]

def by_quadrature_element() -> list[Any]:
    cell = "triangle"
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, 2))
    Q = FunctionSpace(V.ufl_domain(), quadrature_element(cell, scheme="default", degree=4))
    u, v, q = TrialFunction(V), TestFunction(V), Coefficient(Q)
    measure = dx(metadata={"quadrature_degree": 4, "quadrature_scheme": "default"})
    return [q * inner(grad(u), grad(v)) * measure]

def several_rules() -> list[Any]:
    V = FunctionSpace(mesh("triangle"), element("Lagrange", "triangle", 2))
    u, v, f = TrialFunction(V), TestFunction(V), Coefficient(V)
    return [inner(grad(u), grad(v)) * dx(degree=2) + sin(f) * inner(u, v) * dx(degree=5)]

def p_laplace() -> list[Any]:
    V = FunctionSpace(mesh("triangle"), element("Lagrange", "triangle", 1))
    u, v, w = Coefficient(V), TestFunction(V), TrialFunction(V)
    residual = inner((1.0 + inner(grad(u), grad(u))) ** 1.5 * grad(u), grad(v)) * dx
    return [residual, derivative(residual, u, w), max_value(u, 0.5) ** 3 * dx, sqrt(1 + u**2) * dx]

def gradient_expression() -> list[Any]:
    cell = "triangle"
    V = FunctionSpace(mesh(cell), element("Lagrange", cell, 2))
    f, k = Coefficient(V), Constant(V.ufl_domain())
    found = np.array([[0.2, 0.3], [0.6, 0.1], [0.1, 0.8]])
    return [(k * grad(f), found), (f**2 * TestFunction(V), found), (as_matrix([[f, 1], [k, f * k]]), found)]

def inverse_expression() -> list[Any]:
    V = FunctionSpace(mesh("tetrahedron"), element("Lagrange", "tetrahedron", 1, shape=(3,)))
    f = Coefficient(V)
    return [(inv(Identity(3) + 0.1 * grad(f)), np.array([[0.2, 0.3, 0.1], [0.1, 0.1, 0.6]]))]

PROBLEMS: dict[str, tuple[str, Problem]] = {
    **{
        f"poisson_{cell}_{degree}": ("float64", lambda cell=cell, degree=degree: poisson(cell, degree))
        for cell, degrees in (
            ("triangle", (1, 2, 3, 4)),
            ("tetrahedron", (1, 2, 3, 4)),
            ("quadrilateral", (1, 2, 3, 4)),
            ("hexahedron", (1, 2, 3, 4)),
        )
        for degree in degrees
    },
    **{
        f"poisson_{cell}_{degree}_tensor": (
            "float64",
            lambda cell=cell, degree=degree: poisson_tensor(cell, degree),
        )
        for cell, degree in (("quadrilateral", 2), ("quadrilateral", 4), ("hexahedron", 2), ("hexahedron", 3))
    },
    "mass_hexahedron_2": ("float64", lambda: mass("hexahedron", 2)),
    "mass_interval_3": ("float64", lambda: mass("interval", 3)),
    "mass_tetrahedron_3_single": ("float32", lambda: mass("tetrahedron", 3)),
    "poisson_triangle_2_single": ("float32", lambda: poisson("triangle", 2)),
    "elasticity_triangle_1_single": ("float32", lambda: elasticity("triangle", 1)),
    "helmholtz_weighted": ("float64", helmholtz_weighted),
    "helmholtz_complex": ("complex128", helmholtz_complex),
    "helmholtz_complex_tetrahedron": ("complex128", lambda: helmholtz_complex("tetrahedron")),
    "helmholtz_complex_single": ("complex64", helmholtz_complex),
    "advection_complex": ("complex128", advection_complex),
    "poisson_triangle_2_complex": ("complex128", lambda: poisson("triangle", 2)),
    "elasticity_triangle_2": ("float64", lambda: elasticity("triangle", 2)),
    "elasticity_tetrahedron_1": ("float64", lambda: elasticity("tetrahedron", 1)),
    "elasticity_hexahedron_1": ("float64", lambda: elasticity("hexahedron", 1)),
    "hyperelasticity_triangle_1": ("float64", lambda: hyperelasticity("triangle", 1)),
    "hyperelasticity_tetrahedron_1": ("float64", lambda: hyperelasticity("tetrahedron", 1)),
    "st_venant_kirchhoff": ("float64", st_venant_kirchhoff),
    "stokes_triangle": ("float64", lambda: stokes("triangle")),
    "stokes_tetrahedron": ("float64", lambda: stokes("tetrahedron")),
    "navier_stokes": ("float64", navier_stokes),
    "mixed_poisson": ("float64", mixed_poisson),
    "curl_curl": ("float64", curl_curl),
    "interior_penalty_triangle_1": ("float64", lambda: interior_penalty("triangle", 1)),
    "interior_penalty_tetrahedron_1": ("float64", lambda: interior_penalty("tetrahedron", 1)),
    "interior_penalty_triangle_1_complex": ("complex128", lambda: interior_penalty("triangle", 1)),
    "upwind": ("float64", upwind),
    "permuted_facets": ("float64", permuted_facets),
    "robin": ("float64", robin),
    "curved": ("float64", curved),
    "manifold": ("float64", manifold),
    "points": ("float64", points),
    "by_quadrature_element": ("float64", by_quadrature_element),
    "several_rules": ("float64", several_rules),
    "p_laplace": ("float64", p_laplace),
    "gradient_expression": ("float64", gradient_expression),
    "gradient_expression_complex": ("complex128", gradient_expression),
    "inverse_expression": ("float64", inverse_expression),
}
"""Problems with the type of their scalars."""
