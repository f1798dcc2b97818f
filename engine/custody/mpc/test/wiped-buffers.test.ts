/**
 * Every secret buffer of a session is zero after its end, whatever ended it and wherever (docs/mpc.md, 8.6 and 14). All
 * buffers that the sessions of both parties take, and the records that are opened for them, are kept here and looked at.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  BASE_OT_POINTS_BYTES,
  HASH_BYTES,
  type Party,
  POINT_BYTES,
  PROOF_BYTES,
  SCALAR_BYTES,
} from "../base/parameters.js";
import { portableVerifier, type SignatureVerifier } from "../parts/final-signature.js";
import type { EndCause } from "../sessions/effects.js";
import { kindOfType } from "../wire/message-types.js";
import type { Message } from "../wire/header.js";
import { carry, classOf, HONEST, Node, plainSealer, type Store, type Tamper } from "./link.js";
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

const SEED = "wiped-1";
const INTENT = Buffer.from("t:pay");
type Nodes = readonly [Node, Node];
let stores: readonly [Store, Store];

const nameOf = (message: Message) => kindOfType(message.header.type)?.name ?? "none";
/** As long as the longest: the columns of an extension. */
const ZEROS = Buffer.alloc(1 << 18);
const isZero = (buffer: Buffer) => buffer.equals(ZEROS.subarray(0, buffer.byteLength));

const IS_LONG = process.env["MPC_RUNS"] !== undefined;
/** The short form takes one of them at a flight, another one at the next. */
function atFlight<Item>(items: readonly Item[], flight: number): readonly Item[] {
  return IS_LONG ? items : items.slice(flight % items.length).slice(0, 1);
}
const CAUSES: readonly EndCause[] = ["deadline", "lost", "stopped", "freeze notice", "store failed"];

beforeAll(() => {
  const open = plainSealer.open.bind(plainSealer);
  vi.spyOn(plainSealer, "open").mockImplementation((context, record) => {
    const opened = open(context, record);
    taken.buffers.push(opened);
    return opened;
  });
  const nodes = fresh();
  carry(nodes, nodes[0].keygen());
  expect(nodes.map(({ ends }) => classOf(ends[0]))).toEqual(["done", "done"]);
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});

function fresh(verifier: SignatureVerifier = portableVerifier): Nodes {
  return [new Node(0, seededRandom(SEED), verifier), new Node(1, seededRandom(SEED), verifier)];
}

function wallet(verifier: SignatureVerifier = portableVerifier): Nodes {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom(SEED), verifier, store);
  };
  return [node(0), node(1)];
}

const FLOWS = {
  signature: { make: wallet, start: (nodes: Nodes) => nodes[0].sign(INTENT), flights: flights("f", 6) },
  "key generation": { make: fresh, start: (nodes: Nodes) => nodes[0].keygen(), flights: flights("kg", 10) },
  refresh: { make: wallet, start: (nodes: Nodes) => nodes[0].refresh(0), flights: flights("rf", 10) },
} as const;
type FlowName = keyof typeof FLOWS;

function flights(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

/** Runs a flow and returns how it ended at each side and how many of its buffers held something at once. */
function run(flow: FlowName, tamper: (nodes: Nodes) => Tamper, verifier?: SignatureVerifier) {
  const { make, start } = FLOWS[flow];
  const nodes = make(verifier);
  taken.buffers.length = 0;
  let writtenMax = 0;
  const change = tamper(nodes);
  carry(nodes, start(nodes), (message, from) => {
    writtenMax = Math.max(writtenMax, taken.buffers.filter((buffer) => !isZero(buffer)).length);
    return change(message, from);
  });
  for (const node of nodes) if (node.session !== null && !node.session.ended) node.run(node.session.end("lost"));
  return { nodes, writtenMax, ends: nodes.map(({ ends }) => classOf(ends[0])) };
}

function expectZero(where: string): void {
  expect(taken.buffers.filter((buffer) => !isZero(buffer)).length, where).toBe(0);
}

/** Both sessions end by this cause when the message is on its way. */
function endedAt(name: string, cause: EndCause): (nodes: Nodes) => Tamper {
  return (nodes) => (message) => {
    if (nameOf(message) !== name) return [message];
    for (const node of nodes) if (node.session !== null && !node.session.ended) node.run(node.session.end(cause));
    return [];
  };
}

function bodyOf(name: string, change: (body: Buffer) => Buffer): () => Tamper {
  return () => (message) => {
    if (nameOf(message) !== name) return [message];
    const body = change(Buffer.from(message.body));
    return [{ header: { ...message.header, length: body.byteLength }, body }];
  };
}

/** The first point of A is the key that S revealed in the flight before: legal by itself, refused once S holds base-OT buffers. */
function ownKeyAsPoint(flow: "kg" | "rf", keyAt: number): () => Tamper {
  return () => {
    let key = Buffer.alloc(0);
    return (message) => {
      if (nameOf(message) === `${flow}3`) key = Buffer.from(message.body.subarray(keyAt, keyAt + POINT_BYTES));
      if (nameOf(message) !== `${flow}4`) return [message];
      const body = Buffer.from(message.body);
      key.copy(body, body.byteLength - BASE_OT_POINTS_BYTES);
      return [{ header: message.header, body }];
    };
  };
}

it.each([
  ["key generation", "kg", 2 * HASH_BYTES + POINT_BYTES + PROOF_BYTES],
  ["refresh", "rf", 2 * HASH_BYTES + SCALAR_BYTES],
] as const)(
  "the buffers of a %s are zero when its fourth flight has the service's own key among the points",
  (flow, prefix, keyAt) => {
    const { ends } = run(flow, ownKeyAsPoint(prefix, keyAt));
    expect(ends[0]).toBe("violation");
    expectZero(prefix);
  },
);

it.each([
  ["key generation", 0],
  ["key generation", 1],
  ["refresh", 0],
  ["refresh", 1],
] as const)("the buffers of a %s are zero when the generator of party %i fails among the base OTs", (flow, party) => {
  const { ends } = run(flow, (nodes) => {
    vi.spyOn(nodes[party].ports.random, "fill").mockImplementation((label, target) => {
      if (label.endsWith("a/100")) throw new Error("generator");
      seededRandom(SEED).fill(`${party}/${label}`, target);
    });
    return HONEST;
  });
  expect(ends[party]).toBe("fault");
  expectZero(`${party}`);
});

describe.each(Object.keys(FLOWS) as FlowName[])("the buffers of a %s are zero", (flow) => {
  const { flights: names } = FLOWS[flow];

  it("when it is done, and some were not while it ran", () => {
    const { ends, writtenMax } = run(flow, () => HONEST);
    expect(ends).toEqual(["done", "done"]);
    expect(writtenMax).toBeGreaterThan(2);
    expectZero("done");
  });

  it("when it is ended at any flight by a deadline, a lost connection, the process or a freeze", () => {
    for (const [index, name] of names.slice(0, -1).entries())
      for (const cause of flow === "signature" ? CAUSES : atFlight(CAUSES, index)) {
        run(flow, endedAt(name, cause));
        expectZero(`${name} ${cause}`);
      }
  });

  it("when a message of any flight is cut: a violation, or a refusal of F1, whose length is its intent's", () => {
    for (const name of names) {
      const { ends } = run(
        flow,
        bodyOf(name, (body) => body.subarray(1)),
      );
      expect(ends, name).toContain(name === "f1" ? "refused TAG" : "violation");
      expectZero(name);
    }
  });

  it("when a bit of any flight is another: cheats, violations and refusals", () => {
    const seen = new Set<string>();
    for (const [index, name] of names.entries())
      for (const part of atFlight([0.02, 0.5, 0.98], index)) {
        const { ends } = run(
          flow,
          bodyOf(name, (body) => {
            const at = Math.floor(part * (body.length - 1));
            body.writeUInt8(body.readUInt8(at) ^ 1, at);
            return body;
          }),
        );
        for (const end of ends) seen.add(end);
        expectZero(`${name} ${part}`);
      }
    expect([...seen]).toContain(flow === "signature" ? "cheat" : "violation");
  });

  it("when our own code throws in the last check", () => {
    const broken = (): never => {
      throw new Error("verifier");
    };
    const { ends } = run(flow, () => HONEST, { verify: broken, recover: broken });
    expect(ends).toContain("fault");
    expectZero("fault");
  });
});
