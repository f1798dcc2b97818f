/**
 * `npm run serve` with an outside signer, both as processes: the service is killed while the signer's people think, and in
 * the middle of creations; what was asked for is asked for once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { recoverMessageAddress, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { ContractJudge, type Reply } from "../../../gateway/test/client.js";
import { buildSignerContract } from "../../../schemas/signer-openapi.js";
import { type LocalPair, startLocalPair } from "../support/local-pair.js";
import { ServeBench, type ServeProcess } from "../support/serve-bench.js";
import { type CallerKey, SignedCaller } from "../support/signed-caller.js";
import { pause } from "../support/system.js";

/** A ceiling: each test starts several processes, and a shared machine may take its cores away for a while. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const TEXT = "sign in";
const USERS = ["ann", "bea", "cid"];

interface SignerCounts {
  readonly requests: number;
  readonly wallets: number;
  readonly problems: readonly string[];
}

/** The local signer as a process. */
class SignerProcess {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  url = "";

  constructor(main: string, args: readonly string[]) {
    this.child = spawn(process.execPath, [main, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    const { stdin, stdout } = this.child;
    if (stdin === null || stdout === null) throw new Error("no pipes");
    const lines: Interface = createInterface({ input: stdout });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async ready(): Promise<this> {
    this.url = (await this.#line()).replace(/^ready /, "");
    return this;
  }

  async say(word: "approve" | "people" | "refuse"): Promise<SignerCounts> {
    this.child.stdin?.write(`${word}\n`);
    return JSON.parse(await this.#line()) as SignerCounts;
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the signer ended");
    return value;
  }
}

let pair: LocalPair;
let bench: ServeBench;
let folder: string;
let signer: SignerProcess;
const judge = new ContractJudge();
const callers: SignedCaller[] = [];
const services: ServeProcess[] = [];

beforeAll(async () => {
  pair = await startLocalPair({ seed: 17, symbols: ["BTC"] });
  bench = new ServeBench(pair);
  folder = mkdtempSync(join(tmpdir(), "unwind-outside-"));
  writeFileSync(join(folder, "token"), "a-token-of-this-test-0123456789", { mode: 0o600 });
  writeFileSync(join(folder, "contract.json"), JSON.stringify(buildSignerContract()));
  const main = compileChild("bench/sim/signer/signer.child.ts", join(folder, "program"));
  signer = await new SignerProcess(main, [join(folder, "contract.json"), join(folder, "token")]).ready();
});
afterEach(async () => {
  await Promise.all(callers.splice(0).map((one) => one.stop()));
  await Promise.all(services.splice(0).map((service) => bench.stop(service, "SIGKILL")));
});
afterAll(async () => {
  signer.child.kill("SIGKILL");
  bench.dispose();
  await pair.stop();
  rmSync(folder, { recursive: true, force: true });
});

const outcomeOf = ({ status, body }: Reply) => [status, (body as unknown as { code?: string }).code ?? "ok"];

/** After a crash writes are refused for a moment, and what is in doubt is asked for again, as callers do. */
async function asked(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send();
    const { details } = reply.body as unknown as { details?: Readonly<Record<string, unknown>> };
    if (details?.["reason"] !== "BEFORE_START" && details?.["isUnsettled"] !== true) return reply;
    if (reply.status === 202) return reply;
    await pause(250);
  }
}

it("an outside signer is asked once for what a killed service asked it for, and the caller gets it", async () => {
  const place = bench.place("outside");
  const changes = {
    WALLET_PROVIDER: "https",
    WALLET_PROVIDER_URL: signer.url,
    WALLET_PROVIDER_TOKEN_FILE: join(folder, "token"),
  };
  let key: CallerKey | null = null;
  const begin = async () => {
    const service = await bench.start(place, changes);
    services.push(service);
    key ??= await bench.makeKey(place, ["read", "sign"]);
    const caller = new SignedCaller(service.url, key, judge);
    callers.push(caller);
    const post = (path: string, fields: object, id: string) =>
      caller.ask(path, { method: "POST", body: JSON.stringify(fields), headers: { "idempotency-key": id } });
    return { service, caller, post };
  };

  let { service, caller, post } = await begin();
  const made = await asked(() => post("/api/wallets", { userId: "zoe" }, "made"));
  expect(outcomeOf(made)).toEqual([200, "ok"]);
  const { address } = made.body as unknown as { readonly address: string };
  await signer.say("people");
  const sign = () => post("/api/wallets/zoe/sign", { message: TEXT }, "signed");
  expect(outcomeOf(await asked(sign))).toEqual([202, "APPROVAL_PENDING"]);
  await bench.stop(service, "SIGKILL");
  await signer.say("approve");
  ({ service, caller, post } = await begin());
  const done = await asked(sign);
  expect(outcomeOf(done)).toEqual([200, "ok"]);
  const { signature } = (done.body as unknown as { readonly data: { readonly signature: Hex } }).data;
  expect(await recoverMessageAddress({ message: TEXT, signature })).toBe(address);

  for (const [index, userId] of USERS.entries()) {
    // Whether the kill meets the request before, at or behind the signer is as it comes: all of it has to be right.
    const cut = post("/api/wallets", { userId }, userId).catch(() => null);
    await pause(index * 15);
    await bench.stop(service, "SIGKILL");
    await cut;
    ({ service, caller, post } = await begin());
    expect(outcomeOf(await asked(() => post("/api/wallets", { userId }, userId)))).toEqual([200, "ok"]);
  }
  const counts = await signer.say("approve");
  expect(counts).toMatchObject({ wallets: 1 + USERS.length, requests: 2 * (1 + USERS.length) + 1, problems: [] });
  const listed = await caller.ask("/api/wallets");
  expect((listed.body as unknown as { data: { wallets: unknown[] } }).data.wallets).toHaveLength(1 + USERS.length);
});
