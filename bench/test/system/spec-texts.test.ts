/**
 * Texts of the service where a caller is wrong or a venue refuses: the exact texts of the interface spec, and reasons
 * that help, through the real gateway over the local venues.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { credentialsOf } from "../support/local-pair.js";
import { LIMIT_THREE, ORDERS_THREE } from "../support/spec-rows.js";
import { type SpecSystem, startSpecSystem } from "../support/spec-system.js";
import { CLOSE_ALL_ROW, MAXIMUM_ROWS, TEXT_ROWS } from "../support/spec-text-rows.js";
import { at, SpecWalker } from "../support/spec-walker.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_123);
/** Ceilings, not expectations: a shared machine may take most of its cores away for a while. */
const START_MS = 240_000;
const ROW_MS = 120_000;
const STRANGER = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";

let system: SpecSystem;
const walker = new SpecWalker(() => system);
beforeAll(async () => {
  system = await startSpecSystem(SEED);
}, START_MS);
afterAll(async () => {
  await system?.stop();
}, START_MS);

describe("exact texts", () => {
  it.each(TEXT_ROWS)("$row → $status", (row) => walker.walk(row), ROW_MS);

  it.each(MAXIMUM_ROWS)("leverage: $row → $status", (row) => walker.walk(row), ROW_MS);

  it(
    "warn of an open above 50x, and not of one below",
    async () => {
      await system.freshBooks();
      const terms = { symbol: "BTC", direction: "LONG", size: "0.01", preferredExchange: "venuetwo", dryRun: true };
      const credentials = credentialsOf(system.alice);
      const open = (leverage: number) => walker.post("/api/trade/position/open", { ...terms, credentials, leverage });
      const [high, low] = [await open(80), await open(50)];
      expect([high.status, at(high, "data.warning")], high.text).toEqual([
        200,
        "At 80x a position can be liquidated by an adverse movement of less than 1.25 percent",
      ]);
      expect([low.status, at(low, "data.warning")], low.text).toEqual([200, undefined]);
    },
    ROW_MS,
  );

  it(
    "answer an interval that is none with those that are",
    async () => {
      const client = await StreamClient.open(system.port);
      const refusals = [];
      for (const [topic, intervalMs] of [
        ["ticker", 77],
        ["book", -1],
        ["ticker", 7.5],
        ["book", "100"],
      ] as const) {
        const answer = await client.ask({ op: "subscribe", topic, symbols: ["BTC"], intervalMs });
        refusals.push([intervalMs, answer.type === "error" ? answer.details["fields"] : answer.type]);
      }
      const listed = "must be one of 0, 50, 100, 250, 1000";
      const said = (problem: string) => [{ path: "intervalMs", problem }];
      expect(refusals).toEqual([
        [77, said(listed)],
        [-1, said(listed)],
        [7.5, said("must be an integer")],
        ["100", said("must be an integer")],
      ]);
      client.socket.close();
      await client.closed;
    },
    ROW_MS,
  );

  it(
    "venuethree: another address than the account's is refused from when the account's is known, and nothing is read for it",
    async () => {
      const order = { ...LIMIT_THREE, userId: STRANGER };
      const path = `${ORDERS_THREE}?{key}`;
      await system.freshBooks();
      const key = { "idempotency-key": "named-before-the-address-was-known" };
      const before = await walker.post(path, order, key);
      expect(before.status, before.text).toBe(200);
      expect((await walker.send({ path: "/api/trading/venuethree/positions/{alice}" })).status).toBe(200);
      const sent = system.sentCount();
      const after = await walker.post(path, order);
      expect([after.status, at(after, "code"), at(after, "details.fields")], after.text).toEqual([
        400,
        "INVALID_PARAMETERS",
        [{ path: "userId", problem: "is not the account of accountIndex" }],
      ]);
      expect(system.sentCount()).toBe(sent);
      // Its order is out: what is known of the name by now is no answer to the same request.
      const again = await walker.post(path, order, key);
      const idOf = "order.venueClientOrderId";
      expect([again.status, at(again, idOf)], again.text).toEqual([200, at(before, idOf)]);
      expect(system.sentCount()).toBe(sent);
      await system.freshBooks();
      for (const userId of ["{alice}", walker.fill("{alice}").toUpperCase().replace("0X", "0x"), "alice"]) {
        const own = await walker.post(path, { ...order, userId });
        expect(own.status, own.text).toBe(200);
      }
      const index = await walker.post(path, { ...order, userId: String(system.key.accountIndex) });
      expect(index.status, index.text).toBe(200);
    },
    ROW_MS,
  );
});

describe("a venue that limits us", () => {
  /**
   * The first obstacle of a forced close: its read of the position, the order itself, or the block after an earlier
   * 429.
   */
  it.each([
    { name: "at the read", match: "GET /fapi" },
    { name: "at the order", match: "POST /fapi/v1/order" },
  ])(
    "$name: a forced close is VENUE_RATE_LIMITED with Retry-After, as is the next one",
    async ({ match }) => {
      await system.freshBooks();
      const lots = system.pair.positionLots("venuetwo", system.alice, "BTC");
      const close = {
        symbol: "BTC",
        direction: "LONG",
        size: "0.01",
        preferredExchange: "venuetwo",
        credentials: credentialsOf(system.alice),
      };
      const heal = system.pair.fault(["venuetwo"], { kind: "rate429", match, probability: 1, retryAfterS: 2 });
      try {
        for (const which of ["first", "second"]) {
          const reply = await walker.post("/api/trade/position/close", close);
          expect([which, reply.status, at(reply, "code")], reply.text).toEqual([which, 503, "VENUE_RATE_LIMITED"]);
          expect(at(reply, "details.exchange")).toBe("venuetwo");
          expect(at(reply, "error")).toBe("venuetwo is rate limiting this service");
          expect(at(reply, "details.retryAfterMs"), reply.text).toBeGreaterThan(0);
          expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
        }
      } finally {
        heal();
      }
      expect(system.pair.positionLots("venuetwo", system.alice, "BTC")).toBe(lots);
      await expect.poll(() => system.rooms.get("venuetwo")?.status().breaker).not.toBe("open");
    },
    ROW_MS,
  );
});

describe("last", () => {
  it("in the last exact text, venueone's close-all closes what it holds", () => walker.walk(CLOSE_ALL_ROW), ROW_MS);
});
