/** A canary secret in body, headers, query and path of real requests must come out nowhere: logs, metrics, replies. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

/** A 32-byte key, an API secret of 64 letters, a short word: the last is only safe where nothing is echoed at all. */
const HEX = `0x${"c0ffee00deadbeef".repeat(4)}`;
const WORD = "CANARYSECRETCANARYSECRETCANARYSECRETCANARYSECRETCANARYSECRETCANARY";
const SHORT = "tweet-tweet-7";

let harness: Harness;
let output = "";

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => {
  await harness.stop();
});

const canaries = [HEX, HEX.slice(2), WORD, SHORT];

async function collect(replies: Promise<{ text: string; headers: Readonly<Record<string, string>> }>[]): Promise<void> {
  for (const reply of await Promise.all(replies)) output += `${reply.text}\n${JSON.stringify(reply.headers)}\n`;
}

describe("canary", () => {
  it("comes out of no reply, no log line and no metric", async () => {
    const credentials = {
      venueone: { privateKey: HEX },
      venuetwo: { apiKey: WORD, apiSecret: SHORT, walletAddress: HEX },
      venuethree: { apiKeyPrivateKey: WORD, accountIndex: 1 },
    };
    const valid = { symbol: "BTC", direction: "LONG", size: "0.1", credentials };
    const headers = {
      "x-api-secret": SHORT,
      authorization: `Bearer ${WORD}`,
      "x-api-signature": HEX.slice(2),
      cookie: `a=${SHORT}`,
    };
    for (const mode of ["fill", "reject", "unknown", "throw"] as const) {
      harness.refreshBooks();
      harness.one.placeMode = mode;
      harness.two.placeMode = mode;
      await collect([
        harness.client.close({ ...valid, routingOptions: { deadlineMs: 300 } }, headers),
        harness.client.close({ ...valid, dryRun: true }, { ...headers, "idempotency-key": `key-${mode}` }),
      ]);
    }
    await collect([
      harness.client.close(`{"credentials":{"venueone":{"privateKey":"${HEX}"}} ${SHORT}`),
      harness.client.close({
        ...valid,
        direction: SHORT,
        size: WORD,
        limitPrice: HEX,
        orderType: SHORT,
        dryRun: HEX,
        preferredExchange: SHORT,
      }),
      harness.client.close({ ...valid, credentials: { venueone: { privateKey: { nested: SHORT } }, venuetwo: HEX } }),
      harness.client.close({ [HEX]: 1, [WORD]: { deep: SHORT } }),
      harness.client.close(Buffer.concat([Buffer.from(`{"a":"${SHORT}`), Buffer.from([0xff])])),
      harness.client.close(valid, { "idempotency-key": `${SHORT} with blank` }),
      harness.client.get(`/api/trade/routing/BTC?side=SELL&size=1&credentials=${SHORT}&apiKeyPrivateKey=${HEX}`),
      harness.client.get(`/api/trade/routing/BTC?side=${SHORT}&size=${WORD}`),
      harness.client.get(`/api/trading/ticker/${HEX}`),
      harness.client.get(`/api/trading/venueone/book/BTC?depth=${SHORT}`),
      harness.client.send(`/api/unknown/${SHORT}?k=${WORD}`, { outside: true, headers }),
      harness.client.send("/api/trading/ticker/BTC", { method: "PATCH", outside: true, headers, body: HEX }),
    ]);
    await collect([harness.client.get("/metrics"), harness.client.get("/api/status"), harness.client.get("/ready")]);
    output += harness.logLines.join("");
    expect(harness.logLines.length).toBeGreaterThan(0);
    for (const canary of canaries) expect(output.includes(canary), canary.slice(0, 8)).toBe(false);
  });

  it("is found by this very search when it is there", () => {
    expect(`${output}${SHORT}`.includes(SHORT)).toBe(true);
  });
});
