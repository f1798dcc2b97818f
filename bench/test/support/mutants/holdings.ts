/** Faults that report positions and outcomes other than the venue's. */
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../../../engine/domain/order.js";
import type { VenuePosition } from "../../../../engine/domain/position.js";
import type { AccountReader, Read, VenueRoom } from "../../../../engine/ports.js";
import { provingAbsentAtOnce } from "./absence.js";
import { placing, type Plant, replaced } from "./planting.js";

export type Positions = Read<readonly VenuePosition[]>;
/** `name` of the contract, or "all". */
type Telling = (name: string, read: () => Promise<Positions>) => Promise<Positions>;

/** Every read of positions returns what `tell` returns; none is available without a wait. */
export function telling(room: VenueRoom, tell: Telling): VenueRoom {
  const { reader } = room;
  const told =
    (read: AccountReader["readPositions"]): AccountReader["readPositions"] =>
    (session, instrument, options) =>
      tell(instrument?.symbol ?? "all", () => read.call(reader, session, instrument, options));
  return replaced(room, {
    reader: () =>
      replaced<AccountReader>(reader, {
        heldPositions: () => () => null,
        readPositions: told,
        verifyPositions: (verify) => told(verify ?? reader.readPositions),
      }),
  });
}

/** Repeats the first successful read of a contract for ever. */
export function frozen(room: VenueRoom): VenueRoom {
  const first = new Map<string, Positions>();
  return telling(room, async (name, read) => {
    const before = first.get(name);
    if (before?.ok === true) return { ...before, asOfMs: Date.now() };
    const positions = await read();
    first.set(name, positions);
    return positions;
  });
}

/** Makes reads of all contracts at once find nothing. */
function emptied(room: VenueRoom): VenueRoom {
  return telling(room, async (name, read) => (name === "all" ? nothing() : read()));
}

function nothing(): Positions {
  return { ok: true, value: [], asOfMs: Date.now(), source: "venue" };
}

/** Passes every order of the room through `change`, however the engine learns it. */
export function seeing(change: (order: VenueOrder) => VenueOrder): (room: VenueRoom) => VenueRoom {
  return (room) => {
    const { reader, orders } = room;
    return replaced(room, {
      orders: () =>
        replaced(orders, {
          place: (place) => async (session, command, options) => {
            const outcome = await place.call(orders, session, command, options);
            return outcome.outcome === "accepted" ? { ...outcome, order: change(outcome.order) } : outcome;
          },
        }),
      reader: () =>
        replaced<AccountReader>(reader, {
          readOrder: (read) => async (session, instrument, ref, options) => {
            const order = await read.call(reader, session, instrument, ref, options);
            return order.ok && order.value !== null ? { ...order, value: change(order.value) } : order;
          },
          followOrder: (follow) => {
            if (follow === undefined) return undefined;
            return (session, instrument, ref, onEnd) =>
              follow.call(reader, session, instrument, ref, (order) => onEnd(change(order)));
          },
        }),
    });
  };
}

export function withoutReason({ endReason, ...order }: VenueOrder): VenueOrder {
  return endReason === "REDUCE_ONLY" ? { ...order, endReason: "VENUE_STATE" } : { ...order, ...asIs(endReason) };
}

function asIs(endReason: VenueOrder["endReason"]): Pick<VenueOrder, "endReason"> {
  return endReason === undefined ? {} : { endReason };
}

function wayBack({ reduceOnly, trigger }: OrderCommand): boolean {
  return reduceOnly && trigger === undefined;
}

export const HOLDING_PLANTS: readonly Plant[] = [
  {
    name: "the positions of one contract are those that were read first",
    scene: "own",
    checks: ["flatness", "told positions", "all closed"],
    wrong: () => ({ room: frozen }),
  },
  {
    name: "an account whose positions are read all at once reads as flat",
    scene: "outside",
    checks: ["positions read", "close-all"],
    wrong: () => ({ room: emptied }),
  },
  {
    name: "a venue that cannot be read counts as one that holds nothing",
    scene: "all",
    checks: ["all closed", "told positions", "flatness"],
    wrong: () => ({
      room: (room) => (room.venue !== "venuethree" ? room : telling(room, async () => nothing())),
    }),
  },
  {
    name: "what a limit took when it came is looked at by nobody",
    scene: "limit",
    checks: ["fills", "stops on arrival"],
    wrong: () => ({
      room: seeing((order) =>
        order.reduceOnly || order.triggerPrice !== null
          ? order
          : { ...withoutReason(order), status: "OPEN", venueStatus: "open", filledLots: 0, averagePrice: null },
      ),
    }),
  },
  {
    name: "an accepted order is reported as refused",
    scene: "band",
    checks: ["reply statuses", "ends of orders", "fills"],
    wrong: () => ({
      room: placing((place) => async (session, command, options): Promise<PlaceOutcome> => {
        const outcome = await place(session, command, options);
        if (outcome.outcome !== "accepted") return outcome;
        const venueText = outcome.order.venueStatus;
        return { outcome: "rejected", reason: "VENUE_STATE", venueCode: "", venueText, sent: true, retryAfterMs: null };
      }),
    }),
  },
  {
    name: "an absence is proved by a bound that was over before the order was sent",
    scene: "band",
    checks: ["ends of orders", "reply statuses", "fills"],
    wrong: () => ({ room: provingAbsentAtOnce }),
  },
  {
    name: "an order is sent again under its client id",
    scene: "own",
    checks: ["claims", "fills", "after unknown"],
    wrong: () => ({
      room: placing((place) => async (session, command, options) => {
        const outcome = await place(session, command, options);
        await place(session, command, options);
        return outcome;
      }),
    }),
  },
  {
    name: "a stop is of half of what filled",
    scene: "protect",
    checks: ["protections", "sizes"],
    wrong: () => ({
      room: placing((place) => (session, command, options) => {
        const qtyLots = command.trigger === undefined ? command.qtyLots : Math.ceil(command.qtyLots / 2);
        return place(session, { ...command, qtyLots }, options);
      }),
    }),
  },
  {
    name: "the way back is bounded by ten times its slippage",
    scene: "bare",
    checks: ["undo prices"],
    wrong: () => ({
      room: placing((place) => (session, command, options) => {
        const { side, priceTicks } = command;
        const far = Math.round(priceTicks * (side === "BUY" ? 1.045 : 0.955));
        return place(session, wayBack(command) ? { ...command, priceTicks: far } : command, options);
      }),
    }),
  },
];
