/**
 * The debug lines of orders: looks at orders of unknown outcome, sends that were refused on this machine, and what a
 * trade does after an order that came to nothing.
 *
 * Invariants: while debug is off nothing is built; a line holds our own codes and names alone, no word of a venue and
 * nothing of the credentials.
 */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { CancelAllOutcome, CancelOutcome, VenueOrder } from "../../domain/order.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Read, VenueRoom } from "../../ports.js";
import type { RoutingReport } from "../../routing/report.js";
import { type AbsenceBound, momentOf, proofInMs } from "./absence-proof.js";
import type { OrderAttempt } from "../run.js";

interface LogParts {
  readonly logger: Logger;
}

interface NamedRun {
  readonly routeId: string;
  readonly symbol: string;
  readonly attempts: readonly OrderAttempt[];
}

/** An order of unknown outcome (resolver.ts). */
interface SoughtOrder {
  readonly routeId: string;
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly clientIdHex: string;
  readonly bound: () => AbsenceBound | null;
}

/** What a look came to, or the whole search; `order`: as it is known then. */
interface Finding {
  readonly kind: "found" | "notPlaced" | "open" | "unknown";
  readonly order?: VenueOrder | null;
  readonly reason?: string;
}

/** Where a line names an order: what its venue sees as client id, and whose it is. */
function namesOf({ routeId }: Pick<NamedRun, "routeId">, { venue, venueClientOrderId }: OrderAttempt) {
  return { routeId, venueClientOrderId, venue };
}

/**
 * One look at an order: asked for by client id for `timeoutMs`; the venue's answer; and what follows, by `outcome`:
 * found ends the order, notPlaced too, and after open it is looked at again while there is time. `proofInMs`: how long
 * "no such order" proves nothing yet; null where it never will.
 */
export function logLook(
  { clock, logger }: LogParts & { readonly clock: Clock },
  order: SoughtOrder,
  timeoutMs: number,
  read: Read<VenueOrder | null>,
  look: Finding,
): void {
  if (logger.debug === null) return;
  const bound = order.bound();
  logger.debug("resolver_look", {
    ...namesOfSought(order),
    timeoutMs: Math.round(timeoutMs),
    answer: answerOf(read, look),
    outcome: look.kind,
    proofInMs: bound === null ? null : Math.max(0, Math.round(proofInMs(bound, momentOf(clock, order.room)))),
  });
}

/** The code of a failed read, the state that the venue shows, or why what it shows counts for nothing. */
function answerOf(read: Read<VenueOrder | null>, look: Finding): string {
  if (!read.ok) return read.code;
  if (read.value === null) return "NO_SUCH_ORDER";
  const isAnother = look.kind === "open" && look.order === null;
  return isAnother ? "ANOTHER_ORDER" : read.value.status;
}

/** The resolver is done with the order, by a look or by what the account's stream pushed. */
export function logResolution({ logger }: LogParts, order: SoughtOrder, resolution: Finding): void {
  logger.debug?.("resolver_ended", {
    ...namesOfSought(order),
    outcome: resolution.kind,
    state: resolution.order?.status ?? null,
    reason: resolution.reason ?? null,
  });
}

function namesOfSought({ clientIdHex, instrument, room, routeId }: SoughtOrder) {
  const venueClientOrderId = room.orders.venueClientOrderId(clientIdHex);
  return { routeId, venueClientOrderId, venue: room.venue, symbol: instrument.symbol };
}

/** An order that did not leave this machine: `reason` for its caller, `code` of the limit, breaker, guard or check. */
export function logUnsent(
  { logger }: LogParts,
  run: Pick<NamedRun, "routeId" | "symbol">,
  attempt: OrderAttempt,
  why: { readonly reason: string; readonly code: string; readonly retryAfterMs?: number | null },
): void {
  const { code, reason, retryAfterMs = null } = why;
  const { symbol } = run;
  logger.debug?.("send_refused", { what: "order", ...namesOf(run, attempt), symbol, reason, code, retryAfterMs });
}

interface Call {
  readonly what: "cancel" | "amend" | "cancel_all";
  readonly venue: string;
  /** Null: of every symbol. */
  readonly symbol: string | null;
  /** As far as they are known. */
  readonly routeId?: string;
  readonly venueClientOrderId?: string;
}

/** The same of a cancel or a change; nothing where it left. */
export function logUnsentCall({ logger }: LogParts, call: Call, outcome: CancelOutcome | CancelAllOutcome): void {
  if (logger.debug === null || outcome.outcome !== "rejected" || outcome.sent) return;
  const { reason, retryAfterMs = null, venueCode: code } = outcome;
  logger.debug("send_refused", { ...call, reason, code, retryAfterMs });
}

/** What remains goes to another venue. `leftOut`: each of the others, and why not there. */
export function logRerouted({ logger }: LogParts, run: NamedRun, venue: string, report: RoutingReport): void {
  if (logger.debug === null) return;
  const { routeId, symbol } = run;
  logger.debug("trade_rerouted", { routeId, symbol, venue, leftOut: leftOutText(run, venue, report) });
}

/** What remains goes nowhere. `report`: of the decision that found no venue; null where none was made. */
export function logNotRerouted(
  { logger }: LogParts,
  run: NamedRun,
  reason: string,
  report: RoutingReport | null = null,
): void {
  if (logger.debug === null) return;
  const { routeId, symbol } = run;
  const leftOut = report === null ? null : leftOutText(run, null, report);
  logger.debug("trade_not_rerouted", { routeId, symbol, reason, leftOut });
}

/** The order is sent once more to its own venue, otherwise priced or smaller; `attempt`: the one that came to nothing. */
export function logRetried(
  { logger }: LogParts,
  run: Pick<NamedRun, "routeId" | "symbol">,
  attempt: OrderAttempt,
  reason: "PRICE_BAND" | "POSITION_SIZE",
): void {
  logger.debug?.("order_retried", { ...namesOf(run, attempt), symbol: run.symbol, reason });
}

/** `venue:WHY` of each but the chosen: what its order came to, why it may not be chosen, or that it is dearer. */
function leftOutText({ attempts }: NamedRun, chosen: string | null, { candidates }: RoutingReport): string {
  const words: string[] = [];
  for (const { exchange, reasonCode } of candidates) {
    if (exchange === chosen) continue;
    const tried = attempts.findLast(({ venue }) => venue === exchange);
    const why = tried === undefined ? (reasonCode ?? "DEARER") : (tried.reason ?? tried.outcome);
    words.push(`${exchange}:${why}`);
  }
  return words.join(" ");
}
