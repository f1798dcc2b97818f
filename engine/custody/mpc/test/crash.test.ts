/**
 * The crash matrix: either party is killed before and after each effect of a creation, a refresh and a signature; both
 * meet again by the rules of section 11. Then the wallet signs, or there is none; never a second address.
 *
 * The short form kills party 0 after every odd effect and party 1 after every even one, and before each durable one;
 * `MPC_RUNS=1000` runs it whole.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { otherParty, type Party } from "../base/parameters.js";
import type { Effect } from "../sessions/effects.js";
import type { Message } from "../wire/header.js";
import { kindOfType } from "../wire/message-types.js";
import {
  carry,
  classOf,
  copyOf,
  HONEST,
  Killed,
  Node,
  type Outbound,
  reconnect,
  type Store,
  type Tamper,
} from "./link.js";
import { seededRandom } from "./seeded-random.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const SEED = "crash-1";
/** The long form kills after each effect with the last message lost too, which is nearly the kill before the next one. */
const RUNS = Number(process.env["MPC_RUNS"] ?? 8);
const IS_LONG = process.env["MPC_RUNS"] !== undefined;
type Way = readonly [before: boolean, arrives: boolean];
const WAYS: readonly Way[] = [[true, false], [false, true], ...(IS_LONG ? [[false, false] as const] : [])];
type Nodes = readonly [Node, Node];
type Act = "creation" | "refresh" | "unfreeze" | "signature";
let stores: readonly [Store, Store];
let publicKey: Buffer;
const counts = new Map<string, number>();

function count(name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function node(party: Party, seed: string, store?: Store): Node {
  return new Node(party, seededRandom(seed), undefined, store);
}

function wallet(): Nodes {
  const copy = ({ row, shares }: Store): Store => ({
    row: row === null ? null : Buffer.from(row),
    ...{ shares: new Map(shares), backups: [] },
  });
  return [node(0, SEED, copy(stores[0])), node(1, SEED, copy(stores[1]))];
}

function nodesFor(act: Act): Nodes {
  if (act === "creation") return [node(0, SEED), node(1, SEED)];
  const nodes = wallet();
  if (act === "unfreeze") {
    for (const each of nodes) each.freezeNotice(1);
    nodes[1].approved = 1;
  }
  return nodes;
}

function begin(nodes: Nodes, act: Act): Outbound[] {
  if (act === "creation") return nodes[0].keygen();
  if (act === "signature") return nodes[0].sign(Buffer.from("t:kill"));
  return nodes[0].refresh(act === "unfreeze" ? 1 : 0);
}

function isDurable({ kind }: Effect): boolean {
  return kind === "commit" || kind === "backup" || kind === "freeze";
}

/** Kills `party` at its `at`-th effect; true: it was. What it sent before its death arrives, or is lost with it. */
function runKilled(nodes: Nodes, act: Act, party: Party, at: number, before: boolean, arrives: boolean): boolean {
  const victim = nodes[party];
  const sent: Outbound[] = [];
  let seen = 0;
  victim.onEffect = (isBefore: boolean, effect: Effect) => {
    if (!isBefore && effect.kind === "send") sent.push({ from: party, message: copyOf(effect.message) });
    // A kill before a message is the kill after what came before it, so the short form leaves it out.
    const counts = isBefore === before && (IS_LONG || !before || isDurable(effect));
    if (counts) seen++;
    if (counts && seen === at) throw new Killed();
    if (!isBefore && effect.kind === "end") sent.length = 0;
  };
  try {
    carry(nodes, begin(nodes, act));
    return false;
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
  victim.onEffect = () => {};
  victim.restart();
  const last = sent.at(-1);
  if (arrives && !before && last !== undefined) nodes[otherParty(party)].take(last.message);
  return true;
}

function expectTruth(nodes: Nodes, act: Act, name: string): string {
  const verdict = reconnect(nodes);
  expect(verdict, name).toBe("settled");
  const [service, cosigner] = nodes;
  expect(service.row?.activeEpoch, name).toBe(cosigner.row?.activeEpoch);
  if (service.row === null) {
    expect(act, name).toBe("creation");
    expect(service.acknowledged, name).toBeNull();
    for (const each of nodes) expect(each.store.shares.size, name).toBe(0);
    return "no wallet";
  }
  for (const each of nodes) {
    expect([...each.store.shares.keys()], name).toEqual([service.row.activeEpoch]);
    expect(each.peek(service.row.activeEpoch).publicKey.equals(publicKey), name).toBe(true);
  }
  if (service.row.status === "frozen") {
    expect(act, name).toBe("unfreeze");
    expect(cosigner.row?.status, name).toBe("frozen");
    return "frozen";
  }
  const released = service.released.length;
  carry(nodes, service.sign(Buffer.from("t:after")));
  expect([classOf(service.ends.at(-1)), service.released.length - released], name).toEqual(["done", 1]);
  return `signs at epoch ${service.row?.activeEpoch}`;
}

beforeAll(() => {
  const nodes = nodesFor("creation");
  carry(nodes, nodes[0].keygen());
  publicKey = nodes[0].acknowledged ?? Buffer.alloc(0);
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});

afterAll(() => {
  process.stdout.write(`kills: ${[...counts].map(([name, found]) => `${name} ${found}`).join(", ")}\n`);
});

describe("a party that is killed at any effect of", () => {
  for (const act of ["creation", "refresh", "unfreeze", "signature"] as const)
    for (const party of [0, 1] as const)
      it(`a ${act}, party ${party}, leaves a wallet that signs, or stays frozen, or none`, () => {
        for (const [before, arrives] of act === "unfreeze" ? WAYS.slice(1) : WAYS)
          for (let at = 1; at < 60; at++) {
            if (!IS_LONG && !before && at % 2 === party) continue;
            const nodes = nodesFor(act);
            if (!runKilled(nodes, act, party, at, before, arrives)) {
              expect(at).toBeGreaterThan(before ? 1 : 4);
              break;
            }
            const found = expectTruth(nodes, act, `${act} ${party} ${before ? "before" : "after"} ${at}`);
            count(`${act}: ${found}`);
          }
      });
});

describe("selective failures", () => {
  const flipU: Tamper = (message) => {
    if (kindOfType(message.header.type)?.name !== "f2") return [message];
    const body = Buffer.from(message.body);
    body.writeUInt8(body.readUInt8(200) ^ 1, 200);
    return [{ header: message.header, body }];
  };

  it("cost the cheat the wallet: after one failed check nothing signs, from the restored rows neither", () => {
    const nodes = wallet();
    carry(nodes, nodes[0].sign(Buffer.from("t:pay")), flipU);
    expect(classOf(nodes[0].ends[0])).toBe("cheat");
    for (let start = 0; start < 3; start++) {
      nodes[0].restart();
      carry(nodes, nodes[0].sign(Buffer.from("t:pay")), HONEST);
      expect(nodes[0].released).toEqual([]);
    }
    expect(reconnect(nodes)).toBe("settled");
    expect(nodes.map(({ row }) => row?.status)).toEqual(["frozen", "frozen"]);
  });

  it("behind which the process dies are ten in an epoch, whatever was signed between", () => {
    const nodes = wallet();
    for (let kill = 0; kill < 10; kill++) {
      expect(nodes[0].row?.openAborts).toBe(kill);
      nodes[0].onEffect = (before, effect) => {
        if (before && effect.kind === "freeze") throw new Killed();
      };
      expect(() => carry(nodes, nodes[0].sign(Buffer.from("t:pay")), flipU)).toThrow(Killed);
      nodes[0].onEffect = () => {};
      nodes[0].restart();
      reconnect(nodes);
      if (kill % 3 === 0) {
        carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
        // The ctr row counts ahead: the next commit or an orderly stop writes what was taken back in memory.
        if (nodes[0].row !== null && kill < 9) nodes[0].commit(nodes[0].row, [], null);
      }
    }
    const released = nodes[0].released.length;
    carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
    expect(nodes[0].released.length).toBe(released);
    expect(nodes[0].row?.status).toBe("refreshDue");
    carry(nodes, nodes[0].refresh(0));
    expect(nodes[0].row).toMatchObject({ status: "active", activeEpoch: 2, openAborts: 0 });
    carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
    expect(nodes[0].released.length).toBe(released + 1);
  });
});

describe("a store that is put back", () => {
  for (const party of [0, 1] as const)
    it(`at party ${party} is noticed by the next session, refreshed, and signs on`, () => {
      const nodes = wallet();
      const old = nodes[party].copyOfStore();
      for (let round = 0; round < 3; round++) carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
      expect(nodes[0].released.length).toBe(3);
      const back: Nodes = party === 0 ? [node(0, SEED, old), nodes[1]] : [nodes[0], node(1, SEED, old)];
      carry(back, back[0].sign(Buffer.from("t:pay")));
      expect(classOf(back[0].ends.at(-1))).toBe("refused CTR");
      expect(back[0].row?.status).toBe("refreshDue");
      carry(back, back[0].refresh(0));
      expect(back[0].row).toMatchObject({ status: "active", activeEpoch: 2 });
      const released = back[0].released.length;
      carry(back, back[0].sign(Buffer.from("t:pay")));
      expect(back[0].released.length).toBe(released + 1);
    });
});

describe("a network that reorders, loses, doubles and cuts", () => {
  it("gives a signature or none, never an exception, and never a freeze", () => {
    const fate = fc.constantFrom(...Array<string>(25).fill("pass"), "lose", "double", "cut", "hold", "old");
    let signed = 0;
    fc.assert(
      fc.property(fc.array(fate, { minLength: 6, maxLength: 14 }), (fates) => {
        const nodes = wallet();
        let [held, old]: [Message | null, Message | null] = [null, null];
        let at = 0;
        for (let attempt = 0; attempt < 2; attempt++) {
          carry(nodes, nodes[0].sign(Buffer.from("t:pay")), (message) => {
            const what = fates[at++] ?? "pass";
            const out = [message];
            if (what === "lose") out.length = 0;
            if (what === "double") out.push(copyOf(message));
            if (what === "cut") {
              const body = message.body.subarray(0, message.body.byteLength >> 1);
              out[0] = { header: { ...message.header, length: body.byteLength }, body };
            }
            if (what === "old" && old !== null) out.unshift(copyOf(old));
            if (held !== null) out.push(held);
            held = what === "hold" ? copyOf(message) : null;
            if (what === "hold") out.length = 0;
            old = copyOf(message);
            return out;
          });
          for (const each of nodes) if (each.session !== null) each.run(each.session.end("deadline"));
        }
        expect(nodes.every(({ row }) => row?.status !== "frozen")).toBe(true);
        expect(nodes.flatMap(({ ends }) => ends).map(classOf)).not.toContain("fault");
        signed += nodes[0].released.length;
        carry(nodes, nodes[0].sign(Buffer.from("t:after")));
        expect(classOf(nodes[0].ends.at(-1))).toBe("done");
      }),
      { numRuns: RUNS },
    );
    counts.set(`signatures of ${2 * RUNS} attempts over a bad network`, signed);
    expect(signed).toBeGreaterThan(0);
  });
});
