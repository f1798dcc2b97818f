/** What is sent is what was meant, byte for byte, or nothing is. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routeOf } from "./routes.js";
import { prepare } from "./target.js";

const ORIGIN = "https://unwind.test";
const status = routeOf("orderStatus");

describe("a target", () => {
  it("is one path segment per parameter, whatever its text, or nothing is sent", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 12 }),
        fc.string({ unit: "binary", maxLength: 12 }),
        (orderId, symbol) => {
          const prepared = prepare(ORIGIN, status, {
            parameters: { exchange: "venueone", orderId },
            query: { symbol },
          });
          if (!prepared.ok) return;
          const { url, target } = prepared.outgoing;
          expect(url).toBe(ORIGIN + target);
          const read = new URL(url);
          const segments = read.pathname.split("/");
          expect(segments.slice(0, 5)).toEqual(["", "api", "trading", "venueone", "orders"]);
          expect(segments.slice(6)).toEqual(["status"]);
          expect(decodeURIComponent(segments[5] ?? "")).toBe(orderId);
          expect([...read.searchParams]).toEqual([["symbol", symbol]]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([".", "..", "", "%2e", "%2E%2e", "\ud800"])(
    "is not made of the parameter %j where it would lead elsewhere",
    (orderId) => {
      const prepared = prepare(ORIGIN, status, { parameters: { exchange: "venueone", orderId } });
      if (!prepared.ok) return expect(prepared.path).toBe("orderId");
      expect(prepared.outgoing.target).toBe(`/api/trading/venueone/orders/${encodeURIComponent(orderId)}/status`);
    },
  );

  it("is signed as the address parser writes it", () => {
    const route = routeOf("routingDryRun");
    const prepared = prepare(ORIGIN, route, { parameters: { symbol: "BTC" }, query: { size: "it's", side: "SELL" } });
    expect(prepared).toMatchObject({ ok: true, outgoing: { target: "/api/trade/routing/BTC?size=it%27s&side=SELL" } });
  });

  it("leaves out query fields without a value", () => {
    const query = { size: undefined, side: null, symbol: "BTC" };
    const prepared = prepare(ORIGIN, routeOf("historyTicks"), { query });
    expect(prepared).toMatchObject({ ok: true, outgoing: { target: "/api/history/ticks?symbol=BTC" } });
  });
});

describe("a header", () => {
  const close = routeOf("venueoneClose");
  const parameters = { walletId: "w", symbol: "BTC" };

  it.each([
    ["x-api-secret", "sk"],
    ["X-API-Key", "pk"],
    ["Idempotency-Key", "k"],
    ["x-wallet-id", "a\r\nx-api-key: b"],
    ["x-wallet-id", " w"],
    ["x wallet", "w"],
  ])("%s: %j of a caller is refused before anything is sent", (name, value) => {
    expect(prepare(ORIGIN, close, { parameters, headers: { [name]: value } })).toMatchObject({ ok: false, path: name });
  });

  it("with an Idempotency-Key is refused where the operation takes none", () => {
    const prepared = prepare(ORIGIN, routeOf("killSwitch"), { idempotencyKey: "k" });
    expect(prepared).toMatchObject({ ok: false, path: "idempotencyKey" });
  });

  it("carries credentials as base64url of their JSON", () => {
    const credentials = { venueone: { note: "ü?>~" } };
    const prepared = prepare(ORIGIN, routeOf("openOrders"), { parameters: { exchange: "venueone" }, credentials });
    const text = prepared.ok ? (prepared.outgoing.headers["x-venue-credentials"] ?? "") : "";
    expect(JSON.parse(Buffer.from(text, "base64url").toString())).toEqual(credentials);
    expect(text).toMatch(/^[\w-]+$/);
  });
});

describe("a body", () => {
  it.each([1n, { size: 1n }, () => 1])("that is no JSON is refused before anything is sent", (body) => {
    expect(prepare(ORIGIN, routeOf("killSwitch"), { body })).toMatchObject({ ok: false, path: "body" });
  });
});
