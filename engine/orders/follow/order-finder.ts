import { delay } from "../../domain/clock.js";
import { type Deadline, within } from "../../domain/deadline.js";
import type { AccountSession } from "../../ports.js";
import { problemOf } from "../background.js";
import { readPriceLater } from "../send/fill-price.js";
import type { Account, FollowOwners } from "./followed-run.js";
import type { OrderFollows } from "./order-follows.js";
import { FIRST_POLL_DELAY_MS, lookUpOrder, type LookUp, type UnknownOrder } from "../send/resolver.js";
import { applyResolution } from "../send/outcome.js";
import type { OrderAttempt } from "../run.js";
import { recordAbandoned } from "../run-writes.js";
import type { FinderParts, FoundRun } from "../send/unknown-order.js";

/** An order whose end a request looks for. */
interface Sought {
  readonly attempt: OrderAttempt;
  readonly order: UnknownOrder;
  /** Is its end still open? Somebody else may find it while the venue is asked. */
  isOpen(): boolean;
}

/** found, notPlaced: written into the attempt. overtaken: somebody else found more of it meanwhile. */
export type FindEnd = "found" | "notPlaced" | "open" | "overtaken";

/**
 * For a request that holds the run's idempotency key. `waitForProof`: polls until the deadline; otherwise looks once.
 * `readPrice`: called where the order ended without its price. Never rejects.
 */
export async function findEnd(
  parts: FinderParts,
  { attempt, isOpen, order }: Sought,
  by: { readonly session: AccountSession; readonly deadline: Deadline; readonly waitForProof: boolean },
  readPrice: (end: LookUp) => void,
): Promise<FindEnd> {
  // The process that knew more is gone: from here on it is an order of unknown outcome.
  recordAbandoned(attempt);
  if (parts.resolver.isActive(attempt.clientIdHex)) return "open";
  try {
    const look = await pollUntilKnown(parts, order, by);
    if (look.kind === "open") return "open";
    if (!isOpen()) return "overtaken";
    applyResolution(parts, attempt, look);
    readPrice(look);
    return look.kind;
  } catch (error) {
    // A fault of ours in the look-up proves nothing of the order.
    parts.logger.error("recovery_failed", { routeId: order.routeId, problem: problemOf(error) });
    return "open";
  }
}

async function pollUntilKnown(
  parts: Pick<FinderParts, "clock" | "logger">,
  order: UnknownOrder,
  { deadline, session, waitForProof }: Parameters<typeof findEnd>[2],
): Promise<LookUp> {
  for (let delayMs = FIRST_POLL_DELAY_MS; ; delayMs *= 2) {
    const look = await lookUpOrder(parts, order, session, Math.max(FIRST_POLL_DELAY_MS, deadline.leftMs()));
    if (look.kind !== "open" || !waitForProof) return look;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) return look;
    await delay(parts.clock, Math.min(delayMs, leftMs));
  }
}

/** A question beside any request: what is to be known, and who is to hear of it. */
interface Asked<Run extends FoundRun> extends Sought {
  readonly run: Run;
  /** Of its idempotency record; null without one. */
  readonly recordKey: string | null;
  readonly account: Account;
  /** Of its orders at other venues; absent: there are none. */
  readonly owners?: FollowOwners;
  readonly timeoutMs: number;
  /** Is this object still the one that all readers of the run share? */
  isShared(): Promise<boolean>;
  /** Updates whatever remembers the run. */
  publish(): Promise<unknown>;
}

/** Returns true when the order's end is known and published. Never rejects. */
export async function findAside<Run extends FoundRun>(
  parts: FinderParts & {
    readonly idempotency: { hold(recordKey: string): (() => void) | null };
    readonly follows: Pick<OrderFollows<Run>, "consider">;
  },
  asked: Asked<Run>,
): Promise<boolean> {
  const { clock, follows, idempotency, logger, resolver } = parts;
  const { account, attempt, order, owners, recordKey, run, timeoutMs } = asked;
  // A retry with the key may send again once the order is known never to have been placed: never beside this.
  const release = recordKey === null ? null : idempotency.hold(recordKey);
  if (recordKey !== null && release === null) return false;
  try {
    const looked = await within(clock, lookUpOrder(parts, order, account.session, timeoutMs), timeoutMs);
    if (!looked.done || looked.value.kind === "open") return false;
    if (resolver.isActive(attempt.clientIdHex)) {
      // Its own listener, which waited first, applies and publishes; the run is the same object or a copy to come.
      await resolver.offer(attempt.clientIdHex, looked.value);
      return !asked.isOpen();
    }
    // Somebody else may have found the end, or gone on with the run, while the venue was asked.
    if (!(await asked.isShared()) || !asked.isOpen()) return false;
    recordAbandoned(attempt);
    if (!applyResolution(parts, attempt, looked.value)) return false;
    readPriceLater(resolver, order, looked.value, () => {
      const opened = order.room.openSession(account.credentials, account.session.payer);
      return opened.ok ? opened.session : null;
    });
    // Found where it rests: from here on as one that rested at its reply.
    follows.consider(run, recordKey, (venue) => (venue === attempt.venue ? account : null), owners);
    await asked.publish();
    return true;
  } catch (error) {
    // A look that fails, by the store or by a bug of ours, leaves what was known.
    logger.error("ask_failed", { routeId: run.routeId, problem: problemOf(error) });
    return !asked.isOpen();
  } finally {
    release?.();
  }
}
