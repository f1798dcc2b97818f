/**
 * Every row of interface spec 4.6 to 4.11, and what section 7 says about them, against the real gateway over the real
 * rooms and the local venues: status, exact error text, envelope and shape (the client judges each reply by the OpenAPI
 * document), and whether anything was sent.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import {
  CLOSE_ROWS,
  type Json,
  LEVERAGE_ROWS,
  LIMIT_ONE,
  LIMIT_THREE,
  LIMIT_TWO,
  ONE,
  ORDERS_ONE,
  ORDERS_THREE,
  ORDERS_TWO,
  PERP,
  POSITION_ROWS,
  type SpecRow,
  TICKER_ROWS,
  WALLET,
} from "../support/spec-rows.js";
import { ORDER_ROWS } from "../support/spec-order-rows.js";
import { agentCredentialsOf } from "../support/local-pair.js";
import { BARE_ADDRESS, BARE_WALLET_ID, type SpecSystem, startSpecSystem } from "../support/spec-system.js";
import { at, SpecWalker } from "../support/spec-walker.js";
import { pause } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const ORDERS_FOUR = "/api/trading/venuefour/orders";
const FOUR = { "x-venue-credentials": "{venuefour}" };
/** Ceilings, not expectations: a shared machine may take most of its cores away for a while. */
const START_MS = 240_000;
const ROW_MS = 120_000;
const EVENTUALLY_TRIES = 100;
const EVENTUALLY_PAUSE_MS = 50;

let system: SpecSystem;
beforeAll(async () => {
  system = await startSpecSystem(SEED);
}, START_MS);
beforeEach(() => system.freshBooks(), ROW_MS);
afterAll(async () => {
  await system?.stop();
}, START_MS);

const walker = new SpecWalker(() => system);
const send: SpecWalker["send"] = (row) => walker.send(row);
const post: SpecWalker["post"] = (path, body, headers) => walker.post(path, body, headers);
const walk = (row: SpecRow): Promise<void> => walker.walk(row);

/** Waits for what a venue does after its answer. */
async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < EVENTUALLY_TRIES; tries++) {
    if (await holds()) return;
    await pause(EVENTUALLY_PAUSE_MS);
  }
  throw new Error(`not in time: ${what}`);
}

/** Makes venuetwo answer every read with 500, until the returned function is called. */
function readsFail(): () => void {
  return system.pair.fault(["venuetwo"], { kind: "errorBefore", match: "GET /fapi", probability: 1, status: 500 });
}

// Before any order rests: an account with a resting order of ours is streamed, and read no more.
describe("4.9 positions, with a venue away:", () => {
  it(
    "one venue's failure hides no other, and says what is not known",
    async () => {
      const heal = readsFail();
      try {
        const reply = await send({ path: "/api/trading/positions/all/{alice}" });
        expect([reply.status, at(reply, "coverage.venueone.state"), at(reply, "coverage.venuetwo.state")]).toEqual([
          200,
          expect.stringMatching(/^(LIVE|SNAPSHOT)$/),
          "ERROR",
        ]);
        const one = await send({ path: "/api/trading/venuetwo/positions/{alice}", headers: WALLET });
        expect(one.status).toBeGreaterThanOrEqual(500);
        if (one.status === 500) expect(at(one, "error")).toMatch(/^Failed to fetch open positions: /);
      } finally {
        heal();
      }
    },
    ROW_MS,
  );
});

describe("4.6 place order", () => {
  it.each(ORDER_ROWS)("$row → $status", walk, ROW_MS);

  it(
    "venuethree: a wrong account index, a wrong key index and a stranger's key are 403, nothing executed",
    async () => {
      const { apiKeyPrivateKey, apiKeyIndex, accountIndex } = system.key;
      const stranger = `0x${"11".repeat(39)}01`;
      for (const [key, keyIndex, account] of [
        [apiKeyPrivateKey, apiKeyIndex, accountIndex + 1],
        [apiKeyPrivateKey, apiKeyIndex + 1, accountIndex],
        [stranger, apiKeyIndex, accountIndex],
      ] as const) {
        const query = `apiKeyPrivateKey=${key}&apiKeyIndex=${keyIndex}&accountIndex=${account}`;
        const reply = await post(`${ORDERS_THREE}?${query}`, LIMIT_THREE);
        expect([reply.status, at(reply, "error")], reply.text).toEqual([403, "Invalid API credentials"]);
        expect(reply.text).not.toContain(key.slice(2, 40));
      }
      expect(system.logLines.join("\n")).not.toContain(apiKeyPrivateKey.slice(2, 40));
    },
    ROW_MS,
  );
});

describe("bad input sends nothing", () => {
  const targets = [
    { name: "venuetwo by path", path: `${PERP}/order`, body: LIMIT_TWO, headers: {} },
    { name: "venuetwo by header", path: ORDERS_TWO, body: LIMIT_TWO, headers: WALLET },
    { name: "venueone", path: ORDERS_ONE, body: LIMIT_ONE, headers: WALLET },
    { name: "venuethree", path: `${ORDERS_THREE}?{key}`, body: LIMIT_THREE, headers: {} },
    { name: "venuefour", path: ORDERS_FOUR, body: LIMIT_TWO, headers: FOUR },
  ];
  const bad: readonly [what: string, changes: Json, status: number][] = [
    ["unknown symbol", { symbol: "NOPE" }, 404],
    ["size 0", { quantity: "0" }, 400],
    ["negative size", { quantity: "-0.01" }, 400],
    ["NaN", { quantity: "NaN" }, 400],
    ["Infinity", { quantity: "Infinity" }, 400],
    ["exponent", { quantity: "1e-2" }, 400],
    ["a number instead of text", { quantity: 0.01 }, 400],
    ["too many decimals", { quantity: "0.0123456789" }, 400],
    ["price with too many decimals", { price: "50000.123456" }, 400],
    ["below the minimum", { quantity: "0.00001", price: "1000" }, 400],
    ["above all sizes", { quantity: "99999999999" }, 400],
    ["wrong side", { side: "LONG" }, 400],
    ["wrong time in force", { timeInForce: "DAY" }, 400],
    ["slippage beyond bounds", { maxSlippageBps: 5_000 }, 400],
    ["empty client id", { clientOrderId: "" }, 400],
  ];
  it.each(targets)(
    "$name",
    async ({ path, body, headers }) => {
      for (const [what, changes, status] of bad) {
        await walk({ row: what, method: "POST", path, body: { ...body, ...changes }, headers, status });
      }
    },
    ROW_MS,
  );

  it(
    "reduce-only beyond the position or against it never opens: refused, or clamped to it",
    async () => {
      const before = system.pair.positionLots("venueone", system.alice, "BTC");
      const reply = await post(ORDERS_ONE, { ...LIMIT_ONE, type: "MARKET", price: "200000", reduceOnly: true }, WALLET);
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(system.pair.positionLots("venueone", system.alice, "BTC")).toBe(before);
    },
    ROW_MS,
  );
});

describe("4.8 leverage", () => {
  const path = `${PERP}/leverage`;
  it.each(LEVERAGE_ROWS)("$row → $status", walk, ROW_MS);

  it(
    "takes effect: the venue's own form of the position shows it",
    async () => {
      const set = await post(path, { symbol: "BTCUSDT", leverage: 9 });
      expect(Number(at(set, "data.maxNotionalValue"))).toBeGreaterThan(0);
      const reply = await send({ path: `${PERP}/positions?symbol=BTC` });
      expect(at(reply, "data.positions.0.leverage")).toBe("9");
      // An account with a resting order is streamed, and the stream does not report its largest notional.
      expect(at(reply, "data.positions.0.maxNotionalValue")).toBe(at(set, "data.maxNotionalValue"));
    },
    ROW_MS,
  );
});

describe("4.9 positions", () => {
  it.each(POSITION_ROWS)("$row → $status", walk, ROW_MS);

  it(
    "are what the venues hold, with figures that follow from each other",
    async () => {
      const reply = await send({ path: "/api/trading/positions/all/{alice}" });
      const positions = at(reply, "positions") as {
        exchange: string;
        symbol: string;
        direction: string;
        size: string;
        entryPrice: string;
        markPrice: string;
        unrealizedPnl: string;
        leverage: number;
        collateral: string;
      }[];
      for (const venue of ["venueone", "venuetwo"] as const) {
        for (const symbol of ["BTC", "ETH"]) {
          const row = positions.find((one) => one.exchange === venue && one.symbol === symbol);
          if (row === undefined) throw new Error(`${venue} ${symbol} is missing: ${reply.text}`);
          const lots = system.pair.positionLots(venue, system.alice, symbol);
          const decimals =
            system.pair[venue].exchange.instruments.get(venue === "venueone" ? symbol : `${symbol}USDT`)?.qtyDecimals ??
            0;
          expect(Number(row.size)).toBeCloseTo(Math.abs(lots) / 10 ** decimals, 9);
          expect(row.direction).toBe(lots > 0 ? "LONG" : "SHORT");
          const sign = lots > 0 ? 1 : -1;
          const pnl = (Number(row.markPrice) - Number(row.entryPrice)) * Number(row.size) * sign;
          // The venue's own figure may use a mark that differs by a tick or two.
          expect(Math.abs(Number(row.unrealizedPnl) - pnl)).toBeLessThan(
            Number(row.size) * Number(row.markPrice) * 0.002,
          );
          expect(Number(row.collateral)).toBeGreaterThan(0);
          expect(row.leverage).toBeGreaterThan(0);
        }
      }
    },
    ROW_MS,
  );

  it(
    "per-request credentials by header, JSON body and query give the same, and another account's key is refused",
    async () => {
      // The address is of no server wallet, so that only the sent credentials open it.
      const carol = system.pair.addTrader("carol", { positions: { BTC: "0.1", ETH: "-1" } });
      const { apiKey, apiSecret, walletAddress } = carol.venuetwo;
      const credentials = { venuetwo: { apiKey, apiSecret, walletAddress } };
      const text = Buffer.from(JSON.stringify(credentials)).toString("base64url");
      const path = `/api/trading/venuetwo/positions/${walletAddress}`;
      const replies = [
        await send({ path, headers: { "x-venue-credentials": text } }),
        await send({ path, body: { credentials } }),
        await send({ path, body: credentials }),
        await send({ path: `${path}?credentials=${text}` }),
        await send({ path: `${path}?credentials=${encodeURIComponent(JSON.stringify(credentials))}` }),
      ];
      expect(replies.map((reply) => [reply.status, at(reply, "totalPositions")])).toEqual(replies.map(() => [200, 2]));
      // A venueone key acts for its own account: a request for another account's positions is refused, not answered
      // with its own.
      const agent = { venueone: { privateKey: system.alice.venueone.agentKey } };
      const other = await send({ path: `/api/trading/venueone/positions/${BARE_ADDRESS}`, body: agent });
      expect([other.status, at(other, "error")]).toEqual([401, "Missing or invalid credentials for venueone"]);
      for (const secret of [apiSecret, agent.venueone.privateKey.slice(2)])
        expect(system.logLines.join("\n")).not.toContain(secret);
    },
    ROW_MS,
  );
});

describe("4.10 order status and history:", () => {
  it(
    "an order is found by the venue's id and by client ids; one that nobody knows is 404 with its digits",
    async () => {
      const placed = await post(ORDERS_ONE, { ...LIMIT_ONE, clientOrderId: "walk-1" }, WALLET);
      const { orderId, venueClientOrderId } = at(placed, "data") as { orderId: string; venueClientOrderId: string };
      for (const name of [orderId, venueClientOrderId, "walk-1"]) {
        const reply = await send({ path: `/api/trading/venueone/orders/${name}/status?symbol=BTC`, headers: WALLET });
        expect([reply.status, at(reply, "data.orderId"), at(reply, "data.status")], reply.text).toEqual([
          200,
          orderId,
          "OPEN",
        ]);
      }
      const unknown = await send({ path: "/api/trading/venueone/orders/18446744073709551615/status", headers: WALLET });
      expect([unknown.status, at(unknown, "error")], unknown.text).toEqual([
        404,
        "Order 18446744073709551615 not found in any market",
      ]);
      expect(at(await send({ path: `/api/trading/venueone/orders/${orderId}/status` }), "error")).toBe(
        "Missing or invalid credentials for venueone",
      );
    },
    ROW_MS,
  );

  it(
    "venuetwo order status without a symbol, and a client id",
    async () => {
      const placed = await post(`${PERP}/order`, { ...LIMIT_TWO, clientOrderId: "walk-2" });
      const orderId = at(placed, "data.orderIdStr");
      for (const path of [
        `/api/trading/venuetwo/orders/${String(orderId)}/status`,
        "/api/trading/venuetwo/orders/walk-2/status",
      ]) {
        const reply = await send({ path, headers: WALLET });
        expect([reply.status, at(reply, "data.orderId"), at(reply, "data.venueStatus")], reply.text).toEqual([
          200,
          orderId,
          "NEW",
        ]);
      }
    },
    ROW_MS,
  );

  it(
    "a failing venue is 500 with the reason",
    async () => {
      const heal = readsFail();
      try {
        const reply = await send({ path: "/api/trading/venuetwo/orders/123456/status?symbol=BTC", headers: WALLET });
        expect(reply.status).toBeGreaterThanOrEqual(500);
        if (reply.status === 500) expect(at(reply, "error")).toMatch(/^Failed to fetch order status: /);
      } finally {
        heal();
      }
    },
    ROW_MS,
  );

  it(
    "historical orders: every status, newest first, page by page without a repeat",
    async () => {
      const path = `${ONE}/orders/historical`;
      expect(at(await send({ path }), "error")).toBe("Missing x-wallet-id header");
      const all = await send({ path, headers: WALLET });
      const orders = at(all, "data.orders") as { orderId: string; status: string; timestamp: number }[];
      expect(orders.length).toBeGreaterThan(2);
      expect(new Set(orders.map(({ status }) => status)).size).toBeGreaterThan(1);
      expect(orders.map(({ timestamp }) => timestamp)).toEqual(
        orders.map(({ timestamp }) => timestamp).sort((a, b) => b - a),
      );
      const seen: string[] = [];
      let cursor: unknown = null;
      for (let page = 0; page < 50; page++) {
        const next: Reply = await send({
          path: `${path}?limit=2${cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`}`,
          headers: WALLET,
        });
        expect(next.status, next.text).toBe(200);
        seen.push(...(at(next, "data.orders") as { orderId: string }[]).map(({ orderId }) => orderId));
        cursor = at(next, "data.nextCursor");
        if (cursor === null) break;
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect([...seen].sort()).toEqual(orders.map(({ orderId }) => orderId).sort());
      for (const query of ["limit=0", "limit=1001", "limit=x", "since=-1", "since=5&until=4", "cursor=nope"])
        expect((await send({ path: `${path}?${query}`, headers: WALLET })).status, query).toBe(400);
      expect((await send({ path: `${path}?symbol=NOPE`, headers: WALLET })).status).toBe(404);
      expect((await send({ path, headers: { "x-wallet-id": BARE_WALLET_ID } })).status).toBe(401);
    },
    ROW_MS,
  );
});

describe("4.11 tickers", () => {
  it.each(TICKER_ROWS)("$row → $status", walk, ROW_MS);
});

describe("beyond the spec,", () => {
  /** Each venue with an account: where an order is placed, and who asks. */
  const accounts = [
    { venue: "venueone", path: ORDERS_ONE, body: LIMIT_ONE, who: WALLET },
    { venue: "venuetwo", path: ORDERS_TWO, body: LIMIT_TWO, who: WALLET },
    {
      venue: "venuethree",
      path: ORDERS_THREE,
      body: LIMIT_THREE,
      who: { "x-venue-credentials": "{three}" },
    },
    { venue: "venuefour", path: ORDERS_FOUR, body: LIMIT_TWO, who: FOUR },
  ];
  const digitsOf = (reply: Reply): string =>
    String(at(reply, "data.orderIdStr") ?? at(reply, "data.orderId") ?? at(reply, "order.venueClientOrderId"));

  it.each(accounts)(
    "$venue: an order is seen, found, cancelled once, and all that are left are cancelled",
    async ({ venue, path, body, who }) => {
      const orders = `/api/trading/${venue}/orders`;
      const placed = await post(path, body, who);
      expect(placed.status, placed.text).toBe(200);
      const status = { path: `${orders}/${digitsOf(placed)}/status?symbol=BTC`, headers: who };
      await eventually(`the order on ${venue}`, async () => (await send(status)).status === 200);
      const found = await send(status);
      expect([found.status, at(found, "data.status")], found.text).toEqual([200, "OPEN"]);
      const orderId = String(at(found, "data.orderId"));
      const open = await send({ path: `${orders}/open?symbol=BTC`, headers: who });
      const ids = (at(open, "data.orders") as { orderId: string }[]).map((one) => one.orderId);
      expect(ids, open.text).toContain(orderId);
      const canceled = await send({ method: "DELETE", path: `${orders}/${orderId}?symbol=BTC`, headers: who });
      expect([canceled.status, at(canceled, "data.status")], canceled.text).toEqual([200, "CANCELED"]);
      await post(path, body, who);
      const all = await send({ method: "DELETE", path: `${orders}?symbol=BTC`, headers: who });
      expect([all.status, at(all, "data.outcome")], all.text).toEqual([200, "ACCEPTED"]);
      await eventually(`no open order on ${venue}`, async () => {
        const left = await send({ path: `${orders}/open?symbol=BTC`, headers: who });
        return at(left, "data.total") === 0;
      });
      const again = await send({ method: "DELETE", path: `${orders}/${orderId}?symbol=BTC`, headers: who });
      expect([404, 409], again.text).toContain(again.status);
    },
    ROW_MS * 2,
  );

  it.each(accounts)(
    "$venue: order ids beyond 2^53 keep their digits, and one that cannot be is 404",
    async ({ venue, who }) => {
      for (const orderId of ["9007199254740993", "18446744073709551615", "99999999999999999999999999"]) {
        const reply = await send({ path: `/api/trading/${venue}/orders/${orderId}/status?symbol=BTC`, headers: who });
        expect([reply.status, at(reply, "error")], reply.text).toEqual([
          404,
          `Order ${orderId} not found in any market`,
        ]);
        const cancel = await send({
          method: "DELETE",
          path: `/api/trading/${venue}/orders/${orderId}?symbol=BTC`,
          headers: who,
        });
        expect([cancel.status, at(cancel, "error")], cancel.text).toEqual([
          404,
          `Order ${orderId} not found in any market`,
        ]);
      }
    },
    ROW_MS,
  );

  it(
    "amend where the venue can: price changed, and a plain refusal where it cannot",
    async () => {
      const placed = await post(ORDERS_ONE, LIMIT_ONE, WALLET);
      const change = { method: "PATCH" as const, body: { symbol: "BTC", price: "50001" } };
      const one = await send({ ...change, path: `/api/trading/venueone/orders/${digitsOf(placed)}`, headers: WALLET });
      expect([one.status, at(one, "data.order.price")], one.text).toEqual([200, "50001"]);
      const two = digitsOf(await post(ORDERS_TWO, LIMIT_TWO, WALLET));
      const refused = await send({ ...change, path: `/api/trading/venuetwo/orders/${two}`, headers: WALLET });
      expect([refused.status, at(refused, "code")], refused.text).toEqual([400, "NOT_SUPPORTED"]);
      const agent = Buffer.from(JSON.stringify(agentCredentialsOf(system.alice))).toString("base64url");
      const headers = { "x-venue-credentials": agent };
      const changed = await send({ ...change, path: `/api/trading/venuetwo/orders/${two}`, headers });
      expect([changed.status, at(changed, "data.order.price")], changed.text).toEqual([200, "50001"]);
      for (const venue of ["venueone", "venuetwo"])
        await send({ method: "DELETE", path: `/api/trading/${venue}/orders`, headers: WALLET });
    },
    ROW_MS,
  );

  it.each(accounts)(
    "$venue: balances, positions, fills and funding are of the account that asks",
    async ({ venue, who }) => {
      const address = venue === "venuefour" ? system.venuefourBlock["walletAddress"] : "{alice}";
      const balances = await send({ path: `/api/trading/${venue}/balances/${address}`, headers: who });
      expect(balances.status, balances.text).toBe(200);
      const data = at(balances, "data") as Record<string, string | null>;
      expect(Number(data["equity"]), balances.text).toBeGreaterThan(0);
      if (data["maintenanceMargin"] !== null)
        expect(Number(data["distanceToLiquidation"])).toBeCloseTo(
          Number(data["equity"]) - Number(data["maintenanceMargin"]),
          6,
        );
      const positions = await send({ path: `/api/trading/${venue}/positions/${address}`, headers: who });
      const rows = at(positions, "positions") as Record<string, string | number>[];
      expect(
        rows.find(({ symbol }) => symbol === "BTC"),
        positions.text,
      ).toMatchObject({ direction: "LONG", exchange: venue });
      for (const row of rows)
        for (const field of ["size", "entryPrice", "leverage", "unrealizedPnl", "collateral", "markPrice"])
          expect(row[field], `${field}: ${positions.text}`).toBeDefined();
      const fills = await send({ path: `/api/trading/${venue}/fills/${address}?symbol=BTC&limit=5`, headers: who });
      expect([fills.status, at(fills, "exchange")], fills.text).toEqual([200, venue]);
      expect((at(fills, "data.fills") as Json[]).every(({ symbol }) => symbol === "BTC")).toBe(true);
      const funding = await send({ path: `/api/trading/${venue}/funding/${address}`, headers: who });
      expect(funding.status, funding.text).toBe(200);
    },
    ROW_MS,
  );

  it(
    "all balances in one: sums, and what they are not complete without",
    async () => {
      const all = await send({ path: "/api/trading/balances/all/{alice}" });
      const accounts = at(all, "data.accounts") as { equity: string }[];
      expect(accounts.length, all.text).toBeGreaterThanOrEqual(2);
      const sum = accounts.reduce((total, { equity }) => total + Number(equity), 0);
      expect(Number(at(all, "data.totals.equity"))).toBeCloseTo(sum, 4);
      expect(at(all, "data.totals.complete")).toBe(false);
    },
    ROW_MS,
  );

  it(
    "an Idempotency-Key gives one order: the stored reply again, another body refused",
    async () => {
      const headers = { ...WALLET, "idempotency-key": "walk-key-1" };
      const body = { ...LIMIT_ONE, price: "49000" };
      const first = await post(ORDERS_ONE, body, headers);
      const before = system.sentCount();
      const again = await post(ORDERS_ONE, body, headers);
      expect([first.status, again.status, again.headers["idempotent-replayed"]], again.text).toEqual([
        200,
        200,
        "true",
      ]);
      expect(at(again, "data.orderId")).toBe(at(first, "data.orderId"));
      const other = await post(ORDERS_ONE, { ...body, price: "49001" }, headers);
      expect([other.status, at(other, "code")], other.text).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
      expect((await post(ORDERS_ONE, body, { ...WALLET, "idempotency-key": "" })).status).toBe(400);
      expect(system.sentCount()).toBe(before);
    },
    ROW_MS,
  );

  it(
    "leverage and margin mode are set on any venue",
    async () => {
      for (const venue of ["venueone", "venuetwo"]) {
        const leverage = await send({
          method: "POST",
          path: `/api/trading/${venue}/leverage`,
          headers: WALLET,
          body: { symbol: "ETH", leverage: 6 },
        });
        expect([leverage.status, at(leverage, "data.leverage")], leverage.text).toEqual([200, 6]);
      }
      const wrong = await send({
        method: "POST",
        path: "/api/trading/venueone/leverage",
        headers: WALLET,
        body: { symbol: "ETH", leverage: 126 },
      });
      expect([wrong.status, at(wrong, "error")]).toEqual([400, "Leverage must be between 1 and 125"]);
    },
    ROW_MS,
  );

  it(
    "the kill switch stops openings and lets exits go on",
    async () => {
      const path = "/api/trade/kill-switch";
      await post(path, { active: true, reason: "walk" });
      try {
        const opening = await post(ORDERS_ONE, LIMIT_ONE, WALLET);
        expect([opening.status, at(opening, "code")], opening.text).toEqual([503, "TRADING_HALTED"]);
        const exit = await post(`${PERP}/order`, {
          symbol: "BTC",
          side: "SELL",
          type: "MARKET",
          quantity: "0.01",
          reduceOnly: true,
        });
        expect(exit.status, exit.text).toBe(200);
      } finally {
        expect(at(await post(path, { active: false }), "data.active")).toBe(false);
      }
    },
    ROW_MS,
  );

  it(
    "the dead-man's switch is armed, prolonged and ended",
    async () => {
      const armed = await send({
        method: "POST",
        path: "/api/trading/venueone/dead-man",
        headers: WALLET,
        body: { timeoutMs: 60_000 },
      });
      expect(armed.status, armed.text).toBe(200);
      const switchId = String(at(armed, "data.switchId"));
      expect((await send({ method: "POST", path: `/api/trading/dead-man/${switchId}/heartbeat` })).status).toBe(200);
      expect((await send({ method: "DELETE", path: `/api/trading/dead-man/${switchId}` })).status).toBe(200);
      expect((await send({ method: "DELETE", path: `/api/trading/dead-man/${switchId}` })).status).toBe(404);
    },
    ROW_MS,
  );
});

describe("4.7 close position", () => {
  it.each(CLOSE_ROWS)("$row → $status", walk, ROW_MS);

  it(
    "everything on every venue, and then the accounts are flat",
    async () => {
      const reply = await send({ method: "POST", path: "/api/trade/close-all", headers: WALLET, body: {} });
      expect([reply.status, at(reply, "data.success")], reply.text).toEqual([200, true]);
      for (const venue of ["venueone", "venuetwo"] as const)
        for (const symbol of ["BTC", "ETH"]) expect(system.pair.positionLots(venue, system.alice, symbol)).toBe(0);
      const after = await send({ path: "/api/trading/venuetwo/positions/{alice}", headers: WALLET });
      expect(at(after, "positions")).toEqual([]);
    },
    ROW_MS,
  );
});

describe("after the send,", () => {
  it(
    "a reply that is lost is UNKNOWN or found, never an error and never a second order",
    async () => {
      const heal = system.pair.fault(["venueone"], {
        kind: "replyLost",
        match: "POST /exchange",
        probability: 1,
        count: 1,
      });
      const body = { ...LIMIT_ONE, clientOrderId: "walk-lost" };
      try {
        const before = system.pair.venueone.log.records({ action: "place" }).length;
        const reply = await post(ORDERS_ONE, body, WALLET);
        expect([reply.status, at(reply, "success")], reply.text).toEqual([200, true]);
        expect(["UNKNOWN", "OPEN"]).toContain(at(reply, "data.status"));
        expect(system.pair.venueone.log.records({ action: "place" }).length - before).toBeLessThanOrEqual(1);
      } finally {
        heal();
      }
    },
    ROW_MS,
  );
});
