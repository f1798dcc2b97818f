/**
 * The fake venue of the trade path with what a desk asks for beside it: orders by the venue's id, open orders, amend,
 * cancel all, its own dead-man's switch. Its log stays the judge.
 */
import type { OrderChange, VenueOrder } from "../../../domain/order.js";
import type { OrderRef, Read, VenueRoom } from "../../../ports.js";
import type { LoggedOrder } from "../../test/fake-matching.js";
import type { FakeVenue } from "../../test/fake-venue.js";

export interface DeskVenueKnobs {
  /** Rooms without these fall back to what the port says. */
  readonly cancelAll?: boolean;
  /** `bySymbol`: the venue's switch covers the symbols that have orders when it is armed. */
  readonly scheduleCancel?: "accept" | "bySymbol" | "reject" | "absent";
  readonly amend?: "accept" | "reject" | "lose" | "absent";
}

/** What reached the venue beside orders. */
export interface DeskCalls {
  readonly scheduled: (number | null)[];
  readonly amended: OrderChange[];
  cancelAll: number;
  /** How the next cancel-alls end; then they succeed. */
  readonly cancelAllFates: ("unknown" | "throw")[];
}

export function createDeskCalls(): DeskCalls {
  return { scheduled: [], amended: [], cancelAll: 0, cancelAllFates: [] };
}

export function deskRoom(
  fake: FakeVenue,
  calls: DeskCalls,
  gate: () => Promise<void> = async () => {},
  knobs: DeskVenueKnobs = {},
): VenueRoom {
  const base = fake.room(gate);
  const entryOf = (account: string, ref: OrderRef): LoggedOrder | undefined =>
    fake.log.findLast(
      ({ command, order, account: owner }) =>
        owner === account &&
        ("clientIdHex" in ref ? command.clientIdHex === ref.clientIdHex : order?.venueOrderId === ref.venueOrderId),
    );
  const byClientId = (account: string, ref: OrderRef): OrderRef => {
    const entry = entryOf(account, ref);
    return entry === undefined ? { clientIdHex: "f".repeat(32) } : { clientIdHex: entry.command.clientIdHex };
  };
  const isOpen = ({ order }: LoggedOrder): boolean => order?.status === "OPEN" || order?.status === "PARTIALLY_FILLED";
  const openOf = (account: string): LoggedOrder[] =>
    fake.log.filter((entry) => entry.account === account && isOpen(entry));
  const cancelEntry = (entry: LoggedOrder): void => {
    if (entry.order !== null) entry.order = { ...entry.order, status: "CANCELED" };
  };
  const { amend = "accept", cancelAll = true, scheduleCancel = "absent" } = knobs;
  return {
    ...base,
    reader: {
      ...base.reader,
      readOrder: (session, instrument, ref, options) =>
        base.reader.readOrder(session, instrument, byClientId(session.accountId, ref), options),
      findOrder: (session, ref, options) =>
        base.reader.readOrder(session, fake.instrument, byClientId(session.accountId, ref), options),
      async readOpenOrders(session): Promise<Read<readonly VenueOrder[]>> {
        await gate();
        const value = openOf(session.accountId).flatMap(({ order }) => (order === null ? [] : [order]));
        return { ok: true, value, asOfMs: fake.clock.wallMs(), source: "venue" };
      },
    },
    orders: {
      ...base.orders,
      parseClientOrderId: (text) => (/^c-[0-9a-f]{32}$/.test(text) ? text.slice(2) : null),
      cancel(session, instrument, ref, options) {
        fake.lanes.push(options.lane);
        return base.orders.cancel(session, instrument, byClientId(session.accountId, ref), options);
      },
      ...(amend === "absent"
        ? {}
        : {
            async amend(session, _instrument, current, change) {
              await gate();
              calls.amended.push(change);
              if (amend === "lose") return { outcome: "unknown", cause: "TIMEOUT" } as const;
              if (amend === "reject") {
                const venueText = "no change today";
                return { outcome: "rejected", reason: "VENUE_STATE", venueCode: "-5", venueText, sent: true } as const;
              }
              const entry = entryOf(session.accountId, { venueOrderId: current.venueOrderId });
              const order = { ...current, ...change };
              if (entry !== undefined) entry.order = order;
              return { outcome: "accepted", order } as const;
            },
          }),
      ...(cancelAll
        ? {
            async cancelAll(session) {
              await gate();
              calls.cancelAll += 1;
              const fate = calls.cancelAllFates.shift();
              if (fate === "throw") throw new TypeError("a bug of the room");
              if (fate === "unknown") return { outcome: "unknown", cause: "TIMEOUT" } as const;
              const open = openOf(session.accountId);
              for (const entry of open) cancelEntry(entry);
              return { outcome: "accepted", canceledCount: open.length, failed: [] } as const;
            },
          }
        : {}),
      ...(scheduleCancel === "absent"
        ? {}
        : {
            async scheduleCancel(session, atMs) {
              await gate();
              calls.scheduled.push(atMs);
              if (scheduleCancel === "bySymbol") {
                const symbols = new Set(openOf(session.accountId).map(({ order }) => order?.nativeSymbol ?? ""));
                return { outcome: "accepted", symbols: [...symbols] } as const;
              }
              return scheduleCancel === "accept"
                ? ({ outcome: "accepted" } as const)
                : ({ outcome: "rejected", reason: "VENUE_STATE", venueCode: "", venueText: "", sent: true } as const);
            },
          }),
    },
  };
}

/** A book that is proven again and again, as a live feed's is. */
export function keepBookFresh(fake: FakeVenue): void {
  const prove = (): void => {
    fake.market.book.prove(fake.clock.monoNs());
    fake.clock.setTimer(prove, 500);
  };
  prove();
}
