"""The same block of instructions means the same to loopy and to the text form."""

from __future__ import annotations

import json

import loopy as lp
import numpy as np
import pytest

import nestegg

HEAD = """
kernel block
domain { [i, j] : 0 <= i, j < 8 }
arg a : float64 read
arg m : int32[8] read
arg x : float64[8] read
arg y : float64[8] readwrite
arg z : float64[8] readwrite
"""

BLOCKS = {
    "branches": """
        for i
            if m[i] > 2
                y[i] = a
            elif m[i] > 1
                y[i] = 2*a
            elif m[i] > 0
                y[i] = 3*a
            else
                y[i] = 4*a
            end
        end
        """,
    "with": """
        for i
            with {id_prefix=init}
                y[i] = x[i]
                z[i] = +a
            end
            ... nop {id=ready, dep=init*}
            with {dep=ready}
                y[i] = y[i] + z[i] {id=add, nosync=init}
            end
            z[i] = y[i]*a {dep=*add}
        end
        """,
    "temporaries": """
        for i
            <float64> s = x[i]*a {id=s}
            <> t = s + x[i] {id=t, dep=s}
            <> n = 2*m[i] {id=n}
            <> p = t > s {id=p, dep=t:s}
            y[i] = t*n if p else s {dep=*t:n:p:s}
        end
        """,
    "reductions": """
        for i
            y[i] = simul_reduce(sum, j, x[j]*m[j]) + reduce(max, [j], x[j])
        end
        """,
    "precedence": """
        for i
            y[i] = x[i]*a/3.0*2 if not (m[i] > 1) and (m[i] & 1) == 1 or m[i] > 3 else -x[i]**2 + 2.5f*a
        end
        """,
}


@pytest.mark.parametrize("name", BLOCKS)
def test_both_read_the_same(name: str) -> None:
    body = BLOCKS[name]
    t_unit = lp.make_kernel(
        "{ [i, j] : 0 <= i, j < 8 }",
        body,
        [
            lp.ValueArg("a", np.float64),
            lp.GlobalArg("m", np.int32, shape=8),
            lp.GlobalArg("x", np.float64, shape=8),
            lp.GlobalArg("y", np.float64, shape=8),
            lp.GlobalArg("z", np.float64, shape=8),
        ],
        target=lp.CTarget(),
        name="block",
        lang_version=(2018, 2),
    )
    dumped, read = json.loads(nestegg.dump(t_unit)), json.loads(nestegg.to_json(HEAD + body))
    # loopy knows what is read and written, and the text says it.
    of_name = {argument["name"]: argument["access"] for argument in read["arguments"]}
    for argument in dumped["arguments"]:
        argument["access"] = of_name[argument["name"]]
    of_loopy, of_text = json.dumps(dumped), json.dumps(read)
    verdict = nestegg.validate(of_loopy, of_text)
    assert verdict, verdict
    named = [[insn["id"] for insn in json.loads(text)["instructions"]] for text in (of_loopy, of_text)]
    assert {id for id in named[0] if not id.startswith("insn")} == {id for id in named[1] if not id.startswith("insn")}
    types = [
        {array["name"]: array["dtype"] for array in json.loads(text)["temporaries"]} for text in (of_loopy, of_text)
    ]
    # loopy holds conditions as small integers.
    assert {name: dtype for name, dtype in types[0].items() if name != "p"} == {
        name: dtype for name, dtype in types[1].items() if name != "p"
    }


@pytest.mark.parametrize(
    "line",
    [
        "y[0] = a if not a > x[0] else 1",
        "y[0] = a if m[0] & 1 == 1 else 1",
        "y[m[0] | 1 ^ m[1]] = a",
        "y[0] = max(i, x[0])",
    ],
)
def test_what_loopy_reads_otherwise_is_refused(line: str) -> None:
    with pytest.raises(nestegg.Error, match="two readings"):
        nestegg.to_json(HEAD + line + "\n")
