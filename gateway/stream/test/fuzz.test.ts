/**
 * Random frames to the real server: half-right ops, wrong types, huge lists, bytes. Every reply is legal by the
 * document, a connection ends only with a documented code, and the server continues for others.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CLOSE_CODES, OP_WORDS } from "../../../schemas/stream.js";
import { TOPIC_WORDS } from "../../../schemas/stream-data.js";
import { type Harness, startHarness } from "../../test/harness.js";
import { StreamClient } from "./stream-client.js";

const CANARY = "0xcanarycanary";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ server: { stream: { framesPerSecond: 10_000 } } });
});
afterAll(() => harness.stop());

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1e308,
    "",
    "BTC",
    "ticker",
    CANARY,
    [],
    {},
    [[]],
    ["BTC"],
    "x".repeat(300),
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
const sub = fc.oneof(
  fc.constantFrom(
    "ticker:BTC:venueone,venuetwo:100",
    "book:BTC:venuetwo:20:0",
    "status",
    "book:PEPE:venuetwo:5:50",
    "x:y",
  ),
  fc.string({ maxLength: 40 }),
);
const frame = fc.record(
  {
    op: fc.oneof(fc.constantFrom(...OP_WORDS.filter((op) => op !== "auth")), oddValue),
    id: fc.oneof(fc.string({ maxLength: 70 }), oddValue),
    topic: fc.oneof(fc.constantFrom(...TOPIC_WORDS), oddValue),
    symbols: fc.oneof(fc.array(fc.constantFrom("BTC", "eth", "PEPE", "NOPE", "__proto__"), { maxLength: 4 }), oddValue),
    exchanges: fc.oneof(fc.array(fc.constantFrom("venueone", "venuetwo", "venuefour"), { maxLength: 3 }), oddValue),
    depth: fc.oneof(fc.integer({ min: -1, max: 600 }), oddValue),
    intervalMs: fc.oneof(fc.constantFrom(0, 50, 100, 7), oddValue),
    subs: fc.oneof(
      fc.array(sub, { maxLength: 4 }),
      fc.array(fc.record({ sub, epoch: fc.string({ maxLength: 8 }), seq: fc.nat() }), { maxLength: 4 }),
      oddValue,
    ),
    credentials: fc.constant({ venueone: { privateKey: CANARY } }),
  },
  { requiredKeys: ["op"] },
);
const message = fc.oneof(
  { weight: 20, arbitrary: frame.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string({ maxLength: 100 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
);

it("random frames get legal replies and documented codes, and the server continues", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 30 }), async (messages) => {
      const client = await StreamClient.open(harness.server.port);
      for (const each of messages) client.raw(each);
      harness.refreshBooks();
      // The reply to this last one comes after all others, unless one of them ended the connection.
      const last = client.ask({ op: "ping" }).catch((error: unknown) => error);
      await Promise.race([last, client.closed]);
      expect(client.fault).toBeNull();
      if (client.end !== null) expect(Object.keys(CLOSE_CODES)).toContain(String(client.end.code));
      await client.stop();
    }),
    { seed: 20_261_121, numRuns: 150 },
  );
  expect((await harness.client.get("/health")).status).toBe(200);
  const probe = await StreamClient.open(harness.server.port);
  await probe.ask({ op: "ping" });
  expect(harness.server.streamCounts).toMatchObject({ connections: 1, subscriptions: 0, keys: 0 });
  await probe.stop();
  const log = harness.logLines.join("");
  expect(log).not.toContain(CANARY);
  expect(log).not.toContain("stream.");
}, 240_000);
