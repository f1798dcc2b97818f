/** Names of trades that came to nothing: at a venue that took no order of a run, its caller's name is free again. */
import { sessionHash } from "./trade-accounts.js";
import type { TradeExecution, TradeParts } from "./trade-context.js";
import type { TradeRun } from "./trade-run.js";

/** Looks at the accounts at once, before their sessions are closed. Resolves when the rows are gone. */
export async function freeNames(
  { hash, names, store }: Pick<TradeParts, "hash" | "names" | "store">,
  { accounts }: Pick<TradeExecution, "accounts">,
  { attempts, clientOrderId, routeId }: TradeRun,
): Promise<void> {
  if (clientOrderId === null) return;
  const taken = new Set(
    attempts.filter(({ outcome }) => outcome !== "NOT_SENT" && outcome !== "REJECTED").map(({ venue }) => venue),
  );
  const owners = [...new Set(attempts.map(({ venue }) => venue))].flatMap((venue) => {
    const account = taken.has(venue) ? null : accounts.get(venue);
    return account === null ? [] : [sessionHash(hash, account.session)];
  });
  for (const owner of owners) {
    const { conditions, writes } = await names.freeRows(owner, clientOrderId, routeId);
    if (writes.length > 0) await store.commit({ conditions, writes });
  }
}
