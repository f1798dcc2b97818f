/**
 * A judge of what comes after a reply: orders that rest and fill, protection that is refused, asked for again and taken
 * back, processes that die between. It reads the venue's log and its positions at the end of a scene, and holds against
 * them what the service tells and what it recorded; each check can be taken out.
 */
import { ASKER } from "./harness.js";
import type { VenueOrder } from "../../domain/order.js";
import type { TradeService } from "../request/service.js";
import type { ExecutionLeg, ProtectionOrder, TradeData } from "../types.js";
import type { LoggedOrder } from "./fake-matching.js";
import type { FakeStreams } from "./fake-streams.js";
import type { Harness } from "./harness.js";
import { rowFaults } from "./row-sink.js";

export const ACCOUNT = "acct-venueone";
export const MINUTE_MS = 60_000;

export interface Played {
  readonly harness: Harness;
  /** The process that lives at the end. */
  readonly service: TradeService;
  readonly routeId: string;
  /** In what the venue's own reads and streams say, the price of all that filled came by. */
  readonly isPriceGiven: boolean;
  /** After what filled was recorded without it: that is recorded once more, with it. */
  readonly isPriceReportedLate: boolean;
  /** The caller wants no position without a stop. */
  readonly isGuarded: boolean;
  /** The venue says of a refused stop that it is wrong in itself. */
  readonly isRefusedForGood: boolean;
  /** What the status reported while an order rested; null: none did. */
  readonly followedCount: number | null;
  /** What its key was answered with, used again at the end; null: it was not. */
  readonly replayed: TradeData | null;
  /** By the venue's time all that filled has its stop by then; null: no such time is known. */
  readonly guardDueMs: number | null;
}

/**
 * TOLD: the execution shows every order of its venue, as the venue has it. RECORDED: every fill is in the record, once.
 * PRICED: what filled has a price where its venue says it. PRICE: and it is the venue's. GUARDS: no protection is open for
 * more than is held. BARE: nothing is held without the stop that was a condition. REST:
 * nothing of an entry rests whose stop was refused, where that was a condition. ONCE: a stop that is wrong in
 * itself is sent once. FOLLOWED: the status counts an order that rests. KNOWN: no protection is reported as of unknown outcome
 * whose venue answers. STORED: no intent is open of an order that ended. PLACED: stops for all
 * that is held are reported as placed. REPLAYED: the reply to a key that was used again names the orders that the execution
 * names, each with its outcome. TIMELY: what filled while its venue could not be read has its stop soon after that is over.
 */
const AFTER_CHECKS = {
  TOLD: async ({ harness, routeId, service }: Played) => {
    const data = await harness.run(service.execution(routeId, ASKER));
    return harness.one.log.flatMap((logged) => replyProblems(logged, data));
  },
  RECORDED: async ({ harness, isPriceReportedLate }: Played) => {
    const faults = await rowFaults(harness.store, [harness.one, harness.two]);
    return isPriceReportedLate ? faults.filter((text) => !text.startsWith("recorded 2 times: fill")) : faults;
  },
  PRICED: async ({ harness, isPriceGiven, routeId, service }: Played) => {
    const execution = (await harness.run(service.execution(routeId, ASKER)))?.execution;
    const isBare = execution !== undefined && Number(execution.filledSize) > 0 && execution.averagePrice === null;
    return isPriceGiven && isBare ? [`${execution.filledSize} filled at no price`] : [];
  },
  PRICE: async ({ harness, routeId, service }: Played) => {
    const data = await harness.run(service.execution(routeId, ASKER));
    return harness.one.log.flatMap(({ order }) => priceProblems(order, data));
  },
  GUARDS: async ({ harness }: Played) => {
    const held = harness.one.heldLots(ACCOUNT, "LONG");
    return (["TAKE_PROFIT", "STOP"] as const).flatMap((kind) => {
      const lots = guardedLots(harness, kind);
      return lots > held ? [`${kind} orders of ${lots} lots rest over ${held}`] : [];
    });
  },
  BARE: async ({ harness, isGuarded }: Played) => {
    const held = harness.one.heldLots(ACCOUNT, "LONG");
    const lots = guardedLots(harness, "STOP");
    return isGuarded && held > lots ? [`${held} lots are held with stops of ${lots}`] : [];
  },
  REST: async ({ harness, isGuarded }: Played) => {
    const resting = harness.one.log.filter(
      ({ command, order }) => !command.reduceOnly && (order?.status === "OPEN" || order?.status === "PARTIALLY_FILLED"),
    );
    return isGuarded && resting.length > 0 ? ["an entry rests whose stop was refused"] : [];
  },
  ONCE: async ({ harness, isRefusedForGood }: Played) => {
    const { length } = harness.one.log.filter(({ command, rejected }) => rejected && command.trigger !== undefined);
    return isRefusedForGood && length > 1 ? [`a stop that is wrong in itself was sent ${length} times`] : [];
  },
  FOLLOWED: async ({ followedCount }: Played) =>
    followedCount === 0 ? ["an order that rests is counted nowhere"] : [],
  KNOWN: async ({ harness, routeId, service }: Played) => {
    const protection = (await harness.run(service.execution(routeId, ASKER)))?.execution.protection;
    return protection === "UNKNOWN" ? ["protection is reported as of unknown outcome"] : [];
  },
  PLACED: async ({ harness, routeId, service }: Played) => {
    const protection = (await harness.run(service.execution(routeId, ASKER)))?.execution.protection;
    const held = harness.one.heldLots(ACCOUNT, "LONG");
    const isCovered = held > 0 && guardedLots(harness, "STOP") === held;
    return isCovered && protection !== "PLACED"
      ? [`stops of ${held} lots are reported as ${protection ?? "none"}`]
      : [];
  },
  REPLAYED: async ({ harness, replayed, routeId, service }: Played) => {
    if (replayed === null) return [];
    const data = await harness.run(service.execution(routeId, ASKER));
    const [answered, is] = [replayed, data].map((one) => legsOf(one).map(outcomeText).join(", "));
    return answered === is ? [] : [`a key used again is answered with ${answered}, the execution has ${is}`];
  },
  TIMELY: async ({ guardDueMs, harness: { one } }: Played) => {
    if (guardDueMs === null) return [];
    const stops = one.log.filter(({ command, sentAtMs }) => command.trigger?.kind === "STOP" && sentAtMs <= guardDueMs);
    const stopLots = stops.reduce((sum, { command }) => sum + command.qtyLots, 0);
    const entries = one.log.filter(({ command }) => !command.reduceOnly);
    const filledLots = entries.reduce((sum, entry) => sum + entry.filledLots, 0);
    return stopLots === filledLots ? [] : [`${filledLots} lots filled, stops of ${stopLots} lots in time`];
  },
  STORED: async ({ harness }: Played) => {
    const rows = await harness.store.scan("intent-open", { prefix: "", limit: 1_000 });
    return harness.one.log.flatMap(({ command: { clientIdHex }, order }) => {
      const isEnded = order !== null && order.status !== "OPEN" && order.status !== "PARTIALLY_FILLED";
      const isOpen = rows.some(({ key }) => key.split("|")[1] === clientIdHex);
      return isEnded && isOpen ? [`${clientIdHex} ended ${order.status}, and its intent is open`] : [];
    });
  },
} as const satisfies Readonly<Record<string, (played: Played) => Promise<string[]>>>;

export type AfterCheck = keyof typeof AFTER_CHECKS;

/** What each check found, those of `without` taken out. */
export async function judgeAfter(
  played: Played,
  without: readonly AfterCheck[] = [],
): Promise<Map<AfterCheck, string[]>> {
  const found = new Map<AfterCheck, string[]>();
  for (const name of Object.keys(AFTER_CHECKS) as AfterCheck[]) {
    const problems = without.includes(name) ? [] : await AFTER_CHECKS[name](played);
    if (problems.length > 0) found.set(name, problems);
  }
  return found;
}

function outcomeText({ outcome, venueClientOrderId }: ExecutionLeg | ProtectionOrder): string {
  return `${venueClientOrderId} ${outcome}`;
}

function legsOf(data: TradeData | null): readonly (ExecutionLeg | ProtectionOrder)[] {
  if (data === null) return [];
  return [...data.execution.legs, ...(data.execution.protectionOrders ?? [])];
}

/** A refused order, and one that never arrived, are nobody's. */
function replyProblems({ command, order, filledLots }: LoggedOrder, data: TradeData | null): string[] {
  if (order === null) return [];
  const leg = legsOf(data).find(({ venueClientOrderId }) => venueClientOrderId === order.venueClientOrderId);
  const at = `${command.trigger?.kind ?? command.type} ${order.venueClientOrderId}`;
  if (leg === undefined) return [`${at} is in no leg`];
  const reported = `${leg.status} ${Math.round(Number(leg.filledSize) * 1_000)}`;
  const is = `${order.status} ${filledLots}`;
  return reported === is ? [] : [`${at} is reported as ${reported}, the venue has ${is}`];
}

function priceProblems(order: VenueOrder | null, data: TradeData | null): string[] {
  const { venueClientOrderId, averagePrice } = order ?? { venueClientOrderId: null, averagePrice: null };
  const reported =
    data?.execution.legs.find((leg) => leg.venueClientOrderId === venueClientOrderId)?.averagePrice ?? null;
  if (reported === null || Number(reported) === Number(averagePrice)) return [];
  return [`${venueClientOrderId} is reported at ${reported}, the venue has ${averagePrice ?? "none"}`];
}

/** What its orders of the kind will close yet: one that filled in part counts for its rest. */
function guardedLots({ one }: Harness, kind: "TAKE_PROFIT" | "STOP"): number {
  return one.log.reduce((sum, { command, order }) => {
    const isAtWork = order?.status === "OPEN" || order?.status === "PARTIALLY_FILLED";
    return command.trigger?.kind === kind && isAtWork ? sum + command.qtyLots - order.filledLots : sum;
  }, 0);
}

/** Something happens to the n-th order at its venue. */
export function change(harness: Pick<Harness, "one">, index: number, changed: Partial<VenueOrder>): VenueOrder {
  const entry = harness.one.log[index];
  if (entry?.order == null) throw new Error("no such order");
  entry.order = { ...entry.order, averagePrice: "101000", ...changed };
  entry.filledLots = entry.order.filledLots;
  return entry.order;
}

export function tell(harness: Harness, order: VenueOrder): void {
  (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order });
}
