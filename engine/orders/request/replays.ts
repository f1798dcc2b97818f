/**
 * A key that is used again after its request was answered: the stored reply, or what is known by now of a run whose reply
 * was not the last word.
 *
 * Invariants: nothing is sent; an order that the resolver has in hand is not looked at beside it; a reply that is replayed
 * as final names every order that its execution names.
 */
import type { ExecutionRegistry } from "../durable/execution-registry.js";
import type { TradeConclusion } from "../conclude/trade-conclusion.js";
import type { TradeDecisions } from "../conclude/trade-decisions.js";
import { toTradeResult } from "../conclude/reply.js";
import type { ProtectionWatch } from "../protect/watch.js";
import { unsettledAttempt, type TradeRun } from "../run.js";
import type { TradeExecution } from "../send/execution.js";
import type { LookupParts } from "../send/unknown-order.js";
import type { TradeContext, TradeData, TradeResult } from "../types.js";
import { recoverRun } from "./recover.js";

/** What answers a key that is used again. */
interface ReplayParts extends LookupParts {
  readonly decisions: TradeDecisions;
  readonly registry: ExecutionRegistry;
}

type Replied = Extract<TradeResult, { readonly ok: true }>;

export class TradeReplays {
  readonly #parts: ReplayParts;
  readonly #conclusion: TradeConclusion;
  readonly #watch: ProtectionWatch;

  constructor(parts: ReplayParts, conclusion: TradeConclusion, watch: ProtectionWatch) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#watch = watch;
  }

  async replay(
    execution: TradeExecution,
    context: TradeContext,
    stored: TradeResult,
    storedRun: TradeRun,
  ): Promise<TradeResult> {
    const result = stored.ok ? await this.#current(execution, context, stored, storedRun) : stored;
    const replayed: TradeResult = { ...result, replayed: true };
    this.#parts.decisions.emit("replayed", execution.request, context, execution.deadline, {
      code: replayed.ok ? null : replayed.code,
      data: replayed.ok ? replayed.data : null,
    });
    return replayed;
  }

  async #current(
    execution: TradeExecution,
    context: TradeContext,
    stored: Replied,
    storedRun: TradeRun,
  ): Promise<TradeResult> {
    const { registry } = this.#parts;
    const { routeId } = storedRun;
    const isFinal = stored.data.execution.final;
    if (isFinal && !wantsProtection(stored.data)) return stored;
    const current = await registry.get(routeId);
    if (isFinal && (current === null || ordersIn(current) <= ordersIn(stored.data))) return stored;
    const result = current === null ? stored : toTradeResult(this.#watch.watchedReport(current), true);
    // A watch looks itself, and its orders may be on their way to the venue.
    if (isFinal && this.#watch.isWatching(routeId)) return result;
    const isOpen = current === null || !current.execution.final;
    // The run of whoever is at work on its orders: a stored one may be older, and would be published beside it.
    const shared = isOpen ? await registry.unsettledRun(routeId) : null;
    const run = current === null ? storedRun : shared;
    if (run === null || execution.ticket === null) return result;
    const isKnown = await this.#lookOnce(execution, run);
    // Found where they rest: from here on as those that rested at their reply.
    this.#conclusion.followLate(execution, context, run, []);
    if (!isKnown) return result;
    return toTradeResult(await this.#conclusion.publishResolved(run, execution.ticket.recordKey), true);
  }

  /** Asks the venue once, with the caller's credentials, about an order that no resolver has in hand. */
  async #lookOnce(execution: TradeExecution, run: TradeRun): Promise<boolean> {
    const unsettled = unsettledAttempt(run);
    if (unsettled === null || this.#parts.resolver.isActive(unsettled.clientIdHex)) return false;
    return (await recoverRun(this.#parts, execution, run, false)) !== "STILL_UNKNOWN";
  }
}

/** Then orders may be sent after a final reply, by a process that dies before it stores their outcome under the key. */
function wantsProtection({ execution }: TradeData): boolean {
  return (execution.protection ?? null) !== null;
}

export function ordersIn({ execution }: TradeData): number {
  return execution.legs.length + (execution.protectionOrders?.length ?? 0);
}
