/** Chapters of an account: its settings, its figures, and who may read and sign for it. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { AccountSession } from "../../../../engine/ports.js";
import { OPTIONS, unwrapRead } from "../trading-half.js";
import { queryOf, start, type TradingBench, type TradingVenue } from "./bench.js";

/** A leverage without a remainder as a margin fraction, which is how venuethree stores it. */
const LEVERAGE = 8;
/** Longer than a room trusts its memory of its own change. */
const SHOWN_MS = 10_000;

export function settingChapters(venue: TradingVenue): void {
  describe(`settings on ${venue.name}`, () => {
    it("take a leverage and a margin mode while flat, and read them back", async () => {
      const on = await start(venue);
      const { btc, half, session } = on;
      expect(await on.answered(half.settings.setLeverage(session, btc, LEVERAGE, OPTIONS))).toMatchObject({
        outcome: "accepted",
        settings: { leverage: LEVERAGE },
      });
      on.settle();
      for (let round = 0; round < 2; round++) {
        expect(await on.answered(half.settings.setMarginMode(session, btc, "isolated", OPTIONS))).toMatchObject({
          outcome: "accepted",
          settings: { marginMode: "isolated" },
        });
        on.settle();
      }
      expect(unwrapRead(await half.settings.read(session, btc, OPTIONS))).toMatchObject({
        leverage: LEVERAGE,
        marginMode: "isolated",
      });
      expect(on.sim.exchange.accounts.leverage(on.accountId, btc.nativeSymbol)).toBe(LEVERAGE);
      expect(on.sim.exchange.accounts.marginMode(on.accountId, btc.nativeSymbol)).toBe("isolated");
    });

    it("refuse unsent a leverage that the contract does not have", async () => {
      const on = await start(venue);
      const logged = on.sim.log.length;
      for (const leverage of [0, -1, 1.5, on.btc.maxLeverage + 1, Number.NaN])
        expect(await on.half.settings.setLeverage(on.session, on.btc, leverage, OPTIONS)).toMatchObject({
          outcome: "rejected",
          venueCode: "LEVERAGE",
          sent: false,
        });
      expect(on.sim.log).toHaveLength(logged);
    });

    it("keep the margin mode of a position that is held", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      const outcome = on.half.settings.setMarginMode(on.session, on.btc, "isolated", OPTIONS);
      expect(await on.answered(outcome)).toMatchObject({ outcome: "rejected", sent: true });
      on.clock.advance(SHOWN_MS);
      expect(on.sim.exchange.accounts.marginMode(on.accountId, on.btc.nativeSymbol)).toBe("cross");
      expect(unwrapRead(await on.half.settings.read(on.session, on.btc, OPTIONS))).toMatchObject({
        marginMode: "cross",
      });
    });

    it("are reported with the position that they are of", async () => {
      const on = await start(venue);
      await on.answered(on.half.settings.setLeverage(on.session, on.btc, LEVERAGE, OPTIONS));
      on.settle();
      await on.answered(on.half.settings.setMarginMode(on.session, on.btc, "isolated", OPTIONS));
      on.settle();
      await on.place(on.buy());
      const read = await on.half.reader.readPositions(on.session, on.btc, { ...OPTIONS, lane: "read" });
      const [position] = unwrapRead(read);
      expect(position).toMatchObject({ leverage: LEVERAGE, marginMode: "isolated" });
      expect(Number(position?.collateral)).toBeGreaterThan(0);
    });
  });
}

export function accountChapters(venue: TradingVenue): void {
  const { habits } = venue;
  describe(`an account on ${venue.name}`, () => {
    it("has a balance of what was paid in, and its own fee rates", async () => {
      const on = await start(venue);
      const { btc, half, session } = on;
      const account = on.sim.exchange.accounts.find(on.accountId);
      const balances = unwrapRead(await half.reader.readBalances(session, OPTIONS));
      const own = balances.find(({ asset }) => asset === btc.quoteAsset);
      expect(Number(own?.total)).toBe(Number(account?.walletE12) / 1e12);
      expect(Number(own?.available)).toBe(Number(account?.walletE12) / 1e12);
      expect(unwrapRead(await half.reader.readFeeRates(session, btc, OPTIONS))).toEqual({
        takerFeeMilliBps: account?.takerFeeMilliBps,
        makerFeeMilliBps: account?.makerFeeMilliBps,
      });
    });

    it("sums equity, margin and what is free as the venue does", async () => {
      const on = await start(venue);
      await on.place(on.buy({ qtyLots: on.lotsOf(1) }));
      const summary = unwrapRead(await on.half.reader.readAccount(on.session, OPTIONS));
      const margin = on.sim.exchange.accounts.margin(on.accountId);
      expect(Number(summary.equity)).toBeCloseTo(Number(margin.equityE12) / 1e12, 4);
      expect(Number(summary.marginUsed)).toBeGreaterThan(0);
      expect(Number(summary.free)).toBeLessThan(Number(summary.equity));
      expect(Math.abs(Number(summary.equity) - Number(summary.marginUsed) - Number(summary.free))).toBeLessThan(1_000);
      if (!habits.saysMaintenance) return expect(summary.maintenanceMargin).toBeNull();
      expect(Number(summary.maintenanceMargin)).toBeGreaterThan(0);
      expect(Number(summary.maintenanceMargin)).toBeLessThan(Number(summary.marginUsed));
    });

    it("shows no order of another account", async () => {
      const on = await start(venue);
      const other = on.openOther();
      const command = on.resting();
      const theirs = await on.placed(command, other);
      for (const ref of [{ venueOrderId: theirs.venueOrderId }, { clientIdHex: command.clientIdHex }]) {
        expect(await on.read(ref)).toBeNull();
        expect(await on.read(ref, on.btc, other)).toMatchObject({ status: "OPEN" });
      }
      expect(await on.openOrders()).toEqual([]);
    });

    it.runIf(venue.address !== null)("is read by its address alone, which signs nothing", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      const session = byAddress(on, venue.address ?? "");
      const { half } = on;
      expect(unwrapRead(await half.reader.readPositions(session, on.btc, OPTIONS))).toMatchObject([
        { symbol: "BTC", direction: "LONG", qtyLots: on.lots },
      ]);
      expect(unwrapRead(await half.reader.readBalances(session, OPTIONS))).toMatchObject([
        { asset: on.btc.quoteAsset },
      ]);
      const orders = await half.reader.readOpenOrders(session, null, OPTIONS);
      if (habits.addressReads === "all") expect(orders).toMatchObject({ ok: true, value: [] });
      else expect(orders).toMatchObject({ ok: false, code: "NEEDS_CREDENTIALS" });
      const logged = on.sim.log.length;
      for (const refused of await signedCalls(on, session))
        expect(refused).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: false });
      expect(on.sim.log).toHaveLength(logged);
      expect(half.openAddress?.("0x12", null)).toMatchObject({ ok: false });
    });

    it.each(venue.wrongCredentials)(
      "with %s is refused every call as AUTH, and nothing is done",
      async (_what, wrong) => {
        const on = await start(venue);
        await on.place(on.resting());
        const logged = on.taken().length;
        const { btc, half } = on;
        const session = on.open(wrong);
        for (const refused of await signedCalls(on, session))
          expect(refused).toMatchObject({ outcome: "rejected", reason: "AUTH" });
        if (!habits.readsArePublic)
          for (const read of [
            await half.reader.readPositions(session, null, OPTIONS),
            await half.reader.readOpenOrders(session, null, OPTIONS),
            await half.reader.readBalances(session, OPTIONS),
            await half.reader.findOrder(session, { venueOrderId: "1" }, OPTIONS),
            await half.settings.read(session, btc, OPTIONS),
            await half.history.readFills(session, queryOf(), OPTIONS),
          ])
            expect(read).toMatchObject({ ok: false, code: "AUTH" });
        expect(on.taken()).toHaveLength(logged);
        expect(await on.openOrders()).toHaveLength(1);
      },
    );

    it("whose session was closed is refused unsent as AUTH", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      const logged = on.sim.log.length;
      on.session.close();
      for (const refused of await signedCalls(on, on.session))
        expect(refused).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: false });
      expect(on.sim.log).toHaveLength(logged);
    });

    it("puts no key and no signature into logs, inspection or JSON", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      on.sim.faults.add({ kind: "errorAfter", count: 1, match: habits.routes.place });
      await on.send(on.buy());
      for (const text of [inspect(on.session, { depth: 9 }), JSON.stringify(on.session), on.parts.logLines.join("\n")])
        for (const secret of venue.secrets) expect(text).not.toContain(secret);
    });
  });
}

function byAddress({ half }: TradingBench, address: string): AccountSession {
  const result = half.openAddress?.(address, null) ?? { ok: false, problem: "the room opens no address" };
  if (!result.ok) throw new Error(result.problem);
  return result.session;
}

/** Returns one call of each kind that signs. */
async function signedCalls(on: TradingBench, session: AccountSession) {
  const { btc, half } = on;
  return [
    await on.send(on.buy(), session),
    await half.orders.cancel(session, btc, { clientIdHex: "f".repeat(32) }, OPTIONS),
    await half.orders.cancelAll(session, btc, OPTIONS),
    await half.orders.cancelAll(session, null, OPTIONS),
    await half.settings.setLeverage(session, btc, 3, OPTIONS),
    await half.settings.setMarginMode(session, btc, "isolated", OPTIONS),
  ];
}
