/**
 * The whole service over an outside signer, both over real HTTP, every reply judged by the OpenAPI document: what people
 * decide outside, what is lost on the way, what a restart keeps.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recoverMessageAddress, recoverTypedDataAddress, type Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalSigner } from "../../bench/sim/signer/signer-server.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { buildSignerContract } from "../../schemas/signer-openapi.js";
import { type Config, readConfig } from "../app/config.js";
import { createLogger, type ServiceLogger } from "../app/log.js";
import { createService, type Service } from "../app/wiring.js";
import { type Reply, TestClient } from "./client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { PROVEN_AHEAD_NS } from "./harness.js";
import { ADMIN, ALICE, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";

const TOKEN = "a-token-of-this-test-0123456789";
const BOB_SIGNS: TestKey = { ...BOB, keyId: "pk_bob_signs", scopes: ["read", "sign"] };
const TEXT = "sign in to the forum";

let folder: string;
let signer: LocalSigner;
let lines: string[];
let logger: ServiceLogger;
let current: { readonly service: Service; readonly client: TestClient } | null = null;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "unwind-outside-"));
  writeFileSync(join(folder, "token"), TOKEN, { mode: 0o600 });
  signer = await LocalSigner.start({ contract: buildSignerContract(), token: TOKEN });
  lines = [];
  logger = createLogger("debug", { write: (line: string) => void lines.push(line) });
});
afterEach(async () => {
  await stop();
  await signer.stop();
  rmSync(folder, { recursive: true, force: true });
});

function config(more: Readonly<Record<string, string>> = {}): Config {
  const result = readConfig(
    {
      ...{ PORT: "0", DATA_DIR: join(folder, "data"), LOG_LEVEL: "silent", RECORDING: "false", AUTH_MODE: "signed" },
      ...{
        KEK_HEX: createHash("sha256").update("kek of this test").digest("hex"),
        WALLET_PROVIDER: "https",
        WALLET_PROVIDER_URL: signer.url,
      },
      ...{ WALLET_PROVIDER_TOKEN_FILE: join(folder, "token"), ...more },
    },
    () => null,
  );
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config;
}

async function start(more: Readonly<Record<string, string>> = {}): Promise<void> {
  await stop();
  const service = await createService(config(more), {
    ...{ rooms: [liveRoom()], auth: createTestAuth({ keys: [BOB_SIGNS] }), logger },
  });
  current = { service, client: new TestClient(service.url) };
}

function liveRoom(): FakeRoom {
  const clock = createSystemClock();
  const market = fakeMarket(anInstrument({ venue: "venueone" }));
  // Proven in time to come: the start waits for a live book.
  loadBook(market.book, [[974_100, 5_000]], [[974_200, 5_000]], clock.monoNs() + PROVEN_AHEAD_NS);
  return createFakeRoom("venueone", [market], () => clock.wallMs());
}

async function stop(): Promise<void> {
  await current?.client.stop();
  await current?.service.stop();
  current = null;
}

let lastMs = 0;
function freshMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

interface Sent {
  readonly by?: TestKey;
  readonly key?: string;
}

/**
 * Sent again while its outcome is in doubt, as a caller does: a pause of the machine may be longer than a call of the
 * signer may take.
 */
async function post(path: string, body: unknown, sent: Sent = {}): Promise<Reply> {
  for (;;) {
    const reply = await postOnce(path, body, sent);
    if (reply.status !== 503 || detailsOf(reply)["isUnsettled"] !== true) return reply;
  }
}

async function postOnce(path: string, body: unknown, { by = ALICE, key }: Sent): Promise<Reply> {
  if (current === null) throw new Error("no service runs");
  const text = JSON.stringify(body);
  return current.client.send(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signed(by, { method: "POST", target: path, body: text, timestamp: freshMs() }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: text,
  });
}

async function get(path: string, by: TestKey = ALICE): Promise<Reply> {
  if (current === null) throw new Error("no service runs");
  return current.client.send(path, { headers: signed(by, { target: path, timestamp: freshMs() }) });
}

type Fields = Record<string, unknown>;
const fieldsOf = (reply: Reply) => reply.body as unknown as Fields;
const detailsOf = (reply: Reply) => fieldsOf(reply)["details"] as Fields;
const shown = (reply: Reply) => [reply.status, fieldsOf(reply)["success"], fieldsOf(reply)["code"]];
const signatureOf = (reply: Reply) => String((fieldsOf(reply)["data"] as Fields)["signature"]) as Hex;

async function made(userId = "ann"): Promise<Record<string, string>> {
  const reply = await post("/api/wallets", { userId });
  expect(shown(reply)).toEqual([200, true, undefined]);
  return fieldsOf(reply) as Record<string, string>;
}

/** What people say after the caller was told to come back. */
const waitForPeople = () => {
  signer.model.decision = () => ({ kind: "people" });
};

describe("the service over an outside signer", () => {
  it("makes a wallet and signs messages and typed data with it, by calls of the contract", async () => {
    await start();
    const wallet = await made();
    expect(wallet).toMatchObject({ userId: "ann", state: "ACTIVE", epoch: 1, exchanges: [] });
    const address = wallet["address"];
    const message = await post("/api/wallets/ann/sign", { message: TEXT });
    expect(await recoverMessageAddress({ message: TEXT, signature: signatureOf(message) })).toBe(address);
    const typedData = {
      domain: { name: "Forum", version: "1", chainId: 1 },
      types: { Post: [{ name: "text", type: "string" }] },
      primaryType: "Post",
      message: { text: "hello" },
    } as const;
    const typed = await post(`/api/wallets/${wallet["walletId"]}/sign`, { typedData });
    expect(shown(typed)).toEqual([200, true, undefined]);
    expect(await recoverTypedDataAddress({ ...typedData, signature: signatureOf(typed) })).toBe(address);
    expect(shown(await get("/api/wallets/ann"))).toEqual([200, true, undefined]);
    expect(shown(await get("/api/wallets/ann", BOB_SIGNS))).toEqual([404, false, "WALLET_NOT_FOUND"]);
    expect(shown(await post("/api/wallets/ann/sign", { message: TEXT }, { by: BOB_SIGNS }))).toEqual([
      404,
      false,
      "WALLET_NOT_FOUND",
    ]);
    const digest = await post("/api/wallets/ann/sign", { digest: `0x${"11".repeat(32)}` });
    expect([...shown(digest), detailsOf(digest)["rule"]]).toEqual([403, false, "POLICY_REFUSED", "RAW_DIGEST"]);
    expect(signer.problems).toEqual([]);
  });

  it("answers 202 while people decide, and the same key then gets what they decided, also after a restart", async () => {
    await start();
    const wallet = await made();
    waitForPeople();
    const keyed = { key: "k-1" };
    const pending = await post("/api/wallets/ann/sign", { message: TEXT }, keyed);
    expect(shown(pending)).toEqual([202, false, "APPROVAL_PENDING"]);
    expect(pending.headers["retry-after"]).toBe("1");
    const { signerRequestId } = detailsOf(pending);
    expect(signer.model.requests.at(-1)?.requestId).toBe(signerRequestId);
    const status = fieldsOf(await get("/api/status", ADMIN))["data"] as { custody: { sessions: { queued: number } } };
    expect(status.custody.sessions.queued).toBe(1);
    await start();
    expect(shown(await post("/api/wallets/ann/sign", { message: "another" }, keyed))).toEqual([
      422,
      false,
      "IDEMPOTENCY_MISMATCH",
    ]);
    expect(detailsOf(await post("/api/wallets/ann/sign", { message: TEXT }, keyed))["signerRequestId"]).toBe(
      signerRequestId,
    );
    signer.model.decide({ kind: "approve" });
    const done = await post("/api/wallets/ann/sign", { message: TEXT }, keyed);
    expect(shown(done)).toEqual([200, true, undefined]);
    expect(await recoverMessageAddress({ message: TEXT, signature: signatureOf(done) })).toBe(wallet["address"]);
    expect(signatureOf(await post("/api/wallets/ann/sign", { message: TEXT }, keyed))).toBe(signatureOf(done));
    expect(signer.calls.filter(({ path }) => path === "/signatures").length).toBe(2);
    expect(signer.problems).toEqual([]);
  }, 60_000);

  it("answers 403 where people refuse, and asks them anew where the caller does", async () => {
    await start();
    await made();
    waitForPeople();
    const keyed = { key: "k-2" };
    expect(shown(await post("/api/wallets/ann/sign", { message: TEXT }, keyed))).toEqual([
      202,
      false,
      "APPROVAL_PENDING",
    ]);
    signer.model.decide({ kind: "refuse", refusal: { reason: "PEOPLE" } });
    const refused = await post("/api/wallets/ann/sign", { message: TEXT }, keyed);
    expect([...shown(refused), detailsOf(refused)]).toEqual([403, false, "POLICY_REFUSED", { rule: "PEOPLE" }]);
    signer.model.decision = () => ({ kind: "approve" });
    expect(shown(await post("/api/wallets/ann/sign", { message: TEXT }, keyed))).toEqual([200, true, undefined]);
    const rows = await current?.service.store.scan("audit", { prefix: "", limit: 100 });
    const outcomes = (rows ?? []).map(({ value }) => JSON.parse(Buffer.from(value).toString()) as Fields);
    expect(outcomes.map(({ what, outcome }) => `${String(what)} ${String(outcome)}`).sort()).toEqual([
      "wallet.create done",
      "wallet.sign done",
      "wallet.sign pending",
      "wallet.sign refused",
    ]);
  }, 60_000);

  it("makes one wallet for a user whose creation waited for people at both of its steps", async () => {
    await start();
    waitForPeople();
    const keyed = { key: "k-3" };
    for (const step of ["wallet", "signature"]) {
      expect(shown(await post("/api/wallets", { userId: "bea" }, keyed))).toEqual([202, false, "APPROVAL_PENDING"]);
      expect(signer.model.requests.at(-1)?.kind).toBe(step);
      expect(shown(await get("/api/wallets/bea"))).toEqual([404, false, "WALLET_NOT_FOUND"]);
      signer.model.decide({ kind: "approve" });
      await start();
    }
    const done = await post("/api/wallets", { userId: "bea" }, keyed);
    expect(shown(done)).toEqual([200, true, undefined]);
    expect(fieldsOf(await post("/api/wallets", { userId: "bea" }, keyed))["walletId"]).toBe(fieldsOf(done)["walletId"]);
    expect(signer.model.walletCount).toBe(1);
  }, 120_000);

  it("goes on where replies are lost, and never has a second request for one", async () => {
    await start();
    let call = 0;
    signer.fault = ({ path }) => {
      if (path === "/health") return { kind: "none" };
      const kinds = [{ kind: "cut", handled: true }, { kind: "status", status: 500 }, { kind: "none" }] as const;
      return kinds[call++ % kinds.length] ?? { kind: "none" };
    };
    const wallet = await made();
    const done = await post("/api/wallets/ann/sign", { message: TEXT });
    expect(await recoverMessageAddress({ message: TEXT, signature: signatureOf(done) })).toBe(wallet["address"]);
    expect([signer.model.walletCount, signer.model.requests.length]).toEqual([1, 3]);
    expect(signer.calls.filter(({ path }) => path === "/signatures").length).toBe(2);
  }, 60_000);

  it("hands over no signature that is another key's, and says that it failed", async () => {
    await start();
    await made();
    signer.model.signatureLie = "otherKey";
    const failed = await post("/api/wallets/ann/sign", { message: TEXT });
    expect([...shown(failed), detailsOf(failed)]).toEqual([500, false, "FAILED_TO_SIGN", {}]);
    expect(lines.join("")).toContain("outside_signer.wrong_signature");
  });

  it("is ready while the signer is, and starts, answers 503 and comes back without it", async () => {
    await start();
    await made();
    const part = async () => {
      const reply = fieldsOf(await get("/ready"));
      const parts = (reply["parts"] ?? (reply["details"] as Fields)["components"]) as Record<string, string>[];
      return parts.find(({ name }) => name === "cosigner")?.["detail"];
    };
    expect(await part()).toBe("reachable");
    await stop();
    await signer.stop();
    await start();
    expect(await part()).toBe("UNREACHABLE: not reachable");
    const away = await post("/api/wallets/ann/sign", { message: TEXT }, { key: "k-4" });
    expect([...shown(away), detailsOf(away)["reason"]]).toEqual([503, false, "SIGNER_UNAVAILABLE", "UNREACHABLE"]);
    await signer.listen();
    expect(shown(await post("/api/wallets/ann/sign", { message: TEXT }, { key: "k-4" }))).toEqual([
      200,
      true,
      undefined,
    ]);
    expect(await part()).toBe("reachable");
    signer.token = "another-token-0123456789";
    const refused = await post("/api/wallets/ann/sign", { message: "another" });
    expect([...shown(refused), detailsOf(refused)["reason"]]).toEqual([503, false, "SIGNER_UNAVAILABLE", "TOKEN"]);
    expect(await part()).toContain("TOKEN: it does not take the token");
  }, 60_000);

  it("has its token and what was signed in no log line and no reply, and no message in its store", async () => {
    await start();
    await made();
    const secretText = "a message that is nobody else's business";
    const done = await post("/api/wallets/ann/sign", { message: secretText }, { key: "k-5" });
    const replies = [done, await get("/api/status", ADMIN), await get("/ready"), await get("/metrics", ADMIN)];
    await stop();
    const texts = [...lines, ...replies.map(({ text }) => text)].join("\n");
    expect(texts).not.toContain(TOKEN);
    expect(lines.join("\n")).not.toContain(signatureOf(done).slice(2, 66));
    const data = join(folder, "data");
    const stored = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"))
      .join("\n");
    expect(stored).toContain("outside-wallet");
    for (const text of [TOKEN, secretText, Buffer.from(secretText).toString("hex")]) expect(stored).not.toContain(text);
  });

  it("does not start over wallets of the other provider, nor with a token that is none", async () => {
    await start();
    await made();
    const embedded = config({ WALLET_PROVIDER: "embedded", WALLET_PROVIDER_URL: "", WALLET_PROVIDER_TOKEN_FILE: "" });
    await current?.service.store.put("custody-wallet", "x", Buffer.from("{}"));
    await stop();
    const refusal = (use: Config) =>
      createService(use, { rooms: [liveRoom()], logger, auth: createTestAuth() }).then(
        () => "started",
        (error: unknown) => String((error as Error).message),
      );
    expect(await refusal(config())).toContain("DATA_DIR has wallets of WALLET_PROVIDER=embedded");
    writeFileSync(join(folder, "token"), "short");
    expect(await refusal({ ...config(), dataDir: join(folder, "other") })).toContain("must hold one line of 16");
    expect(embedded.outsideSigner).toBeNull();
  });
});
