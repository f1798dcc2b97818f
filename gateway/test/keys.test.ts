/** Keys over HTTP: what the server does with headers that are wrong, doubled, too long, late or too many. */
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Reply } from "./client.js";
import { type Harness, type HarnessOptions, startHarness } from "./harness.js";
import {
  ADMIN,
  ALICE,
  ALICE_READS,
  ALICE_TRADES,
  BOB,
  createTestAuth,
  LOCAL_ONLY,
  signed,
  type TestAuth,
  type TestAuthOptions,
  type TestKey,
} from "./test-keys.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const CLOSE = JSON.stringify({ symbol: "BTC", direction: "LONG", size: "0.001", credentials: CREDENTIALS });
const DRY = JSON.stringify({ ...JSON.parse(CLOSE), dryRun: true });
const CLOSE_PATH = "/api/trade/position/close";
const READ = "/api/limits";
/** One token an hour: what is spent in a test does not come back in it. */
const rule = (burst: number) => ({ perSecond: 1 / 3600, burst });
const MANY = rule(10_000);

let running: Harness | null = null;
afterEach(async () => {
  await running?.stop();
  running = null;
});

async function start(options: HarnessOptions = {}, keys: TestAuthOptions = {}): Promise<[Harness, TestAuth]> {
  const auth = createTestAuth(keys);
  running = await startHarness({ ...options, auth });
  return [running, auth];
}

const jsonType = { "content-type": "application/json" };
const headersOf = (by: TestKey, body: string, timestamp?: number) => ({
  ...jsonType,
  ...signed(by, { method: "POST", target: CLOSE_PATH, body, ...(timestamp === undefined ? {} : { timestamp }) }),
});
const sendClose = ({ client }: Harness, headers: Readonly<Record<string, string>>, body: string): Promise<Reply> =>
  client.send(CLOSE_PATH, { method: "POST", headers, body });
const get = ({ client }: Harness, target: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  client.send(target, { headers });
const codeOf = (reply: Reply) => [reply.status, (reply.body as { code?: unknown } | null)?.code];
const detailsOf = (reply: Reply) => (reply.body as unknown as { details: Record<string, unknown> }).details;

/** Status line and body of a request in raw bytes. */
function raw({ server }: Harness, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      const head = received.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (head >= 0 && received.length >= head + 4 + length) socket.destroy();
    });
  });
}

describe("a signed request", () => {
  it("is signed over method, target and body exactly as they are sent", async () => {
    const [harness] = await start();
    const target = "/api/trading/venueone/book/BTC?depth=5&x=%2F+a";
    expect((await get(harness, target, signed(ALICE, { target }))).status).toBe(200);
    for (const other of [`${target}&`, target.replace("%2F", "%2f"), target.replace("+", "%20"), `${target}#`])
      expect(codeOf(await get(harness, target, signed(ALICE, { target: other })))).toEqual([401, "AUTH_BAD_SIGNATURE"]);
    const bare = await raw(harness, `GET /api/time? HTTP/1.1\r\nHost: localhost\r\n${lines(ALICE, "/api/time?")}\r\n`);
    expect(bare).toContain("HTTP/1.1 200");
    const without = await raw(
      harness,
      `GET /api/time? HTTP/1.1\r\nHost: localhost\r\n${lines(ALICE, "/api/time")}\r\n`,
    );
    expect(without).toContain("AUTH_BAD_SIGNATURE");
    const head = await harness.client.send("/api/time", {
      method: "HEAD",
      headers: signed(ALICE, { method: "HEAD", target: "/api/time" }),
    });
    expect(head.status).toBe(200);
    const got = await harness.client.send("/api/time", {
      method: "HEAD",
      headers: signed(ALICE, { target: "/api/time" }),
    });
    expect(got.status).toBe(401);
    expect((await sendClose(harness, headersOf(ALICE, DRY), DRY)).status).toBe(200);
    expect(codeOf(await sendClose(harness, headersOf(ALICE, DRY), `${DRY} `))).toEqual([401, "AUTH_BAD_SIGNATURE"]);
    expect(codeOf(await sendClose(harness, headersOf(ALICE, ""), DRY))).toEqual([401, "AUTH_BAD_SIGNATURE"]);
  });

  it("gets the server's time, and for a wrong signature the digest of what was signed for, never that itself", async () => {
    const [harness] = await start();
    const wrong = await get(harness, READ, signed({ ...ALICE, secret: "sk_wrong" }, { target: READ }));
    expect(detailsOf(wrong)).toEqual({
      serverTime: expect.any(Number),
      prehashSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(wrong.text).not.toContain(ALICE.secret);
    expect(detailsOf(await get(harness, READ))).toEqual({ header: "X-API-KEY", serverTime: expect.any(Number) });
  });

  it.each([
    ["expired", { timestamp: Date.now() - 3_600_000 }],
    ["of the future", { timestamp: Date.now() + 3_600_000 }],
    ["in seconds", { timestamp: Math.floor(Date.now() / 1000) }],
    ["with a sign", { timestamp: `+${Date.now()}` }],
    ["with a fraction", { timestamp: `${Date.now()}.0` }],
    ["with an exponent", { timestamp: "1.79e12" }],
    ["in hex", { timestamp: `0x${Date.now().toString(16)}` }],
    ["with an endless window", { recvWindow: "999999999" }],
    ["with a negative window", { recvWindow: "-1" }],
  ])("that is %s is refused for its time", async (_, changes) => {
    const [harness] = await start();
    const reply = await get(harness, READ, signed(ALICE, { target: READ, ...changes }));
    expect(codeOf(reply)).toEqual([401, "AUTH_TIMESTAMP_OUT_OF_WINDOW"]);
  });

  it("without a part, or with a malformed signature, is refused", async () => {
    const [harness] = await start();
    const whole = signed(ALICE, { target: READ });
    for (const name of ["x-api-key", "x-api-timestamp", "x-api-signature"]) {
      const { [name]: _left, ...headers } = whole;
      expect([name, ...codeOf(await get(harness, READ, headers))]).toEqual([name, 401, "AUTH_MISSING_HEADER"]);
    }
    const { "x-api-signature": signature = "" } = whole;
    for (const wrong of [signature.toUpperCase(), signature.slice(1), `${signature}0`, "é".repeat(10), " "])
      expect((await get(harness, READ, { ...whole, "x-api-signature": encodeURI(wrong) })).status).toBe(401);
  });

  it("that writes is accepted once; a read may be repeated", async () => {
    const [harness] = await start();
    const headers = headersOf(ALICE, DRY);
    expect((await sendClose(harness, headers, DRY)).status).toBe(200);
    expect(codeOf(await sendClose(harness, headers, DRY))).toEqual([401, "AUTH_REPLAY"]);
    const read = signed(ALICE, { target: "/api/limits" });
    for (let index = 0; index < 2; index++) expect((await get(harness, "/api/limits", read)).status).toBe(200);
  });

  it("with one of its headers twice can be read in two ways, also where both are the same", async () => {
    const [harness] = await start();
    for (const name of ["X-API-KEY", "X-API-TIMESTAMP", "X-API-RECV-WINDOW", "X-API-SIGNATURE", "X-API-SECRET"])
      for (const second of ["", "other", signed(ALICE, { target: "/api/time" })[name.toLowerCase()] ?? "same"]) {
        const twice = `${name}: ${second}\r\n${name.toLowerCase()}: ${second}\r\n`;
        const reply = await raw(harness, `GET /api/time HTTP/1.1\r\nHost: localhost\r\n${twice}\r\n`);
        expect([name, reply.includes("HTTP/1.1 400"), reply.includes("AMBIGUOUS_REQUEST")]).toEqual([name, true, true]);
      }
  });

  it("with an over-long header is refused by name, before a digest is computed", async () => {
    const [harness, auth] = await start();
    for (const [name, charsMax] of [
      ["x-api-key", 128],
      ["x-api-timestamp", 20],
      ["x-api-recv-window", 20],
      ["x-api-signature", 128],
      ["x-api-secret", 256],
    ] as const) {
      const headers = { ...signed(ALICE, { target: "/api/time" }), [name]: "1".repeat(charsMax + 1) };
      const reply = await get(harness, "/api/time", headers);
      expect([...codeOf(reply), detailsOf(reply).fields]).toEqual([
        400,
        "INVALID_PARAMETERS",
        [{ path: name, problem: `must have at most ${charsMax} characters` }],
      ]);
    }
    expect(auth.digestCount()).toBe(0);
  });

  it("of a GET covers a body that the route reads, and may have none elsewhere", async () => {
    const [harness] = await start();
    const body = "{}";
    const withBody = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const ask = (target: string, over: string) =>
      raw(harness, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${lines(ALICE, target, over)}${withBody}`);
    const refused = await ask("/api/time", body);
    expect(refused).toContain("HTTP/1.1 400");
    expect(refused).toContain("must not be there");
  });
});

/** Header lines of a signed GET. */
function lines(by: TestKey, target: string, body = ""): string {
  return Object.entries(signed(by, { target, body }))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

describe("a secret that is sent", () => {
  it("must match, is called deprecated on every reply, and is in no log line", async () => {
    const [harness] = await start();
    const headers: Record<string, string> = {
      ...signed(ALICE, { target: "/api/limits" }),
      "x-api-secret": ALICE.secret,
    };
    const good = await get(harness, "/api/limits", headers);
    expect([good.status, good.headers["deprecation"], good.headers["link"]]).toEqual([
      200,
      "true",
      '</docs>; rel="deprecation"',
    ]);
    const wrong = await get(harness, "/api/limits", { ...headers, "x-api-secret": "sk_not_hers" });
    expect([...codeOf(wrong), wrong.headers["deprecation"]]).toEqual([401, "AUTH_BAD_SIGNATURE", "true"]);
    const body = await sendClose(harness, { ...headersOf(ALICE, DRY), "x-api-secret": ALICE.secret }, DRY);
    expect([body.status, body.headers["deprecation"]]).toEqual([200, "true"]);
    expect((await get(harness, "/api/time")).headers["deprecation"]).toBeUndefined();
    const log = harness.logLines.join("\n");
    for (const text of [ALICE.secret, "sk_not_hers", headers["x-api-signature"] ?? ""]) expect(log).not.toContain(text);
  });

  it("does not replace the signature in signed mode, and does in secret mode", async () => {
    const [harness] = await start();
    const bare = { "x-api-key": ALICE.keyId, "x-api-secret": ALICE.secret };
    expect(codeOf(await get(harness, "/api/limits", bare))).toEqual([401, "AUTH_MISSING_HEADER"]);
    await harness.stop();
    const [trusting] = await start({}, { mode: "secret" });
    expect((await get(trusting, "/api/limits", bare)).status).toBe(200);
    expect(codeOf(await get(trusting, "/api/limits", { ...bare, "x-api-secret": "no" }))[1]).toBe("AUTH_BAD_SIGNATURE");
  });
});

describe("the scope of a key", () => {
  it("admin opens the operator's data from any address, and no other scope does, on loopback neither", async () => {
    const [harness] = await start();
    const asked = (by: TestKey, target: string) => get(harness, target, signed(by, { target }));
    expect(codeOf(await asked(ALICE, "/metrics"))).toEqual([403, "SCOPE_MISSING"]);
    expect((await asked(ADMIN, "/metrics")).status).toBe(200);
  });

  it("read opens a history of the owner's own rows, and no other scope does", async () => {
    const [harness] = await start();
    const target = "/api/history/fills";
    const asked = async (by: TestKey) => codeOf(await get(harness, target, signed(by, { target })));
    // The record is off in this harness.
    expect(await asked(ALICE)).toEqual([503, "RECORDS_UNAVAILABLE"]);
    expect(await asked(ALICE_TRADES)).toEqual([403, "SCOPE_MISSING"]);
  });

  it("decides how much of the status is shown", async () => {
    const [harness] = await start();
    const fields = async (headers: Readonly<Record<string, string>> = {}) => {
      const { data } = (await get(harness, "/api/status", headers)).body as unknown as { data: object };
      return Object.keys(data).length;
    };
    const by = (key: TestKey) => fields(signed(key, { target: "/api/status" }));
    expect([await fields(), await by(ALICE_TRADES), await by(ALICE_READS), await by(ADMIN)]).toEqual([6, 6, 10, 15]);
  });
});

describe("in public mode", () => {
  it("a key that is shown is verified, and bound by its scopes", async () => {
    const [harness] = await start({}, { mode: "public" });
    expect((await sendClose(harness, jsonType, DRY)).status).toBe(200);
    expect((await sendClose(harness, headersOf(ALICE, DRY), DRY)).status).toBe(200);
    expect(codeOf(await sendClose(harness, headersOf(ALICE_READS, DRY), DRY))).toEqual([403, "SCOPE_MISSING"]);
    expect(codeOf(await sendClose(harness, headersOf({ ...ALICE, secret: "sk_no" }, DRY), DRY))).toEqual([
      401,
      "AUTH_BAD_SIGNATURE",
    ]);
    const unsigned = { ...jsonType, "x-api-key": "pk_any", "x-api-secret": "sk_any" };
    const spec = await sendClose(harness, unsigned, DRY);
    expect([spec.status, spec.headers["deprecation"]]).toEqual([200, "true"]);
  });
});

describe("a key", () => {
  it("pays from its own buckets, from wherever it asks", async () => {
    const rateLimits = { read: rule(2), trade: rule(1), exit: rule(1), transfer: rule(1), anon: MANY };
    const [harness] = await start({ server: { rateLimits } });
    const statuses = async (key: TestKey, times: number) => {
      const seen = [];
      const nowMs = Date.now();
      for (let index = 0; index < times; index++)
        seen.push((await sendClose(harness, headersOf(key, DRY, nowMs - index), DRY)).status);
      return seen;
    };
    expect(await statuses(ALICE, 3)).toEqual([200, 200, 429]);
    // Of the same owner, with the same credentials, and yet another key.
    expect(await statuses(ALICE_TRADES, 1)).toEqual([200]);
    const shown = await get(harness, "/api/limits", signed(ALICE, { target: "/api/limits" }));
    const { buckets } = (shown.body as unknown as { data: { buckets: { policy: string }[] } }).data;
    expect(buckets.find(({ policy }) => policy === "exit")).toMatchObject({ scope: "key", remaining: 0 });
  });

  it("that has no scope for it pays all the same, and the address does not", async () => {
    const rateLimits = { read: rule(2), trade: rule(1), exit: rule(1), transfer: rule(1), anon: rule(1) };
    const [harness] = await start({ server: { rateLimits } });
    const seen = [];
    const nowMs = Date.now();
    for (let index = 0; index < 3; index++)
      seen.push((await sendClose(harness, headersOf(ALICE_READS, DRY, nowMs - index), DRY)).status);
    expect(seen).toEqual([403, 403, 429]);
    expect((await get(harness, "/api/time")).status).toBe(200);
  });

  it("that is revoked lets a close finish that is under way, and answers it", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = (): void => {};
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const [harness, auth] = await start({
      wrapDesk: (desk) => ({
        ...desk,
        async trade(request, context) {
          begun();
          await held;
          return desk.trade(request, context);
        },
      }),
    });
    const under = sendClose(harness, headersOf(ALICE, CLOSE), CLOSE);
    await isBegun;
    auth.revoke(ALICE.keyId);
    expect(codeOf(await sendClose(harness, headersOf(ALICE, DRY), DRY))).toEqual([401, "KEY_REVOKED"]);
    release();
    expect((await under).status).toBe(200);
  });

  it("does nothing before its first write is settled", async () => {
    let settle = (): void => {};
    const [harness, auth] = await start();
    auth.settleWith(
      new Promise((resolve) => {
        settle = resolve;
      }),
    );
    const waiting = sendClose(harness, headersOf(ALICE, CLOSE), CLOSE);
    // A read behind it is answered: it has arrived by then.
    for (let index = 0; index < 20; index++) await get(harness, "/api/time");
    expect(harness.one.placed).toHaveLength(0);
    settle();
    expect((await waiting).status).toBe(200);
    expect(harness.one.placed.length + harness.two.placed.length).toBe(1);
  });

  it("that its address list does not have is refused, whatever an untrusted proxy says", async () => {
    const [harness] = await start();
    // Signed for each request: a slow machine takes longer to start a server than a signature is accepted.
    const headers = () => ({ ...signed(LOCAL_ONLY, { target: "/api/limits" }), "x-forwarded-for": "203.0.113.7" });
    expect(codeOf(await get(harness, "/api/limits", headers()))).toEqual([403, "IP_NOT_ALLOWED"]);
    await harness.stop();
    const seen: string[] = [];
    const [proxied] = await start(
      {},
      {
        addressOf: (socket, forwardedFor) => {
          seen.push(`${socket} ${forwardedFor}`);
          return forwardedFor.split(",").at(-1)?.trim() ?? socket;
        },
      },
    );
    expect((await get(proxied, "/api/limits", headers())).status).toBe(200);
    expect(new Set(seen)).toEqual(new Set(["127.0.0.1 203.0.113.7"]));
  });
});

describe("a flood of wrong keys", () => {
  it("is paid for by the address, and refused before it costs a digest", async () => {
    const rateLimits = { read: MANY, trade: MANY, exit: MANY, transfer: MANY, anon: rule(5) };
    const [harness, auth] = await start({ server: { rateLimits } });
    const limits = (by: TestKey) => get(harness, "/api/limits", signed(by, { target: "/api/limits" }));
    // Proven from here before.
    expect((await limits(ALICE)).status).toBe(200);
    const digests = auth.digestCount();
    const wrong = { ...BOB, keyId: "pk_nobody", secret: "sk_wrong" };
    const seen = [];
    for (let index = 0; index < 8; index++) seen.push(await limits(wrong));
    expect(seen.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect(seen.at(-1)?.headers["ratelimit-policy"]).toContain('"anon"');
    expect(auth.digestCount() - digests).toBe(5);
    // Neighbours go on: the one that is known here, and one whose first request this is.
    expect((await limits(ALICE)).status).toBe(200);
    expect((await limits(BOB)).status).toBe(200);
  });

  it("under the id of a live key gets the same refusals", async () => {
    const rateLimits = { read: MANY, trade: MANY, exit: MANY, transfer: MANY, anon: rule(2) };
    const [harness] = await start({ server: { rateLimits } });
    const wrong = { ...BOB, secret: "sk_wrong" };
    const limits = (by: TestKey) => get(harness, "/api/limits", signed(by, { target: "/api/limits" }));
    const seen = [];
    for (let index = 0; index < 5; index++) seen.push((await limits(wrong)).status);
    expect(seen).toEqual([401, 401, 429, 429, 429]);
    expect((await limits(ALICE)).status).toBe(200);
    // Its list does not have the address.
    expect((await limits(LOCAL_ONLY)).status).toBe(429);
  });

  it("costs a body nothing but its bytes: no key, no reading of it", async () => {
    const [harness, auth] = await start();
    for (const body of ["{", "not json", DRY]) {
      const reply = await sendClose(harness, headersOf({ ...ALICE, secret: "sk_wrong" }, body), body);
      expect(codeOf(reply)).toEqual([401, "AUTH_BAD_SIGNATURE"]);
      expect(codeOf(await sendClose(harness, jsonType, body))).toEqual([401, "AUTH_MISSING_HEADER"]);
    }
    expect(auth.digestCount()).toBe(3);
  });
});
