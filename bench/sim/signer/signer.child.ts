/**
 * The local signer as a process of its own, for drills and tests: `node signer.child.js CONTRACT TOKEN_FILE`. CONTRACT is
 * what `unwind custody contract` prints. It says `ready URL`, and then takes one word a line on stdin: how the next
 * requests are decided, and those that wait.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ContractDocument } from "./signer-contract.js";
import type { Decision } from "./signer-model.js";
import { LocalSigner } from "./signer-server.js";

const DECISIONS: Readonly<Record<string, Decision>> = {
  approve: { kind: "approve" },
  people: { kind: "people" },
  refuse: { kind: "refuse", refusal: { reason: "PEOPLE" } },
  fail: { kind: "fail" },
};

async function run([contractFile = "", tokenFile = ""]: readonly string[]): Promise<void> {
  const contract = JSON.parse(readFileSync(contractFile, "utf8")) as ContractDocument;
  const signer = await LocalSigner.start({ contract, token: readFileSync(tokenFile, "utf8").trim() });
  process.stdout.write(`ready ${signer.url}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    const decision = DECISIONS[line.trim()];
    if (decision === undefined) {
      process.stdout.write(`one of ${Object.keys(DECISIONS).join(", ")}\n`);
      continue;
    }
    signer.model.decision = () => decision;
    if (decision.kind !== "people") signer.model.decide(decision);
    const { requests, walletCount } = signer.model;
    process.stdout.write(
      `${JSON.stringify({ decision: line.trim(), requests: requests.length, wallets: walletCount, problems: signer.problems })}\n`,
    );
  }
  await signer.stop();
}

await run(process.argv.slice(2));
