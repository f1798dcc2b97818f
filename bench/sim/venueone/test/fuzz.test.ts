/** Malformed input of every kind: the venue answers in its own form and goes on; nothing throws, nothing executes. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeExchange } from "../wire/actions.js";
import { answerInfo } from "../info.js";
import { type JsonNode, readJson } from "../wire/json.js";
import { Publisher } from "../market/market-rows.js";
import { readSubscription } from "../market/subscriptions.js";
import { Tpsl } from "../orders/tpsl.js";
import { ALICE, type Bench, orderAction, startBench } from "./kit.js";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const VALID: readonly unknown[] = [
  { action: orderAction([{ p: "80000", s: "0.01" }]), nonce: 1, signature: { r: "0x1", s: "0x1", v: 27 } },
  { action: { type: "cancel", cancels: [{ a: 0, o: 1 }] }, nonce: 1, signature: { r: "0x1", s: "0x1", v: 27 } },
  { type: "l2Book", coin: "BTC", nSigFigs: 5, mantissa: 2 },
  { type: "candleSnapshot", req: { coin: "BTC", interval: "1m", startTime: 0 } },
  { type: "orderStatus", user: ALICE, oid: 1 },
  { type: "userFillsByTime", user: ALICE, startTime: 0 },
  { method: "subscribe", subscription: { type: "candle", coin: "BTC", interval: "1m" } },
];

/** A valid message with some of its characters replaced, removed or doubled. */
const mutated = fc
  .tuple(
    fc.constantFrom(...VALID.map((value) => JSON.stringify(value))),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom("", "0", "-1", "1e9", '"', "{", "}", "[", "null", "9".repeat(30), ",", "\\u0000", "é"),
      ),
      {
        maxLength: 4,
      },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((edited, [position, scrap]) => {
      const at = position % (edited.length + 1);
      return `${edited.slice(0, at)}${scrap}${edited.slice(at + 1)}`;
    }, text),
  );

const documents: fc.Arbitrary<JsonNode> = fc
  .oneof(mutated, fc.json())
  .map((text) => readJson(text)?.node ?? { kind: "null" as const });

describe("malformed input", () => {
  it("never makes a decoder throw", () => {
    const { venue } = bench.sim.room;
    const context = { venue, publisher: new Publisher(venue.exchange), tpsl: new Tpsl(venue) };
    fc.assert(
      fc.property(documents, (node) => {
        decodeExchange(node);
        expect(["ok", "badShape", "serverError"]).toContain(answerInfo(node, context).kind);
        expect(["ok", "unparsable", "invalid", "kills"]).toContain(readSubscription(node, venue.universe).kind);
      }),
      { numRuns: 3_000 },
    );
  });

  it("is answered over HTTP with one of the venue's statuses, and changes nothing", async () => {
    const before = bench.sim.log.records().length;
    await fc.assert(
      fc.asyncProperty(mutated, fc.constantFrom("/info", "/exchange"), async (text, path) => {
        const reply = await bench.post(path, text);
        expect([200, 400, 422, 500]).toContain(reply.status);
        if (path === "/exchange" && reply.status === 200) expect(reply.json).toMatchObject({ status: "err" });
      }),
      { numRuns: 300 },
    );
    expect(bench.sim.log.records()).toHaveLength(before);
    expect((await bench.post("/info", '{"type":"meta"}')).status).toBe(200);
  });
});
