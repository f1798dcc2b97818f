/**
 * The tamper matrix of key generation and refresh: every field of docs/mpc.md, 8.7, with a bit flipped in its first,
 * its middle and its last byte by a peer. Nothing of a run that failed is kept, nothing freezes, and a wallet that was
 * there signs on.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import type { Message } from "../wire/header.js";
import { kindOfType } from "../wire/message-types.js";
import { carry, classOf, Node, reconnect, type Store, type Tamper } from "./link.js";
import { seededRandom } from "./seeded-random.js";
import {
  type Field,
  flipped,
  KEYGEN_FIELDS,
  offsetOf,
  POSITIONS,
  type Position,
  REFRESH_FIELDS,
} from "./tamper-table.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const SEED = "tamper-2";
type Nodes = readonly [Node, Node];
let stores: readonly [Store, Store];
const counts = new Map<string, number>();

function nameOf(message: Message): string {
  return kindOfType(message.header.type)?.name ?? "none";
}

function fresh(): Nodes {
  return [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))];
}

function wallet(): Nodes {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom(SEED), undefined, store);
  };
  return [node(0), node(1)];
}

beforeAll(() => {
  const nodes = fresh();
  carry(nodes, nodes[0].keygen());
  expect(classOf(nodes[0].ends[0])).toBe("done");
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});

afterAll(() => {
  process.stdout.write(
    `tampered key generations and refreshes: ${[...counts].map(([name, found]) => `${name} ${found}`).join(", ")}\n`,
  );
});

function once(name: string, make: (message: Message) => readonly Message[]): Tamper {
  let isDone = false;
  return (message) => {
    if (isDone || nameOf(message) !== name) return [message];
    isDone = true;
    return make(message);
  };
}

function receiverOf(name: string): Party {
  return nameIsOfService(name) ? 1 : 0;
}

function nameIsOfService(name: string): boolean {
  return name === "activate" || Number(name.slice(2)) % 2 === 1;
}

interface Outcome {
  readonly nodes: Nodes;
  readonly isLegal: boolean;
}

function run(table: readonly Field[], field: Field, position: Position): Outcome {
  let isLegal = true;
  const tamper = once(field.message, (message) => {
    const made = flipped(message.body, offsetOf(table, field), field, position);
    isLegal = made.isLegal;
    return [{ header: message.header, body: made.changed }];
  });
  const isKeygen = table === KEYGEN_FIELDS;
  const nodes = isKeygen ? fresh() : wallet();
  carry(nodes, isKeygen ? nodes[0].keygen() : nodes[0].refresh(0), tamper);
  return { nodes, isLegal };
}

function count(name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function expectClass({ nodes, isLegal }: Outcome, field: Field): void {
  const at = isLegal ? field.at : receiverOf(field.message);
  const expected = isLegal ? field.good : "violation";
  // A wrong X is noticed by S at resp where the bit of Delta is 1, by C at open otherwise.
  const first = field.name === "X" ? firstEnd(nodes) : classOf(nodes[at].ends[0]);
  expect(first).toBe(expected);
  count(expected);
}

function firstEnd(nodes: Nodes): string {
  const own = nodes.map(({ ends }) => ends[0]).filter((end) => end?.kind === "failed" && end.by === "self");
  expect(own.length).toBe(1);
  return classOf(own[0]);
}

describe("a key generation with one bit flipped", () => {
  for (const field of KEYGEN_FIELDS)
    it(`in ${field.name} of ${field.message} is a violation, and no wallet is acknowledged`, () => {
      for (const position of POSITIONS) {
        const outcome = run(KEYGEN_FIELDS, field, position);
        expectClass(outcome, field);
        const { nodes } = outcome;
        const isDecided = field.message === "activate" || field.message === "activated";
        expect(nodes[0].acknowledged).toBeNull();
        reconnect(nodes);
        expect(nodes.map(({ row }) => row?.status)).toEqual(isDecided ? ["active", "active"] : [undefined, undefined]);
        for (const node of nodes) expect(node.store.shares.size).toBe(isDecided ? 1 : 0);
      }
    });
});

describe("a refresh with one bit flipped", () => {
  // What their bits mean depends on their place.
  const isNumber = ({ name }: Field) => name === "mode" || name === "ctr";
  for (const field of REFRESH_FIELDS.filter((each) => !isNumber(each)))
    it(`in ${field.name} of ${field.message} is ${field.good}, and a whole epoch signs on`, () => {
      for (const position of POSITIONS) {
        const outcome = run(REFRESH_FIELDS, field, position);
        expectClass(outcome, field);
        const isDecided = field.message === "activate" || field.message === "activated";
        expectSignsOn(outcome.nodes, isDecided ? 2 : 1);
      }
    });

  for (const field of REFRESH_FIELDS.filter(isNumber))
    it(`in ${field.name} of ${field.message} is refused, or a violation`, () => {
      // A mode above 2 is none; a counter near the own goes into the transcript, and is noticed at its end.
      const classes =
        field.name === "mode"
          ? { first: "violation", middle: "violation", last: "refused STATE" }
          : { first: "refused CTR", middle: "refused CTR", last: "violation" };
      for (const position of POSITIONS) {
        const { nodes } = run(REFRESH_FIELDS, field, position);
        expect(classOf(nodes[field.at].ends[0]), position).toBe(classes[position]);
        count(classes[position]);
        expectSignsOn(nodes, 1);
      }
    });

  it("in the mode is refused, or a violation above 2", () => {
    for (const [mode, expected] of [
      [1, "refused STATE"],
      [2, "refused STATE"],
      [3, "violation"],
      [255, "violation"],
    ] as const) {
      const nodes = wallet();
      const tamper = once("rf1", (message) => {
        const body = Buffer.from(message.body);
        body.writeUInt8(mode, 80);
        return [{ header: message.header, body }];
      });
      carry(nodes, nodes[0].refresh(0), tamper);
      expect(classOf(nodes[1].ends[0]), `mode ${mode}`).toBe(expected);
      count(expected);
      expectSignsOn(nodes, 1);
    }
  });

  it("in a ctr is refused above 2^20, and otherwise ends before the new epoch is active", () => {
    for (const name of ["rf1", "rf2"])
      for (const [ctr, expected] of [
        [2n ** 21n, "refused CTR"],
        [5n, "violation"],
      ] as const) {
        const nodes = wallet();
        const tamper = once(name, (message) => {
          const body = Buffer.from(message.body);
          body.writeBigUInt64BE(ctr, 32);
          return [{ header: message.header, body }];
        });
        carry(nodes, nodes[0].refresh(0), tamper);
        expect([classOf(nodes[0].ends[0]), classOf(nodes[1].ends[0])], `${name} ${ctr}`).toContain(expected);
        count(expected);
        expectSignsOn(nodes, 1);
      }
  });
});

describe("a key generation", () => {
  it("that mirrors the other's share and proof is refused", () => {
    const nodes = fresh();
    let reveal: Buffer | null = null;
    carry(nodes, nodes[0].keygen(), (message) => {
      if (nameOf(message) === "kg3") reveal = Buffer.from(message.body.subarray(32));
      if (nameOf(message) !== "kg4" || reveal === null) return [message];
      return [{ header: message.header, body: Buffer.concat([reveal, message.body.subarray(260)]) }];
    });
    expect(classOf(nodes[0].ends[0])).toBe("violation");
    expect(nodes.map(({ row }) => row)).toEqual([null, null]);
  });
});

describe("a cheat in the test signature", () => {
  // com_C of F2, U of F3, tau of F4, u of F5; who notices each.
  const CHEATS = [
    ["f2", 72, 0],
    ["f3", 100, 1],
    ["f4", 33 + 32 + 64, 0],
    ["f5", 31, 1],
  ] as const;
  for (const [name, at, party] of CHEATS) {
    const tamper = () =>
      once(name, ({ header, body }) => {
        const changed = Buffer.from(body);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        return [{ header, body: changed }];
      });

    it(`(${name} of a creation) ends the attempt on both sides, and nothing is frozen`, () => {
      const nodes = fresh();
      carry(nodes, nodes[0].keygen(), tamper());
      expect(classOf(nodes[party].ends[0])).toBe("cheat");
      expect(nodes[0].acknowledged).toBeNull();
      expect(reconnect(nodes)).toBe("settled");
      expect(nodes.map(({ row, store }) => [row, store.shares.size])).toEqual([
        [null, 0],
        [null, 0],
      ]);
      count("cheat in a creation");
    });

    it(`(${name} of a refresh) freezes the wallet at the epoch that was, and an unfreeze heals it`, () => {
      const nodes = wallet();
      carry(nodes, nodes[0].refresh(0), tamper());
      expect(classOf(nodes[party].ends[0])).toBe("cheat");
      expect(nodes[party].row).toMatchObject({ status: "frozen", activeEpoch: 1, preparedEpoch: 0 });
      nodes[party === 0 ? 1 : 0].freezeNotice(1);
      for (const node of nodes) node.restart();
      expect(reconnect(nodes)).toBe("settled");
      for (const { row, store } of nodes) {
        expect(row).toMatchObject({ status: "frozen", activeEpoch: 1, preparedEpoch: 0 });
        expect([...store.shares.keys()]).toEqual([1]);
      }
      carry(nodes, nodes[0].sign(Buffer.from("t:no more")));
      expect(nodes[0].released).toEqual([]);
      nodes[1].approved = 1;
      carry(nodes, nodes[0].refresh(1));
      expectSignsOn(nodes, 2);
      count("cheat in a refresh");
    });
  }
});

function expectSignsOn(nodes: Nodes, epoch: number): void {
  expect(nodes.every(({ row }) => row?.status !== "frozen")).toBe(true);
  expect(reconnect(nodes)).toBe("settled");
  expect(nodes.map(({ row }) => row?.activeEpoch)).toEqual([epoch, epoch]);
  const released = nodes[0].released.length;
  carry(nodes, nodes[0].sign(Buffer.from("t:after")));
  expect(nodes[0].released.length).toBe(released + 1);
}
