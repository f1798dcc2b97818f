/**
 * Judges isolation: no output contains a caller's secret (design, invariant 6), and one venue's failure does not change
 * the answers of the others (invariant 12).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FourTrader } from "./four-venues.js";
import { tradeOutcome, type TradeTrial } from "./trade-trial.js";

/**
 * Number of traders whose secrets the judge searches for in a large output. It always searches a reply for those of its
 * own caller.
 */
const SEARCHED_TRADERS = 16;

/** Replies that contain a secret of their caller, and outputs that contain anybody's. */
export function secretProblems(
  trials: readonly TradeTrial[],
  traders: readonly FourTrader[],
  outputs: ReadonlyMap<string, string>,
): string[] {
  const found: string[] = [];
  for (const { key, answers } of trials)
    for (const answer of answers) if (answer.leakCount > 0) found.push(`${key}: a secret in ${tradeOutcome(answer)}`);
  const every = Math.max(1, Math.floor(traders.length / SEARCHED_TRADERS));
  const searched = traders.filter((_, index) => index % every === 0);
  for (const [name, text] of outputs) {
    for (const { label, secrets } of searched)
      if (secrets.some((secret) => spellingsOf(secret).some((spelling) => text.includes(spelling))))
        found.push(`a secret of ${label} in ${name}`);
  }
  return found;
}

function spellingsOf(secret: string): string[] {
  if (!/^([0-9a-f]{2})+$/i.test(secret)) return [secret];
  const bytes = Buffer.from(secret, "hex");
  return [secret, bytes.toString("latin1"), bytes.toString("base64").replace(/=+$/, ""), bytes.toString("base64url")];
}

/** Returns each file below the folder, byte for byte. */
export function bytesBelow(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"))
    .join("\n");
}

/** A trade that needs nothing of a venue that is down ends as usual, and its answers do not mention that venue. */
export function outageProblems(trials: readonly TradeTrial[]): string[] {
  const found: string[] = [];
  for (const { key, answers, besides, preferred } of trials) {
    if (besides === null) continue;
    const at = `${key}, ${preferred ?? "best venue"} while ${besides} was down`;
    const last = answers.at(-1);
    const state = last === undefined ? "no answer" : tradeOutcome(last);
    const execution = last?.data?.execution;
    if (execution?.state !== "COMPLETED" || execution.filledSize !== execution.requestedSize)
      found.push(`${at}: ended as ${state}, ${execution?.filledSize ?? "0"} filled`);
    for (const answer of answers) {
      if (answer.data === null && answer.blames === besides) found.push(`${at}: ${tradeOutcome(answer)} for it`);
      for (const leg of answer.data?.execution.legs ?? [])
        if (leg.exchange === besides) found.push(`${at}: an order was sent there`);
    }
  }
  return found;
}
