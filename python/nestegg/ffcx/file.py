"""What begins and ends files: FFCx's own code."""

from ffcx.codegeneration.C.file import generator, suffixes

__all__ = ["generator", "suffixes"]
