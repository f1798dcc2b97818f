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

/** Both orders as bytes, as hex in both cases and as base64; only whole groups of base64, which no neighbour changes. */
function formsOf(name: string, value: bigint): Needle[] {
  const bytes = bytesOf(value);
  const turned = Buffer.from(bytes).reverse();
  const texts = ([order, each]: readonly [string, Buffer]): Needle[] => [
    [`${name}, hex${order}`, Buffer.from(each.toString("hex")).subarray(-2 * NEEDLE_BYTES)],
    [`${name}, HEX${order}`, Buffer.from(each.toString("hex").toUpperCase()).subarray(-2 * NEEDLE_BYTES)],
    [`${name}, base64${order}`, Buffer.from(each.toString("base64").slice(20, 40))],
  ];
  return [
    [`${name}, bytes`, bytes.subarray(-NEEDLE_BYTES)],
    [`${name}, number`, turned.subarray(-NEEDLE_BYTES)],
    ...[["", bytes] as const, [" turned", turned] as const].flatMap(texts),
  ];
}

const known = (values: readonly (bigint | null)[]): bigint[] => values.filter((value) => value !== null);

function nonceForms(name: string, party: Party, signings: readonly Signing[]): Needle[] {
  return known(signings.map(({ nonces }) => nonces[party])).flatMap((nonce) => formsOf(name, nonce));
}

/** What party must not have, ever. */
function forbidden(party: Party, signings: readonly Signing[]): Needle[] {
  const other = party === 0 ? 1 : 0;
  return [
    ...formsOf("the joint key", (keyShares[0] + keyShares[1]) % ORDER),
    ...formsOf("the other's share", keyShares[other]),
    ...nonceForms("a nonce share of the other", other, signings),
  ];
}

function found(party: Party, needles: readonly Needle[]): ReadonlyMap<string, number> {
  return countsIn(parties[party].pid, needles);
}

/** A signature in which the party stops with the session open, as this message has come. Returns what `look` does. */
async function whileOpen<Result>(party: Party, name: MessageName, look: () => Result): Promise<Result> {
  await untilReady();
  await parties[party].ask({ kind: "hold", name });
  // The deadline of the session may pass meanwhile: how the signature ends says nothing here.
  const signed = parties[0].ask({ kind: "sign", text: `held at ${name}` }).catch(() => null);
  await vi.waitUntil(() => parties[party].isStopped, WAIT);
  try {
    return look();
  } finally {
    parties[party].go();
    await signed;
  }
}

/** Of the session that is under way: the last one of which a nonce is known. */
function lastOf(signings: readonly Signing[], party: Party): bigint {
  const nonce = signings.at(-1)?.nonces[party];
  if (nonce === null || nonce === undefined) throw new Error("no nonce share");
  return nonce;
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
  const opened: readonly (readonly [Party, MessageName, MessageName])[] = [
    [0, "f2", "f4"],
    [1, "f3", "f5"],
  ];
  for (const [party, early, late] of opened)
    it(`shows party ${party} its own share and nonce while they are open, and nothing of the other's`, async () => {
      await parties[0].ask({ kind: "sign", text: "before" });
      const own = formsOf("the own share", keyShares[party]);
      // The record is open, a buffer of ours.
      const first = await whileOpen(party, early, () => {
        const signings = bench.signings(shares);
        return [found(party, own), found(party, forbidden(party, signings))] as const;
      });
      expect(first[0].get("the own share, bytes") ?? 0).toBeGreaterThan(0);
      expect([...first[1].keys()]).toEqual([]);
      // The record is wiped; share and nonce share are numbers.
      const second = await whileOpen(party, late, () => {
        const signings = bench.signings(shares);
        const nonce = formsOf("the own nonce share", lastOf(signings, party));
        return [found(party, [...own, ...nonce]), found(party, forbidden(party, signings))] as const;
      });
      const names = [...second[0].keys()].sort();
      expect(names).toEqual(["the own nonce share, number", "the own share, number"]);
      expect([...second[1].keys()]).toEqual([]);
    });

  it("leaves no buffer of a share, and a counted number of copies as numbers, after a forced collection", async () => {
    await untilReady();
    for (let index = 0; index < SIGNATURES; index++) await parties[0].ask({ kind: "sign", text: `after ${index}` });
    for (const party of PARTIES) {
      const signings = bench.signings(shares);
      expect(known(signings.map(({ nonces }) => nonces[party])).length).toBeGreaterThan(SIGNATURES);
      const own = [
        ...formsOf("the own share", keyShares[party]),
        ...nonceForms("an own nonce share", party, signings),
      ];
      const before = found(party, own);
      await parties[party].ask({ kind: "collect" });
      const after = found(party, own);
      await parties[party].ask({ kind: "fill" });
      const filled = found(party, own);
      process.stdout.write(
        `memory of party ${party}: before ${textOf(before)}; after a collection ${textOf(after)}; filled ${textOf(filled)}\n`,
      );
      expect([...after.keys()].filter((name) => !name.endsWith("number"))).toEqual([]);
      expect([...found(party, forbidden(party, signings)).keys()]).toEqual([]);
    }
  });

  it("writes no secret of either party into files or frames, or what it prints", () => {
    const signings = bench.signings(shares);
    for (const party of PARTIES) {
      const needles = [
        ...forbidden(party, signings),
        ...formsOf("the own share", keyShares[party]),
        ...nonceForms("an own nonce share", party, signings),
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
