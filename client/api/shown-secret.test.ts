/** The mode in which the secret itself is sent: only where it was asked for, and never in the clear to another machine. */
import { describe, expect, it } from "vitest";
import { KEYS, plainMac } from "../test/api-service.js";
import { createApiTime } from "../test/api-time.js";
import { type ApiClientOptions, createApiClient } from "./api-client.js";
import type { FetchInit } from "./fetch-port.js";

interface Sent {
  readonly url: string;
  readonly init: FetchInit;
}

function setUp(options: Partial<ApiClientOptions> = {}) {
  const time = createApiTime();
  const sent: Sent[] = [];
  const api = createApiClient({
    baseUrl: "https://unwind.test",
    ...{ clock: time, importSecret: plainMac, keys: KEYS, mode: "secret" },
    fetch: async (url, init) => {
      sent.push({ url, init });
      throw new TypeError("away");
    },
    ...options,
  });
  return { time, sent, api };
}

const WRITE = { body: { active: true } } as const;

describe("mode secret", () => {
  it("sends key and secret, and signs nothing: the service's time is not even asked for", async () => {
    const { time, sent, api } = setUp();
    await time.settle(api.call("killSwitch", WRITE));
    expect(sent.map(({ url }) => url)).toEqual(["https://unwind.test/api/trade/kill-switch"]);
    const headers = sent[0]?.init.headers ?? {};
    expect(headers).toMatchObject({ "x-api-key": KEYS.apiKey, "x-api-secret": KEYS.secret });
    expect(Object.keys(headers).filter((name) => /timestamp|signature/.test(name))).toEqual([]);
  });

  it("is never chosen by itself: without it no secret leaves", async () => {
    const { time, sent, api } = setUp({ mode: "signed" });
    await time.settle(api.call("killSwitch", WRITE));
    await time.settle(api.call("limits", { attempts: 2 }));
    expect(sent.length).toBeGreaterThan(2);
    expect(JSON.stringify(sent)).not.toContain(KEYS.secret);
  });

  it("forgets the secret on sign-out, and takes the next one", async () => {
    const { time, sent, api } = setUp();
    api.signOut();
    await time.settle(api.call("limits", { attempts: 1 }));
    api.signIn({ apiKey: "pk_next", secret: "sk_next" });
    await time.settle(api.call("limits", { attempts: 1 }));
    expect(sent.map(({ init }) => init.headers["x-api-secret"])).toEqual([undefined, "sk_next"]);
  });

  it("signs the claim of a stream, which takes no secret", async () => {
    const { time, api } = setUp();
    const claim = await time.settle(api.streamClaim());
    expect(claim).toMatchObject({ apiKey: KEYS.apiKey, signature: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(JSON.stringify(claim)).not.toContain(KEYS.secret);
  });

  it.each(["sk_a b", "sk_ä", "", `sk_${"x".repeat(300)}`, "sk_a\r\nx: y"])(
    "does not send a secret that no header can carry: %j",
    async (secret) => {
      const { time, sent, api } = setUp({ keys: { apiKey: "pk", secret } });
      const result = await time.settle(api.call("killSwitch", WRITE));
      expect(result).toMatchObject({ ok: false, code: "CANNOT_SIGN", outcome: "refused" });
      expect(sent).toEqual([]);
    },
  );

  it.each([
    "http://10.0.0.7:8080",
    "http://unwind.example",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "http://sub.localhost",
    "http://0.0.0.0:8080",
    "http://[::2]:8080",
    "http://[::ffff:10.0.0.7]",
    "http://128.0.0.1",
  ])("refuses plain http to %s", (baseUrl) => {
    expect(() => setUp({ baseUrl })).toThrow(TypeError);
    expect(() => setUp({ baseUrl, mode: "signed" })).not.toThrow();
  });

  it.each(["https://10.0.0.7", "http://localhost:8080", "http://127.0.0.1", "http://127.1", "http://[::1]:8080"])(
    "goes to %s",
    (baseUrl) => {
      expect(() => setUp({ baseUrl })).not.toThrow();
    },
  );
});
