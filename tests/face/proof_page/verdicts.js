"use strict";
/* Verdicts of checker.js on the logs of a folder, as JSON: node verdicts.js FOLDER_OF_CHECKER FOLDER_OF_LOGS */
const fs = require("fs");
const path = require("path");

const [checker, folder] = process.argv.slice(2);
const { ProofCheck, unpack } = require(path.join(checker, "checker.js"));

/** Numbers that JSON has not, as text. */
const plain = (x) => (Number.isFinite(x) ? x : String(x));

async function main() {
  const verdicts = {};
  for (const name of fs.readdirSync(folder).sort()) {
    let report;
    try {
      report = new ProofCheck(await unpack(fs.readFileSync(path.join(folder, name)))).run();
    } catch (error) {
      report = { valid: false, bound: NaN, value: NaN, nodes: 0, digest: "", message: `cannot be unpacked: ${error.message}` };
    }
    verdicts[name] = { ...report, bound: plain(report.bound), value: plain(report.value) };
  }
  process.stdout.write(JSON.stringify(verdicts));
}

main();
