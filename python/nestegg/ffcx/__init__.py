"""A language for FFCx: UFCx code whose integrals and expressions nestegg has optimized.

``ffcx --language nestegg.ffcx form.py`` writes the C and the header that FFCx's own C language would, with other bodies of
``tabulate_tensor``. FFCx looks for the modules ``integral``, ``expression``, ``form`` and ``file`` here.
"""

from nestegg.ffcx import expression, file, form, integral

__all__ = ["expression", "file", "form", "integral"]
