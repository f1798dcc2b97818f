/**
 * Judges closes by the venues' own logs. Each simulated close has accounts of its own, so its orders are told
 * apart by account, whatever the service calls them.
 */
import type { Direction } from "../../domain/order.js";
import type { CloseData, CloseResult } from "../close-types.js";
import { sideOf, type FakeVenue, type LoggedOrder } from "./fake-venue.js";

export interface SimulatedClose {
  readonly account: string;
  readonly direction: Direction;
  readonly requestedLots: number;
  readonly key: string | null;
  /** venue → lots at the start; positions only shrink after. */
  readonly initialLots: ReadonlyMap<string, number>;
  /** Every reply its caller saw, in order, and when. */
  readonly replies: { readonly result: CloseResult; readonly atMs: number }[];
}

/** Refusals that say nothing about what was executed under the key. */
const NEUTRAL_CODES: ReadonlySet<string> = new Set([
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_MISMATCH",
  "SHUTTING_DOWN",
  "OVERLOADED",
]);

/** One text per broken invariant; empty when all hold. `latest`: what the service says of the close at the end. */
export function violations(close: SimulatedClose, venues: readonly FakeVenue[], latest: CloseData | null): string[] {
  const orders = venues
    .flatMap((venue) => venue.ordersOf(close.account))
    .sort((left, right) => left.sentAtMs - right.sentAtMs);
  const found: string[] = [];
  const executedLots = orders.reduce((sum, order) => sum + order.filledLots, 0);
  let executedBefore = 0;
  for (const [index, order] of orders.entries()) {
    const at = `${close.account} order ${index + 1}`;
    found.push(...commandViolations(close, order, venues).map((text) => `${at}: ${text}`));
    const { qtyLots } = order.command;
    if (qtyLots > close.requestedLots - executedBefore) found.push(`${at}: ${qtyLots} lots exceed what was left`);
    if (qtyLots > (close.initialLots.get(order.venue) ?? 0)) found.push(`${at}: ${qtyLots} lots exceed the position`);
    for (const earlier of orders.slice(0, index)) {
      if (earlier.disclosedAtMs === null || earlier.disclosedAtMs > order.sentAtMs)
        found.push(`${at}: sent while the outcome of an earlier one was unknown`);
    }
    executedBefore += order.filledLots;
  }
  if (executedLots > close.requestedLots)
    found.push(`${close.account}: ${executedLots} lots executed of ${close.requestedLots} requested`);
  if (new Set(orders.map((order) => order.command.clientIdHex)).size !== orders.length)
    found.push(`${close.account}: a client id was sent twice`);
  for (const { result, atMs } of close.replies) {
    // A refusal frees the key: it speaks of the orders sent until then. Every other reply speaks for good.
    const sentBefore = orders
      .filter((order) => order.sentAtMs <= atMs)
      .reduce((sum, order) => sum + order.filledLots, 0);
    found.push(
      ...replyViolations(result, result.ok ? executedLots : sentBefore).map((text) => `${close.account}: ${text}`),
    );
  }
  if (latest !== null)
    found.push(...dataViolations(latest, executedLots).map((text) => `${close.account} at the end: ${text}`));
  return found;
}

function commandViolations(close: SimulatedClose, order: LoggedOrder, venues: readonly FakeVenue[]): string[] {
  const { command } = order;
  const found: string[] = [];
  if (!command.reduceOnly) found.push("not reduce-only");
  if (command.side !== sideOf(close.direction)) found.push(`side ${command.side} does not close a ${close.direction}`);
  const hedgeMode = venues.find((venue) => venue.venue === order.venue)?.hedgeMode ?? false;
  if (command.positionSide !== (hedgeMode ? close.direction : "BOTH"))
    found.push(`position side ${command.positionSide}`);
  if (order.filledLots > command.qtyLots) found.push("filled more than ordered");
  return found;
}

function replyViolations(reply: CloseResult, executedLots: number): string[] {
  if (reply.ok) return dataViolations(reply.data, executedLots, reply.success);
  return executedLots > 0 && !NEUTRAL_CODES.has(reply.code)
    ? [`refused with ${reply.code}, but ${executedLots} lots were executed`]
    : [];
}

function dataViolations(
  data: CloseData,
  executedLots: number,
  success: boolean = data.execution.state !== "REJECTED",
): string[] {
  const { execution } = data;
  const [requested, submitted, filled] = [execution.requestedSize, execution.submittedSize, execution.filledSize].map(
    toLots,
  );
  const found: string[] = [];
  if (
    requested === undefined ||
    submitted === undefined ||
    filled === undefined ||
    filled > submitted ||
    submitted > requested
  ) {
    found.push(
      `filled ${execution.filledSize}, submitted ${execution.submittedSize}, requested ${execution.requestedSize}`,
    );
  }
  if (!success && executedLots > 0) found.push(`reported as not executed, but ${executedLots} lots were`);
  if (execution.final && filled !== executedLots)
    found.push(`reported ${execution.filledSize} as final, but ${executedLots} lots were executed`);
  const hasUnknownLeg = execution.legs.some((leg) => leg.outcome === "UNKNOWN");
  if (hasUnknownLeg !== (execution.state === "UNKNOWN"))
    found.push(`state ${execution.state} with${hasUnknownLeg ? "" : "out"} an order of unknown outcome`);
  if (execution.state === "UNKNOWN" && (execution.final || !success))
    found.push("an unknown outcome reported as final or failed");
  return found;
}

/** The fake instruments have three size decimals. */
function toLots(size: string): number {
  return Math.round(Number(size) * 1000);
}
