/** The actions that change orders and settings: what is posted, in which key order, and that its hash is the venue's. */
import { readFileSync } from "node:fs";
import { keccak256 } from "viem";
import { describe, expect, it } from "vitest";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { fromHex, toHex } from "../../shared/sign/eip712.js";
import { packMsgpack, type MsgpackValue } from "./msgpack.js";
import { orderAction, triggerItem } from "../orders/request.js";
import { L1Signer, signatureBytes, type WireSignature } from "./sign.js";
import { BTC, CLIENT_ID, createHarness, type Harness, OPTIONS, SIGNER } from "../test/trading-harness.js";

interface Vector {
  readonly id: string;
  readonly privateKey: string;
  readonly isMainnet: boolean;
  readonly nonce: number;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  readonly action: MsgpackValue;
  readonly expected: { readonly actionHash?: string; readonly r: string; readonly s: string; readonly v: number };
}

const vectors = JSON.parse(
  readFileSync(new URL("../fixtures/trading/action-vectors.json", import.meta.url), "utf8"),
) as readonly Vector[];
const vector = (id: string): Vector => {
  const found = vectors.find((candidate) => candidate.id === id);
  if (found === undefined) throw new Error(`no vector ${id}`);
  return found;
};

const RESTING: VenueOrder = {
  venue: "venueone",
  nativeSymbol: "BTC",
  venueOrderId: "59534922489",
  venueClientOrderId: null,
  side: "SELL",
  type: "LIMIT",
  status: "OPEN",
  venueStatus: "open",
  priceTicks: 961_600,
  qtyLots: 15,
  filledLots: 0,
  averagePrice: null,
  reduceOnly: true,
  triggerPrice: null,
  timeInForce: "POST_ONLY",
  tsVenueMs: 1,
  fee: null,
};

interface Envelope {
  readonly action: MsgpackValue;
  readonly nonce: number;
  readonly signature: WireSignature;
  readonly expiresAfter: number | null;
}

/** The text of the action as posted: key order counts. */
function postedAction(harness: Harness): string {
  const body = harness.http.last.body ?? "";
  return /^\{"action":(.*),"nonce":/.exec(body)?.[1] ?? "";
}

/** Signer of what was posted, with hash and packing put together again from the posted text. */
function postedSigner(harness: Harness): string | null {
  const { action, expiresAfter, nonce, signature } = JSON.parse(harness.http.last.body ?? "") as Envelope;
  const u64 = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
  };
  const expiry = expiresAfter === null ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0]), u64(expiresAfter)]);
  const bytes = Buffer.concat([Buffer.from(packMsgpack(action)), u64(nonce), Buffer.from([0]), expiry]);
  return new L1Signer(true).recover(fromHex(keccak256(bytes)), signature);
}

const DEFAULT = { status: "ok", response: { type: "default" } };

describe("actions that change orders and settings", () => {
  it.each(vectors.map((each) => [each.id, each] as const))("%s hashes and signs as its vector says", (_id, each) => {
    const signer = new L1Signer(each.isMainnet);
    const hash = signer
      .hashAction(each.action, each.nonce, each.vaultAddress ?? null, each.expiresAfter ?? null)
      .slice();
    if (each.expected.actionHash !== undefined) expect(toHex(hash)).toBe(each.expected.actionHash);
    const signature = signer.signConnectionId(hash, fromHex(each.privateKey));
    expect(toHex(signatureBytes(signature))).toBe(toHex(signatureBytes(each.expected)));
    expect(signature.v).toBe(each.expected.v);
  });

  it("posts a modification in the vector's key order", async () => {
    const harness = createHarness();
    harness.http.reply(200, {
      status: "ok",
      response: { type: "order", data: { statuses: [{ resting: { oid: 5 } }] } },
    });
    const instrument = { ...BTC, nativeId: 3 };
    harness.instruments.set(instrument.symbol, instrument);
    const change = { priceTicks: 961_610, qtyLots: 15 };
    await harness.trading.orders.amend(harness.open(), instrument, RESTING, change, OPTIONS);
    expect(postedAction(harness)).toBe(JSON.stringify(vector("dv-batchModify-test").action));
    expect(postedSigner(harness)).toBe(SIGNER);
  });

  it("posts leverage in the vector's key order", async () => {
    const harness = createHarness();
    harness.http.reply(200, { role: "user" });
    harness.http.reply(200, { user: SIGNER, coin: "BTC", leverage: { type: "cross", value: 5 } });
    harness.http.reply(200, DEFAULT);
    await harness.trading.settings.setLeverage(harness.open(), BTC, 20, OPTIONS);
    expect(postedAction(harness)).toBe(JSON.stringify(vector("dv-updateLeverage-cross-main").action));
    expect(postedSigner(harness)).toBe(SIGNER);
  });

  it("posts scheduled cancels in the vector's key order, by the venue's clock, and their end without a time", async () => {
    const harness = createHarness();
    harness.offsetMs = 250;
    harness.http.reply(200, DEFAULT).reply(200, DEFAULT);
    const atMs = harness.clock.wallMs() + 30_000;
    await harness.trading.orders.scheduleCancel(harness.open(), atMs, OPTIONS);
    expect(postedAction(harness)).toBe(`{"type":"scheduleCancel","time":${atMs + 250}}`);
    expect(postedSigner(harness)).toBe(SIGNER);
    await harness.trading.orders.scheduleCancel(harness.open(), null, OPTIONS);
    expect(postedAction(harness)).toBe(JSON.stringify(vector("py-scheduleCancel-clear-test").action));
  });

  it.each([30_000, null])(
    "posts a scheduled cancel and its end so that no late one comes into force: %s",
    async (aheadMs) => {
      const harness = createHarness();
      harness.offsetMs = 250;
      harness.http.reply(200, DEFAULT);
      const nowMs = harness.clock.wallMs();
      const atMs = aheadMs === null ? null : nowMs + aheadMs;
      await harness.trading.orders.scheduleCancel(harness.open(), atMs, { timeoutMs: 5_000, lane: "exit" });
      const { expiresAfter } = JSON.parse(harness.http.last.body ?? "") as { expiresAfter: number | null };
      expect(expiresAfter).toBe(nowMs + 250 + 5_000);
      expect(postedSigner(harness)).toBe(SIGNER);
    },
  );

  it("confirms no end of a scheduled cancel while an earlier call without an answer may come into force", async () => {
    const harness = createHarness();
    const { clock, http, trading } = harness;
    const session = harness.open();
    const ask = (atMs: number | null) =>
      trading.orders.scheduleCancel(session, atMs, { timeoutMs: 5_000, lane: "exit" });
    http.reply(502, "<html>").reply(200, DEFAULT).reply(200, DEFAULT);
    expect(await ask(clock.wallMs() + 30_000)).toMatchObject({ outcome: "unknown" });
    clock.advance(500);
    expect(await ask(null)).toEqual({ outcome: "unknown", cause: "EARLIER_UNCLEAR" });
    clock.advance(8_000);
    expect(await ask(null)).toEqual({ outcome: "accepted" });
  });

  it("posts a trigger order in the vector's key order, with the client id last", async () => {
    const command: OrderCommand = {
      instrument: { ...BTC, nativeId: 1 },
      side: "BUY",
      type: "MARKET",
      timeInForce: "IOC",
      trigger: { kind: "STOP", priceTicks: 1_030, source: "MARK" },
      priceTicks: 1_040,
      qtyLots: 10_000_000,
      reduceOnly: false,
      positionSide: "BOTH",
      clientIdHex: CLIENT_ID,
    };
    const expected = JSON.stringify(vector("py-trigger-main").action)
      .replace('"p":"100"', '"p":"104"')
      .replace("}}}]", `}},"c":"0x${CLIENT_ID}"}]`);
    if (command.trigger === undefined) throw new Error("unreachable");
    expect(JSON.stringify(orderAction(triggerItem(command, command.trigger)))).toBe(expected);
    const harness = createHarness();
    harness.instruments.set(command.instrument.symbol, command.instrument);
    harness.http.reply(200, {
      status: "ok",
      response: { type: "order", data: { statuses: [{ resting: { oid: 9 } }] } },
    });
    const outcome = await harness.trading.orders.place(harness.open(), command, OPTIONS);
    expect(postedAction(harness)).toBe(expected);
    expect(postedSigner(harness)).toBe(SIGNER);
    expect(outcome).toMatchObject({
      outcome: "accepted",
      order: { type: "STOP_MARKET", triggerPrice: "103", triggerKind: "STOP", status: "OPEN", venueOrderId: "9" },
    });
  });

  it.each([
    ["post-only trigger limit", { type: "LIMIT", timeInForce: "POST_ONLY" }, "NO_TRIGGER_TIF"],
    ["fill-or-kill trigger limit", { type: "LIMIT", timeInForce: "FOK" }, "NO_TRIGGER_TIF"],
    ["immediate trigger limit", { type: "LIMIT", timeInForce: "IOC" }, "NO_TRIGGER_TIF"],
    ["post-only trigger market", { timeInForce: "POST_ONLY" }, "NO_TRIGGER_TIF"],
    ["worst price of a sell above its trigger", { priceTicks: 830_001 }, "TRIGGER_WORST_PRICE"],
    ["worst price of a buy below its trigger", { side: "BUY", priceTicks: 829_999 }, "TRIGGER_WORST_PRICE"],
    ["trigger of zero", { trigger: { kind: "STOP", priceTicks: 0, source: "MARK" } }, "TRIGGER_PRICE"],
    ["trigger of NaN", { trigger: { kind: "STOP", priceTicks: Number.NaN, source: "MARK" } }, "TRIGGER_PRICE"],
  ] as const)("refuses a %s without sending", async (_what, changes, venueCode) => {
    const harness = createHarness();
    const command: OrderCommand = {
      instrument: BTC,
      side: "SELL",
      type: "MARKET",
      timeInForce: "IOC",
      trigger: { kind: "STOP", priceTicks: 830_000, source: "MARK" },
      priceTicks: 820_000,
      qtyLots: 100,
      reduceOnly: true,
      positionSide: "BOTH",
      clientIdHex: CLIENT_ID,
      ...changes,
    };
    expect(await harness.trading.orders.place(harness.open(), command, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode,
      sent: false,
    });
    expect(harness.http.requests).toEqual([]);
  });
});

function row(oid: number, changes: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    coin: "BTC",
    side: "B",
    limitPx: "80000.0",
    sz: "0.1",
    origSz: "0.1",
    oid,
    timestamp: 1,
    cloid: null,
    reduceOnly: false,
    isTrigger: false,
    triggerPx: "0.0",
    orderType: "Limit",
    tif: "Gtc",
    ...changes,
  };
}

function cancelAnswer(statuses: readonly unknown[]): unknown {
  return { status: "ok", response: { type: "cancel", data: { statuses } } };
}

describe("cancelling all", () => {
  const gone = { error: "Order was never placed, already canceled, or filled. asset=0" };

  async function cancelAll(rows: readonly unknown[], answers: readonly [number, unknown][]) {
    const harness = createHarness();
    harness.http.reply(200, { role: "user" }).reply(200, rows);
    for (const [status, body] of answers) harness.http.reply(status, body);
    const outcome = await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS);
    return { harness, outcome };
  }

  it("sends one action, stops and take-profits included, and reports each refusal", async () => {
    const stop = row(2, { isTrigger: true, triggerPx: "70000.0", orderType: "Stop Market", tif: null });
    const rows = [row(1), stop, row(3, { coin: "ETH" }), row(4, { coin: "@107" })];
    const { harness, outcome } = await cancelAll(rows, [[200, cancelAnswer(["success", gone, "success"])]]);
    expect(postedAction(harness)).toBe('{"type":"cancel","cancels":[{"a":0,"o":1},{"a":0,"o":2},{"a":1,"o":3}]}');
    expect(postedSigner(harness)).toBe(SIGNER);
    expect(harness.http.last).toMatchObject({ accountWeight: 3, weight: 1 });
    expect(outcome).toMatchObject({
      outcome: "accepted",
      canceledCount: 2,
      failed: [{ reason: "NOT_FOUND", sent: true }],
    });
  });

  it("cancels those of a named coin that is listed no more", async () => {
    const harness = createHarness();
    const delisted = { ...BTC, symbol: "OLD", nativeSymbol: "OLD", nativeId: 44 };
    harness.http.reply(200, { role: "user" }).reply(200, [row(1, { coin: "OLD" }), row(2)]);
    harness.http.reply(200, cancelAnswer(["success"]));
    expect(await harness.trading.orders.cancelAll(harness.open(), delisted, OPTIONS)).toMatchObject({
      canceledCount: 1,
    });
    expect(postedAction(harness)).toBe('{"type":"cancel","cancels":[{"a":44,"o":1}]}');
  });

  it("cancels those of a coin that only the venue's list knows, and reports those that it does not know either", async () => {
    const harness = createHarness();
    harness.numbers.set("OLD", 44);
    const rows = [row(1), row(2, { coin: "OLD" }), row(3, { coin: "GONE" }), row(4, { coin: "@107" })];
    harness.http
      .reply(200, { role: "user" })
      .reply(200, rows)
      .reply(200, cancelAnswer(["success", "success"]));
    expect(await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS)).toMatchObject({
      outcome: "accepted",
      canceledCount: 2,
      failed: [{ outcome: "rejected", reason: "VENUE_STATE", venueCode: "UNLISTED", sent: false }],
    });
    expect(postedAction(harness)).toBe('{"type":"cancel","cancels":[{"a":0,"o":1},{"a":44,"o":2}]}');
  });

  it("is not accepted as done where the only open order is of a coin that nobody knows", async () => {
    const { harness, outcome } = await cancelAll([row(3, { coin: "GONE" })], []);
    expect(outcome).toMatchObject({ outcome: "accepted", canceledCount: 0, failed: [{ venueCode: "UNLISTED" }] });
    expect(harness.http.requests).toHaveLength(2);
  });

  it("splits more than 200 into actions of 200", async () => {
    const rows = Array.from({ length: 201 }, (_, index) => row(index + 1));
    const success = (count: number): unknown => cancelAnswer(Array.from({ length: count }, () => "success"));
    const { harness, outcome } = await cancelAll(rows, [
      [200, success(200)],
      [200, success(1)],
    ]);
    expect(outcome).toEqual({ outcome: "accepted", canceledCount: 201, failed: [] });
    expect(harness.http.requests.slice(2).map(({ accountWeight, weight }) => [accountWeight, weight])).toEqual([
      [200, 6],
      [1, 1],
    ]);
  });

  it("takes one order that is gone for a result, not for a refusal of the call", async () => {
    const { outcome } = await cancelAll([row(1)], [[200, cancelAnswer([gone])]]);
    expect(outcome).toMatchObject({ outcome: "accepted", canceledCount: 0, failed: [{ reason: "NOT_FOUND" }] });
  });

  it.each([
    ["a server fault", [502, "<html>"], { outcome: "unknown", cause: "HTTP_502" }],
    ["an answer of another length", [200, cancelAnswer([])], { outcome: "unknown", cause: "REPLY_SHAPE" }],
    [
      "a refusal of the whole",
      [200, { status: "err", response: "User or API Wallet 0xab does not exist." }],
      { outcome: "rejected", reason: "AUTH", sent: true },
    ],
    ["a limit", [429, "null"], { outcome: "rejected", reason: "RATE_LIMITED", sent: true }],
  ] as const)("reads %s", async (_what, answer, expected) => {
    const { outcome } = await cancelAll([row(1)], [[answer[0], answer[1]]]);
    expect(outcome).toMatchObject(expected);
  });

  it("cancels nothing when the orders cannot be read, and says why", async () => {
    const harness = createHarness();
    harness.http.reply(200, { role: "user" }).reply(503, "");
    expect(await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "READ_VENUE_ERROR",
      sent: false,
    });
    expect(harness.http.requests).toHaveLength(2);
  });
});

describe("amending", () => {
  const change = { priceTicks: 800_000, qtyLots: 40 };

  it("sends what is left of a partly filled order, under its client id, with an expiry", async () => {
    const harness = createHarness();
    const answer = { status: "ok", response: { type: "order", data: { statuses: [{ resting: { oid: 77 } }] } } };
    harness.http.reply(200, answer);
    const cloid = `0x${CLIENT_ID}`;
    const current: VenueOrder = {
      ...RESTING,
      status: "PARTIALLY_FILLED",
      filledLots: 10,
      venueClientOrderId: cloid,
      timeInForce: "GTC",
    };
    const outcome = await harness.trading.orders.amend(harness.open(), BTC, current, change, OPTIONS);
    expect(postedAction(harness)).toBe(
      `{"type":"batchModify","modifies":[{"oid":59534922489,"order":{"a":0,"b":false,"p":"80000","s":"0.0003","r":true,"t":{"limit":{"tif":"Gtc"}},"c":"${cloid}"}}]}`,
    );
    expect((JSON.parse(harness.http.last.body ?? "") as Envelope).expiresAfter).toBe(harness.clock.wallMs() + 4_000);
    expect(outcome).toMatchObject({
      outcome: "accepted",
      order: { venueOrderId: "77", qtyLots: 30, filledLots: 0, priceTicks: 800_000, reduceOnly: true, side: "SELL" },
    });
  });

  it.each([
    [
      "gone",
      [
        200,
        {
          status: "ok",
          response: { type: "order", data: { statuses: [{ error: "Cannot modify canceled or filled order" }] } },
        },
      ],
      { outcome: "rejected", reason: "NOT_FOUND", sent: true },
    ],
    [
      "gone, as a whole",
      [200, { status: "err", response: "Cannot modify canceled or filled order" }],
      { outcome: "rejected", reason: "NOT_FOUND" },
    ],
    [
      "crossing",
      [
        200,
        {
          status: "ok",
          response: {
            type: "order",
            data: { statuses: [{ error: "Post only order would have immediately matched, bbo was 1@2. asset=0" }] },
          },
        },
      ],
      { outcome: "rejected", reason: "PRICE" },
    ],
    [
      "a bare yes",
      [200, { status: "ok", response: { type: "default" } }],
      { outcome: "unknown", cause: "REPLY_SHAPE" },
    ],
    ["a server fault", [500, ""], { outcome: "unknown", cause: "HTTP_500" }],
  ] as const)("reads an order that is %s", async (_what, answer, expected) => {
    const harness = createHarness();
    harness.http.reply(answer[0], answer[1]);
    expect(await harness.trading.orders.amend(harness.open(), BTC, RESTING, change, OPTIONS)).toMatchObject(expected);
    expect(harness.http.requests).toHaveLength(1);
  });

  it.each([
    ["ended", { status: "FILLED" }, change, "NOT_OPEN"],
    ["of another coin", { nativeSymbol: "ETH" }, change, "INSTRUMENT"],
    ["without an id", { venueOrderId: "" }, change, "BAD_REF"],
    ["with an id above 2^53", { venueOrderId: "99999999999999999999" }, change, "BAD_REF"],
    ["with a trigger", { triggerPrice: "70000" }, change, "NOT_SUPPORTED"],
    ["filled beyond the new size", { filledLots: 40 }, change, "SIZE_FILLED"],
    ["to no price", {}, { ...change, priceTicks: 0 }, "PRICE"],
    ["to half a lot", {}, { ...change, qtyLots: 0.5 }, "SIZE"],
  ] as const)("refuses an order %s without sending", async (_what, order, to, venueCode) => {
    const harness = createHarness();
    expect(
      await harness.trading.orders.amend(harness.open(), BTC, { ...RESTING, ...order }, to, OPTIONS),
    ).toMatchObject({ outcome: "rejected", venueCode, sent: false });
    expect(harness.http.requests).toEqual([]);
  });
});
