/**
 * What the memory of a running service holds of keys and secrets, by /proc/<pid>/mem: sealing keys, keys of sealed
 * records and pads of API secrets are gone once they are wiped. Secrets that came with requests are text and socket
 * buffers of the runtime: nothing of ours refers to them (a heap snapshot shows what can be reached), and the copies that
 * the memory still holds are counted.
 *
 * A snapshot comes after a few requests with a secret of their own each; `SNAPSHOTS=15` takes one after each of them.
 */
import { createDecipheriv, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Agent, request as undiciRequest } from "undici";
import { keyLayerData } from "../../../engine/custody/sealing/context.js";
import { countsIn, type Needle } from "../../../engine/custody/sealing/test/process-memory.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import { connectAdmin } from "../../../gateway/admin/admin-client.js";
import type { NewSecret } from "../../../gateway/auth/key-admin.js";
import { decodeKeyRow, KEY_NAMESPACE, sealContext } from "../../../gateway/auth/key-rows.js";
import { signed } from "../../../gateway/test/test-keys.js";
import { freshMs, type SweepKey } from "../support/canary-sweep.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { type Environment, type ServiceRun, SignedBench } from "../support/signed-service.js";

/** Of the heap, while requests are asked; each takes three seconds. */
const SNAPSHOTS = Number(process.env["SNAPSHOTS"] ?? 4);
const SHOWN = 50;
const OTHERS = 1_000;
const MADE = 40;
/** An allocator writes over the beginning of what is freed, so the end is looked for. */
const NEEDLE_BYTES = 16;
const INNER = 0x36;
const OUTER = 0x5c;
/** Copies of one secret that no single request explains: receive buffers of the server, one for each connection. */
const COPIES_MAX = 25;
/** What one request makes, as counted right after it: texts of the runtime. */
const COPIES_OF_HEADER = 2;
const COPIES_IN_BODY = 4;

const kek = randomBytes(32);
const agent = new Agent({ connections: 4 });
let bench: SignedBench;
let pair: LocalPair;
let environment: Environment;
let keeping: SweepKey;
let ending: SweepKey;
let trader: Trader;
let service: ServiceRun;

beforeAll(async () => {
  bench = new SignedBench("bench/test/support/stopped-service.child.ts");
  pair = await startLocalPair({ seed: 15 });
  trader = pair.addTrader("memory", {
    positions: { BTC: "3" },
    apiKey: randomBytes(32).toString("hex"),
    apiSecret: randomBytes(32).toString("hex"),
  });
  environment = bench.settings(pair, "memory", kek);
  // Made by another process: the service gets them sealed.
  keeping = await bench.createKey(environment, ["read", "trade"]);
  ending = await bench.createKey(environment, ["read", "trade"]);
});
afterAll(async () => {
  bench.dispose();
  await agent.destroy();
  await pair.stop();
});

/** A test that fails leaves its service: the store is free for the next one. */
afterEach(() => end());

async function command(line: string): Promise<void> {
  const [word = ""] = line.split(" ");
  const doneCount = () => service.output().split(`done ${word}\n`).length;
  const before = doneCount();
  service.child.stdin?.write(`${line}\n`);
  await expect.poll(doneCount).toBe(before + 1);
}

const tail = (name: string, bytes: Buffer): Needle => [name, bytes.subarray(-NEEDLE_BYTES)];
const padOf = (secret: string, mask: number) => Buffer.from(Buffer.from(secret).map((byte) => byte ^ mask));

function textNeedles(name: string, secret: string): Needle[] {
  return [tail(`${name}, text`, Buffer.from(secret)), tail(`${name}, wide text`, Buffer.from(secret, "utf16le"))];
}

function padNeedles(name: string, secret: string): Needle[] {
  return [tail(`inner pad of ${name}`, padOf(secret, INNER)), tail(`outer pad of ${name}`, padOf(secret, OUTER))];
}

/** The keys of the sealed records, opened here with nothing of the code under test. */
async function recordKeys(): Promise<Needle[]> {
  const store = openLmdbStore({ directory: environment["DATA_DIR"] ?? "", clock: createSystemClock() });
  const needles: Needle[] = [];
  for (const { keyId } of [keeping, ending]) {
    const row = decodeKeyRow(keyId, (await store.get(KEY_NAMESPACE, keyId)) ?? new Uint8Array());
    const record = Buffer.from(row.secrets.present ?? "", "base64");
    const decipher = createDecipheriv("aes-256-gcm", kek, record.subarray(10, 22), { authTagLength: 16 });
    decipher.setAAD(keyLayerData(sealContext(row, "present"), record.subarray(2, 10)));
    decipher.setAuthTag(record.subarray(54, 70));
    needles.push(tail(`DEK of ${keyId}`, Buffer.concat([decipher.update(record.subarray(22, 54)), decipher.final()])));
  }
  await store.close();
  return needles;
}

async function get(by: SweepKey, more: Readonly<Record<string, string>> = {}): Promise<number> {
  const target = "/api/limits";
  const headers = { ...signed(by, { target, timestamp: freshMs() }), ...more };
  const { statusCode, body } = await undiciRequest(service.url + target, { headers, dispatcher: agent });
  await body.dump();
  return statusCode;
}

async function dryRun(by: SweepKey): Promise<number> {
  const target = "/api/trade/position/close";
  const asked = { symbol: "BTC", direction: "LONG", size: "0.01", dryRun: true, credentials: credentialsOf(trader) };
  const body = JSON.stringify({ ...asked, routingOptions: { deadlineMs: 5_000 } });
  const headers = { "content-type": "application/json", "x-api-secret": by.secret };
  const reply = await undiciRequest(service.url + target, {
    ...{ method: "POST", body, dispatcher: agent },
    headers: { ...headers, ...signed(by, { method: "POST", target, timestamp: freshMs(), body }) },
  });
  await reply.body.dump();
  return reply.statusCode;
}

async function end(): Promise<void> {
  service?.child.kill("SIGKILL");
  await service?.stop();
}

/** Keys that the service makes, uses and ends itself, with collections in between, which move what is in the heap. */
async function makeAndRevoke(): Promise<Needle[]> {
  const admin = await connectAdmin(join(environment["DATA_DIR"] ?? "", "admin.sock"), createSystemClock());
  const made: SweepKey[] = [];
  while (made.length < MADE) {
    const reply = await admin.call("keys.create", { scopes: ["read"] });
    if (!reply.ok) throw new Error(reply.code);
    const { key, secret } = reply.result as NewSecret;
    made.push({ keyId: key.keyId, ownerId: key.ownerId, secret, scopes: key.scopes });
    for (let index = 0; index < 5; index++) await get({ ...key, secret });
  }
  for (const { keyId } of made) expect((await admin.call("keys.revoke", { keyId })).ok).toBe(true);
  await admin.close();
  return made.flatMap(({ secret }) => padNeedles("a key made and ended", secret));
}

type Asking = readonly [name: string, secret: string, ask: () => Promise<number>];

/** Requests with a secret of their own each, of every kind. */
function askings(): Asking[] {
  const fresh = () => `sk_${randomBytes(16).toString("hex")}`;
  const send = async (
    [method, target]: readonly ["GET" | "POST", string],
    headers: Readonly<Record<string, string | string[]>>,
    body = "",
  ): Promise<number> => {
    const proof = signed(keeping, { method, target, timestamp: freshMs(), body });
    const reply = await undiciRequest(service.url + target, {
      ...{ method, dispatcher: agent, ...(body === "" ? {} : { body }) },
      headers: { ...proof, ...(body === "" ? {} : { "content-type": "application/json" }), ...headers },
    });
    await reply.body.dump();
    return reply.statusCode;
  };
  const limits = ["GET", "/api/limits"] as const;
  const close = ["POST", "/api/trade/position/close"] as const;
  const one = (name: string, ask: (secret: string) => Promise<number>): Asking => {
    const secret = fresh();
    return [name, secret, () => ask(secret)];
  };
  const shown = (secret: string) => ({ "x-api-secret": secret });
  return [
    ["accepted", keeping.secret, () => send(limits, shown(keeping.secret))],
    ["accepted with a body", keeping.secret, () => send(close, shown(keeping.secret), '{"symbol":"BTC"}')],
    one("another secret", (secret) => send(limits, shown(secret))),
    one("another secret, with a body", (secret) => send(close, shown(secret), '{"symbol":"BTC"}')),
    one("two secrets", (secret) => send(limits, { "x-api-secret": [secret, secret] })),
    one("a secret that is too long", (secret) => send(limits, shown(secret.padEnd(300, "x")))),
    one("a foreign host", (secret) => send(limits, { ...shown(secret), host: "elsewhere.example" })),
    one("a foreign origin", (secret) => send(limits, { ...shown(secret), origin: "https://elsewhere.example" })),
    one("a body where none belongs", (secret) => send(["POST", "/api/stream/ticket"], shown(secret), '{"a":1}')),
    one("a body that is too large", (secret) => send(close, shown(secret), JSON.stringify({ a: "x".repeat(70_000) }))),
    one("a path that is not served", (secret) => send(["GET", "/api/none"], shown(secret))),
    one("a secret as the key", (secret) => send(limits, { "x-api-key": secret })),
    one("a secret as the signature", (secret) => send(limits, { "x-api-signature": secret })),
    one("a secret as the timestamp", (secret) => send(limits, { "x-api-timestamp": secret })),
    one("credentials in a header", (secret) =>
      send(["GET", `/api/trading/venuetwo/positions/${trader.venuetwo.walletAddress}`], {
        "x-venue-credentials": Buffer.from(
          JSON.stringify({
            venuetwo: { apiKey: "k", apiSecret: secret, walletAddress: trader.venuetwo.walletAddress },
          }),
        ).toString("base64url"),
      }),
    ),
  ];
}

/** Texts that can be reached from a root, after a collection. */
async function reachable(): Promise<string> {
  const path = join(bench.folder, "memory.heapsnapshot");
  await command(`snapshot ${path}`);
  const text = readFileSync(path, "latin1");
  rmSync(path);
  return text;
}

/** What is left in memory of two secrets after requests with them, a thousand others and a forced collection. */
async function copiesAfter(requests: number, other: SweepKey): Promise<ReadonlyMap<string, number>> {
  const { apiSecret } = trader.venuetwo;
  const needles = [...textNeedles("shown secret", keeping.secret), ...textNeedles("venue secret", apiSecret)];
  for (let index = 0; index < requests; index++) {
    expect(await get(keeping, { "x-api-secret": keeping.secret })).toBe(200);
    expect(await dryRun(keeping)).toBe(200);
  }
  const before = countsIn(service.pid, needles);
  expect([sum(before, "shown") > 0, sum(before, "venue") > 0]).toEqual([true, true]);
  for (let index = 0; index < OTHERS; index++) expect(await get(other)).toBe(200);
  await command("gc");
  const after = countsIn(service.pid, needles);
  const line = (name: string) =>
    `${name} ${sum(before, name)} copies at first, ${sum(after, name)} after ${OTHERS} others`;
  process.stdout.write(
    `memory: ${requests} more requests of each kind: ${line("shown secret")}; ${line("venue secret")}\n`,
  );
  return after;
}

function sum(counts: ReadonlyMap<string, number>, name: string): number {
  return [...counts].reduce((total, [what, count]) => total + (what.startsWith(name) ? count : 0), 0);
}

describe.skipIf(process.platform !== "linux")("the memory of the service", () => {
  it("holds sealing keys and pads while they work, and not a byte of them once they are wiped", async () => {
    const sealingKey = [tail("kek", kek), tail("kek, text", Buffer.from(kek.toString("hex")))];
    const never = [
      ...(await recordKeys()),
      ...textNeedles("secret", keeping.secret),
      ...textNeedles("secret", ending.secret),
    ];
    const pads = [...padNeedles("keeping", keeping.secret), ...padNeedles("ending", ending.secret)];
    const needles = [...sealingKey, ...never, ...pads];
    service = await bench.start(environment, ["--expose-gc"]);
    for (let index = 0; index < SHOWN; index++) expect([await get(keeping), await get(ending)]).toEqual([200, 200]);
    await command("gc");
    // The positive control: what works is found. A record's key and an opened secret are gone by then.
    const running = [...countsIn(service.pid, needles).keys()].sort();
    expect(running).toEqual(["kek", ...pads.map(([name]) => name)].sort());

    const ended = await makeAndRevoke();
    expect([...countsIn(service.pid, ended).keys()]).toEqual([]);
    const revoked = await bench.unwind(["keys", "revoke", ending.keyId], environment);
    expect([revoked.code, await get(ending)]).toEqual([0, 401]);
    const afterRevocation = [...countsIn(service.pid, needles).keys()].sort();
    expect(afterRevocation).toEqual(["inner pad of keeping", "kek", "outer pad of keeping"]);

    await command("stop");
    expect([...countsIn(service.pid, [...needles, ...ended]).keys()]).toEqual([]);
  }, 300_000);

  it("holds no reference to a secret once its request is answered, accepted or refused at any check", async () => {
    const { KEK_FILE: _file, ...others } = environment;
    const hex = kek.toString("hex");
    service = await bench.start({ ...others, KEK_HEX: hex }, ["--expose-gc"]);
    const kept: string[] = [];
    if ((await reachable()).includes(hex)) kept.push("the sealing key as it came");
    const asked = askings();
    const together = Math.ceil(asked.length / SNAPSHOTS);
    for (let at = 0; at < asked.length; at += together) {
      const some = asked.slice(at, at + together);
      const statuses: number[] = [];
      for (const [, , ask] of some) statuses.push(await ask());
      const texts = await reachable();
      for (const [index, [name, secret]] of some.entries())
        if (texts.includes(secret)) kept.push(`${name} (${statuses[index]})`);
    }
    expect(kept).toEqual([]);
    // After a kill the next service refuses writes for up to three seconds (high-water-mark.ts), after a stop none.
    await command("stop");
  }, 300_000);

  it("holds no reference to secrets that came with requests, and no more copies than these made", async () => {
    service = await bench.start(environment, ["--expose-gc"]);
    const other = await bench.createKey(environment, ["read"]);
    let requests = 0;
    // Freed memory is not cleared: copies are there until it is used again. More would be copies of ours.
    for (const more of [SHOWN, 4 * SHOWN]) {
      requests += more;
      const left = await copiesAfter(more, other);
      // The secret of the key comes with both kinds of requests, that of the venue with one.
      expect(sum(left, "shown")).toBeLessThan(2 * requests * COPIES_OF_HEADER + COPIES_MAX);
      expect(sum(left, "venue")).toBeLessThan(requests * COPIES_IN_BODY + COPIES_MAX);
    }
    const texts = await reachable();
    // The control: the path of a file in use is a text that stays.
    expect(texts.includes(environment["DATA_DIR"] ?? "?")).toBe(true);
    expect([texts.includes(keeping.secret), texts.includes(trader.venuetwo.apiSecret)]).toEqual([false, false]);
  }, 600_000);
});
