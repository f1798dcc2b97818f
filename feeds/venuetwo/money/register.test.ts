/** What an act of a wallet came to, by each kind of answer, and what is known of it before it is sent. */
import { storedCopy } from "../../shared/test/stored-copy.js";
import { describe, expect, it } from "vitest";
import type { AgentRegistrar } from "../../../engine/key-registrar.js";
import type { HttpResult } from "../../shared/net/http.js";
import { addressOfPrivateKey } from "../../shared/sign/eip712.js";
import { createHarness, OPTIONS, paramsOf } from "../test/trading-harness.js";

const SECRET = new Uint8Array(32).fill(7);
const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const SIGNATURE = `0x${"01".repeat(65)}`;
const DAY_MS = 86_400_000;
const OK = { code: 200, msg: "success" };

function drafted(name = "unwind-1", harness = createHarness()) {
  const keys = harness.trading.keys as AgentRegistrar;
  const key = keys.draft({ account: ACCOUNT, name, nowMs: harness.clock.wallMs() }, SECRET);
  if (key === null) throw new Error("no draft");
  return { ...harness, harness, keys, key };
}

async function made(scene: ReturnType<typeof drafted>, of: "approval" | "revocation" = "approval") {
  const act = await scene.keys[of](scene.key);
  if (!act.ok) throw new Error(act.problem);
  return act.act;
}

function nonceOf(request: string): number {
  const { form } = JSON.parse(request) as { form: string };
  return Number(new URLSearchParams(form).get("nonce"));
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
    expect(keys.draft({ account: ACCOUNT, name: "unwind-1", nowMs: 0 }, new Uint8Array(32))).toBeNull();
  });

  it("without an end is approved nowhere", async () => {
    const { key, keys } = drafted();
    expect(await keys.approval({ ...key, expiresAtMs: null })).toMatchObject({ ok: false, problem: "NO_END" });
  });
});

describe("an act", () => {
  it("has a nonce of the wallet's own sequence, in microseconds, and may be taken for the longest window documented", async () => {
    const scene = drafted();
    const [first, second] = [await made(scene), await made(scene, "revocation")];
    expect(nonceOf(second.request)).toBeGreaterThan(nonceOf(first.request));
    expect(nonceOf(first.request)).toBe(scene.clock.wallMs() * 1_000);
    expect(first.validUntilMs).toBe(scene.clock.wallMs() + 60_000);
    expect(scene.reservations.calls).toContain(`venuetwo:${ACCOUNT}`);
  });

  it("may be taken for longer where the venue's clock may be behind", async () => {
    const scene = drafted();
    scene.harness.offsetMs = -1_500;
    const { request, validUntilMs } = await made(scene);
    expect(validUntilMs).toBe(nonceOf(request) / 1_000 + 60_000 + 1_500);
  });

  it("is not made without a durable nonce", async () => {
    const scene = drafted();
    scene.reservations.reserve = () => Promise.reject(new Error("disk"));
    expect(await scene.keys.revocation(scene.key)).toEqual({ ok: false, problem: "NONCE_STORE", retryAfterMs: null });
  });

  it.each<[name: string, of: "approval" | "revocation", method: string, path: string]>([
    ["unwind-1", "approval", "POST", "/fapi/v3/registerAndApproveAgent"],
    ["unwind-2", "approval", "POST", "/fapi/v3/approveAgent"],
    ["unwind-1", "revocation", "DELETE", "/fapi/v3/agent"],
  ])("goes out once to its call: %s, %s", async (name, of, method, path) => {
    const scene = drafted(name);
    scene.http.reply(200, OK);
    const act = await made(scene, of);
    expect(await scene.keys.send(act, SIGNATURE, { ...OPTIONS, lane: "trade" })).toEqual({ kind: "done" });
    expect(scene.http.requests).toHaveLength(1);
    expect(scene.standing.isProven(`wallet ${ACCOUNT}`)).toBe(true);
    const { last } = scene.http;
    expect(last).toMatchObject({ method, lane: "trade", timeoutMs: OPTIONS.timeoutMs, account: ACCOUNT });
    expect(last.path.split("?")[0]).toBe(path);
    expect(paramsOf(last)).toMatchObject({
      user: ACCOUNT,
      agentAddress: scene.key.signer,
      signatureChainId: "56",
      signature: SIGNATURE,
    });
  });

  it("that another program stored is not sent", async () => {
    const scene = drafted();
    expect(await scene.keys.send({ request: "{}" }, SIGNATURE, OPTIONS)).toMatchObject({ kind: "notSent" });
    expect(scene.http.requests).toHaveLength(0);
  });
});

const refusedAs = (reason: string) => ({ kind: "refused", reason });
const error = (code: number, msg: string) => ({ code, msg });

describe("an answer", () => {
  it.each<[what: string, status: number, body: unknown, outcome: object]>([
    ["success without a code", 200, {}, { kind: "done" }],
    ["success with a code as text", 200, { code: "200", msg: "success" }, { kind: "done" }],
    ["a page for an answer", 200, "<html>", { kind: "unknown" }],
    ["nothing", 200, "", { kind: "unknown" }],
    ["a list", 200, [], { kind: "unknown" }],
    ["a code that nobody knows", 200, { code: 7 }, { kind: "unknown" }],
    ["a wrong signature", 400, error(-1022, "Signature for this request is not valid."), refusedAs("OTHER")],
    ["a parameter", 400, error(-1130, "Data sent for parameter 'expired' is not valid."), refusedAs("OTHER")],
    ["no such agent", 400, error(-1000, "No agent found"), refusedAs("OTHER")],
    ["a fault inside", 400, error(-1000, "An unknown error occurred"), { kind: "unknown" }],
    ["a backend in doubt", 400, error(-1007, "Timeout"), { kind: "unknown" }],
    ["a nonce of before, or out of its window", 400, error(-4225, "Nonce Expired"), { kind: "repeated" }],
    [
      "a limit",
      429,
      error(-1003, "Too many requests"),
      { kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 4_000 },
    ],
    ["a limit without words", 429, "<html>", { kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 4_000 }],
    ["a ban", 418, error(-1003, "banned"), { kind: "refused", reason: "RATE_LIMITED", retryAfterMs: 4_000 }],
    ["a firewall", 403, "<html>", refusedAs("OTHER")],
    ["a fault", 500, "<html>", { kind: "unknown" }],
    ["no answer in time", 503, error(-1022, "whatever it says"), { kind: "unknown" }],
  ])("decides: %s", async (_what, status, body, outcome) => {
    const scene = drafted();
    scene.http.reply(status, body, status === 429 || status === 418 ? { "retry-after": "4" } : {});
    const sent = await scene.keys.send(await made(scene), SIGNATURE, OPTIONS);
    expect(sent).toMatchObject(outcome);
    expect(scene.standing.isProven(`wallet ${ACCOUNT}`)).toBe(sent.kind === "done");
  });

  it.each<[HttpResult, object]>([
    [
      { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 9 },
      { kind: "notSent", problem: "RATE_BUDGET", retryAfterMs: 9 },
    ],
    [{ kind: "noResponse", reason: "TIMEOUT" }, { kind: "unknown" }],
  ])("that did not come: %j", async (result, outcome) => {
    const scene = drafted();
    scene.http.step(result);
    expect(await scene.keys.send(await made(scene), SIGNATURE, OPTIONS)).toEqual(outcome);
  });

  it("that refuses the nonce has the clock measured, within the caller's time", async () => {
    const scene = drafted();
    scene.http.reply(400, error(-4225, "Nonce Expired"));
    scene.harness.onClockError = () => new Promise(() => {});
    const sending = scene.keys.send(await made(scene), SIGNATURE, OPTIONS);
    await scene.clock.advanceAsync(OPTIONS.timeoutMs);
    expect(await sending).toEqual({ kind: "repeated" });
    expect(scene.harness.clockErrorCount).toBe(1);
  });
});

describe("a look", () => {
  it("asks with the key itself; who may ask is an agent, whatever the list says", async () => {
    const scene = drafted();
    scene.http.reply(200, []);
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: true, value: "live" });
    expect(scene.http.last.path).toMatch(/^\/fapi\/v3\/agent\?/);
    expect(paramsOf(scene.http.last)).toMatchObject({ user: ACCOUNT, signer: scene.key.signer });
  });

  it("is absent by the venue's words for it, and asks again the next time", async () => {
    const scene = drafted();
    scene.http.reply(400, error(-1000, "No agent found")).reply(200, [{ agentAddress: scene.key.signer }]);
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: true, value: "absent" });
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: true, value: "live" });
    expect(scene.http.requests).toHaveLength(2);
  });

  it("asks the venue even where it refused a request with the key a moment ago", async () => {
    const scene = drafted();
    scene.http.reply(400, error(-1000, "No agent found")).reply(200, []);
    const session = scene.open(scene.keys.block(scene.key, storedCopy(SECRET)) as Record<string, unknown>);
    expect(await scene.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "AUTH",
    });
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: true, value: "live" });
  });

  it("keeps nothing against a key that is approved the next moment", async () => {
    const scene = drafted();
    scene.http.reply(400, error(-1000, "No agent found")).reply(200, []);
    await scene.keys.look(scene.key, SECRET, OPTIONS);
    const session = scene.open(scene.keys.block(scene.key, storedCopy(SECRET)) as Record<string, unknown>);
    expect(await scene.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({ ok: true });
  });

  it.each<[number, unknown, string]>([
    [400, error(-1000, "An unknown error occurred"), "VENUE_ERROR"],
    [400, error(-1022, "Signature for this request is not valid."), "VENUE_ERROR"],
    [429, error(-1003, "Too many requests"), "RATE_LIMITED"],
    [200, {}, "BAD_RESPONSE"],
    [502, "<html>", "VENUE_ERROR"],
  ])("that the venue does not answer is a failure: %s %j", async (status, body, code) => {
    const scene = drafted();
    scene.http.reply(status, body);
    expect(await scene.keys.look(scene.key, SECRET, OPTIONS)).toMatchObject({ ok: false, code });
  });
});

describe("a block", () => {
  it("holds no secret, and opens a session of the agent", () => {
    const { keys, key, open } = drafted();
    const secret = storedCopy(SECRET);
    const block = keys.block(key, secret) as Record<string, unknown>;
    expect(block).toEqual({ apiKey: key.signer, apiSecret: secret, walletAddress: ACCOUNT });
    const session = open({ ...block });
    expect(SECRET[0]).toBe(7);
    expect(session).toMatchObject({ accountId: ACCOUNT, isOpen: true });
  });
});
