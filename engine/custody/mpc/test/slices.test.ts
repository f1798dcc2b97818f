/**
 * A long step of a key generation or a refresh that is ended at any of its stops: nothing of it is left at either party,
 * both agree on the wallet, and what comes next is as if it had never begun (docs/mpc.md, 8.6).
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { otherParty, type Party } from "../base/parameters.js";
import type { EndCause } from "../sessions/effects.js";
import { ServiceError } from "../../../domain/errors.js";
import type { Message } from "../wire/header.js";
import { carry, classOf, Node, reconnect, type Session, type Store } from "./link.js";
import { seededRandom } from "./seeded-random.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const taken = vi.hoisted(() => ({ buffers: [] as Buffer[] }));
vi.mock("../../sealing/secret-bytes.js", async (original) => {
  const real = await original<typeof import("../../sealing/secret-bytes.js")>();
  const secretBuffer = (byteLength: number) => {
    const buffer = real.secretBuffer(byteLength);
    taken.buffers.push(buffer);
    return buffer;
  };
  return { ...real, secretBuffer };
});

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const SEED = "slices-1";
const CAUSES: readonly EndCause[] = ["deadline", "lost", "stopped", "freeze notice", "store failed"];
type Nodes = readonly [Node, Node];
let stores: readonly [Store, Store];
/** Buffers that held something at the stops where a session was ended. */
let writtenAtStops = 0;

const written = () => taken.buffers.filter((buffer) => buffer.some((byte) => byte !== 0)).length;

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

const FLOWS = {
  "key generation": { make: fresh, start: (nodes: Nodes) => nodes[0].keygen() },
  refresh: { make: wallet, start: (nodes: Nodes) => nodes[0].refresh(0) },
} as const;
type FlowName = keyof typeof FLOWS;

/** The stops of a whole run at each party. */
let stops: Readonly<Record<FlowName, readonly Party[]>>;

beforeAll(() => {
  const nodes = fresh();
  const stopsOf = (flow: FlowName, over: Nodes): Party[] => {
    const seen: Party[] = [];
    for (const node of over)
      node.onStop = () => {
        seen.push(node.party);
        return null;
      };
    carry(over, FLOWS[flow].start(over));
    expect(over.map(({ ends }) => classOf(ends.at(-1)))).toEqual(["done", "done"]);
    return seen;
  };
  const ofKeygen = stopsOf("key generation", nodes);
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
  stops = { "key generation": ofKeygen, refresh: stopsOf("refresh", wallet()) };
});

/** Ends the session whose step makes the stop of this number, counted over both parties. */
function endedAt(flow: FlowName, stop: number, cause: EndCause): { readonly nodes: Nodes; readonly ender: Party } {
  const nodes = FLOWS[flow].make();
  taken.buffers.length = 0;
  let seen = 0;
  let ender: Party | null = null;
  for (const node of nodes)
    node.onStop = (session: Session) => {
      if (seen++ !== stop) return null;
      ender = node.party;
      writtenAtStops += written();
      return session.end(cause);
    };
  carry(nodes, FLOWS[flow].start(nodes));
  if (ender === null) throw new Error("no such stop");
  return { nodes, ender };
}

const expected: Readonly<Record<EndCause, string>> = {
  deadline: "transport",
  lost: "transport",
  stopped: "transport",
  "freeze notice": "frozen by peer",
  "store failed": "fault",
};

describe.each(Object.keys(FLOWS) as FlowName[])("a %s", (flow) => {
  it("stops in its third, fourth and fifth flight, so often that no stretch holds more than a few products", () => {
    const sides = stops[flow];
    // 16 stretches of points, and 4 of decoding with 64 of products, at each party.
    for (const party of [0, 1] as const)
      expect(sides.filter((each) => each === party).length).toBeGreaterThanOrEqual(16 + 4 + 64);
    expect(sides.indexOf(0)).toBeGreaterThan(16);
  });

  it("that is ended at any stop leaves nothing in memory, and both parties with what they had", () => {
    writtenAtStops = 0;
    for (const stop of stops[flow].keys()) {
      const cause = CAUSES[stop % CAUSES.length] ?? "lost";
      const { nodes, ender } = endedAt(flow, stop, cause);
      const where = `stop ${stop} of party ${ender}, ${cause}`;
      expect(classOf(nodes[ender].ends.at(-1)), where).toBe(expected[cause]);
      expect(nodes[ender].session, where).toBeNull();
      reconnect(nodes);
      expect(nodes[otherParty(ender)].ends.length, where).toBe(1);
      expect(written(), where).toBe(0);
      for (const { store, party } of nodes) {
        const before = flow === "refresh" ? stores[party] : { row: null, shares: new Map() };
        expect(store.row?.toString("hex") ?? null, where).toBe(before.row?.toString("hex") ?? null);
        expect([...store.shares.keys()], where).toEqual([...before.shares.keys()]);
      }
    }
    expect(writtenAtStops).toBeGreaterThan(stops[flow].length);
  });

  it("that is ended at a stop costs nothing but itself: the next one is done, and signs", () => {
    for (let stop = 0; stop < stops[flow].length; stop += 29) {
      const { nodes } = endedAt(flow, stop, "lost");
      reconnect(nodes);
      for (const node of nodes) node.onStop = () => null;
      carry(nodes, FLOWS[flow].start(nodes));
      carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
      for (const { ends } of nodes) expect(ends.slice(-2).map(classOf), `stop ${stop}`).toEqual(["done", "done"]);
      expect(nodes[0].released.length).toBe(1);
      expect(written()).toBe(0);
    }
  });

  it("takes no message between two stops, and is resumed only there", () => {
    const nodes = FLOWS[flow].make();
    const problems = new Set<string>();
    let last: Message | null = null;
    const problemOf = (call: () => unknown): void => {
      try {
        call();
        problems.add("none");
      } catch (error) {
        problems.add(error instanceof ServiceError ? String(error.context["problem"]) : "another");
      }
    };
    for (const node of nodes)
      node.onStop = (session: Session) => {
        if (last === null) throw new Error("no message");
        const message = last;
        problemOf(() => session.receive(message));
        return null;
      };
    carry(nodes, FLOWS[flow].start(nodes), (message, from) => {
      last = message;
      const { session } = nodes[from];
      if (session !== null && !session.ended) problemOf(() => session.core.resume());
      return [message];
    });
    for (const { ends } of nodes) expect(ends.map(classOf)).toEqual(["done"]);
    expect([...problems].sort()).toEqual(["custody: session in a step", "custody: session not in a step"]);
  });
});
