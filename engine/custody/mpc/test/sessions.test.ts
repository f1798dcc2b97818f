/** Both parties' sessions over an honest network: a key is made, signs, is refreshed and signs on with one address. */
import { createRequire } from "node:module";
import { recoverAddress } from "viem";
import { beforeAll, describe, expect, it } from "vitest";
import { addressOf, decodePoint } from "../base/point.js";
import { sha256 } from "../base/hash.js";
import known from "./known-answers.json" with { type: "json" };
import { carry, classOf, digestOf, Node, problemOf } from "./link.js";
import { seededRandom } from "./seeded-random.js";

const native = createRequire(import.meta.url)("secp256k1") as typeof import("secp256k1");
const SEED = "sessions-1";
const nodes = [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))] as const;
const [service, cosigner] = nodes;

function intent(text: string): Buffer {
  return Buffer.from(`t:${text}`);
}

function address(): `0x${string}` {
  const key = service.publicKey ?? service.acknowledged;
  if (key === null) throw new Error("no key");
  return `0x${addressOf(decodePoint(key, "P")).toString("hex")}`;
}

async function expectSigned(text: string): Promise<void> {
  const before = service.released.length;
  carry(nodes, service.sign(intent(text)));
  expect([classOf(service.ends.at(-1)), classOf(cosigner.ends.at(-1))]).toEqual(["done", "done"]);
  expect(service.released.length).toBe(before + 1);
  const signature = service.released.at(-1);
  if (signature === undefined) throw new Error("no signature");
  const { bytes, recoveryId } = signature;
  const digest = digestOf(intent(text));
  const hash = `0x${digest.toString("hex")}` as const;
  const hex = `0x${bytes.toString("hex")}${recoveryId === 0 ? "1b" : "1c"}` as const;
  expect((await recoverAddress({ hash, signature: hex })).toLowerCase()).toBe(address());
  const key = service.acknowledged;
  expect(key !== null && Buffer.from(native.ecdsaRecover(bytes, recoveryId, digest)).equals(key)).toBe(true);
}

describe("two parties over an honest network", () => {
  beforeAll(() => {
    carry(nodes, service.keygen());
  });

  it("make a key, acknowledged when all is durable and the test signature is verified", () => {
    expect(service.ends.map(problemOf).filter((problem) => problem !== null)).toEqual([]);
    expect(cosigner.ends.map(problemOf).filter((problem) => problem !== null)).toEqual([]);
    expect([classOf(service.ends[0]), classOf(cosigner.ends[0])]).toEqual(["done", "done"]);
    expect(service.log.filter((entry) => !entry.startsWith("send 1") && entry !== "end")).toEqual([
      "commit",
      "backup",
      "commit",
      "send 30",
      "send 32",
      "send 34",
      "commit",
      "acknowledge",
    ]);
    expect(service.log.slice(-3)).toEqual(["send 1a", "acknowledge", "end"]);
    expect(cosigner.log).toEqual(
      [
        "send 11",
        "send 13",
        "send 15",
        "send 17",
        "commit",
        "backup",
        "send 19",
        "commit",
        "send 31",
        "send 33",
      ].concat(["commit", "send 35", "commit", "send 1b", "end"]),
    );
    const [ofService, ofCosigner] = nodes.map((node) => node.openShare(1).delta);
    expect(ofService?.equals(ofCosigner ?? Buffer.alloc(0))).toBe(false);
    expect(service.row).toMatchObject({ status: "active", activeEpoch: 1, ctr: 1n, openAborts: 0, sessions: 0 });
    expect(cosigner.row).toMatchObject({ status: "active", activeEpoch: 1, ctr: 1n, openAborts: 0, sessions: 0 });
  });

  it("sign, with the ctr durable before the first byte left, and count no abort", async () => {
    for (const text of ["a", "b", "a"]) await expectSigned(text);
    expect(service.row).toMatchObject({ ctr: 4n, peerCtr: 4n, openAborts: 0, sessions: 3 });
    expect(cosigner.row).toMatchObject({ ctr: 4n, openAborts: 0, sessions: 3 });
    expect(new Set(service.released.map(({ r }) => r)).size).toBe(service.released.length);
  });

  it("refresh the shares and sign with the same address", async () => {
    const before = nodes.map(({ store }) => store.shares.get(1));
    carry(nodes, service.refresh(0));
    expect(service.ends.map(problemOf).filter((problem) => problem !== null)).toEqual([]);
    expect([classOf(service.ends.at(-1)), classOf(cosigner.ends.at(-1))]).toEqual(["done", "done"]);
    for (const node of nodes) {
      expect(node.row).toMatchObject({ status: "active", activeEpoch: 2, keptEpoch: 0, sessions: 0, openAborts: 0 });
      expect([...node.store.shares.keys()]).toEqual([2]);
      expect(node.store.backups.length).toBe(2);
    }
    for (const [index, node] of nodes.entries()) {
      expect(keptBlocks(before[index], node.store.shares.get(2))).toEqual([]);
      expect(keptBlocks(before[index], before[index])).toHaveLength(BLOCKS);
    }
    await expectSigned("after");
  });

  it("refuse what the policy refuses, before anything is spent", () => {
    const { ctr } = cosigner.row ?? { ctr: 0n };
    carry(nodes, service.sign(intent("no")));
    expect([classOf(service.ends.at(-1)), classOf(cosigner.ends.at(-1))]).toEqual(["refused POLICY", "refused POLICY"]);
    expect(cosigner.row?.ctr).toBe(ctr);
    carry(nodes, service.sign(intent("other"), digestOf(intent("not this"))));
    expect(classOf(service.ends.at(-1))).toBe("refused DIGEST");
    carry(nodes, service.sign(intent("bad")));
    expect(classOf(service.ends.at(-1))).toBe("refused POLICY");
  });
});

it("sessions give the known answers of the page: tag, transcript of the test signature, signature", () => {
  const pair = [new Node(0, seededRandom("kat-1")), new Node(1, seededRandom("kat-1"))] as const;
  const bodies = new Map<number, string>();
  carry(pair, pair[0].keygen(), (message) => {
    bodies.set(message.header.type, sha256(message.body).toString("hex"));
    if (message.header.type === 0x35) bodies.set(0x35, Buffer.from(message.body).toString("hex"));
    return [message];
  });
  expect(pair[0].peek(1).tag.toString("hex")).toBe(known.tag);
  const flights = [0x31, 0x32, 0x33, 0x34, 0x35].map((type) => bodies.get(type));
  expect(flights).toEqual([known.F2, known.F3, known.F4, known.F5, known.F6]);
});

/** Of 24,920 bytes: sid, tag and share; both public shares; seeds, Delta and pads. Suite, names and P stay, before and between. */
const FIELDS = [
  [53, 149],
  [183, 215],
  [216, 248],
  [248, 24_920],
] as const;
const BLOCKS = FIELDS.reduce((sum, [from, to]) => sum + (to - from) / 32, 0);

/** Blocks of 32 bytes of the old record that are anywhere in the new one. */
function keptBlocks(old: Buffer | undefined, made: Buffer | undefined): readonly number[] {
  if (old === undefined || made === undefined) throw new Error("no record");
  const plain = old.subarray(32);
  const starts = FIELDS.flatMap(([from, to]) => Array.from({ length: (to - from) / 32 }, (_, at) => from + 32 * at));
  return starts.filter((at) => made.includes(plain.subarray(at, at + 32)));
}
