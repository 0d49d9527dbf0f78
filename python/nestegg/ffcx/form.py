"""Forms: FFCx's own code."""

from ffcx.codegeneration.C.form import generator

__all__ = ["generator"]
