/**
 * Faults between the engine and its rooms, or at the service's door, that the judge must see. Each breaks one rule that
 * keeps orders single and small, and leaves everything else real. A drill shows each for certain.
 */
import { createSystemClock } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { OrderCommand } from "../../../engine/domain/order.js";
import {
  type AccountSession,
  isTradingRoom,
  type MarketRoom,
  type NonceReservations,
  type VenueRoom,
} from "../../../engine/ports.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import type { Config } from "../../../gateway/app/config.js";
import { createLogger } from "../../../gateway/app/log.js";
import { createRooms } from "../../../gateway/app/rooms.js";
import { FOUR_VENUES, type FourVenue } from "./four-venues.js";
import { telling } from "./mutants/holdings.js";
import { placing, replaced } from "./mutants/planting.js";
import type { Drill, Shown } from "./drill.js";
import type { CheckName } from "./judge/checks.js";
import { sendTrade, type TradeSender } from "./trade-trial.js";
import { onOrders } from "./trade-workload.js";

export interface Mutant {
  readonly name: string;
  /** Makes the rooms that the service gets. */
  readonly rooms: (config: Config) => readonly MarketRoom[];
  readonly send?: TradeSender;
  /** Text of the judge's finding. */
  readonly seen: RegExp;
  /** The check that finds it, then those that see it too: without them there is no finding. */
  readonly checks: readonly [CheckName, ...CheckName[]];
  /** Venues whose logs show it. */
  readonly on: readonly FourVenue[];
  readonly drill: Drill;
}

const CLOSE = { kind: "CLOSE", size: "0.01" } as const;
const OPEN = { kind: "OPEN", size: "0.01" } as const;
const CLOSE_ALL = { kind: "CLOSE", size: "ALL" } as const;
const REPLY_LOST = onOrders({ kind: "replyLost" });

const isClaimed = ({ leg }: Shown): boolean => leg !== null;
const isExecuted = ({ record }: Shown): boolean => record.orderId !== null;
/** Signed with the nonce of an order that the venue had answered before. */
const isAfter = (second: Shown, first: Shown): boolean =>
  second !== first &&
  first.record.orderId !== null &&
  first.record.nonce === second.record.nonce &&
  (first.leg?.ackAt ?? Number.POSITIVE_INFINITY) <= (second.leg?.sentAt ?? 0);

export const MUTANTS: readonly Mutant[] = [
  {
    name: "reduce-only is forgotten",
    rooms: everywhere(
      placing((place) => (session, command, options) => place(session, { ...command, reduceOnly: false }, options)),
    ),
    seen: /reduceOnly false/,
    checks: ["instructions"],
    on: FOUR_VENUES,
    drill: { trades: [CLOSE], isShown: (shown) => shown.some(isClaimed) },
  },
  {
    name: "an order of unknown outcome is sent again under another id",
    rooms: everywhere(
      placing((place) => async (session, command, options) => {
        const outcome = await place(session, command, options);
        if (outcome.outcome !== "unknown") return outcome;
        const again = command.clientIdHex.slice(0, -1) + (command.clientIdHex.endsWith("0") ? "1" : "0");
        return place(session, { ...command, clientIdHex: again }, options);
      }),
    ),
    seen: /is claimed by no reply/,
    checks: ["claims"],
    on: FOUR_VENUES,
    drill: { trades: [CLOSE], faults: REPLY_LOST, isShown: (shown) => shown.filter(isExecuted).length > 1 },
  },
  {
    name: "sizes are clamped to twice the position",
    rooms: (config) => roomsOf(config).map(seeingDouble),
    seen: /ordered \S+ of a position of/,
    checks: ["sizes", "told positions"],
    on: FOUR_VENUES,
    drill: { trades: [CLOSE_ALL], isShown: (shown) => shown.some(isClaimed) },
  },
  {
    name: "a signer's nonces are handed out twice",
    rooms: sharingSigners,
    seen: /nonce \d+ of record \d+ is used again/,
    checks: ["nonces"],
    on: ["venueone", "venuethree"],
    drill: {
      trades: [CLOSE],
      // On venueone both rooms begin with one number: the second order shows it. On venuethree each begins with the
      // venue's own: the third shows it, signed by the room that knows nothing of the second.
      isShown: (shown) => shown.some((first) => shown.some((second) => isAfter(second, first))),
    },
  },
  {
    name: "the side is flipped",
    rooms: everywhere(placing((place) => (session, command, options) => place(session, flipped(command), options))),
    seen: /side (BUY|SELL) does not (OPEN|CLOSE)/,
    checks: ["instructions", "bounds"],
    on: FOUR_VENUES,
    drill: { trades: [OPEN, CLOSE], isShown: (shown) => shown.filter(isClaimed).length > 1 },
  },
  {
    name: "idempotency keys are ignored",
    rooms: roomsOf,
    send: (four, client, trial) =>
      sendTrade(four, { send: (path, options) => client.send(path, { ...options, headers: JSON_ONLY }) }, trial),
    seen: /is claimed by no reply/,
    checks: ["claims", "replays", "ends of orders", "bounds"],
    on: FOUR_VENUES,
    drill: { trades: [CLOSE], isOneKey: true, isShown: (shown) => shown.filter(isExecuted).length > 1 },
  },
];

const JSON_ONLY = { "content-type": "application/json" };

/** The rooms of production with nonces in memory and no fault. */
export function roomsOf(config: Config, nonces: NonceReservations = createMemoryReservations()): VenueRoom[] {
  const logger = createLogger("error", { write: () => {} });
  const rooms = createRooms(config, createSystemClock(), createSeededRandom(11), logger, nonces);
  return rooms.filter(isTradingRoom);
}

/** Applies the same fault for everybody. */
function everywhere(wrong: (room: VenueRoom) => VenueRoom): Mutant["rooms"] {
  return (config) => roomsOf(config).map(wrong);
}

function flipped(command: OrderCommand): OrderCommand {
  return { ...command, side: command.side === "BUY" ? "SELL" : "BUY" };
}

function seeingDouble(room: VenueRoom): VenueRoom {
  return telling(room, async (_name, read) => {
    const positions = await read();
    if (!positions.ok) return positions;
    return { ...positions, value: positions.value.map((held) => ({ ...held, qtyLots: 2 * held.qtyLots })) };
  });
}

/** Starts nonces so far ahead that no clock moves them: every restart begins with the same one. */
const AHEAD_MS = 600_000;

/** Makes two rooms take turns with the orders of one account; neither knows what the other has used. */
function sharingSigners(config: Config): readonly MarketRoom[] {
  const startMs = createSystemClock().wallMs() + AHEAD_MS;
  const forgetful = (): NonceReservations => ({
    async reserve(_signer, floor, span) {
      const from = Math.max(floor, startMs);
      return { from, until: from + span };
    },
  });
  const others = roomsOf(config, forgetful());
  return roomsOf(config, forgetful()).map((room, index) => {
    const other = others[index] as VenueRoom;
    const credentials = new WeakMap<AccountSession, unknown>();
    /** Orders so far, by account: the second of each goes to the other room. */
    const turns = new Map<string, number>();
    return replaced(room, {
      start: (start) => async () => {
        await Promise.all([start.call(room), other.start()]);
      },
      stop: (stop) => async () => {
        await Promise.all([stop.call(room), other.stop()]);
      },
      openSession: (open) => (raw, payer) => {
        const opened = open.call(room, raw, payer);
        if (opened.ok) credentials.set(opened.session, raw);
        return opened;
      },
      orders: (orders) =>
        replaced(orders, {
          place: (place) => async (session, command, options) => {
            const turn = turns.get(session.accountId) ?? 0;
            turns.set(session.accountId, turn + 1);
            if (turn % 2 === 0) return place.call(orders, session, command, options);
            const opened = other.openSession(credentials.get(session), session.payer);
            if (!opened.ok) throw new RangeError(opened.problem);
            try {
              return await other.orders.place(opened.session, command, options);
            } finally {
              opened.session.close();
            }
          },
        }),
    });
  });
}
