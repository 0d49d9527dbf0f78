"""What a kernel of the format means is what loopy computes, also where loopy would read the same words otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import compare

import nestegg

TEXTS = {
    "a sum over a union": """
        domain { [r] : 0 <= r < 8 and r != 1 }
        arg y : float64[2] write
        arg x : float64[8] read
        y[0] = reduce(sum, [r], x[r])
        y[1] = reduce(product, [r], x[r])
        """,
    "a loop over one iname of a union": """
        domain { [i, j] : 0 <= i < 4 and i != 2 and 0 <= j < 4 }
        arg y : float64[4, 4] write
        arg z : float64[4] write
        arg x : float64[4] read
        for i, j
          y[i, j] = x[i]*x[j]
        end
        for j
          z[j] = 2*x[j]
        end
        """,
    "two sums over an iname of a joint domain": """
        domain { [i, j] : 0 <= i < 5 and 0 <= j <= i }
        arg y : float64[5] write
        arg z : float64[5] write
        arg x : float64[5] read
        for i
          y[i] = reduce(sum, [j], x[j])
          z[i] = reduce(sum, [j], x[j]*x[j])
        end
        """,
    "loops whose domains are siblings": """
        domain { [i] : 0 <= i < 4 }
        domain [i] -> { [j] : i <= j < 4 }
        domain [i] -> { [k] : 0 <= k <= i }
        arg y : float64[4, 4, 4] write
        arg x : float64[4] read
        for i, j, k
          y[i, j, k] = x[j]*x[k]
        end
        """,
    "bits among floats": """
        domain { [i] : 0 <= i < 4 }
        arg y : float64[4] write
        arg x : float64[4] read
        arg n : int32[4] read
        for i
          y[i] = x[i]*cast(float64, (n[i] - 3 | 4) + ~(i - 5) + (2 - i >> 1))
        end
        """,
    "comparisons of bits": """
        domain { [i] : 0 <= i < 4 }
        arg y : float64[4] write
        arg x : float64[4] read
        arg n : int32[4] read
        for i
          y[i] = x[i]*cast(float64, min(n[i] & 6, n[i] ^ 5)) + (x[i] if (n[i] & 2) == 2 else 1.5)
        end
        """,
    "integers and floats in equal expressions": """
        domain { [i] : 0 <= i < 4 }
        arg y : float64[4] write
        arg x : float64[8] read
        for i
          y[i] = x[i + 1]*(i + 1.0) + x[2*i]*(2.0*i) + x[i + 2]*cast(float64, i + 2 & 1) + (x[i] - 1.0)
        end
        """,
    "extrema of sums of integers": """
        domain { [i, j] : 0 <= i < 4 and 0 <= j < 3 }
        arg y : int32[4] write
        arg n : int32[4, 3] read
        for i
          y[i] = min(reduce(sum, [j], n[i, j]*(1 - j)), 3)
        end
        """,
    "a sum in the index of what is written": """
        domain { [i, j] : 0 <= i < 3 and 0 <= j < 3 }
        arg y : float64[4] readwrite
        arg x : float64[3] read
        arg n : int32[3] read
        y[reduce(sum, [j], n[j]) % 4] = x[0]
        """,
    "literals beside single floats": """
        domain { [i] : 0 <= i < 4 }
        arg y : float64[4] write
        arg x : float32[4] read
        arg z : float64[4] read
        for i
          y[i] = z[i]*tanh(0.125)*x[i] + 0.1*x[i] + 0.1*z[i]
        end
        """,
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_loaded_is_what_is_written(name: str, tmp_path: Path) -> None:
    text = nestegg.to_json(f"kernel loaded\n{TEXTS[name]}")
    t_unit = nestegg.load(text)
    dumped = nestegg.dump(t_unit)
    assert nestegg.validate(text, dumped)
    assert nestegg.dump(nestegg.load(dumped)) == dumped
    compare(t_unit, nestegg.optimize(t_unit, threads=1).kernel, tmp_path, {}, {})


def test_loops_that_loopy_cannot_write_out_lose_their_tag(tmp_path: Path) -> None:
    text = nestegg.to_json(
        """
        kernel loaded
        domain { [i] : 0 <= i < 3 }
        domain [i] -> { [j] : 1 <= j <= i }
        tag i unroll
        arg y : float64[3] write
        arg x : float64[3] read
        for i
          y[i] = reduce(sum, [j], x[j])
        end
        """
    )
    t_unit = nestegg.load(text)
    assert nestegg.validate(text, t_unit)
    compare(t_unit, nestegg.optimize(t_unit, threads=1).kernel, tmp_path, {}, {})


def test_extrema_over_unions_are_refused() -> None:
    text = nestegg.to_json(
        """
        kernel loaded
        domain { [r] : 0 <= r < 8 and r != 1 }
        arg y : float64 write
        arg x : float64[8] read
        y = reduce(max, [r], x[r])
        """
    )
    with pytest.raises(nestegg.Unsupported, match="no convex set"):
        nestegg.load(text)
