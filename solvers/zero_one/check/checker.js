"use strict";
/* A checker of proof logs of the 0-1 loss, in plain JavaScript without a library.
 *
 * A log states a problem, min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} (or Σ w_j² with at most k margins violated), a bound B, a point w and a tree. The checker verifies that no w has a value below B and that the point has the value that it
 * reports. It derives everything from the stated data: the tree holds multipliers, pairs and splits, no bounds.
 *
 * Arithmetic. Data, coordinates and the point are dyadic rationals (BigInt mantissa and a power of two), so that products and
 * sums are exact. Elsewhere each operation on doubles is moved by one unit in the last place to the safe side (`up`, `down`);
 * sums are exact before that (Shewchuk's expansions).
 *
 * `new ProofCheck(bytes)` reads the log; `run()` verifies it; `steps()` is the same as a generator, node by node.
 */

class Refusal extends Error {}

function refuseIf(condition, message) {
  if (condition) throw new Refusal(message);
}

// ---------------------------------------------------------------------------------------------------------------- doubles

const BUFFER = new DataView(new ArrayBuffer(8));
const TINY = Number.MIN_VALUE;
const EPS = 2 ** -52;

/** The next double above; infinities and NaN stay. */
function up(x) {
  if (!(x > -Infinity && x < Infinity)) return x === -Infinity ? -Number.MAX_VALUE : x;
  if (x === 0) return TINY;
  BUFFER.setFloat64(0, x);
  let high = BUFFER.getUint32(0);
  let low = BUFFER.getUint32(4);
  if (x > 0) {
    low = (low + 1) >>> 0;
    if (low === 0) high += 1;
  } else {
    if (low === 0) high -= 1;
    low = (low - 1) >>> 0;
  }
  BUFFER.setUint32(0, high >>> 0);
  BUFFER.setUint32(4, low);
  return BUFFER.getFloat64(0);
}

/** The next double below. */
function down(x) {
  return -up(-x);
}

/** Σx, rounded to the nearest double: expansions without error (Shewchuk 1997), the last step corrected for ties. */
function exactSum(values) {
  const parts = [];
  for (let x of values) {
    let used = 0;
    for (let y of parts) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low !== 0) parts[used++] = low;
      x = high;
    }
    parts.length = used;
    parts.push(x);
  }
  refuseIf(parts.some((part) => !Number.isFinite(part)), "a sum overflows");
  let k = parts.length - 1;
  let [high, low] = [parts[k] ?? 0, 0];
  while (k > 0) {
    const x = high;
    const y = parts[--k];
    high = x + y;
    low = y - (high - x);
    if (low !== 0) break;
  }
  if (k > 0 && ((low < 0 && parts[k - 1] < 0) || (low > 0 && parts[k - 1] > 0))) {
    const twice = 2 * low;
    const moved = high + twice;
    if (twice === moved - high) high = moved;
  }
  return high;
}

const sumUp = (values) => up(exactSum(values));
const sumDown = (values) => down(exactSum(values));

// ----------------------------------------------------------------------------------------------------- dyadic rationals

const ZERO = { m: 0n, e: 0 };

/** A finite double as mantissa · 2^e with an odd mantissa (or zero). */
function dyadic(x) {
  refuseIf(!Number.isFinite(x), "a number is not finite");
  if (x === 0) return ZERO;
  BUFFER.setFloat64(0, x);
  const bits = BUFFER.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 2047n);
  let m = bits & 0xfffffffffffffn;
  let e = -1074;
  if (exponent > 0) {
    m |= 1n << 52n;
    e = exponent - 1075;
  }
  for (; (m & 1n) === 0n; e++) m >>= 1n;
  return { m: x < 0 ? -m : m, e };
}

function multiply(a, b) {
  return a.m === 0n || b.m === 0n ? ZERO : { m: a.m * b.m, e: a.e + b.e };
}

function add(a, b) {
  if (a.m === 0n) return b;
  if (b.m === 0n) return a;
  if (a.e <= b.e) return { m: a.m + (b.m << BigInt(b.e - a.e)), e: a.e };
  return { m: (a.m << BigInt(a.e - b.e)) + b.m, e: b.e };
}

const negated = (a) => ({ m: -a.m, e: a.e });
const magnitude = (a) => (a.m < 0n ? negated(a) : a);
const signOf = (m) => (m < 0n ? -1 : m > 0n ? 1 : 0);
const compare = (a, b) => signOf(add(a, negated(b)).m);

/** The inner product of two vectors of dyadics. */
function inner(a, b) {
  let total = ZERO;
  for (let j = 0; j < a.length; j++) total = add(total, multiply(a[j], b[j]));
  return total;
}

/** The largest double that is not above a dyadic. */
function floorDouble(a) {
  if (a.m === 0n) return 0;
  const size = a.m < 0n ? -a.m : a.m;
  const shift = size.toString(2).length - 53;
  let x = shift > 0 ? Number(size >> BigInt(shift)) : Number(size);
  let e = shift > 0 ? a.e + shift : a.e;
  // powers of two in two halves, so that neither factor underflows where the product does not
  const half = Math.trunc(e / 2);
  x = x * 2 ** half * 2 ** (e - half);
  if (a.m < 0n) x = -x;
  refuseIf(!Number.isFinite(x), "a number overflows");
  while (compare(dyadic(x), a) > 0) x = down(x);
  while (compare(dyadic(up(x)), a) <= 0) x = up(x);
  return x;
}

/** The smallest double that is not below a dyadic. */
function ceilDouble(a) {
  return -floorDouble(negated(a));
}

// ---------------------------------------------------------------------------------------------------------------- SHA-256

/** The first 32 bits of the fractional parts of the cube roots of 64 primes: doubles have 49 of them. */
const ROUND_CONSTANTS = (() => {
  const constants = [];
  for (let candidate = 2; constants.length < 64; candidate++) {
    if (Array.from({ length: candidate - 2 }, (_, d) => candidate % (d + 2)).includes(0)) continue;
    constants.push(Math.floor((Math.cbrt(candidate) % 1) * 2 ** 32));
  }
  return constants;
})();

/** SHA-256 (FIPS 180-4) of the concatenation of byte arrays, as 64 hexadecimal digits. */
function sha256(pieces) {
  const size = pieces.reduce((total, piece) => total + piece.length, 0);
  const padded = new Uint8Array((((size + 8) >> 6) + 1) << 6);
  pieces.reduce((at, piece) => (padded.set(piece, at), at + piece.length), 0);
  padded[size] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(size / 2 ** 29));
  view.setUint32(padded.length - 4, (size * 8) >>> 0);
  const hash = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
  const schedule = new Int32Array(64);
  const turn = (x, k) => (x >>> k) | (x << (32 - k));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = schedule[i - 15];
      const b = schedule[i - 2];
      const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      schedule[i] = (schedule[i - 16] + s0 + schedule[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i] + schedule[i]) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] = (hash[i] + word) | 0));
  }
  return hash.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

// ------------------------------------------------------------------------------------------------------- reading the log

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

function numbers(values, length, name) {
  refuseIf(!Array.isArray(values) || !values.every(isNumber), `${name} must hold finite numbers`);
  refuseIf(length !== null && values.length !== length, `${name} has ${values.length} entries, not ${length}`);
  return values;
}

function integers(values, length, name) {
  refuseIf(!numbers(values, length, name).every(Number.isSafeInteger), `${name} must hold whole numbers`);
  return values;
}

function integer(value, name) {
  refuseIf(!Number.isSafeInteger(value), `${name} must be a whole number`);
  return value;
}

/** Lines of a log as byte arrays, each with its newline. */
function linesOf(bytes) {
  const lines = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = bytes.indexOf(10, start) + 1 || bytes.length;
    lines.push(bytes.subarray(start, end));
  }
  return lines;
}

/** Records of a log but the seal, which must be the SHA-256 of all other lines. */
function readRecords(bytes) {
  const lines = linesOf(bytes);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const records = lines.map((line) => JSON.parse(decoder.decode(line)));
  const objects = records.every((record) => record !== null && typeof record === "object" && !Array.isArray(record));
  refuseIf(!objects, "a line of the log is not an object");
  const header = records[0] ?? {};
  const known = header.format === "marginopt-zero-one-proof" && [3, 4, 5].includes(header.version);
  refuseIf(!known, "this is not a proof log of the 0-1 loss, version 3, 4 or 5");
  refuseIf(!["boxes", "conflicts", "budget"].includes(header.kind), `the log is of an unknown kind, ${header.kind}`);
  const seal = records[records.length - 1];
  const complete = records.length >= 3 && "sha256" in seal && "bound" in records[records.length - 2];
  refuseIf(!complete, "the log ends without its claim and its seal");
  const message = "the seal does not fit: the log was changed or damaged after it was written";
  refuseIf(seal.sha256 !== sha256(lines.slice(0, -1)), message);
  return records.slice(0, -1);
}

/** The problem that a header states. */
class Statement {
  constructor(header) {
    const A = header.A;
    refuseIf(!Array.isArray(A) || A.length === 0 || !Array.isArray(A[0]), "A must be a matrix");
    this.n = A.length;
    this.p = A[0].length;
    this.A = A.map((row) => numbers(row, this.p, "a row of A"));
    this.weights = numbers(header.weights, this.n, "weights");
    refuseIf(this.weights.some((weight) => weight <= 0), "a weight is not positive");
    const penalised = header.penalised;
    refuseIf(!Array.isArray(penalised) || penalised.length !== this.p, "penalised must say of each weight whether it is");
    refuseIf(penalised.some((flag) => typeof flag !== "boolean"), "penalised must hold true and false");
    this.penalised = penalised;
    const outside = penalised.flatMap((flag, j) => (flag ? [] : [j]));
    refuseIf(outside.length > 1, "more than one weight is outside the norm");
    this.intercept = outside.length ? outside[0] : -1;
    this.inside = penalised.flatMap((flag, j) => (flag ? [j] : []));
    this.budget = null;
    if (header.kind === "budget") {
      this.budget = integer(header.budget, "the budget");
      refuseIf(this.budget < 0, "the budget must not be negative");
    }
  }

  /** SHA-256 of shape, rows, costs and penalised flags: the digest that Python's checker reports. */
  get digest() {
    const text = new TextEncoder().encode(`(${this.n}, ${this.p}) ${this.budget ?? "None"}`);
    const values = [...this.A.flat(), ...this.weights, ...this.penalised.map(Number)];
    const view = new DataView(new ArrayBuffer(8 * values.length));
    values.forEach((value, k) => view.setFloat64(8 * k, value + 0, true));
    return sha256([text, new Uint8Array(view.buffer)]);
  }

  /** Exact value of a point, rounded up; of the budget form its squared norm. */
  value(w) {
    if (w === null && this.budget !== null) return Infinity;
    const point = numbers(w, this.p, "the point").map(dyadic);
    let total = ZERO;
    for (const j of this.inside) total = add(total, multiply(point[j], point[j]));
    let violated = 0;
    const one = dyadic(1);
    this.A.forEach((row, i) => {
      if (compare(inner(row.map(dyadic), point), one) >= 0) return;
      violated += 1;
      if (this.budget === null) total = add(total, dyadic(this.weights[i]));
    });
    const excess = this.budget !== null && violated > this.budget;
    refuseIf(excess, `the point violates ${violated} margins, of at most ${this.budget}`);
    return ceilDouble(total);
  }

  /** Points that the log groups by `member`: those of zero rows, and groups of equal rows. */
  groups(member) {
    integers(member, this.n, "member");
    const zero = [];
    const groups = new Map();
    member.forEach((k, i) => {
      if (k < 0) {
        refuseIf(this.A[i].some((x) => x !== 0), "a row is called zero and is not");
        zero.push(i);
        return;
      }
      if (!groups.has(k)) groups.set(k, []);
      const group = groups.get(k);
      const differs = group.length > 0 && this.A[i].some((x, j) => x !== this.A[group[0]][j]);
      refuseIf(differs, `points ${group[0]} and ${i} are merged and differ`);
      group.push(i);
    });
    const merged = Array.from({ length: groups.size }, (_, k) => groups.get(k));
    refuseIf(merged.includes(undefined), "a merged row has no point");
    return { zero, merged };
  }

  /** A bound on the free intercept of some w with a value below B: |b| ≤ 1 + max||x_i||√B. */
  interceptReach(rows, bound) {
    let longest = 0;
    for (const row of rows) {
      refuseIf(Math.abs(row[this.intercept]) !== 1, "the intercept's column does not hold ±1");
      longest = Math.max(longest, up(Math.sqrt(sumUp(this.inside.map((j) => up(row[j] * row[j]))))));
    }
    return up(1 + up(longest * up(Math.sqrt(bound))));
  }
}

/** Nodes of a tree by parent and side. */
class Tree {
  constructor(records) {
    this.nodes = new Map();
    const seen = new Set();
    for (const record of records) {
      refuseIf(!("id" in record), "a record is neither a node nor the last one");
      const id = integer(record.id, "a node's number");
      refuseIf(seen.has(id), `node ${id} occurs twice`);
      seen.add(id);
      const key = `${integer(record.parent, "a parent")}:${integer(record.side, "a side")}`;
      refuseIf(this.nodes.has(key), `two nodes are child ${record.side} of node ${record.parent}`);
      this.nodes.set(key, record);
    }
    this.size = seen.size;
  }

  child(id, side) {
    return this.nodes.get(`${id}:${side}`);
  }
}

// ------------------------------------------------------------------------------------------------------------ boxes

const FREE = -1;
const KEPT = 0;
const VIOLATED = 1;

/** σ with ||T v||² ≥ σ||v||²: Gershgorin's circles of T'T in exact arithmetic. */
function leastCurvature(columns) {
  let least = null;
  columns.forEach((column, i) => {
    let reach = inner(column, column);
    columns.forEach((other, j) => {
      if (j !== i) reach = add(reach, negated(magnitude(inner(column, other))));
    });
    if (least === null || compare(reach, least) < 0) least = reach;
  });
  if (least === null) return 1;
  refuseIf(least.m <= 0n, "T is not close enough to a multiple of a rotation");
  return floorDouble(least);
}

/** The problem in the coordinates v of a log of boxes, w = T v, divided by σ. Margins are g_i'v ± e_i over the root's box. */
class BoxProblem {
  constructor(header, statement, bound) {
    const { p, intercept, inside } = statement;
    const { zero, merged } = statement.groups(header.member);
    this.free = intercept >= 0;
    refuseIf(!Array.isArray(header.T) || header.T.length !== p, "T must be a square matrix");
    const T = header.T.map((row) => numbers(row, p, "a row of T"));
    if (this.free) {
      const mixed = inside.some((j) => T[j][p - 1] !== 0) || T[intercept].slice(0, -1).some((x) => x !== 0);
      refuseIf(mixed || T[intercept][p - 1] === 0, "T mixes the intercept with the penalised weights");
    }
    this.p = p;
    this.constant = zero.length ? sumDown(zero.map((i) => statement.weights[i])) : 0;
    this.trivial = this.constant >= bound;
    if (this.trivial) return;
    refuseIf(merged.length === 0, "no row is left");
    const exact = T.map((row) => row.map(dyadic));
    const columns = Array.from({ length: p }, (_, j) => exact.map((row) => row[j]));
    const block = this.free ? columns.slice(0, -1).map((column) => inside.map((i) => column[i])) : columns;
    this.sigma = leastCurvature(block);
    this.bound = bound;
    this.target = up(up(bound - this.constant) / this.sigma);
    const rows = merged.map((group) => statement.A[group[0]]);
    this.m = rows.length;
    const half = new Float64Array(p).fill(up(Math.sqrt(this.target)));
    if (this.free) half[p - 1] = up(statement.interceptReach(rows, bound) / Math.abs(T[intercept][p - 1]));
    this.lo = half.map((x) => -x);
    this.hi = half;
    this.#rotate(rows, columns, half);
    this.norm2 = this.g.map((row) => sumUp(row.map((x) => up(x * x))));
    this.weights = merged.map((group) => down(group.map((i) => statement.weights[i]).reduce((a, b) => down(a + b)) / this.sigma));
    this.step = this.#step(header.step ?? 0, merged.flat().map((i) => statement.weights[i]));
  }

  /** Rows T'a_i as doubles, and by how much their margins can be off over the root's box. */
  #rotate(rows, columns, half) {
    this.g = [];
    this.e = [];
    for (const row of rows) {
      const exactRow = row.map(dyadic);
      const g = new Float64Array(this.p);
      const errors = [];
      columns.forEach((column, j) => {
        const exact = inner(exactRow, column);
        g[j] = floorDouble(exact);
        errors.push(up(ceilDouble(add(exact, negated(dyadic(g[j])))) * half[j]));
      });
      this.g.push(g);
      this.e.push(sumUp(errors));
    }
  }

  /** An enclosure of u, of which all λ_i/σ are whole multiples; null without one. */
  #step(step, weights) {
    refuseIf(!isNumber(step) || step < 0, "the step of the losses must be a number that is not negative");
    if (step === 0) return null;
    const unit = dyadic(step);
    for (const weight of new Set(weights)) {
      const w = dyadic(weight);
      refuseIf(w.e < unit.e || w.m % unit.m !== 0n, `the costs are no whole multiples of ${step}`);
    }
    return { low: down(step / this.sigma), high: up(step / this.sigma) };
  }

  root() {
    const state = new Int8Array(this.m).fill(FREE);
    this.weights.forEach((weight, i) => {
      if (weight >= this.target) state[i] = KEPT;
    });
    return { lo: this.lo.slice(), hi: this.hi.slice(), state, lower: new Float64Array(this.m).fill(-Infinity), bound: 0 };
  }

  /** The problem with losses weighed θ times, and what solutions of interest in a node stay below.
   *
   * ||v||² + j·u < target for a loss of j·u gives j ≤ k = ⌊(target - ν)/u⌋ with ν the least norm in the box, hence
   * ||v||² + θ j u < target + (θ - 1) k u.
   */
  levelled(node, theta) {
    const usable = isNumber(theta) && theta >= 1 && this.step !== null && this.step.low > 0;
    refuseIf(!usable, "a round weighs losses by a number below 1, or without a step that they are multiples of");
    const squares = [];
    for (let j = 0; j < this.p - (this.free ? 1 : 0); j++) {
      const near = Math.max(node.lo[j], -node.hi[j], 0);
      squares.push(down(near * near));
    }
    const norm = squares.length ? sumDown(squares) : 0;
    const k = Math.max(Math.floor(up(up(this.target - norm) / this.step.low)), 0);
    const scaled = Object.create(this);
    scaled.weights = this.weights.map((weight) => down(weight * theta));
    scaled.target = up(this.target + up(up(up(theta - 1) * this.step.high) * k));
    return scaled;
  }
}

/** Decide the points that a node's box decides; false where no solution of interest is in it. */
function applyBox(problem, node) {
  const { g, e, m, p } = problem;
  const { lo, hi, state, lower } = node;
  for (let j = 0; j < p; j++) if (lo[j] > hi[j]) return false;
  const least = new Array(p);
  const greatest = new Array(p);
  for (let i = 0; i < m; i++) {
    const row = g[i];
    for (let j = 0; j < p; j++) {
      const a = row[j] * lo[j];
      const b = row[j] * hi[j];
      least[j] = down(Math.min(a, b));
      greatest[j] = up(Math.max(a, b));
    }
    const low = down(sumDown(least) - e[i]);
    const high = up(sumUp(greatest) + e[i]);
    if (state[i] === KEPT && high < 1) return false;
    if (state[i] === VIOLATED && low >= 1) return false;
    if (state[i] !== FREE) continue;
    lower[i] = Math.max(lower[i], low);
    if (high < 1) state[i] = VIOLATED;
    else if (lower[i] >= 1) state[i] = KEPT;
  }
  return true;
}

/** (g_i + g_j)'v < 2 for all v of the box, errors of the rows included: no v keeps both points. */
function exclusive(problem, node, i, j) {
  const terms = [];
  for (let k = 0; k < problem.p; k++) {
    const total = problem.g[i][k] + problem.g[j][k];
    const ends = [up(total) * node.lo[k], up(total) * node.hi[k], down(total) * node.lo[k], down(total) * node.hi[k]];
    terms.push(up(Math.max(...ends)));
  }
  return up(up(sumUp(terms) + problem.e[i]) + problem.e[j]) < 2;
}

/** Pairs that cannot both be kept, paid from the costs of their free points; null where two kept points exclude each other. */
function payPairs(problem, node, pairs, prices) {
  refuseIf(!Array.isArray(pairs), "pairs must be a list");
  numbers(prices, pairs.length, "prices of pairs");
  refuseIf(prices.some((price) => price < 0), "a price is negative");
  const { state } = node;
  const left = Float64Array.from(problem.weights);
  const [paid, valid] = [[0], []];
  pairs.forEach((pair, k) => {
    const [i, j] = integers(pair, 2, "a pair");
    refuseIf(Math.min(i, j) < 0 || Math.max(i, j) >= problem.m || i === j, "a pair names points that do not exist, or one twice");
    if (exclusive(problem, node, i, j)) valid.push([i, j, prices[k], state[i] === KEPT, state[j] === KEPT]);
  });
  if (valid.some(([, , , first, second]) => first && second)) return null;
  for (const [i, j, , first, second] of valid) {
    if (first) state[j] = VIOLATED;
    else if (second) state[i] = VIOLATED;
  }
  for (const [i, j, stated] of valid) {
    const price = Math.min(stated, left[i], left[j]);
    if (price <= 0 || state[i] !== FREE || state[j] !== FREE) continue;
    paid.push(price);
    left[i] = Math.max(down(left[i] - price), 0);
    left[j] = Math.max(down(left[j] - price), 0);
  }
  return { left, paid: sumDown(paid) };
}

/** Multipliers α of rows u ≥ 1 (free and kept points) and β of rows u ≤ 1 (violated points), clipped to what is valid.
 *
 * Of a free point whose margin is at least l where it is violated, λ 1{u < 1} ≥ α(1 - u) needs α ≤ λ/(1 - l).
 */
function validMultipliers(problem, node, round, packing) {
  const [alpha, beta] = [new Float64Array(problem.m), new Float64Array(problem.m)];
  const points = integers(round[0], null, "points of multipliers");
  const states = integers(round[1], points.length, "states of multipliers");
  const values = numbers(round[2], points.length, "multipliers");
  refuseIf(new Set(points).size < points.length, "multipliers name a point twice");
  points.forEach((i, k) => {
    refuseIf(i < 0 || i >= problem.m, "multipliers name a point that does not exist");
    refuseIf(values[k] < 0, "a multiplier is negative");
    const violated = node.state[i] === VIOLATED;
    if (states[k] === VIOLATED) {
      if (violated) beta[i] = values[k];
    } else if (node.state[i] === FREE) {
      const width = up(1 - node.lower[i]);
      const cap = width > 0 && width < Infinity ? down(packing.left[i] / width) : 0;
      alpha[i] = Math.max(Math.min(values[k], cap), 0);
    } else if (!violated) {
      alpha[i] = values[k];
    }
  });
  return { alpha, beta };
}

/** Costs of violated points and pairs plus Σ α b, rounded down; s ± δ encloses Σ (α_i - β_i) g_i. */
function lagrangian(problem, node, { alpha, beta }, packing) {
  const terms = [packing.paid];
  const used = [];
  for (let i = 0; i < problem.m; i++) {
    if (node.state[i] === VIOLATED) terms.push(problem.weights[i]);
    if (alpha[i] > 0) terms.push(down(alpha[i] * down(1 - problem.e[i])));
    if (beta[i] > 0) terms.push(down(beta[i] * down(-1 - problem.e[i])));
    if (alpha[i] > 0 || beta[i] > 0) used.push(i);
  }
  const s = new Float64Array(problem.p);
  const delta = new Float64Array(problem.p);
  for (let j = 0; j < problem.p; j++) {
    const products = used.map((i) => problem.g[i][j] * (alpha[i] - beta[i]));
    s[j] = exactSum(products);
    delta[j] = up(sumUp(products.map((x) => up(Math.abs(x) * EPS))) + up(Math.abs(s[j]) * EPS));
  }
  return { constant: sumDown(terms), s, delta };
}

/** Least values over the box of v_j² - s_j v_j less what δ can cost, for coordinates below `count`; the minimisers. */
function boxMinimum(node, s, delta, count) {
  const c = new Float64Array(count);
  const terms = [];
  for (let j = 0; j < count; j++) {
    c[j] = Math.min(Math.max(0.5 * s[j], node.lo[j]), node.hi[j]);
    terms.push(down(down(c[j] * c[j]) - up(s[j] * c[j])));
    terms.push(-up(delta[j] * up(Math.abs(c[j]) + up(node.hi[j] - node.lo[j]))));
  }
  return { c, terms };
}

/** D with F(v) ≥ D + Σ (v_j - c_j)² + slope_j |v_j - c_j| on the box. */
function squareBound(problem, node, multipliers, packing) {
  const { constant, s, delta } = lagrangian(problem, node, multipliers, packing);
  const last = problem.p - 1;
  const terms = [constant];
  if (problem.free) {
    // 0 ≥ (v - lo)(v - hi) stands for the square that the intercept has not
    const [lo, hi] = [node.lo[last], node.hi[last]];
    terms.push(down(lo * hi));
    delta[last] = up(delta[last] + 2 * EPS * (Math.abs(s[last]) + Math.abs(lo) + Math.abs(hi)));
    s[last] += lo + hi;
  }
  const minimum = boxMinimum(node, s, delta, problem.p);
  const slope = minimum.c.map((c, j) => Math.max(down(down(Math.abs(2 * c - s[j])) - up(EPS * Math.abs(s[j]))), 0));
  return { bound: sumDown([...terms, ...minimum.terms]), c: minimum.c, slope };
}

/** A bound with the intercept's linear term alone; -∞ where every weight is penalised. */
function linearBound(problem, node, multipliers, packing) {
  if (!problem.free) return -Infinity;
  const { constant, s, delta } = lagrangian(problem, node, multipliers, packing);
  const last = problem.p - 1;
  const [lo, hi] = [node.lo[last], node.hi[last]];
  const intercept = -up(Math.max(s[last] * lo, s[last] * hi));
  const loss = -up(delta[last] * Math.max(Math.abs(lo), Math.abs(hi)));
  return sumDown([constant, intercept, loss, ...boxMinimum(node, s, delta, last).terms]);
}

/** Shrink the box to the ball around c and decide points by it; false where nothing of interest is left. */
function tighten(problem, node, alpha, packing, { bound, c, slope }) {
  const r = up(problem.target - bound);
  if (!Number.isFinite(r)) return true;
  const radius = up(Math.sqrt(Math.max(r, 0)));
  for (let j = 0; j < problem.p; j++) {
    let short = radius;
    if (slope[j] > 0) {
      const root = down(Math.sqrt(Math.max(down(down(slope[j] * slope[j]) + down(4 * r)), 0)));
      short = Math.min(up(up(2 * r) / down(slope[j] + root)), radius);
    }
    const atLow = c[j] <= node.lo[j];
    const atHigh = !atLow && c[j] >= node.hi[j];
    node.hi[j] = Math.min(node.hi[j], up(c[j] + (atLow ? short : radius)));
    node.lo[j] = Math.max(node.lo[j], down(c[j] - (atHigh ? short : radius)));
    if (node.lo[j] > node.hi[j]) return false;
  }
  for (let i = 0; i < problem.m; i++) {
    if (!decideByBall(problem, node, i, alpha[i], packing.left[i], c, r)) return false;
  }
  return true;
}

/** Decide one point by the ball ||v - c||² < r; false where it can be neither kept nor violated, or not be what it is. */
function decideByBall(problem, node, i, alpha, left, c, r) {
  const norm2 = problem.norm2[i];
  const products = Array.from(problem.g[i], (x, j) => x * c[j]);
  const centre = exactSum(products);
  const off = up(up(sumUp(products.map((x) => up(Math.abs(x) * EPS))) + problem.e[i]) + up(EPS * Math.abs(centre)));
  const low = down(centre - off);
  const short = Math.max(down(1 - up(centre + off)), 0);
  const neverKept = down(down(short * short) / norm2) >= r;
  if (node.state[i] === KEPT) return !neverKept;
  if (node.state[i] === VIOLATED) {
    const excess = Math.max(down(low - 1), 0);
    return down(down(excess * excess) / norm2) < r;
  }
  // where the point is violated its cost replaces α(1 - u): the least value is β at the margin u = turn
  const turn = down(low - up(up(0.5 * alpha * norm2)));
  const square = up(up(up(0.25 * alpha * alpha) * norm2));
  const beta = down(down(left - up(alpha * up(1 - low))) - square);
  const beyond = Math.max(down(turn - 1), 0);
  const neverViolated = down(beta + down(down(beyond * beyond) / norm2)) >= r;
  if (neverKept && neverViolated) return false;
  if (neverKept) node.state[i] = VIOLATED;
  if (neverViolated) node.state[i] = KEPT;
  const reach = up(Math.sqrt(up(norm2 * up(Math.max(up(r - beta), 0)))));
  const lower = down(turn - reach);
  if (lower > node.lower[i]) node.lower[i] = lower;
  return true;
}

/** The tree of a log of boxes. */
class BoxTree {
  constructor(header, statement, bound, records) {
    this.problem = new BoxProblem(header, statement, bound);
    if (this.problem.trivial) return;
    this.tree = new Tree(records);
    const roots = records.filter((record) => record.parent === -1);
    refuseIf(roots.length !== 1, `the tree has ${roots.length} roots`);
    this.first = { record: roots[0], state: this.problem.root() };
  }

  /** A bound on the value of what is in a node, in the problem's own units. */
  floor({ bound }) {
    if (bound >= this.problem.target) return this.problem.bound;
    return Math.max(down(this.problem.constant + down(bound * this.problem.sigma)), 0);
  }

  /** Verify a node; its children that are still to be verified. */
  expand({ record, state }) {
    if (this.#settled(state, record.rounds)) return [];
    const { target } = this.problem;
    refuseIf(!("split" in record), `node ${record.id} is neither proved (${state.bound} < ${target}) nor split`);
    const children = [];
    for (const side of [0, 1]) {
      const child = this.#child(state, record.split, side);
      const next = this.tree.child(record.id, side);
      if (next !== undefined) children.push({ record: next, state: child });
      else refuseIf(!(state.bound >= target), `child ${side} of node ${record.id} is missing`);
    }
    return children;
  }

  #child(node, split, side) {
    const [name, middle] = numbers(split, 2, "a split");
    integer(name, "a split's coordinate");
    const child = { bound: node.bound };
    for (const name of ["lo", "hi", "state", "lower"]) child[name] = node[name].slice();
    if (name >= 0) {
      refuseIf(name >= this.problem.p, "a split names no coordinate");
      if (side === 0) child.hi[name] = Math.min(child.hi[name], middle);
      else child.lo[name] = Math.max(child.lo[name], middle);
      return child;
    }
    const point = -1 - name;
    refuseIf(point >= this.problem.m, "a split names no point");
    if (child.state[point] !== FREE && child.state[point] !== side) child.bound = Infinity;
    child.state[point] = side;
    return child;
  }

  #settled(node, rounds) {
    refuseIf(!Array.isArray(rounds), "a node has no rounds");
    const { problem } = this;
    if (node.bound >= problem.target || !applyBox(problem, node) || this.#settledByCount(node)) return true;
    for (const round of rounds) {
      refuseIf(!Array.isArray(round) || round.length < 5, "a round holds points, states, multipliers, pairs and prices");
      if (round.length > 5) {
        if (this.#emptiedByLevels(node, round)) return true;
        continue;
      }
      const packing = payPairs(problem, node, round[3], round[4]);
      if (packing === null) return true;
      const multipliers = validMultipliers(problem, node, round, packing);
      const square = squareBound(problem, node, multipliers, packing);
      node.bound = Math.max(node.bound, square.bound, linearBound(problem, node, multipliers, packing));
      if (node.bound >= problem.target) return true;
      if (!tighten(problem, node, multipliers.alpha, packing, square) || !applyBox(problem, node)) return true;
      if (this.#settledByCount(node)) return true;
    }
    return false;
  }

  /** The bound without multipliers: costs of violated points and the least norm in the box. */
  #settledByCount(node) {
    const none = new Float64Array(this.problem.m);
    const arguments_ = [this.problem, node, { alpha: none, beta: none }, { left: this.problem.weights, paid: 0 }];
    node.bound = Math.max(node.bound, squareBound(...arguments_).bound, linearBound(...arguments_));
    return node.bound >= this.problem.target;
  }

  /** A round whose losses are weighed by its last number: it empties a node or says nothing. */
  #emptiedByLevels(node, round) {
    const scaled = this.problem.levelled(node, round[5]);
    const prices = numbers(round[4], null, "prices").map((price) => round[5] * price);
    const packing = payPairs(scaled, node, round[3], prices);
    if (packing === null) return true;
    const multipliers = validMultipliers(scaled, node, round, packing);
    const square = squareBound(scaled, node, multipliers, packing).bound;
    return Math.max(square, linearBound(scaled, node, multipliers, packing)) >= scaled.target;
  }
}

// ---------------------------------------------------------------------------------------------------------- conflicts

/** The tree of a log of conflicts: sets of points that no w of small norm keeps all, which are packed and branched on. */
class ConflictTree {
  constructor(header, statement, bound, records, target = bound) {
    refuseIf(!isNumber(target) || target < bound, "the tree's target is no finite number at or above the claimed bound");
    const { zero, merged } = statement.groups(header.member);
    this.counted = statement.budget !== null;
    this.lost = this.counted || !zero.length ? 0 : down(exactSum(zero.map((i) => statement.weights[i])));
    this.budget = this.counted ? statement.budget - zero.length : Infinity;
    this.trivial = this.lost >= bound || this.budget < 0;
    if (this.trivial) return;
    this.bound = bound;
    this.target = this.lost > 0 ? up(target - this.lost) : target;
    this.claim = this.lost > 0 ? up(bound - this.lost) : bound;
    const rows = merged.map((group) => statement.A[group[0]]);
    this.weights = merged.map((group) =>
      this.counted ? group.length : down(exactSum(group.map((i) => statement.weights[i]))),
    );
    this.rows = rows.map((row) => statement.inside.map((j) => row[j]));
    this.labels = rows.map((row) => (statement.intercept < 0 ? 0 : row[statement.intercept]));
    this.reach = statement.intercept < 0 ? 0 : statement.interceptReach(rows, target);
    this.stated = new Map();
    for (const record of records.filter((candidate) => "conflict" in candidate)) {
      const number = integer(record.number ?? this.stated.size, "a conflict's number");
      refuseIf(this.stated.has(number) || number < 0, `two conflicts have the number ${number}, or it is negative`);
      this.stated.set(number, record);
    }
    this.tree = new Tree(records.filter((record) => !("conflict" in record)));
    this.known = new Map();
    const root = this.tree.child(-1, 0);
    refuseIf(root === undefined, "the tree has no root");
    const state = this.weights.map((weight) => (!this.counted && weight >= this.target ? KEPT : FREE));
    this.first = { record: root, state: { points: state, extra: 0 } };
  }

  /** A bound on the value of what is in a node: what it has deleted and what it proves to be deleted further. */
  floor({ points, extra }) {
    if (this.counted) return 0;
    return Math.min(Math.max(down(this.lost + down(down(this.#deleted(points)) + extra)), 0), this.bound);
  }

  #deleted(points) {
    return exactSum(this.weights.filter((_, i) => points[i] === VIOLATED));
  }

  /** T: solutions of interest have ||w||² < T where further deletions of cost `spent` are proved. */
  #room(points, spent) {
    return this.counted ? this.target : up(up(this.target - down(this.#deleted(points))) - spent);
  }

  #over({ points, extra }) {
    return this.counted ? this.#deleted(points) + extra > this.budget : this.#room(points, extra) <= 0;
  }

  /** What is proved of further deletions once a point is deleted. */
  #less(extra, point) {
    const left = extra - this.weights[point];
    return Math.max(this.counted && Number.isInteger(left) ? left : down(left), 0);
  }

  /** Keep the points that stand for more than the budget leaves. */
  #keepHeavy(points) {
    if (!this.counted) return;
    const room = this.budget - this.#deleted(points);
    this.weights.forEach((weight, i) => {
      if (points[i] === FREE && weight > room) points[i] = KEPT;
    });
  }

  /** The norm that a conflict's multipliers prove: ((Σα - |Σ α_i y_i| max|b|)₊)² / ||Σ α_i a_i||², rounded down. */
  #conflict(number, id) {
    if (this.known.has(number)) return this.known.get(number);
    const record = this.stated.get(number);
    refuseIf(record === undefined, `node ${id} names a conflict that is not there`);
    const points = integers(record.conflict, null, "points of a conflict");
    const alpha = numbers(record.alpha, points.length, "multipliers of a conflict");
    refuseIf(new Set(points).size < points.length, "a conflict names a point twice");
    refuseIf(points.some((i) => i < 0 || i >= this.weights.length), "a conflict names no point");
    let gain = down(exactSum(alpha));
    const tilt = Math.abs(exactSum(alpha.map((a, k) => a * this.labels[points[k]])));
    if (tilt > 0) gain = down(gain - up(up(tilt) * this.reach));
    const width = this.rows.length ? this.rows[0].length : 0;
    const squares = [];
    for (let j = 0; j < width; j++) {
      const products = alpha.map((a, k) => a * this.rows[points[k]][j]);
      const off = sumUp(products.map((x) => up(Math.abs(x) * EPS)));
      const size = up(up(Math.abs(exactSum(products))) + off);
      squares.push(up(size * size));
    }
    const norm = gain > 0 ? down(down(gain * gain) / sumUp(squares)) : 0;
    const kept = points.filter((_, k) => alpha[k] >= 0);
    const conflict = { kept, away: points.filter((_, k) => alpha[k] < 0), norm };
    this.known.set(number, conflict);
    return conflict;
  }

  /** Free points of a conflict that a node may use: no solution of interest keeps them all. */
  #choices(number, id, points, spent) {
    const { norm } = this.#conflict(integer(number, "a conflict"), id);
    refuseIf(!(norm >= this.#room(points, spent)), `a conflict of node ${id} proves ${norm}, which is too little`);
    return this.#free(number, id, points);
  }

  /** Free points of a conflict whose other points are as its signs demand. */
  #free(number, id, points) {
    const { kept, away } = this.#conflict(integer(number, "a conflict"), id);
    refuseIf(kept.some((i) => points[i] === VIOLATED), `a conflict of node ${id} has a point that is deleted`);
    const wrong = away.some((i) => points[i] !== VIOLATED);
    refuseIf(wrong, `a conflict of node ${id} has a negative multiplier of a point that is not deleted`);
    return kept.filter((i) => points[i] === FREE);
  }

  /** Verify a node; its children. */
  expand({ record, state: node }) {
    const { id } = record;
    this.#keepHeavy(node.points);
    if (this.#over(node)) return [];
    refuseIf(!Array.isArray(record.steps), `node ${id} has no steps`);
    for (const step of record.steps) {
      const kind = Array.isArray(step) ? step[0] : "";
      refuseIf(kind !== "pack" && kind !== "cut", `node ${id} has an unknown step`);
      if (kind === "pack") node.extra = Math.max(node.extra, this.#packed(node, step[1], id));
      else if (!this.#cut(node, step[1], id)) return [];
      if (this.#over(node)) return [];
    }
    if ("open" in record) {
      refuseIf(!this.#endsOpen(node, record.open, id), `open node ${id} may hold a solution below the claimed bound`);
      return [];
    }
    refuseIf(!("split" in record), `node ${id} is neither proved to be empty nor split`);
    return this.#split(node, record.split, id).map((state, side) => {
      const next = this.tree.child(id, side);
      refuseIf(next === undefined, `child ${side} of node ${id} is missing`);
      return { record: next, state };
    });
  }

  /** Whether what a node has deleted and the conflicts of its kept points reach the claim. */
  #endsOpen({ points, extra }, chosen, id) {
    let norm = 0;
    for (const number of integers(chosen, null, "conflicts of an open node")) {
      refuseIf(this.#free(number, id, points).length > 0, `open node ${id} has a conflict with a free point`);
      norm = Math.max(norm, this.#conflict(number, id).norm);
    }
    if (this.counted) return norm >= this.claim;
    return down(down(down(this.#deleted(points)) + extra) + norm) >= this.claim;
  }

  /** Delete the one free point of a conflict; false where it has none. */
  #cut(node, number, id) {
    const free = this.#choices(number, id, node.points, node.extra);
    if (!free.length) return false;
    refuseIf(free.length > 1, `a conflict of node ${id} leaves a choice between ${free.length} points`);
    node.points[free[0]] = VIOLATED;
    node.extra = this.#less(node.extra, free[0]);
    this.#keepHeavy(node.points);
    return true;
  }

  /** Σy of weights y ≥ 0 on conflicts with Σ_{c ∋ i} y_c ≤ λ_i on free points: so much is deleted further. */
  #packed(node, chosen, id) {
    refuseIf(!Array.isArray(chosen), `node ${id} packs no list`);
    const load = new Float64Array(this.weights.length);
    let packed = 0;
    for (const [number, y] of chosen) {
      refuseIf(!isNumber(y) || y < 0, `node ${id} packs a conflict with a weight that is not finite and ≥ 0`);
      const free = this.#choices(number, id, node.points, Math.max(node.extra, packed));
      if (!free.length) return Infinity;
      const whole = this.counted && Number.isInteger(y) && free.every((i) => Number.isInteger(load[i]));
      for (const i of free) {
        load[i] = whole ? load[i] + y : up(load[i] + y);
        refuseIf(load[i] > this.weights[i], `node ${id} packs more on a point than its weight`);
      }
      const total = packed + y;
      packed = this.counted && Number.isInteger(total) && Number.isInteger(y) ? total : Math.max(down(total), 0);
    }
    return packed;
  }

  /** Children of a split: on the free points of a conflict in some order, or on one free point, deleted or kept. */
  #split(node, split, id) {
    refuseIf(!Array.isArray(split) || split.length < 2, `node ${id} has a split that is none`);
    const number = integer(split[0], "a split's conflict");
    const order = integers(split[1], null, "points of a split");
    if (number < 0) {
      const i = order[0];
      refuseIf(order.length !== 1 || !(node.points[i] === FREE), `node ${id} branches on no free point`);
      const [deleted, kept] = [node.points.slice(), node.points.slice()];
      deleted[i] = VIOLATED;
      kept[i] = KEPT;
      return [{ points: deleted, extra: this.#less(node.extra, i) }, { points: kept, extra: node.extra }];
    }
    const free = new Set(this.#choices(number, id, node.points, node.extra));
    const same = order.length === free.size && new Set(order).size === free.size && order.every((i) => free.has(i));
    refuseIf(!same, `node ${id} does not branch on the free points of its conflict`);
    return order.map((i, side) => {
      const points = node.points.slice();
      for (const earlier of order.slice(0, side)) points[earlier] = KEPT;
      points[i] = VIOLATED;
      return { points, extra: this.#less(node.extra, i) };
    });
  }
}

// ---------------------------------------------------------------------------------------------------------------- the check

/** Insert a pending node by its bound: the last of the list has the least one. */
function insert(pending, item) {
  let low = 0;
  let high = pending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pending[middle].floor >= item.floor) low = middle + 1;
    else high = middle;
  }
  pending.splice(low, 0, item);
}

/** Bytes of a log that may be packed by gzip; a packed log may unpack to 4 MB and 64 times its size. */
async function unpack(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const most = 2 ** 22 + 64 * bytes.length;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const pieces = [];
  let size = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > most) throw new Error("the log unpacks to far more than its size: unpack it yourself, if you trust it");
  }
  const whole = new Uint8Array(size);
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return whole;
}

/** The check of one log. After `run()` or the end of `steps()`, `report` is the verdict; `stage` says where it was refused. */
class ProofCheck {
  constructor(bytes) {
    this.bytes = bytes;
    this.stage = "seal"; // what is verified now: then "data", "point" and "tree"
    this.report = { valid: false, bound: NaN, value: NaN, nodes: 0, message: "not verified", digest: "", floor: 0 };
  }

  /** Verify everything at once; the report. */
  run() {
    for (const step of this.steps()) void step;
    return this.report;
  }

  /** Verify node by node: yields { record, children, floor }, with `floor` the bound that the tree proves by then. */
  *steps() {
    const { report } = this;
    try {
      yield* this.#verified();
      report.valid = true;
      report.message = "every node is proved";
      report.floor = Math.max(report.bound, 0);
    } catch (error) {
      const refused = error instanceof Refusal;
      report.message = refused ? error.message : `the log cannot be read: ${error.name}: ${error.message}`;
    }
  }

  *#verified() {
    const { report } = this;
    const [header, ...records] = readRecords(this.bytes);
    const claim = records.pop();
    this.stage = "data";
    const statement = (this.statement = new Statement(header));
    report.digest = statement.digest;
    this.stage = "point";
    refuseIf(!isNumber(claim.bound), "the claimed bound is no finite number");
    report.bound = claim.bound;
    report.value = statement.value(claim.w);
    refuseIf(claim.bound > report.value, `the claimed bound ${claim.bound} is above the point's value ${report.value}`);
    this.stage = "tree";
    if (claim.bound <= 0) return;
    const Kind = header.kind === "boxes" ? BoxTree : ConflictTree;
    const tree = new Kind(header, statement, claim.bound, records, claim.target);
    if (tree.trivial) return;
    const pending = [{ ...tree.first, floor: tree.floor(tree.first.state) }];
    while (pending.length) {
      const item = pending.pop();
      const children = tree.expand(item);
      report.nodes += 1;
      for (const child of children) insert(pending, { ...child, floor: Math.max(item.floor, tree.floor(child.state)) });
      report.floor = Math.max(report.floor, Math.min(pending.at(-1)?.floor ?? Infinity, claim.bound));
      yield { record: item.record, children: children.map((child) => child.record), floor: report.floor };
    }
    const unreached = header.kind === "boxes" ? 0 : tree.tree.size - report.nodes;
    refuseIf(unreached > 0, `${unreached} nodes are no open children of others`);
  }
}

if (typeof module !== "undefined") module.exports = { ProofCheck, unpack, sha256, exactSum, up, down, dyadic, floorDouble, ceilDouble };
