"use strict";
/* The page around the checker: it unpacks a log, verifies it node by node, draws the tree and the bound, and forges on request. */

/** Bytes of a log with other records; sealed anew, or with the old seal. */
function rewritten(records, seal, reseal) {
  const encoder = new TextEncoder();
  const lines = records.map((record) => encoder.encode(`${JSON.stringify(record)}\n`));
  lines.push(encoder.encode(`${JSON.stringify(reseal ? { sha256: sha256(lines) } : seal)}\n`));
  const whole = new Uint8Array(lines.reduce((total, line) => total + line.length, 0));
  lines.reduce((at, line) => (whole.set(line, at), at + line.length), 0);
  return whole;
}

/** Places of the nodes of a tree: depth by depth downwards, leaves from left to right. */
function treeLayout(records) {
  const nodes = new Map();
  for (const record of records) {
    if ("id" in record && !nodes.has(record.id)) nodes.set(record.id, { record, children: [], depth: 0, x: 0 });
  }
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.record.parent);
    if (parent === undefined || parent === node) roots.push(node);
    else parent.children.push(node);
  }
  let leaves = 0;
  let depth = 0;
  for (const root of roots) {
    const stack = [[root, false]];
    while (stack.length) {
      const [node, closing] = stack.pop();
      depth = Math.max(depth, node.depth);
      if (closing) node.x = (node.children[0].x + node.children.at(-1).x) / 2;
      else if (!node.children.length) node.x = leaves++;
      else {
        stack.push([node, true]);
        node.children.sort((a, b) => b.record.side - a.record.side);
        for (const child of node.children) stack.push([Object.assign(child, { depth: node.depth + 1 }), false]);
      }
    }
  }
  return { nodes, leaves: Math.max(leaves, 1), depth };
}

/** Multipliers of a node as places in its record: name, value, and a function that sets the value. */
function multipliersOf(record, conflicts) {
  const places = [];
  const place = (name, list, k) => places.push({ name, value: list[k], set: (value) => (list[k] = value) });
  (record.rounds ?? []).forEach((round, r) => round[0].forEach((i, k) => place(`round ${r + 1}, row ${i}`, round[2], k)));
  const used = (record.steps ?? []).flatMap((step) => (step[0] === "pack" ? step[1].map(([number]) => number) : [step[1]]));
  if (record.split && record.steps && record.split[0] >= 0) used.push(record.split[0]);
  for (const number of new Set(used)) {
    const conflict = conflicts.get(number);
    conflict?.conflict.forEach((i, k) => place(`conflict ${number}, row ${i}`, conflict.alpha, k));
  }
  return places;
}

if (typeof document !== "undefined") {
  const element = (id) => document.getElementById(id);
  const embedded = JSON.parse(element("embedded").textContent);
  const figure = (x) => (Number.isFinite(x) ? Number(x.toPrecision(10)).toString() : x === Infinity ? "none" : "unknown");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const view = { bytes: null, records: [], seal: null, changes: [], layout: null, verdicts: new Map(), path: [], run: 0, selected: null, digest: "" };

  const says = (id, verdict, text) => {
    const item = element(`step-${id}`);
    item.dataset.verdict = verdict;
    item.querySelector("span").textContent = text;
  };

  /** A canvas as large as its place, in its own units; null where it is hidden. */
  function brush(id) {
    const canvas = element(id);
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    return { context, width, height };
  }

  function placesOn(width, height) {
    const { leaves, depth } = view.layout;
    const x = (node) => 14 + ((node.x + 0.5) * (width - 28)) / leaves;
    const y = (node) => 16 + (node.depth * (height - 32)) / Math.max(depth, 1);
    return { x, y, radius: Math.max(1.6, Math.min(7, (width - 28) / leaves / 2.6, height / Math.max(depth, 1) / 3)) };
  }

  function drawTree() {
    const { context, width, height } = brush("tree");
    if (view.layout === null) return;
    const { x, y, radius } = placesOn(width, height);
    const palette = { proved: colour("proved"), refused: colour("refused"), open: colour("open") };
    context.strokeStyle = colour("line");
    context.beginPath();
    for (const node of view.layout.nodes.values()) {
      for (const child of node.children) {
        context.moveTo(x(node), y(node));
        context.lineTo(x(child), y(child));
      }
    }
    context.stroke();
    for (const [id, node] of view.layout.nodes) {
      const verdict = view.verdicts.get(id) ?? "open";
      context.fillStyle = palette[verdict];
      context.beginPath();
      context.arc(x(node), y(node), verdict === "refused" ? radius + 2 : radius, 0, 2 * Math.PI);
      context.fill();
      if (id !== view.selected) continue;
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.stroke();
      context.lineWidth = 1;
    }
  }

  function drawChart(claim) {
    const { context, width, height } = brush("chart");
    if (!(claim > 0)) return;
    const count = Math.max(view.layout?.nodes.size ?? 1, view.path.length, 1);
    const x = (k) => 12 + (k * (width - 24)) / count;
    const y = (value) => height - 24 - (value * (height - 60)) / claim;
    context.strokeStyle = colour("line");
    context.strokeRect(x(0), y(claim) - 14, width - 24, y(0) - y(claim) + 14);
    context.setLineDash([5, 4]);
    context.strokeStyle = colour("claim");
    context.beginPath();
    context.moveTo(x(0), y(claim));
    context.lineTo(x(count), y(claim));
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colour("quiet");
    context.fillText(`claim ${figure(claim)}`, x(0) + 4, 14);
    context.fillText("0", x(0) + 4, y(0) - 4);
    context.textAlign = "right";
    context.fillText(`${count} ${count === 1 ? "node" : "nodes"}`, x(count), height - 8);
    context.textAlign = "left";
    context.strokeStyle = colour("proved");
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(x(0), y(0));
    let last = 0;
    view.path.forEach((floor, k) => {
      context.lineTo(x(k + 1), y(last));
      context.lineTo(x(k + 1), y(floor));
      last = floor;
    });
    context.stroke();
    context.lineWidth = 1;
  }

  /** Colour the four steps: those before the checker's stage are passed, and the stage itself is refused or still open. */
  function lightSteps(check, finished) {
    const { report, statement, stage } = check;
    const stages = ["seal", "data", "point", "tree"];
    const same = view.digest === "" || report.digest === view.digest;
    const texts = {
      seal: () => "the SHA-256 of all lines fits",
      data: () => `${statement.n} points, ${statement.p} columns, digest ${report.digest.slice(0, 16)}${same ? "" : `: not the page's data, ${view.digest.slice(0, 16)}`}`,
      point: () => `exact value, rounded up: ${figure(report.value)}`,
      tree: () => `${report.nodes} ${report.nodes === 1 ? "node" : "nodes"} verified`,
    };
    for (const [k, name] of stages.entries()) {
      const passed = k < stages.indexOf(stage) || report.valid;
      const here = name === stage && !report.valid;
      const refused = (here && finished) || (name === "data" && passed && !same);
      const text = passed || (here && name === "tree") ? texts[name]() : "";
      says(name, refused ? "refused" : passed ? "proved" : "", here && finished ? [text, report.message].filter(Boolean).join("; ") : text);
    }
  }

  function sentence(check) {
    const { report, statement } = check;
    const same = view.digest === "" || report.digest === view.digest;
    const target = element("sentence");
    target.dataset.verdict = report.valid && same ? "proved" : "refused";
    const strong = document.createElement("strong");
    if (!report.valid) {
      strong.textContent = "Refused. ";
      target.replaceChildren(strong, `${report.message[0].toUpperCase()}${report.message.slice(1)}. This log proves no bound.`);
      return;
    }
    const weights = statement.weights;
    const cost = weights.every((weight) => weight === weights[0]) ? `${weights[0]}` : `${Math.min(...weights)} to ${Math.max(...weights)}`;
    const intercept = statement.intercept < 0 ? "" : " and a free intercept";
    const size = `${statement.n} points with ${statement.p} columns${intercept}`;
    const problem = statement.budget === null
      ? `||w||² plus a cost of ${cost} for each of the ${size} that w leaves on the wrong side or inside the margin`
      : `||w||² over all w that leave at most ${statement.budget} of the ${size} on the wrong side or inside the margin`;
    const gap = (report.value - report.bound) / Math.max(Math.abs(report.value), Math.abs(report.bound), Number.MIN_VALUE);
    const rest = `${problem}, is at least ${figure(report.bound)} for every w. ${Number.isFinite(report.value) ? `The point of the log has the value ${figure(report.value)}: nothing is better by more than ${(100 * gap).toPrecision(2)}% of it.` : "The log holds no point."}`;
    strong.textContent = same ? "Proved. " : "Proved of other data. ";
    const other = same ? "" : " But this is another problem than the page's: the data were changed.";
    target.replaceChildren(strong, rest, other);
  }

  /** Verify the log as it is now, node by node, some of them a frame. */
  async function verify() {
    const run = ++view.run;
    const reseal = element("reseal").checked;
    const bytes = view.changes.length ? rewritten(view.records, view.seal, reseal) : view.bytes;
    view.verdicts.clear();
    view.path = [];
    element("sentence").dataset.verdict = "";
    element("sentence").textContent = "Verifying …";
    const check = new ProofCheck(bytes);
    const steps = check.steps();
    const total = Math.max(view.layout?.nodes.size ?? 1, 1);
    const share = element("slow").checked ? Math.max(1, Math.ceil(total / 240)) : Infinity;
    for (let finished = false; !finished; ) {
      const until = performance.now() + 40;
      for (let k = 0; k < share && performance.now() < until; k++) {
        const { done, value } = steps.next();
        if (done) {
          finished = true;
          break;
        }
        view.verdicts.set(value.record.id, "proved");
        view.path.push(value.floor);
      }
      if (run !== view.run) return;
      lightSteps(check, false);
      drawTree();
      drawChart(check.report.bound);
      element("progress").textContent = `${check.report.nodes} of ${total} nodes; proved so far: ${figure(check.report.floor)}`;
      if (!finished) await new Promise((resolve) => setTimeout(resolve, element("slow").checked ? 16 : 0));
    }
    const named = /node (\d+)/.exec(check.report.valid ? "" : check.report.message);
    if (named) view.verdicts.set(Number(named[1]), "refused");
    lightSteps(check, true);
    sentence(check);
    drawTree();
    drawChart(check.report.bound);
    document.body.dataset.verdict = check.report.valid ? "valid" : "refused";
    document.body.dataset.finished = String(run);
  }

  function chooseNode(id) {
    view.selected = id;
    const record = view.layout.nodes.get(id)?.record;
    const conflicts = new Map();
    for (const candidate of view.records) {
      if ("conflict" in candidate) conflicts.set(candidate.number ?? conflicts.size, candidate);
    }
    view.places = record === undefined ? [] : multipliersOf(record, conflicts);
    const options = view.places.map(({ name, value }, k) => new Option(`${name}: ${figure(value)}`, String(k)));
    element("multiplier").replaceChildren(...options);
    element("node-text").textContent = record === undefined ? "Select a node of the tree." : `Node ${id}: ${view.places.length} multipliers.`;
    for (const name of ["flip-multiplier", "double-multiplier"]) element(name).disabled = !view.places.length;
    drawTree();
  }

  function change(text) {
    view.changes.push(text);
    const item = document.createElement("li");
    item.textContent = text;
    element("changes").append(item);
    element("undo").disabled = false;
    void verify();
  }

  function changeMultiplier(factor, word) {
    const k = Number(element("multiplier").value);
    const place = view.places[k];
    place.set(place.value * factor);
    const text = `node ${view.selected}, ${place.name}: ${word}`;
    chooseNode(view.selected);
    element("multiplier").value = String(k);
    change(text);
  }

  function show(bytes, digest) {
    view.bytes = bytes;
    view.digest = digest;
    view.changes = [];
    element("changes").replaceChildren();
    element("undo").disabled = true;
    try {
      const lines = new TextDecoder().decode(bytes).split("\n").filter((line) => line !== "");
      view.records = lines.map((line) => JSON.parse(line));
      view.seal = view.records.pop();
    } catch {
      view.records = []; // the checker says why
    }
    view.layout = treeLayout(view.records.slice(1, -1));
    const rows = Array.isArray(view.records[0]?.A) ? view.records[0].A.length : 0;
    element("point").replaceChildren(...Array.from({ length: rows }, (_, i) => new Option(`point ${i}`, String(i))));
    element("flip-label").disabled = rows === 0;
    chooseNode(view.layout.nodes.size ? view.layout.nodes.keys().next().value : null);
    void verify();
  }

  element("run").addEventListener("click", () => void verify());
  element("reseal").addEventListener("change", () => void verify());
  element("flip-label").addEventListener("click", () => {
    const i = Number(element("point").value);
    view.records[0].A[i] = view.records[0].A[i].map((x) => -x);
    change(`point ${i}: label flipped`);
  });
  element("flip-multiplier").addEventListener("click", () => changeMultiplier(-1, "sign flipped"));
  element("double-multiplier").addEventListener("click", () => changeMultiplier(10, "ten times"));
  element("undo").addEventListener("click", () => show(view.bytes, view.digest));
  element("tree").addEventListener("click", (event) => {
    const { width, height } = event.currentTarget.getBoundingClientRect();
    const { x, y } = placesOn(width, height);
    let [best, distance] = [null, Infinity];
    for (const [id, node] of view.layout.nodes) {
      const d = Math.hypot(x(node) - event.offsetX, y(node) - event.offsetY);
      if (d < distance) [best, distance] = [id, d];
    }
    if (best !== null) chooseNode(best);
  });
  element("tree").addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move === undefined) return;
    const ids = [...view.layout.nodes.keys()];
    chooseNode(ids[(ids.indexOf(view.selected) + move + ids.length) % ids.length]);
    event.preventDefault();
  });
  const load = async (bytes, digest) => {
    try {
      show(await unpack(bytes), digest);
    } catch (error) {
      element("sentence").dataset.verdict = "refused";
      element("sentence").textContent = `The file cannot be unpacked: ${error.message}`;
    }
  };
  element("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await load(new Uint8Array(await file.arrayBuffer()), "");
  });
  const redraw = () => (drawTree(), drawChart(Number(view.records.at(-1)?.bound)));
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  if (embedded.log !== "") void load(Uint8Array.from(atob(embedded.log), (character) => character.charCodeAt(0)), embedded.digest);
}

if (typeof module !== "undefined") module.exports = { treeLayout };
