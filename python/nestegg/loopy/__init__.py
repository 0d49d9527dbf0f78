"""Kernels of loopy: their objects walked, not their print parsed. Needs loopy."""

from __future__ import annotations

from nestegg.loopy._dump import dump
from nestegg.loopy._load import load
from nestegg.loopy._whole import load_like

__all__ = ["dump", "load", "load_like"]
