/** The client of the outside signer against a local one over real HTTP: what each answer, and each lack of one, leaves certain. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CallFault, LocalSigner } from "../../bench/sim/signer/signer-server.js";
import type { OutsideReply, OutsideRequest } from "../../engine/custody/outside/outside-signer.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { buildSignerContract } from "../../schemas/signer-openapi.js";
import { hasOpenssl, makeCertificate } from "../test/certificates.js";
import { HttpsSigner, type HttpsSignerOptions } from "./https-signer.js";
import { SignerToken } from "./signer-token.js";

const TOKEN = "a-token-of-this-test-0123456789";
const ID = "5f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41";
const OTHER_ID = "6f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41";
const WALLET: OutsideRequest = { kind: "wallet", requestId: ID };
/** A call that never ends by its time on a machine that stands still. */
const LONG_MS = 60_000;

let folder: string;
let tokenFile: string;
let signer: LocalSigner;
let client: HttpsSigner;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "unwind-signer-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
  signer = await LocalSigner.start({ contract: buildSignerContract(), token: TOKEN, root: "/v1" });
  opened.push({ close: () => signer.stop() });
  client = clientOf();
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

function clientOf(more: Partial<HttpsSignerOptions> = {}): HttpsSigner {
  const token = SignerToken.read(tokenFile);
  if (token === null) throw new Error("no token");
  const made = new HttpsSigner({ url: signer.url, token, ca: null, clock: createSystemClock(), ...more });
  opened.push(made);
  return made;
}

async function madeWallet(): Promise<string> {
  const reply = await client.begin(WALLET, LONG_MS);
  if (reply.kind !== "standing" || reply.standing.state !== "DONE") throw new Error(JSON.stringify(reply));
  return reply.standing.wallet?.walletRef ?? "";
}

const signature = (walletRef: string, payload: Extract<OutsideRequest, { kind: "signature" }>["payload"]) =>
  ({ kind: "signature", requestId: OTHER_ID, walletRef, origin: "caller", payload }) as const;
const always = (fault: CallFault) => () => fault;
const unknown = (problem: "UNREACHABLE" | "CONTRACT"): OutsideReply => ({
  kind: "unknown",
  problem,
  retryAfterMs: null,
});

describe("a call of the outside signer", () => {
  it("is one of its contract, for each kind of what is signed, and has the same end however often it is begun", async () => {
    const walletRef = await madeWallet();
    const common = { chainId: 1n, nonce: 0n, gasLimit: 21_000n, value: 10n ** 18n, data: Uint8Array.of(1, 2) };
    const to = "0x1010101010101010101010101010101010101010";
    const typed = {
      domain: { name: "Forum", chainId: 1 },
      types: { EIP712Domain: [], Post: [{ name: "text", type: "string" }] },
      primaryType: "Post",
      message: { text: "hello" },
    };
    const payloads = [
      { kind: "message", bytes: Buffer.from("hello") },
      { kind: "message", bytes: new Uint8Array(0) },
      { kind: "typedData", text: JSON.stringify(typed) },
      {
        kind: "transaction",
        transaction: { ...common, to, type: "eip1559", maxFeePerGas: 9n, maxPriorityFeePerGas: 1n },
      },
      { kind: "transaction", transaction: { ...common, to, type: "legacy", gasPrice: 9n } },
      { kind: "digest", digest: Buffer.alloc(32, 7) },
    ] as const;
    for (const [index, payload] of payloads.entries()) {
      const request = { ...signature(walletRef, payload), requestId: OTHER_ID.replace(/^6/, "abcdef".charAt(index)) };
      const first = await client.begin(request, LONG_MS);
      expect(first).toMatchObject({ kind: "standing", standing: { state: "DONE", signature: expect.any(String) } });
      expect(await client.begin(request, LONG_MS)).toEqual(first);
      expect(await client.look(request, LONG_MS)).toEqual(first);
    }
    expect(signer.problems).toEqual([]);
    expect(signer.model.requests.length).toBe(1 + payloads.length);
    expect(new Set(signer.calls.map(({ path }) => path.split("/")[1]))).toEqual(
      new Set(["wallets", "signatures", "requests"]),
    );
  });

  it("learns of what is not decided, of refusals with their rule, of faults, and of what was never begun", async () => {
    signer.model.decision = () => ({ kind: "people" });
    expect(await client.begin(WALLET, LONG_MS)).toMatchObject({ standing: { state: "AWAITING_APPROVAL" } });
    signer.model.decide({ kind: "refuse", refusal: { reason: "PEOPLE", rule: "two of three" } });
    expect(await client.look(WALLET, LONG_MS)).toMatchObject({
      standing: { state: "REFUSED", reason: "PEOPLE", rule: "two of three" },
    });
    expect(await client.look({ ...WALLET, requestId: OTHER_ID }, LONG_MS)).toEqual({ kind: "absent" });
    expect(await client.begin(signature("nowhere", { kind: "message", bytes: Buffer.from("x") }), LONG_MS)).toEqual({
      kind: "rejected",
    });
    expect(signer.problems).toEqual([]);
  });

  it.each<[string, CallFault, OutsideReply]>([
    ["a lost connection before it", { kind: "cut", handled: false }, unknown("UNREACHABLE")],
    ["a lost connection after it", { kind: "cut", handled: true }, unknown("UNREACHABLE")],
    ["a fault of the server", { kind: "status", status: 500 }, unknown("UNREACHABLE")],
    ["a fault after it was done", { kind: "status", status: 502, handled: true }, unknown("UNREACHABLE")],
    ["another body under its id", { kind: "status", status: 409 }, unknown("CONTRACT")],
    ["no JSON", { kind: "text", text: "<html>" }, unknown("CONTRACT")],
    ["no state", { kind: "text", text: `{"requestId":"${ID}","kind":"wallet"}` }, unknown("CONTRACT")],
    ["a state that is none", { kind: "text", text: stateText("APPROVED") }, unknown("CONTRACT")],
    ["done without a wallet", { kind: "text", text: stateText("DONE") }, unknown("CONTRACT")],
    ["refused without a reason", { kind: "text", text: stateText("REFUSED") }, unknown("CONTRACT")],
    ["another request's end", { kind: "text", text: stateText("FAILED", OTHER_ID) }, unknown("CONTRACT")],
    ["another kind's end", { kind: "text", text: stateText("FAILED", ID, "signature") }, unknown("CONTRACT")],
    ["more than is read", { kind: "text", text: `"${"x".repeat(70_000)}"` }, unknown("CONTRACT")],
    ["a redirect", { kind: "redirect", to: "http://127.0.0.1:1/elsewhere" }, unknown("CONTRACT")],
    ["too many calls", { kind: "status", status: 429, retryAfter: "2" }, taken(null, 2_000)],
    ["a 503 that names a time", { kind: "status", status: 503, retryAfter: "3" }, unknownFor(3_000)],
    ["a refused token", { kind: "status", status: 401 }, taken("TOKEN")],
    ["a forbidden call", { kind: "status", status: 403 }, taken("TOKEN")],
    ["a word that it is wrong", { kind: "status", status: 422 }, { kind: "rejected" }],
    ["a place that is none", { kind: "status", status: 404 }, unknown("CONTRACT")],
    ["a time that is over, said on the way", { kind: "status", status: 408 }, unknown("CONTRACT")],
    ["a size that is too large, said on the way", { kind: "status", status: 413 }, unknown("CONTRACT")],
  ])("that begins and meets %s leaves certain what it may", async (_, fault, reply) => {
    signer.fault = always(fault);
    expect(await client.begin(WALLET, LONG_MS)).toEqual(reply);
    expect(signer.calls.length).toBe(1);
  });

  it("that asks takes a 404 for an unknown request only where the signer says so itself", async () => {
    signer.fault = always({ kind: "status", status: 404 });
    expect(await client.look(WALLET, LONG_MS)).toEqual(unknown("CONTRACT"));
    const other = JSON.stringify({ code: "REQUEST_UNKNOWN", requestId: OTHER_ID });
    signer.fault = always({ kind: "text", status: 404, text: other });
    expect(await client.look(WALLET, LONG_MS)).toEqual(unknown("CONTRACT"));
  });

  it.each([true, false])("that is not answered ends by its time, done there or not (%s)", async (handled) => {
    const clock = new VirtualClock();
    signer.fault = always({ kind: "hang", handled });
    const call = clientOf({ clock }).begin(WALLET, 3_000);
    while (signer.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(3_000);
    expect(await call).toEqual(unknown("UNREACHABLE"));
    expect(signer.model.requests.length).toBe(handled ? 1 : 0);
    signer.fault = always({ kind: "none" });
    expect((await client.look(WALLET, LONG_MS)).kind).toBe(handled ? "standing" : "absent");
  });

  it("is not answered by the second answer to the one before", async () => {
    signer.fault = ({ path }) => ({ kind: path === "/wallets" ? "twice" : "none" });
    const first = await client.begin(WALLET, LONG_MS);
    expect(first).toMatchObject({ kind: "standing" });
    const other = { ...WALLET, requestId: OTHER_ID };
    for (let ask = 0; ask < 3; ask++) expect((await client.look(other, LONG_MS)).kind).not.toBe("standing");
  });

  it("that reaches nobody was begun by nobody", async () => {
    await signer.stop();
    expect(await client.begin(WALLET, LONG_MS)).toEqual(taken("UNREACHABLE"));
    expect(await client.health(LONG_MS)).toBe("UNREACHABLE");
    await signer.listen();
    expect(await client.health(LONG_MS)).toBeNull();
  });
});

describe("the token of the outside signer", () => {
  it("is taken up from its file once the present one is refused", async () => {
    signer.token = "the-next-token-of-this-test-0123";
    expect(await client.health(LONG_MS)).toBe("TOKEN");
    writeFileSync(tokenFile, signer.token);
    expect(await client.begin(WALLET, LONG_MS)).toEqual(taken(null));
    expect(await client.begin(WALLET, LONG_MS)).toMatchObject({ kind: "standing" });
  });

  it.each(["", "short", "with a space in it 0123456789", "two\nlines-of-token-0123456789"])("is not %j", (text) => {
    writeFileSync(tokenFile, text);
    expect(SignerToken.read(tokenFile)).toBeNull();
  });
});

describe("the connection to the outside signer", () => {
  it.skipIf(!hasOpenssl)("speaks to a certificate of the authorities that are trusted, and to no other", async () => {
    const { certFile, keyFile } = makeCertificate(folder, "signer", 1);
    const cert = readFileSync(certFile, "utf8");
    const tls = { cert, key: readFileSync(keyFile, "utf8") };
    const secure = await LocalSigner.start({ contract: buildSignerContract(), token: TOKEN, tls });
    opened.push({ close: () => secure.stop() });
    const other = readFileSync(makeCertificate(folder, "other", 2).certFile, "utf8");
    for (const ca of [null, other]) {
      const stranger = clientOf({ url: secure.url, ca });
      expect(await stranger.health(LONG_MS)).toBe("UNREACHABLE");
      expect(await stranger.begin(WALLET, LONG_MS)).toEqual(taken("UNREACHABLE"));
    }
    expect(secure.calls).toEqual([]);
    const known = clientOf({ url: secure.url, ca: cert });
    expect(await known.health(LONG_MS)).toBeNull();
    expect(await known.begin(WALLET, LONG_MS)).toMatchObject({ standing: { state: "DONE" } });
  });

  it("gives nothing to a server that speaks no TLS, and believes none that speaks no HTTP", async () => {
    const heard: string[] = [];
    const server = createServer((socket) => {
      socket.on("data", (bytes) => heard.push(bytes.toString("latin1")));
      socket.on("error", () => {});
      socket.write("220 mail\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    opened.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    const { port } = server.address() as AddressInfo;
    const secure = clientOf({ url: `https://127.0.0.1:${port}` });
    expect(await secure.begin(WALLET, LONG_MS)).toEqual(taken("UNREACHABLE"));
    expect(heard.join("")).not.toContain(TOKEN);
    const plain = clientOf({ url: `http://127.0.0.1:${port}` });
    expect(await plain.begin(WALLET, LONG_MS)).toMatchObject({ kind: expect.stringMatching(/unknown|notTaken/) });
  });
});

function stateText(state: string, requestId = ID, kind = "wallet"): string {
  return JSON.stringify({ requestId, kind, state });
}

function taken(problem: "UNREACHABLE" | "TOKEN" | null, retryAfterMs: number | null = null): OutsideReply {
  return { kind: "notTaken", problem, retryAfterMs };
}

function unknownFor(retryAfterMs: number): OutsideReply {
  return { kind: "unknown", problem: "UNREACHABLE", retryAfterMs };
}
