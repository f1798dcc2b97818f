/**
 * Compares what a run's ledger says with what the chains and the venues' books say, to the unit. Each sum is made twice, once
 * of each side, and the two meet here alone.
 */
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import type { Find, Judged, MoneyFinding } from "./money-findings.js";
import { judgeCredits, judgeIntents, judgePayings, judgeStrangers } from "./money-intent-judge.js";
import { isAllThatIsKnown, payingsOf } from "./money-payings.js";
import { judgeSignatures } from "./money-signature-judge.js";
import { judgeChainUse, judgeTokens, judgeVenues } from "./money-sum-judge.js";

export function judgeMoney(judged: Judged): readonly MoneyFinding[] {
  const findings = [...judged.heard];
  const find: Find = (check, text) => {
    if (!findings.some((one) => one.check === check && one.text === text)) findings.push({ check, text });
  };
  const payings = judged.wallets.flatMap(({ address }) => payingsOf(judged, address));
  for (const row of judged.rows) judgeState(row, find);
  judgeIntents(judged, payings, find);
  judgeStrangers(judged, payings, find);
  judgePayings(judged, payings, find);
  for (const wallet of judged.wallets) {
    judgeTokens(judged, wallet, payings, find);
    judgeVenues(judged, wallet, payings, find);
    judgeChainUse(judged, wallet, find);
  }
  judgeCredits(judged, find);
  judgeSignatures(judged, find);
  return findings;
}

function judgeState(row: TransferRow, find: Find): void {
  const isOver = row.state === "confirmed" || row.state === "failed" || isAllThatIsKnown(row);
  if (!isOver) find("open", `${row.kind} of ${row.amount} at ${row.venue} is ${row.state} (${row.reason})`);
  if (row.kind === "deposit" && row.isCreditAwaited) find("open", `the credit of ${row.amount} is still awaited`);
}
