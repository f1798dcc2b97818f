/** The operator's acts on the ledger: a comparison, and the release of a restored store. */
import { OUTSIDE_WALLETS } from "../../engine/custody/outside/wallet-row.js";
import { WALLET_NAMESPACE } from "../../engine/custody/provider/wallet-rows.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Instance } from "../../engine/storage/instance/instance.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { TransferBlocks } from "../../engine/transfers/reconcile/blocks.js";
import { type ReconcileRun, Reconciler } from "../../engine/transfers/reconcile/reconciler.js";
import { Reconciliation, type ReleaseOutcome } from "../../engine/transfers/reconcile/reconciliation.js";
import { TRANSFER_NAMESPACE, TransferBook } from "../../engine/transfers/transfer-book.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { ReconcileAdmin } from "../admin/reconcile-port.js";
import type { Administration } from "./administration.js";

interface ReconcileAdminParts {
  readonly store: StateStore;
  readonly instance: Instance;
  readonly administration: Pick<Administration, "audit">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `withMoney`: null where nothing moves money now; rows that an earlier start left are put back by a release all the same. */
export async function reconcileAdmin(
  parts: ReconcileAdminParts,
  withMoney: Reconciliation | null,
): Promise<ReconcileAdmin & { stop(): Promise<void> }> {
  const reconciliation = withMoney ?? (await withoutMoney(parts));
  const { audit } = parts.administration;
  return {
    begin: () => ({ ...reconciliation.begin(), restored: parts.instance.restored }),
    view: () => ({ ...reconciliation.view(), restored: parts.instance.restored }),
    async release(force) {
      const details = { force: force.join(",") };
      const row = { who: "admin", what: "store.release", subject: "", outcome: "done", details } as const;
      const outcome = await reconciliation.release(force, () => audit.auditWrites(row));
      if (!outcome.ok) throw refusalOf(outcome);
      return { blocks: outcome.blocks, rows: outcome.rows };
    },
    stop: async () => (withMoney === null ? reconciliation.stop() : undefined),
  };
}

async function withoutMoney({ store, instance, clock, logger }: ReconcileAdminParts): Promise<Reconciliation> {
  const book = new TransferBook(store);
  if (instance.restored !== null) await book.load();
  const rails = new Map();
  const common = { book, rails, clock, logger, chains: new Map(), openSession: async () => null };
  const reconciler = new Reconciler({
    ...{ ...common, wallets: () => [], parties: () => null, restored: () => instance.restored },
  });
  const blocks = new TransferBlocks({ store, clock, rails });
  return new Reconciliation({
    ...{ book, clock, logger, instance, blocks, store, intervalMs: 0, settleMs: 0, lookAgain() {} },
    reconciler: { run: async () => unlessUsed(store, await reconciler.run()) },
  });
}

/** A store that has moved money, or has wallets, is compared by a start that has them too. */
async function unlessUsed(store: StateStore, { report, findings }: ReconcileRun): Promise<ReconcileRun> {
  for (const namespace of MONEY_NAMESPACES) {
    const rows = await store.scan(namespace, { prefix: "", limit: 1 });
    if (rows.length === 0) continue;
    const unread = [{ part: WALLETS, walletId: null, code: "NOT_CONFIGURED" }];
    return { report: { ...report, unread, unreadCount: 1, unreadParts: [WALLETS] }, findings };
  }
  return { report, findings };
}

const WALLETS = "wallets";
const MONEY_NAMESPACES = [TRANSFER_NAMESPACE, WALLET_NAMESPACE, OUTSIDE_WALLETS];

const TEXTS = {
  NOT_RESTORED: "The store is no restored backup: there is nothing to release",
  RECONCILE_FIRST: "`unwind reconcile` has to end first, since this start and since the store was put back",
  TOO_EARLY:
    "What was sent right before the restore may not be in the histories yet: run `unwind reconcile` again a minute after the start",
  PARTS_UNREAD:
    "Parts could not be compared: mend them and run `unwind reconcile` again, or name each with --force; what they may have sent stays blocked for a day",
} as const;

function refusalOf({ code, retryAfterMs, parts }: Extract<ReleaseOutcome, { ok: false }>): AdminRefusal {
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  return new AdminRefusal("RELEASE_REFUSED", TEXTS[code], {
    reason: code,
    ...wait,
    ...(parts.length === 0 ? {} : { parts }),
  });
}
