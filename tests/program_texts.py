"""Small program files in the formats LP, MPS and NL, which tests read unchanged and with one line changed."""

from __future__ import annotations

LP = """Minimize
 obj: x + 2 y + z + 7
Subject To
 c1: x + y + z >= 3
 c2: -5 <= x - y <= 6
Bounds
 0 <= x <= 2
 -inf <= y <= 4
Generals
 z
End
"""
MPS = """NAME t
ROWS
 N obj
 L c1
 G c2
COLUMNS
    m1 'MARKER' 'INTORG'
    x obj -1 c1 1
    m2 'MARKER' 'INTEND'
    y obj 1 c1 1
    y c2 1
RHS
    rhs c1 10 c2 -3
RANGES
    rng c2 5
BOUNDS
 UP bnd x 4
ENDATA
"""
NL = """g3 1 1 0
 2 2 1 0 0
 1 1
 0 0
 2 1 1
 0 0 0 1
 0 0 0 1 0
 4 1
 0 0
 0 0 0 0 0
S0 1 priority
1 3
S1 1 note
0 1
C0
o54
3
o5
v0
n2
o2
v0
v1
o5
v1
n2
C1
n0
O0 0
o5
v0
n2
r
1 3
2 1
b
3
0 -5 5
k1
2
J0 2
0 0
1 0
J1 2
0 1
1 1
G0 1
1 1
"""
