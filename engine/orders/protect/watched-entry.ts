/** An entry whose protection is watched (watch.ts), and what is kept of it once that is over. */
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { TradeAccounts, type Rooms } from "../accounts.js";
import type { TradeExecution } from "../send/execution.js";
import { positionAttempts, type TradeRun } from "../run.js";
import type { TradeContext, TradeRequest } from "../types.js";

/** Between two looks at one entry, and between two rounds for what was refused. */
export const FIRST_POLL_MS = 1_000;
export const MAX_POLL_MS = 15_000;

export interface Watched {
  readonly run: TradeRun;
  readonly context: TradeContext;
  /** The request's own: what is concluded of the run is kept under its key. */
  readonly execution: TradeExecution;
  /** Of the venues that the entry went to. */
  credentials: TradeRequest["credentials"];
  /** No other part reports the end of this run: its orders were settled, resting, at the reply, or ended in a look of its own. */
  reportsEnd: boolean;
  /** The resolver had, or has, an order of it: its outcome ends the run for all. */
  isReportedElsewhere: boolean;
  roundCount: number;
  retryCount: number;
  /** Monotonic: what was refused is sent again from then on. */
  retryAtNs: number;
  /** Orders of it were seen elsewhere since the last look, which is not needed then. */
  hint: "LOOK" | "SEEN" | null;
  /** The store refused what is newly known of it. */
  isUnpublished: boolean;
  /** Rounds of protection that the store has refused since one that it took. */
  storeRefusals: number;
  /** Ends the pause it is in. */
  wake: (() => void) | null;
  /** Looks that are made on the lane of exits, because an order of it has probably filled and no read shows it yet. */
  urgentLooks: number;
}

/** Without a credential, a session or a text of a request. */
export interface WatchedBefore extends Pick<Watched, "roundCount" | "retryCount" | "context"> {
  readonly execution: Omit<TradeExecution, "accounts" | "secrets">;
}

/** Of the idempotency record of the request; null without one. */
export function keyOf({ execution }: Watched): string | null {
  return execution.ticket?.recordKey ?? null;
}

export function watchedBefore(execution: WatchedBefore["execution"], context: TradeContext): WatchedBefore {
  const { ownerId, deadline, quote, request, ticket, unread } = execution;
  return {
    execution: { ownerId, deadline, quote, request: { ...request, credentials: {} }, ticket, unread },
    context: { ...context, rawBody: new Uint8Array() },
    roundCount: 1,
    retryCount: 0,
  };
}

export function credentialsOf({ request }: TradeExecution, run: TradeRun): TradeRequest["credentials"] {
  return Object.fromEntries(positionAttempts(run).map(({ venue }) => [venue, request.credentials[venue]]));
}

/** Sessions are open for the time of a look or a round of protection; what went to the resolver stays its own. */
export async function withAccounts(
  { hash, rooms }: { readonly hash: KeyedHash; readonly rooms: Rooms },
  entry: Watched,
  work: (accounts: TradeAccounts) => Promise<void>,
): Promise<void> {
  const accounts = new TradeAccounts(
    rooms,
    { credentials: entry.credentials, preferredExchange: null },
    hash,
    entry.execution.ownerId,
    entry.context.payer,
  );
  try {
    await work(accounts);
  } finally {
    accounts.closeAll();
  }
}
