/** Chapters of what an account did: orders, fills and payments, page by page. */
import { describe, expect, it } from "vitest";
import type { AccountHistory, HistoryQuery } from "../../../../engine/ports.js";
import { allRows, nextClientId, OPTIONS, unwrapRead } from "../trading-half.js";
import { queryOf, start, type TradingBench, type TradingVenue } from "./bench.js";

const HOUR_MS = 3_600_000;
const ROUNDS = 6;
/** Base units: enough to take several levels of a book at one instant. */
const LARGE = 2;

export function historyChapters(venue: TradingVenue): void {
  const { fundingHours, saysFundingRate } = venue.habits;
  describe(`the history of fills on ${venue.name}`, () => {
    it("holds every fill once, newest first, in pages of any size, also where many share an instant", async () => {
      const on = await start(venue, { stepMs: 5_000 });
      const { btc, eth } = on;
      const large = on.lotsOf(LARGE);
      for (let round = 0; round < ROUNDS; round++) {
        await on.place(on.buy({ qtyLots: large }));
        await on.place(on.sell({ qtyLots: large }));
        if (round % 2 === 0)
          await on.place(on.buy({ instrument: eth, qtyLots: on.lotsOf(0.1, eth), priceTicks: on.ticks(1.015, eth) }));
        if (round % 3 === 2) on.clock.advance(4 * 60_000);
      }
      const truth = on.sim.exchange.accounts.fills(on.accountId);
      const inBtc = truth.filter(({ symbol }) => symbol === btc.nativeSymbol);
      expect(mostAtOnce(inBtc.map(({ tsMs }) => tsMs))).toBeGreaterThan(3);
      const fills = reader(on, "readFills");
      for (const limit of [1, 3, 1_000]) {
        const rows = await allRows(fills, { limit, instrument: btc });
        expect(rows).toHaveLength(inBtc.length);
        expect(new Set(rows.map((row) => row.tradeId)).size).toBe(inBtc.length);
        expect(rows.map((row) => row.tsVenueMs)).toEqual(rows.map((row) => row.tsVenueMs).toSorted((a, b) => b - a));
        expect(sum(rows.map((row) => row.qtyLots))).toBe(sum(inBtc.map((fill) => fill.qtyLots)));
      }
      const middleMs = inBtc[Math.floor(inBtc.length / 2)]?.tsMs ?? 0;
      const atOnce = await allRows(fills, { limit: 2, instrument: btc, sinceMs: middleMs, untilMs: middleMs });
      expect(atOnce).toHaveLength(inBtc.filter(({ tsMs }) => tsMs === middleMs).length);
      const all = await allRows(fills, { limit: 7 });
      expect(all).toHaveLength(truth.length);
      expect(new Set(all.map(({ symbol }) => symbol))).toEqual(new Set(["BTC", "ETH"]));
      expect(new Set(all.map(({ fee }) => fee?.asset ?? null))).toEqual(new Set([btc.quoteAsset]));
    });

    it("keeps to the bounds of a query", async () => {
      const on = await start(venue);
      for (let count = 0; count < 5; count++) {
        await on.place(on.buy());
        on.clock.advance(60_000);
      }
      const fills = reader(on, "readFills");
      const whole = await allRows(fills, {});
      const times = [...new Set(whole.map(({ tsVenueMs }) => tsVenueMs))];
      const [newerMs = 0, olderMs = 0] = [times[1], times[3]];
      const within = (sinceMs: number, untilMs: number) =>
        whole.filter(({ tsVenueMs }) => tsVenueMs >= sinceMs && tsVenueMs <= untilMs);
      expect(await allRows(fills, { limit: 2, untilMs: newerMs })).toEqual(within(0, newerMs));
      expect(await allRows(fills, { limit: 2, sinceMs: olderMs })).toEqual(within(olderMs, Number.MAX_SAFE_INTEGER));
      const both = await allRows(fills, { limit: 2, sinceMs: olderMs, untilMs: newerMs });
      expect(both).toEqual(within(olderMs, newerMs));
      expect(both.length).toBeLessThan(whole.length);
      expect(await allRows(fills, { sinceMs: on.clock.wallMs() + 60_000 })).toEqual([]);
      expect(await allRows(fills, { instrument: on.eth })).toEqual([]);
    });
  });

  describe(`the history of orders on ${venue.name}`, () => {
    it("lists orders of any state with what they filled, newest first", async () => {
      const on = await start(venue);
      const { btc, lots } = on;
      await on.place(on.buy());
      on.clock.advance(1_000);
      const canceled = on.resting();
      await on.place(canceled);
      await on.half.orders.cancel(on.session, btc, { clientIdHex: canceled.clientIdHex }, OPTIONS);
      on.clock.advance(1_000);
      await on.place(on.sell());
      on.clock.advance(1_000);
      await on.place(on.resting());
      for (const instrument of [btc, null])
        for (const limit of [2, 3]) {
          const rows = await allRows(reader(on, "readOrders"), { limit, instrument });
          expect(rows.map(({ status, filledLots, side }) => [side, status, filledLots])).toEqual([
            ["BUY", "OPEN", 0],
            ["SELL", "FILLED", lots],
            ["BUY", "CANCELED", 0],
            ["BUY", "FILLED", lots],
          ]);
          expect(rows[3]?.averagePrice).not.toBeNull();
        }
    });

    it("holds every order once in pages of any size, also when orders end between two pages", async () => {
      const on = await start(venue);
      const commands = Array.from({ length: 12 }, () => on.resting());
      const cancel = async (index: number): Promise<void> => {
        const { clientIdHex } = commands[index] ?? { clientIdHex: "" };
        await on.half.orders.cancel(on.session, on.btc, { clientIdHex }, OPTIONS);
        on.settle();
      };
      for (const command of commands) {
        await on.place(command);
        on.clock.advance(1_000);
      }
      for (const index of [0, 1, 2, 3, 4]) await cancel(index);
      const orders = reader(on, "readOrders");
      const whole = await allRows(orders, {});
      expect(whole).toHaveLength(12);
      for (const limit of [1, 2, 5, 12, 13]) {
        const rows = await allRows(orders, { limit });
        expect(rows.map(({ venueOrderId }) => venueOrderId)).toEqual(whole.map(({ venueOrderId }) => venueOrderId));
      }
      const first = unwrapRead(await orders(queryOf({ limit: 2 })));
      await cancel(6);
      await cancel(11);
      await on.place(on.resting());
      const rest = await allRows((query) => orders({ ...query, cursor: query.cursor ?? first.nextCursor }), {
        limit: 2,
      });
      const ids = [...first.rows, ...rest].map(({ venueClientOrderId }) => venueClientOrderId);
      expect(ids).toHaveLength(12);
      expect(new Set(ids)).toEqual(
        new Set(commands.map(({ clientIdHex }) => on.half.orders.venueClientOrderId(clientIdHex))),
      );
    });

    it("finds an order of unknown symbol by either id, also in a process that knows nothing yet", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      const commands = [on.sell(), on.resting()];
      for (const command of commands) await on.place(command);
      on.clock.advance(2_000);
      const { half, stop } = on.parts.another();
      const opened = half.openSession(venue.credentials, null);
      if (!opened.ok) throw new Error(opened.problem);
      for (const command of commands) {
        const known = await on.find(command);
        for (const ref of [{ clientIdHex: command.clientIdHex }, { venueOrderId: known?.venueOrderId ?? "" }]) {
          const expected = {
            venueOrderId: known?.venueOrderId,
            status: known?.status,
            nativeSymbol: on.btc.nativeSymbol,
          };
          expect(unwrapRead(await on.half.reader.findOrder(on.session, ref, OPTIONS))).toMatchObject(expected);
          // Two processes that sign at one moment collide in a nonce.
          on.clock.advance(1);
          expect(unwrapRead(await half.reader.findOrder(opened.session, ref, OPTIONS))).toMatchObject(expected);
          on.clock.advance(1);
        }
      }
      const never = { clientIdHex: nextClientId() };
      expect(unwrapRead(await half.reader.findOrder(opened.session, never, OPTIONS))).toBeNull();
      await stop();
    });
  });

  describe(`the history of payments on ${venue.name}`, () => {
    it("has every funding payment once, with its sign, of one symbol and of all", async () => {
      const on = await start(venue, { stepMs: 60_000 });
      await on.place(on.buy({ qtyLots: on.lotsOf(1) }));
      on.clock.advance(fundingHours * HOUR_MS);
      const truth = on.sim.exchange.accounts.income(on.accountId).filter(({ type }) => type === "FUNDING_FEE");
      expect(truth.length).toBeGreaterThan(1);
      const payments = reader(on, "readFunding");
      for (const instrument of [on.btc, null]) {
        const rows = await allRows(payments, { limit: 1, instrument });
        expect(rows).toHaveLength(truth.length);
        expect(sum(rows.map(({ amount }) => Number(amount)))).toBeCloseTo(
          sum(truth.map(({ amountE12 }) => Number(amountE12) / 1e12)),
          4,
        );
        for (const row of rows) {
          expect(row).toMatchObject({ symbol: "BTC", asset: on.btc.quoteAsset });
          // A long pays a positive rate.
          if (saysFundingRate) expect(Math.sign(Number(row.amount))).toBe(-Math.sign(Number(row.rate)));
          else expect(row.rate).toBeNull();
        }
      }
      expect(await allRows(payments, { instrument: on.eth })).toEqual([]);
    });
  });

  describe(`a cursor on ${venue.name}`, () => {
    it("that no page gave is refused, also one of another list and one cut short", async () => {
      const on = await start(venue);
      for (let count = 0; count < 3; count++) await on.place(on.buy());
      const given = unwrapRead(await on.half.history.readFills(on.session, queryOf({ limit: 1 }), OPTIONS)).nextCursor;
      expect(given).not.toBeNull();
      for (const cursor of ["", "x", "!", "fills~1~1", "orders~", given?.slice(2) ?? "", given ?? ""])
        for (const list of ["readFunding", "readOrders"] as const)
          expect(await reader(on, list)(queryOf({ limit: 1, instrument: on.btc, cursor }))).toMatchObject({
            ok: false,
            code: "BAD_CURSOR",
          });
    });
  });
}

function reader<N extends keyof AccountHistory>({ half, session }: TradingBench, name: N) {
  const list = half.history[name].bind(half.history) as AccountHistory[N];
  return (query: HistoryQuery): ReturnType<AccountHistory[N]> =>
    list(session, query, OPTIONS) as ReturnType<AccountHistory[N]>;
}

function mostAtOnce(times: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const time of times) counts.set(time, (counts.get(time) ?? 0) + 1);
  return Math.max(...counts.values());
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
