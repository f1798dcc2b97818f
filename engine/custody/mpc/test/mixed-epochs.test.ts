/**
 * Shares of two epochs never sign together (docs/mpc.md, section 8 and decision 1): the epoch or its tag refuses them, and
 * where a store lies about both, the checks find it out.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { Party } from "../base/parameters.js";
import { shareContext } from "../state/share-record.js";
import { carry, classOf, Node, plainSealer, type Store, WALLET } from "./link.js";
import { seededRandom } from "./seeded-random.js";

const SEED = "mixed-1";
const INTENT = Buffer.from("t:pay");
/** Of a record (docs/mpc.md, 5.4). */
const EPOCH_AT = 49;
const TAG_AT = 85;
const TAG_BYTES = 32;
const SEALED_AT = 32;

type Stores = readonly [Store, Store];
/** By epoch: 1 and 2. */
const stores = new Map<number, Stores>();
const stored = (epoch: number): Stores => {
  const found = stores.get(epoch);
  if (found === undefined) throw new Error(`no epoch ${epoch}`);
  return found;
};

beforeAll(() => {
  const nodes = [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))] as const;
  carry(nodes, nodes[0].keygen());
  stores.set(1, [nodes[0].copyOfStore(), nodes[1].copyOfStore()]);
  carry(nodes, nodes[0].refresh(0));
  stores.set(2, [nodes[0].copyOfStore(), nodes[1].copyOfStore()]);
  expect(nodes.map(({ ends }) => classOf(ends[1]))).toEqual(["done", "done"]);
});

const sealed = (epoch: number, party: Party): Buffer => {
  const record = stored(epoch)[party].shares.get(epoch);
  if (record === undefined) throw new Error("no record");
  return record;
};

/** The share of epoch `of` in a record and a row that call it `as`, with the tag of `tagOf`. */
function renamed(party: Party, of: number, as: number, tagOf: number): Node {
  const plain = Buffer.from(sealed(of, party).subarray(SEALED_AT));
  const { publicKey } = new Node(party, seededRandom(SEED), undefined, copied(stored(of)[party]));
  if (publicKey === null) throw new Error("no key");
  plain.writeUInt32BE(as, EPOCH_AT);
  plain.set(sealed(tagOf, party).subarray(SEALED_AT + TAG_AT, SEALED_AT + TAG_AT + TAG_BYTES), TAG_AT);
  const name = { walletId: WALLET, party, epoch: as, publicKey };
  const record = Buffer.from(plainSealer.seal(shareContext(name), plain));
  const store: Store = { ...copied(stored(as)[party]), shares: new Map([[as, record]]) };
  return new Node(party, seededRandom(SEED), undefined, store);
}

function copied({ row, shares }: Store): Store {
  return { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
}

function signed(nodes: readonly [Node, Node]): string[] {
  carry(nodes, nodes[0].sign(INTENT));
  expect(nodes[0].released).toEqual([]);
  return nodes.map(({ ends }) => classOf(ends[0]));
}

describe("shares of two epochs", () => {
  // Which epoch each party's share is of, and what both call it.
  const mixes = [
    [1, 2, 1],
    [1, 2, 2],
    [2, 1, 1],
    [2, 1, 2],
  ] as const;

  it("sign where they are of one epoch, each of the two, so that the mix alone is the fault", () => {
    for (const epoch of [1, 2]) {
      const nodes = [renamed(0, epoch, epoch, epoch), renamed(1, epoch, epoch, epoch)] as const;
      carry(nodes, nodes[0].sign(INTENT));
      expect(nodes.map(({ ends }) => classOf(ends[0]))).toEqual(["done", "done"]);
    }
  });

  for (const [service, cosigner] of [
    [1, 2],
    [2, 1],
  ] as const)
    it(`are refused as they are: ${service} and ${cosigner}`, () => {
      const nodes = [renamed(0, service, service, service), renamed(1, cosigner, cosigner, cosigner)] as const;
      expect(signed(nodes)).toEqual(["refused EPOCH", "refused EPOCH"]);
    });

  for (const [service, cosigner, as] of mixes) {
    it(`are refused by their tags where both are called ${as}: ${service} and ${cosigner}`, () => {
      const nodes = [renamed(0, service, as, service), renamed(1, cosigner, as, cosigner)] as const;
      expect(signed(nodes)).toEqual(["refused TAG", "refused TAG"]);
    });

    it(`are a cheat where both are called ${as} and have its tag: ${service} and ${cosigner}`, () => {
      const nodes = [renamed(0, service, as, as), renamed(1, cosigner, as, as)] as const;
      expect(signed(nodes)).toContain("cheat");
      expect(nodes.some(({ row }) => row?.status === "frozen")).toBe(true);
    });
  }
});
