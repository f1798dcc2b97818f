/** What an act of a wallet came to, by each kind of answer, and what is known of it before it is sent. */
import { StoredSecret } from "../../../engine/key-registrar.js";
import { describe, expect, it } from "vitest";
import type { VenueKey } from "../../../engine/key-registrar.js";
import type { HttpResult } from "../../shared/net/http.js";
import { addressOfPrivateKey } from "../../shared/sign/eip712.js";
import { createHarness, OPTIONS } from "../test/trading-harness.js";

const SECRET = new Uint8Array(32).fill(7);
const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const STRANGER = `0x${"b".repeat(40)}`;
const SIGNATURE = `0x${"01".repeat(32)}${"02".repeat(32)}1b`;
const DAY_MS = 86_400_000;
const OK = { status: "ok", response: { type: "default" } };
const err = (response: string) => ({ status: "err", response });

function drafted(harness = createHarness()) {
  const { keys } = harness.trading;
  const key = keys.draft({ account: ACCOUNT, name: "unwind-1", nowMs: harness.clock.wallMs() }, SECRET);
  if (key === null) throw new Error("no draft");
  return { ...harness, keys, key };
}

async function made(scene: ReturnType<typeof drafted>, of: "approval" | "revocation" = "approval") {
  const act = await scene.keys[of](scene.key);
  if (!act.ok) throw new Error(act.problem);
  return act.act;
}

/** The nonce of an act as it will be sent. */
function nonceOf(request: string): number {
  return (JSON.parse(request) as { action: { nonce: number } }).action.nonce;
}

describe("a draft", () => {
  it("is the key's address with an end ninety days from now, and none of what is no key", () => {
    const { clock, key, keys } = drafted();
    expect(key).toEqual({
      account: ACCOUNT,
      signer: addressOfPrivateKey(SECRET),
      name: "unwind-1",
      expiresAtMs: clock.wallMs() + 90 * DAY_MS,
    });
    const nobody = { account: ACCOUNT, name: "unwind-1", nowMs: 0 };
    expect(keys.draft(nobody, new Uint8Array(32))).toBeNull();
    expect(keys.draft(nobody, SECRET.subarray(1))).toBeNull();
  });

  it("has names that the venue takes", () => {
    for (const name of drafted().keys.names) expect(name.length).toBeLessThanOrEqual(16);
  });
});

describe("an act", () => {
  it("has a nonce that no other has, of the wallet's own sequence, and counts as one the venue takes for two days", async () => {
    const scene = drafted();
    const [first, second, third] = [await made(scene), await made(scene, "revocation"), await made(scene)];
    const nonces = [first, second, third].map(({ request }) => nonceOf(request));
    expect([...nonces].sort((left, right) => left - right)).toEqual(nonces);
    expect(new Set(nonces).size).toBe(3);
    expect(scene.reservations.calls).toContain(`venueone:${ACCOUNT}`);
    expect(first.validUntilMs).toBe(nonceOf(first.request) + 2 * DAY_MS);
  });

  it("counts as one the venue takes for longer where its clock may be behind", async () => {
    const harness = createHarness();
    harness.offsetMs = -1_500;
    const act = await made(drafted(harness));
    expect(act.validUntilMs).toBe(nonceOf(act.request) + 2 * DAY_MS + 1_500);
  });

  it("is not made without a durable nonce", async () => {
    const scene = drafted();
    scene.reservations.reserve = () => Promise.reject(new Error("disk"));
    expect(await scene.keys.approval(scene.key)).toEqual({ ok: false, problem: "NONCE_STORE", retryAfterMs: null });
  });

  it("goes out once, in the caller's lane and time, charged to the wallet", async () => {
    const scene = drafted();
    scene.http.reply(200, OK);
    const act = await made(scene);
    expect(await scene.keys.send(act, SIGNATURE, { ...OPTIONS, lane: "trade", payer: "payer" })).toEqual({
      kind: "done",
    });
    expect(scene.http.requests).toHaveLength(1);
    expect(scene.standing.isProven(ACCOUNT)).toBe(true);
    expect(scene.http.last).toMatchObject({
      path: "/exchange",
      lane: "trade",
      timeoutMs: OPTIONS.timeoutMs,
      account: ACCOUNT,
      payer: "payer",
    });
  });

  it("that another program stored is not sent", async () => {
    const scene = drafted();
    expect(await scene.keys.send({ request: "{}" }, SIGNATURE, OPTIONS)).toEqual({
      kind: "notSent",
      problem: "ACT_UNREADABLE",
      retryAfterMs: null,
    });
    expect(scene.http.requests).toHaveLength(0);
  });
});

const REFUSALS: readonly (readonly [text: string, outcome: object])[] = [
  [
    `Must deposit before performing actions. User: ${ACCOUNT}`,
    { kind: "refused", reason: "NOT_FUNDED", isSpent: false },
  ],
  [
    `Must deposit before performing actions. User: ${ACCOUNT.toUpperCase()}`,
    { kind: "refused", reason: "NOT_FUNDED", isSpent: false },
  ],
  [`Must deposit before performing actions. User: ${STRANGER}`, { kind: "refused", reason: "OTHER", isSpent: true }],
  [
    "Too many extra agents for cumulative volume traded. Current limit is 3",
    { kind: "refused", reason: "KEY_LIMIT", retryAfterMs: null, isSpent: true },
  ],
  ["User has pending agent removal", { kind: "refused", reason: "BUSY", retryAfterMs: 5_000, isSpent: true }],
  [
    "Too many cumulative requests sent (11 > 10) for cumulative volume traded $0.",
    { kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 10_000, isSpent: false },
  ],
  ["Agent valid_until already expired.", { kind: "refused", reason: "OTHER", isSpent: true }],
  ["Unable to recover signer.", { kind: "refused", reason: "OTHER", isSpent: true }],
  [
    "Words that nobody has heard",
    { kind: "refused", reason: "OTHER", venueText: "Words that nobody has heard", isSpent: true },
  ],
  ["Invalid nonce: duplicate nonce 1790000000000", { kind: "repeated" }],
  ["Invalid nonce: nonce too low 5 < 1790000000000", { kind: "refused", reason: "OTHER", isSpent: true }],
  ["Invalid nonce: nonce too high 9 > 8", { kind: "refused", reason: "OTHER", isSpent: false }],
];

describe("an answer", () => {
  it.each(REFUSALS)("of the venue's own words decides: %s", async (text, outcome) => {
    const scene = drafted();
    scene.http.reply(200, err(text));
    expect(await scene.keys.send(await made(scene), SIGNATURE, OPTIONS)).toMatchObject(outcome);
    expect(scene.standing.isProven(ACCOUNT)).toBe(false);
  });

  it("that the address is used means an approval of this key came before, and means nothing of a revocation", async () => {
    const scene = drafted();
    const text = "Extra agent already used.";
    scene.http.reply(200, err(text)).reply(200, err(text));
    expect(await scene.keys.send(await made(scene), SIGNATURE, OPTIONS)).toEqual({ kind: "repeated" });
    expect(await scene.keys.send(await made(scene, "revocation"), SIGNATURE, OPTIONS)).toMatchObject({
      kind: "refused",
      reason: "OTHER",
      isSpent: true,
    });
  });

  it.each<[what: string, status: number, body: unknown, outcome: object]>([
    ["null for a spent budget", 429, "null", { kind: "refused", reason: "RATE_LIMITED", isSpent: false }],
    ["a parser's text", 422, "Failed to deserialize", { kind: "refused", reason: "OTHER", isSpent: false }],
    ["a firewall's page", 403, "<html>", { kind: "refused", reason: "OTHER", isSpent: false }],
    ["a fault", 500, "null", { kind: "unknown" }],
    ["a proxy that waited", 504, "<html>", { kind: "unknown" }],
    ["a timeout of the server's", 408, "", { kind: "unknown" }],
    ["a page for an answer", 200, "<html>", { kind: "unknown" }],
    ["half an answer", 200, '{"status":"o', { kind: "unknown" }],
    [
      "another answer's shape",
      200,
      { status: "ok", response: { type: "order", data: { statuses: [] } } },
      { kind: "unknown" },
    ],
    ["nothing", 200, "", { kind: "unknown" }],
  ])(
    "without them is taken for a refusal where nothing was executed for sure: %s",
    async (_what, status, body, outcome) => {
      const scene = drafted();
      scene.http.reply(status, body, status === 429 ? { "retry-after": "3" } : {});
      const sent = await scene.keys.send(await made(scene), SIGNATURE, OPTIONS);
      expect(sent).toMatchObject(outcome);
      if (status === 429) expect(sent).toMatchObject({ retryAfterMs: 3_000 });
    },
  );

  it.each<[HttpResult, object]>([
    [
      { kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 9 },
      { kind: "notSent", problem: "BREAKER_OPEN", retryAfterMs: 9 },
    ],
    [{ kind: "noResponse", reason: "TIMEOUT" }, { kind: "unknown" }],
    [{ kind: "noResponse", reason: "CONNECTION_LOST" }, { kind: "unknown" }],
  ])("that did not come: %j", async (result, outcome) => {
    const scene = drafted();
    scene.http.step(result);
    expect(await scene.keys.send(await made(scene), SIGNATURE, OPTIONS)).toEqual(outcome);
  });

  it("that names a nonce lets the next act begin above it, and one too high has the clock measured", async () => {
    const harness = createHarness();
    const scene = drafted(harness);
    const seen = harness.clock.wallMs() + 5_000;
    scene.http
      .reply(200, err(`Invalid nonce: duplicate nonce ${seen}`))
      .reply(200, err("Invalid nonce: nonce too high 9 > 8"));
    await scene.keys.send(await made(scene), SIGNATURE, OPTIONS);
    expect(nonceOf((await made(scene)).request)).toBeGreaterThan(seen);
    await scene.keys.send(await made(scene), SIGNATURE, OPTIONS);
    expect(harness.clockErrorCount).toBe(1);
  });
});

describe("a look", () => {
  const row = (address: string, validUntil: number | null) => ({ name: "unwind-1", address, validUntil });

  it.each<[what: string, rows: (key: VenueKey) => unknown, standing: string]>([
    ["a list with the key", ({ signer, expiresAtMs }) => [row(signer, expiresAtMs)], "live"],
    [
      "a list with the key's address in capitals",
      ({ signer }) => [row(`0x${signer.slice(2).toUpperCase()}`, null)],
      "live",
    ],
    ["a list with the key past its end, which the venue enforces late", ({ signer }) => [row(signer, 1)], "live"],
    ["a list with another key under its name", () => [row(STRANGER, null)], "absent"],
    ["an empty list", () => [], "absent"],
  ])("by %s", async (_what, rows, standing) => {
    const scene = drafted();
    scene.http.reply(200, rows(scene.key));
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: true, value: standing });
    expect(JSON.parse(scene.http.last.body ?? "")).toEqual({ type: "extraAgents", user: ACCOUNT });
  });

  it.each<[number, unknown, string]>([
    [200, "<html>", "BAD_RESPONSE"],
    [200, [{ name: "unwind-1" }], "BAD_RESPONSE"],
    [429, "null", "RATE_LIMITED"],
    [500, "null", "VENUE_ERROR"],
  ])("that the venue does not answer is a failure: %s", async (status, body, code) => {
    const scene = drafted();
    scene.http.reply(status, body);
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: false, code });
  });
});

describe("a block", () => {
  it("holds no secret, and opens a session of the agent as long as the key can be opened", () => {
    const { keys, key, trading } = drafted();
    let isGone = false;
    const secret = new StoredSecret("of a test", () => (isGone ? null : Uint8Array.from(SECRET)));
    const block = keys.block(key, secret);
    expect(block).toEqual({ privateKey: secret, walletAddress: ACCOUNT });
    const opened = trading.openSession(block, null);
    isGone = true;
    expect(SECRET[0]).toBe(7);
    expect(opened).toMatchObject({ ok: true, session: { signerAddress: key.signer, isOpen: true } });
    expect(trading.openSession(block, null)).toMatchObject({ ok: false, problem: expect.stringMatching(/revoked/) });
  });
});
