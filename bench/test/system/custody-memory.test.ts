/**
 * What each party of two-party signing holds, by /proc/<pid>/mem, its files and the frames between them: never the joint
 * key, the other's share or the other's nonce share; the own share and nonce share while they are open, and no buffer of
 * them once the session has ended. Numbers of the engine cannot be wiped: their copies are counted (docs/mpc.md, 14).
 *
 * A number lies in memory as its 64-bit digits, the lowest first, each with its lowest byte first: the bytes of the
 * scalar in reverse. Our buffers hold scalars with the highest byte first, so the two are told apart by their order.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import { ORDER } from "../../../engine/custody/mpc/base/scalar.js";
import type { OpenShare } from "../../../engine/custody/mpc/state/share-record.js";
import type { MessageName } from "../../../engine/custody/mpc/wire/message-types.js";
import { countsIn, type Needle } from "../../../engine/custody/sealing/test/process-memory.js";
import { type Signing, type WatchedParty, WatchedWallet } from "../support/watched-wallet.js";

/** An allocator writes over the beginning of what is freed, so the end of each form is looked for. */
const NEEDLE_BYTES = 16;
const PARTIES = [0, 1] as const;
const SIGNATURES = 3;
/** Copies of a number, whole or its upper half, that lie in free memory; 2 to 28 were counted (docs/mpc.md, 14). */
const COPIES_MAX = 200;
const WAIT = { timeout: 60_000, interval: 20 };

const bench = new WatchedWallet();
let parties: readonly [WatchedParty, WatchedParty];
let shares: readonly [OpenShare, OpenShare];
/** x_0 and x_1. */
let keyShares: readonly [bigint, bigint];
let walletId: Buffer;
let publicKey: Buffer;

beforeAll(async () => {
  parties = await bench.start();
  await untilReady();
  const made = (await parties[0].ask({ kind: "create", userId: "memory" })) as Record<"walletId" | "publicKey", string>;
  walletId = Buffer.from(made.walletId.replaceAll("-", ""), "hex");
  publicKey = Buffer.from(made.publicKey.slice(2), "hex");
  shares = [await bench.openShare(0, walletId, 1), await bench.openShare(1, walletId, 1)];
  keyShares = [shares[0].share, shares[1].share];
});
afterAll(() => bench.dispose());

async function untilReady(): Promise<void> {
  await vi.waitUntil(async () => (await parties[0].ask({ kind: "ready" })) === null, WAIT);
}

function bytesOf(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex");
}

/**
 * Base64 of it as it comes behind 0, 1 or 2 bytes of a group: 16 letters of the end, whole groups that no neighbour
 * changes.
 */
function base64Of(each: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), each]).toString("base64");
    const whole = Math.floor((before + each.length) / 3) * 4;
    return text.slice(whole - 16, whole);
  });
}

/** Both orders as bytes, as hex in both cases and as base64 at each place in its groups. */
function formsOf(name: string, value: bigint): Needle[] {
  const bytes = bytesOf(value);
  const turned = Buffer.from(bytes).reverse();
  const texts = ([order, each]: readonly [string, Buffer]): Needle[] => [
    [`${name}, hex${order}`, Buffer.from(each.toString("hex")).subarray(-2 * NEEDLE_BYTES)],
    [`${name}, HEX${order}`, Buffer.from(each.toString("hex").toUpperCase()).subarray(-2 * NEEDLE_BYTES)],
    ...base64Of(each).map((text, before): Needle => [`${name}, base64 at ${before}${order}`, Buffer.from(text)]),
  ];
  return [
    [`${name}, bytes`, bytes.subarray(-NEEDLE_BYTES)],
    [`${name}, number`, turned.subarray(-NEEDLE_BYTES)],
    ...[["", bytes] as const, [" turned", turned] as const].flatMap(texts),
  ];
}

const signings = () => bench.signings(shares);
const known = (values: readonly (bigint | null)[]): bigint[] => values.filter((value) => value !== null);

function nonceForms(name: string, party: Party, ofSignings: readonly Signing[]): Needle[] {
  return known(ofSignings.map(({ nonces }) => nonces[party])).flatMap((nonce) => formsOf(name, nonce));
}

/** What party must not have, ever. */
function forbidden(party: Party, ofSignings: readonly Signing[]): Needle[] {
  const other = party === 0 ? 1 : 0;
  return [
    ...formsOf("the joint key", (keyShares[0] + keyShares[1]) % ORDER),
    ...formsOf("the other's share", keyShares[other]),
    ...nonceForms("a nonce share of the other", other, ofSignings),
  ];
}

function found(party: Party, needles: readonly Needle[]): ReadonlyMap<string, number> {
  return countsIn(parties[party].pid, needles);
}

/** A signature in which the party stops with the session open, as this message has come. Returns what `look` does. */
async function whileOpen<Result>(party: Party, name: MessageName, look: () => Result): Promise<Result> {
  await untilReady();
  await parties[party].ask({ kind: "hold", name });
  const signed = parties[0].ask({ kind: "sign", text: `held at ${name}` });
  await vi.waitUntil(() => parties[party].isStopped, WAIT);
  try {
    return look();
  } finally {
    parties[party].go();
    await signed;
  }
}

function filesOf(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    if (statSync(path).isDirectory()) return filesOf(path);
    return statSync(path).isFile() ? [path] : [];
  });
}

const holds = (text: Buffer, needles: readonly Needle[]) =>
  needles.flatMap(([name, bytes]) => (text.includes(bytes) ? [name] : []));

describe.skipIf(process.platform !== "linux")("two-party signing", () => {
  // Where each party stops, and in which forms it has its own share and nonce share there. The record of S is wiped with
  // F3, its numbers are let go of with F5; C holds all of them when F3 comes, and none when F5 comes.
  const stops: readonly (readonly [Party, MessageName, readonly string[]])[] = [
    [0, "f2", ["own share, bytes"]],
    [0, "f4", ["own nonce share, number", "own share, number"]],
    [1, "f3", ["own nonce share, number", "own share, bytes", "own share, number"]],
    [1, "f5", []],
  ];
  for (const [party, name, open] of stops)
    it(`shows party ${party} at ${name.toUpperCase()} what it has open, and nothing of the other's`, async () => {
      const counts = await whileOpen(party, name, () => {
        const nonce = signings().at(-1)?.nonces[party] ?? null;
        return found(party, [
          ...formsOf("own share", keyShares[party]),
          ...(nonce === null ? [] : formsOf("own nonce share", nonce)),
          ...forbidden(party, signings()),
        ]);
      });
      const freed = ["own share, number", "own nonce share, number"];
      expect([...counts.keys()]).toEqual(expect.arrayContaining([...open]));
      expect([...counts.keys()].filter((form) => !open.includes(form) && !freed.includes(form))).toEqual([]);
    });

  it("leaves no buffer of a share, and a counted number of copies as numbers, after a forced collection", async () => {
    await untilReady();
    for (let index = 0; index < SIGNATURES; index++) await parties[0].ask({ kind: "sign", text: `after ${index}` });
    for (const party of PARTIES) {
      const nonces = known(signings().map((signing) => signing.nonces[party]));
      expect(nonces.length).toBeGreaterThan(SIGNATURES);
      const own = [
        ...formsOf("own share", keyShares[party]),
        ...nonces.flatMap((nonce) => formsOf("own nonce shares", nonce)),
      ];
      const needles = [...own, ...forbidden(party, signings())];
      await parties[party].ask({ kind: "collect" });
      const collected = found(party, needles);
      await parties[party].ask({ kind: "fill" });
      const filled = found(party, needles);
      process.stdout.write(
        `memory of party ${party} after ${nonces.length} signatures: ${textOf(collected)}; free memory filled: ${textOf(filled)}\n`,
      );
      expect([...collected.keys()].filter((name) => !name.endsWith("number") || !name.startsWith("own"))).toEqual([]);
      for (const count of collected.values()) expect(count).toBeLessThan(COPIES_MAX);
      expect([...filled.keys()]).toEqual([]);
    }
  });

  it("writes no secret of either party into files or frames, or what it prints", () => {
    for (const party of PARTIES) {
      const needles = [
        ...forbidden(party, signings()),
        ...formsOf("the own share", keyShares[party]),
        ...nonceForms("an own nonce share", party, signings()),
      ];
      const files = filesOf(bench.directoryOf(party));
      expect(files.filter((path) => readFileSync(path).includes(publicKey)).length).toBeGreaterThan(0);
      expect(files.flatMap((path) => holds(readFileSync(path), needles))).toEqual([]);
      expect(holds(bench.wire(), needles)).toEqual([]);
      expect(holds(Buffer.from(parties[party].output), needles)).toEqual([]);
    }
    // The controls: what was sent and printed is in what was searched.
    expect([bench.wire().includes(walletId), bench.wire().includes(shares[0].tag)]).toEqual([true, true]);
    expect(parties.map(({ output }) => output.includes("custody.link_connected"))).toEqual([true, true]);
  });
});

function textOf(counts: ReadonlyMap<string, number>): string {
  return counts.size === 0 ? "none" : [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
}
