"use strict";
/* Buttons that verify the proof logs of exact runs in this page, by the checker above. */
for (const button of document.querySelectorAll("button.prove")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const answer = button.nextElementSibling;
    button.disabled = true;
    const say = (verdict, text) => { answer.dataset.verdict = verdict; answer.textContent = text; };
    try {
      const check = new ProofCheck(await unpack(Uint8Array.from(atob(button.dataset.log), (character) => character.charCodeAt(0))));
      const steps = check.steps();
      for (let finished = false; !finished; ) {
        const until = performance.now() + 40;
        while (!finished && performance.now() < until) finished = steps.next().done;
        say("", `verifying, ${check.report.nodes} nodes`);
        if (!finished) await new Promise((resolve) => setTimeout(resolve));
      }
      const { valid, bound, value, nodes, message, digest } = check.report;
      if (!valid) say("refused", `Refused: ${message}. This log proves no bound.`);
      else if (digest !== button.dataset.digest) say("refused", "Refused: the log is about other data.");
      else say("proved", `Proved: the optimum is at least ${Number(bound.toPrecision(10))}; the log's point has the value ${Number(value.toPrecision(10))}, by ${nodes} nodes.`);
    } catch (error) {
      say("refused", `Refused: the log cannot be unpacked: ${error.message}`);
    }
    button.disabled = false;
  });
}
