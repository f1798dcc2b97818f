/** Names of trades of which nothing was executed: at a venue that took no order of a run, its caller's name is free again. */
import type { StateStore } from "../../storage/state-store.js";
import type { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { sessionHash } from "../accounts.js";
import type { TradeExecution } from "../send/execution.js";
import type { TradeRun } from "../run.js";

/** What frees the names of a trade. */
export interface FreeNamesParts {
  readonly hash: KeyedHash;
  readonly names: ClientOrderIdIndex;
  readonly store: StateStore;
}

/** Looks at the accounts at once, before their sessions are closed. Resolves when the rows are gone. */
export async function freeNames(
  { hash, names, store }: FreeNamesParts,
  { accounts, ownerId }: Pick<TradeExecution, "accounts" | "ownerId">,
  { attempts, clientOrderId, routeId }: TradeRun,
): Promise<void> {
  if (clientOrderId === null) return;
  const taken = new Set(
    attempts.filter(({ outcome }) => outcome !== "NOT_SENT" && outcome !== "REJECTED").map(({ venue }) => venue),
  );
  const holders = [...new Set(attempts.map(({ venue }) => venue))].flatMap((venue) => {
    const account = taken.has(venue) ? null : accounts.get(venue);
    return account === null ? [] : [sessionHash(hash, account.session, ownerId)];
  });
  for (const holder of holders) {
    const { conditions, writes } = await names.freeRows(holder, clientOrderId, routeId);
    if (writes.length > 0) await store.commit({ conditions, writes });
  }
}
