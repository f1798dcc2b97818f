/** The metrics of money: transfers of server wallets, the chains that they go over, and the comparison of both. */
import type { Registry } from "prom-client";
import { DIFFERENCE_KINDS } from "../../engine/transfers/reconcile/report.js";
import type { ReconcileView } from "../../engine/transfers/reconcile/reconciliation.js";
import type { TransferCount } from "../../engine/transfers/transfer-book.js";
import { addCounter, addGauge, addGauges, type Labelled } from "./metric-forms.js";

/** Money of server wallets, and the chains that it goes over. */
export interface MoneyFigures {
  counts(): readonly TransferCount[];
  chainStatus(): readonly ChainFigures[];
  reconciled(): ReconcileView;
}

export interface ChainFigures {
  readonly chainId: number;
  readonly endpoints: readonly {
    readonly place: number;
    readonly state: string;
    readonly head: number | null;
    readonly failedCount: number;
    readonly malformedCount: number;
  }[];
}

/** -1 where none has ended since the start: a count of none would look like a clean one. */
function addReconcileMetrics(registry: Registry, money: MoneyFigures): void {
  addGauge(registry, {
    name: "unwind_reconcile_differences",
    help: "Differences between ledger, chains, venues and signing parties at the last comparison; -1: none has ended.",
    labelNames: ["kind"],
    *read() {
      const last = money.reconciled().last;
      for (const kind of DIFFERENCE_KINDS) yield [{ kind }, last?.differenceCounts[kind] ?? -1];
    },
  });
  addGauges(registry, [
    [
      "unwind_reconcile_unread",
      "Parts that the last comparison could not read; -1: none has ended.",
      () => money.reconciled().last?.unreadCount ?? -1,
    ],
    [
      "unwind_reconcile_uncompared",
      "Final transactions beyond the bound of the last comparison, which it did not ask for; -1: none has ended.",
      () => money.reconciled().last?.uncomparedCount ?? -1,
    ],
    [
      "unwind_reconcile_last_seconds",
      "When the last comparison ended, Unix seconds; 0: none has.",
      () => (money.reconciled().last?.endedAtMs ?? 0) / 1_000,
    ],
  ]);
}

export function addTransferMetrics(registry: Registry, money: MoneyFigures): void {
  addReconcileMetrics(registry, money);
  addGauge(registry, {
    name: "unwind_transfers",
    help: "Deposits, withdrawals and transfers: those under way by state, and those that ended since start.",
    labelNames: ["venue", "kind", "state"],
    *read() {
      for (const { venue, kind, state, count } of money.counts()) yield [{ venue, kind, state }, count];
    },
  });
  addGauge(
    registry,
    byEndpoint(
      money,
      "unwind_chain_endpoint_ready",
      "1 once it has named the chain; endpoints by their place in the configuration.",
      ({ state }) => (state === "proven" ? 1 : 0),
    ),
  );
  addGauge(
    registry,
    byEndpoint(
      money,
      "unwind_chain_endpoint_height",
      "Block that it named last; 0: none yet.",
      ({ head }) => head ?? 0,
    ),
  );
  addCounter(
    registry,
    byEndpoint(
      money,
      "unwind_chain_endpoint_failures",
      "Calls without an answer that can be read.",
      ({ failedCount }) => failedCount,
    ),
  );
  addCounter(
    registry,
    byEndpoint(
      money,
      "unwind_chain_endpoint_malformed",
      "Of these, answers that break the protocol.",
      ({ malformedCount }) => malformedCount,
    ),
  );
}

function byEndpoint(
  money: MoneyFigures,
  name: string,
  help: string,
  readOne: (endpoint: ChainFigures["endpoints"][number]) => number,
): Labelled {
  return {
    name,
    help,
    labelNames: ["chain", "endpoint"],
    *read() {
      for (const { chainId, endpoints } of money.chainStatus())
        for (const endpoint of endpoints)
          yield [{ chain: String(chainId), endpoint: String(endpoint.place) }, readOne(endpoint)];
    },
  };
}
