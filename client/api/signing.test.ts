/** The bytes that are signed, against the vectors of the design, with WebCrypto and with node:crypto. */
import { describe, expect, it } from "vitest";
import { KEYS, plainMac } from "../test/api-service.js";
import { createApiTime } from "../test/api-time.js";
import { createApiClient } from "./api-client.js";
import type { FetchInit } from "./fetch-port.js";
import { ServerClock, wasNeverValid } from "./server-clock.js";
import { importSecret, prehashOf, Signer } from "./signing.js";

const VECTORS = [
  {
    method: "POST",
    target: "/api/trade/position/close",
    body: '{"symbol":"BTC","direction":"LONG","size":"0.01"}',
    signature: "bab7425e1b5e87e9aca37b50e5341469f7126cd9b9a3f1244ae5675d6e668715",
  },
  {
    method: "GET",
    target: "/api/trading/venuetwo/orders/12345/status?symbol=BTC",
    body: "",
    signature: "b66eecd5e9cc7d39b3320952ae34f317cf37cdd38dce1d33dd95266f4fc76225",
  },
];
const SIGNED_MS = 1_790_000_000_000;

describe("a signature", () => {
  it.each(VECTORS)("of $method $target is that of the vector", async ({ method, target, body, signature }) => {
    const bytes = body === "" ? null : new TextEncoder().encode(body);
    const prehash = prehashOf(SIGNED_MS, method, target, bytes);
    for (const importer of [importSecret, plainMac])
      expect(await (await importer(KEYS.secret))(prehash)).toBe(signature);
  });

  it.each(VECTORS)("of $method goes out with what was signed", async ({ method, target, body, signature }) => {
    const time = createApiTime();
    // So that the service's time is that of the vectors when the request is signed.
    time.skewMs = SIGNED_MS - time.trueMs();
    const sent: { url: string; init: FetchInit }[] = [];
    const api = createApiClient({
      baseUrl: "https://unwind.test",
      clock: time,
      keys: KEYS,
      importSecret: plainMac,
      fetch: async (url, init) => {
        sent.push({ url, init });
        throw new TypeError("away");
      },
    });
    const call =
      method === "POST"
        ? api.call("positionClose", { body: JSON.parse(body) })
        : api.call("orderStatus", {
            parameters: { exchange: "venuetwo", orderId: "12345" },
            query: { symbol: "BTC" },
            attempts: 1,
          });
    await time.settle<unknown>(call);
    const [, request] = sent;
    expect(request?.url).toBe(`https://unwind.test${target}`);
    expect(Buffer.from(request?.init.body ?? []).toString()).toBe(body);
    expect(request?.init.headers).toMatchObject({
      "x-api-key": KEYS.apiKey,
      "x-api-timestamp": String(SIGNED_MS),
      "x-api-signature": signature,
    });
  });

  it("covers the bytes of a body beyond ASCII", async () => {
    const bytes = new TextEncoder().encode('{"reason":"Ausfall – 停止 🛑"}');
    const prehash = prehashOf(SIGNED_MS, "POST", "/x", bytes);
    expect(Buffer.from(prehash).toString()).toBe(`${SIGNED_MS}POST/x{"reason":"Ausfall – 停止 🛑"}`);
  });

  it("of a stream claim covers GET and the stream's address, and none has the time of another", async () => {
    const time = createApiTime();
    const signer = new Signer(KEYS, new ServerClock(time), plainMac);
    const claims = await Promise.all([signer.claim(), signer.claim()]);
    const mac = await plainMac(KEYS.secret);
    for (const { timestamp, signature } of claims)
      expect(signature).toBe(await mac(new TextEncoder().encode(`${timestamp}GET/ws`)));
    expect(claims[1]?.timestamp).toBe((claims[0]?.timestamp ?? 0) + 1);
  });

  it("is made with a key that WebCrypto does not give out", async () => {
    const { subtle } = globalThis.crypto;
    const made: unknown[] = [];
    const real = subtle.importKey.bind(subtle) as (...given: unknown[]) => Promise<{ extractable: boolean }>;
    const spy = {
      value: async (...given: unknown[]) => {
        const key = await real(...given);
        made.push(key.extractable);
        return key;
      },
    };
    Object.defineProperty(subtle, "importKey", { ...spy, configurable: true });
    try {
      await importSecret(KEYS.secret);
    } finally {
      Reflect.deleteProperty(subtle, "importKey");
    }
    expect(made).toEqual([false]);
  });
});

describe("the secret", () => {
  it("is nowhere in the client or its signer", async () => {
    const secret = "sk_canary_3f9a";
    const api = createApiClient({ baseUrl: "https://unwind.test", keys: { apiKey: "pk", secret } });
    await api.streamClaim().catch(() => null);
    expect(everythingIn(api)).not.toContain(secret);
  });
});

/** Texts of all reachable own members; private ones are not reachable, and are read in the heap test of the service. */
function everythingIn(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (seen.has(value)) return "";
  seen.add(value);
  return Reflect.ownKeys(value)
    .map((key) => everythingIn(Reflect.get(value, key), seen))
    .join(" ");
}

describe("the service's clock", () => {
  const time = () => {
    const base = createApiTime();
    return { base, clock: new ServerClock(base) };
  };

  it("takes a reading as of the middle of its round trip", () => {
    const { base, clock } = time();
    const sentMs = base.monoMs();
    base.advance(400);
    clock.set({ serverMs: 2_000_000, sentMs, receivedMs: base.monoMs() });
    expect(clock.nowMs()).toBe(2_000_200);
  });

  it("is not made worse by a slow reading that it agrees with", () => {
    const { base, clock } = time();
    clock.set({ serverMs: 2_000_000, sentMs: base.monoMs(), receivedMs: base.monoMs() });
    const sentMs = base.monoMs();
    base.advance(6_000);
    clock.set({ serverMs: 2_005_900, sentMs, receivedMs: base.monoMs() });
    expect(clock.nowMs()).toBe(2_006_000);
  });

  it("gives times that only rise, until it is set back", () => {
    const { base, clock } = time();
    const read = (serverMs: number) => clock.set({ serverMs, sentMs: base.monoMs(), receivedMs: base.monoMs() });
    read(5_000_000);
    expect([clock.unique(), clock.unique(), clock.unique()]).toEqual([5_000_000, 5_000_001, 5_000_002]);
    read(1_400_000);
    expect(clock.unique()).toBeLessThan(1_400_010);
  });
});

describe("a timestamp", () => {
  it.each([
    ["an hour behind", -3_600_000, 200, true],
    ["an hour ahead", 3_600_000, 200, true],
    ["behind by no more than the request took", -5_100, 200, false],
    ["right, and refused long after it was sent", -60_000, 60_000, false],
    ["ahead within what is allowed", 900, 200, false],
  ])("that is %s", (_, offMs, tookMs, wasNever) => {
    expect(wasNeverValid(SIGNED_MS + offMs, SIGNED_MS, tookMs)).toBe(wasNever);
  });
});
