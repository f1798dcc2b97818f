/** Chapter of who pays: every call that a room sends for a session is paid by the key that opened it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it, vi } from "vitest";
import type { OrderCommand } from "../../../../engine/domain/order.js";
import type { AccountHistory, AccountSession, AccountSettings, OrderSender } from "../../../../engine/ports.js";
import type { HttpRequest } from "../../../../feeds/shared/net/http.js";
import { HttpPool } from "../../../../feeds/shared/net/http-pool.js";
import { opened, OPTIONS } from "../trading-half.js";
import { queryOf, start, type TradingBench, type TradingHalf, type TradingVenue } from "./bench.js";

const KEY = "pk_one";

type Ask = (on: TradingBench, session: AccountSession) => unknown;
/** One call of each: a new method of a port has no test here until it is named. */
type Calls<T> = { readonly [Name in keyof Required<T>]: Ask };

const READS: Calls<TradingHalf["reader"]> = {
  readPositions: ({ half }, session) => half.reader.readPositions(session, null, OPTIONS),
  readOrder: async (on, session) => on.find(await resting(on, session), session),
  readOpenOrders: ({ half }, session) => half.reader.readOpenOrders(session, null, OPTIONS),
  readBalances: ({ half }, session) => half.reader.readBalances(session, OPTIONS),
  readFeeRates: ({ btc, half }, session) => half.reader.readFeeRates(session, btc, OPTIONS),
  findOrder: ({ half }, session) => half.reader.findOrder(session, { venueOrderId: "1" }, OPTIONS),
  readAccount: ({ half }, session) => half.reader.readAccount(session, OPTIONS),
};

const HISTORY: Calls<AccountHistory> = {
  readOrders: ({ half }, session) => half.history.readOrders(session, queryOf(), OPTIONS),
  readFills: ({ half }, session) => half.history.readFills(session, queryOf(), OPTIONS),
  readFunding: ({ half }, session) => half.history.readFunding(session, queryOf(), OPTIONS),
};

const SETTINGS: Calls<AccountSettings> = {
  read: ({ btc, half }, session) => half.settings.read(session, btc, OPTIONS),
  setLeverage: (on, session) => on.answered(on.half.settings.setLeverage(session, on.btc, 8, OPTIONS)),
  setMarginMode: (on, session) => on.answered(on.half.settings.setMarginMode(session, on.btc, "isolated", OPTIONS)),
  maxLeverage: ({ btc, half }, session) => half.settings.maxLeverage?.(session, btc, OPTIONS),
  waitMs: ({ half }, session) => half.settings.waitMs?.(session, "trade"),
};

const ORDERS: Calls<OrderSender> = {
  place: (on, session) => on.send(on.buy(), session),
  cancel: async (on, session) => {
    const { clientIdHex } = await resting(on, session);
    return on.answered(on.half.orders.cancel(session, on.btc, { clientIdHex }, OPTIONS));
  },
  amend: async (on, session) => {
    const order = await on.find(await resting(on, session), session);
    if (order === null || on.habits.amend === null) return;
    const change = { priceTicks: on.ticks(0.94), qtyLots: on.lots };
    await on.answered(on.half.orders.amend(session, on.btc, order, change, OPTIONS));
  },
  cancelAll: async (on, session) => {
    await resting(on, session);
    await on.answered(on.half.orders.cancelAll(session, null, OPTIONS));
  },
  scheduleCancel: (on, session) => {
    const { countdownMs } = on.habits;
    if (countdownMs === null) return;
    return on.half.orders.scheduleCancel?.(session, on.clock.wallMs() + countdownMs, OPTIONS);
  },
  placeBoundMs: () => null,
  venueClientOrderId: () => null,
  parseClientOrderId: () => null,
};

async function resting(on: TradingBench, session: AccountSession): Promise<OrderCommand> {
  const command = on.resting();
  await on.place(command, session);
  return command;
}

/** Calls that something began: a room of another file may live on in this process, and sends for nobody's session. */
const begun = new AsyncLocalStorage<HttpRequest[]>();

/** What `ask` sends. */
async function sentBy(ask: () => unknown): Promise<readonly HttpRequest[]> {
  const sent: HttpRequest[] = [];
  const { request } = HttpPool.prototype;
  const spy = vi.spyOn(HttpPool.prototype, "request").mockImplementation(function (this: HttpPool, call) {
    begun.getStore()?.push(call);
    return request.call(this, call);
  });
  try {
    await begun.run(sent, ask);
  } finally {
    spy.mockRestore();
  }
  return sent;
}

function unpaid(sent: readonly HttpRequest[]): readonly string[] {
  return sent.filter(({ payer }) => payer !== KEY).map(({ body, method, path }) => `${method} ${path} ${body ?? ""}`);
}

export function payerChapter(venue: TradingVenue): void {
  describe(`a key that opens a session of ${venue.name} pays`, () => {
    it.each(Object.entries({ ...READS, ...HISTORY, ...SETTINGS, ...ORDERS }))("for all of %s", async (_what, ask) => {
      const on = await start(venue);
      const session = opened(on.half.openSession(venue.credentials, KEY));
      const sent = await sentBy(() => ask(on, session));
      expect(unpaid(sent)).toEqual([]);
    });

    it.skipIf(venue.habits.addressReads === null)("for reads of an address", async () => {
      const on = await start(venue);
      const session = opened(on.half.openAddress?.(venue.address ?? "", KEY) ?? { ok: false, problem: "no address" });
      const sent = await sentBy(async () => {
        await on.half.reader.readPositions(session, null, OPTIONS);
        await on.half.reader.readBalances(session, OPTIONS);
        await on.half.reader.readAccount(session, OPTIONS);
        await on.half.reader.readOpenOrders(session, null, OPTIONS);
      });
      expect(sent.length).toBeGreaterThan(1);
      expect(unpaid(sent)).toEqual([]);
    });
  });
}
