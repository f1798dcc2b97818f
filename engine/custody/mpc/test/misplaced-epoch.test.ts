/**
 * Every message of a key generation and of a refresh, cut, doubled, lost, sent twice, under another header, of another
 * run or of another wallet: who notices it and as what (docs/mpc.md, 3.2, 5 and 9). Nothing of a
 * run that failed is kept.
 *
 * The short form takes every third way of a message, others of the next one; `MPC_RUNS=1000` takes all.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import { checkFrame, type Header, type Message } from "../wire/header.js";
import { kindOfType } from "../wire/message-types.js";
import { carry, classOf, copyOf, Node, reconnect, type Store } from "./link.js";
import { seededRandom } from "./seeded-random.js";
import { KEYGEN_FIELDS, REFRESH_FIELDS } from "./tamper-table.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const IS_LONG = process.env["MPC_RUNS"] !== undefined;
const EVERY = IS_LONG ? 1 : 3;
const [SEED, OTHER_SEED] = ["misplaced-1", "misplaced-2"];
const OTHER_WALLET = Buffer.alloc(16, 9);
type Nodes = readonly [Node, Node];
type Flow = "kg" | "rf";
type Recorded = ReadonlyMap<string, Message>;

const NAMES: Readonly<Record<Flow, readonly string[]>> = {
  kg: [...new Set(KEYGEN_FIELDS.map(({ message }) => message))],
  rf: [...new Set(REFRESH_FIELDS.map(({ message }) => message))],
};
const nameOf = ({ header }: Message) => kindOfType(header.type)?.name ?? "none";
const isEnd = (name: string) => name === "activate" || name === "activated";
const isFirst = (name: string) => name === "kg1" || name === "rf1";
const receiverOf = (name: string): Party => (name === "activate" || Number(name.slice(2)) % 2 === 1 ? 1 : 0);

let stores: readonly [Store, Store];
let otherRuns: Readonly<Record<Flow, Recorded>>;
let otherWallets: Readonly<Record<Flow, Recorded>>;
const counts = new Map<string, number>();

function fresh(seed: string, walletId?: Buffer): Nodes {
  const nodes: Nodes = [new Node(0, seededRandom(seed)), new Node(1, seededRandom(seed))];
  if (walletId !== undefined) for (const each of nodes) each.walletId = walletId;
  return nodes;
}

function wallet(seed: string): Nodes {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom(seed), undefined, store);
  };
  return [node(0), node(1)];
}

function recordedIn(nodes: Nodes, flow: Flow): Recorded {
  const seen = new Map<string, Message>();
  carry(nodes, flow === "kg" ? nodes[0].keygen() : nodes[0].refresh(0), (message) => {
    seen.set(nameOf(message), copyOf(message));
    return [message];
  });
  expect(classOf(nodes[0].ends.at(-1))).toBe("done");
  return seen;
}

beforeAll(() => {
  const nodes = fresh(SEED);
  recordedIn(nodes, "kg");
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
  otherRuns = { kg: recordedIn(fresh(OTHER_SEED), "kg"), rf: recordedIn(wallet(OTHER_SEED), "rf") };
  const others = fresh(OTHER_SEED, OTHER_WALLET);
  otherWallets = { kg: recordedIn(others, "kg"), rf: recordedIn(others, "rf") };
});

afterAll(() => {
  const found = [...counts].map((each) => each.join(" ")).join(", ");
  process.stdout.write(`misplaced messages of key generation and refresh: ${found}\n`);
});

/** Who notices it, and as what; null: whoever comes to it first. "none": it is dropped, so the deadline ends both. */
type Expected = readonly [at: Party | null, found: string];

interface Way {
  readonly name: string;
  readonly make: (message: Message, flow: Flow) => readonly Message[];
  /** Where it is another class than a violation at the receiver. */
  readonly expected?: (name: string) => Expected | null;
}

function taken(of: Recorded, message: Message): Message {
  const found = of.get(nameOf(message));
  if (found === undefined) throw new Error(`no ${nameOf(message)}`);
  return copyOf(found);
}

const withBody = ({ header }: Message, body: Uint8Array) => ({ header: { ...header, length: body.byteLength }, body });
const under = (name: string, change: (header: Header) => Partial<Header>, expected?: Way["expected"]): Way => ({
  name,
  make: ({ header, body }) => [{ header: { ...header, ...change(header) }, body }],
  ...(expected === undefined ? {} : { expected }),
});
const flipped = (bytes: Uint8Array) => Buffer.from(bytes.map((byte, at) => (at === 3 ? byte ^ 4 : byte)));
/** The refused opening of a wallet that C does not know; a key generation makes one. */
const otherWallet = (name: string): Expected => {
  if (name === "rf1") return [1, "refused WALLET"];
  return name === "kg1" ? [0, "none"] : [receiverOf(name), "none"];
};

const WAYS: readonly Way[] = [
  { name: "cut by a byte", make: (message) => [withBody(message, message.body.subarray(1))] },
  { name: "with a byte more", make: (message) => [withBody(message, Buffer.concat([message.body, Buffer.alloc(1)]))] },
  { name: "doubled in length", make: (message) => [withBody(message, Buffer.concat([message.body, message.body]))] },
  { name: "lost", make: () => [], expected: (name) => [receiverOf(name), isEnd(name) ? "lost end" : "none"] },
  {
    name: "sent twice",
    make: (message) => [message, copyOf(message)],
    // Behind the end it belongs to no session, and behind KG10 or RF10 to one of a higher counter: the test signature.
    expected: (name) => (isEnd(name) || name.endsWith("10") ? [receiverOf(name), "done"] : null),
  },
  under(
    "of the next epoch",
    ({ epoch }) => ({ epoch: epoch + 1 }),
    (name) => (isFirst(name) ? [1, "refused EPOCH"] : null),
  ),
  under("of a counter", () => ({ ctr: 1n })),
  under("of another session id", ({ sid }) => ({ sid: flipped(sid) })),
  under("of the receiver's own", ({ from, to }) => ({ from: to, to: from })),
  under("of the next place in the order", ({ seq }) => ({ seq: seq + 1 })),
  under("of a wallet that is another", () => ({ walletId: Buffer.alloc(16, 8) }), otherWallet),
  {
    name: "of another run",
    make: (message, flow) => [taken(otherRuns[flow], message)],
    // The nonce of another run is as good as this one's, until S computes the id with its own.
    expected: (name) => (isFirst(name) ? [0, "violation"] : null),
  },
  {
    name: "with the body of another run",
    make: (message, flow) => [withBody(message, taken(otherRuns[flow], message).body)],
    expected: (name) => (isFirst(name) ? [0, "violation"] : name.endsWith("5") ? [null, "violation"] : null),
  },
  {
    name: "of another wallet's run",
    make: (message, flow) => [taken(otherWallets[flow], message)],
    expected: otherWallet,
  },
];

/** Where both had decided, the new epoch is active at both; otherwise nothing of it is left. */
function expectTruth(flow: Flow, isDecided: boolean, nodes: Nodes): void {
  for (const each of nodes) if (each.session !== null) each.run(each.session.end("deadline"));
  expect(nodes.every(({ row }) => row?.status !== "frozen")).toBe(true);
  expect(reconnect(nodes)).toBe("settled");
  const epoch = flow === "kg" ? 1 : 2;
  const active = isDecided ? epoch : epoch - 1;
  expect(nodes.map(({ row }) => row?.activeEpoch ?? 0)).toEqual([active, active]);
  for (const { store } of nodes) expect([...store.shares.keys()]).toEqual(active === 0 ? [] : [active]);
  if (active === 0) return;
  const { length } = nodes[0].released;
  carry(nodes, nodes[0].sign(Buffer.from("t:after")));
  expect(nodes[0].released).toHaveLength(length + 1);
}

function expectClass(flow: Flow, name: string, way: Way): void {
  const nodes = flow === "kg" ? fresh(SEED) : wallet(SEED);
  const receiver = receiverOf(name);
  let isDone = false;
  carry(nodes, flow === "kg" ? nodes[0].keygen() : nodes[0].refresh(0), (message) => {
    if (isDone || nameOf(message) !== name) return [message];
    isDone = true;
    const made = way.make(message, flow);
    // A length that no message of its type has closes the connection before a session sees it.
    for (const each of made)
      if (each.header.length !== message.header.length)
        expect(checkFrame(each.header, receiver)).toMatchObject({ fault: "length", closes: true });
    return made;
  });
  expect(isDone).toBe(true);
  const [at, expected] = way.expected?.(name) ?? [receiver, "violation"];
  const own = nodes.map(({ ends }) => ends[0]).filter((end) => end?.kind === "failed" && end.by === "self");
  const seen = at === null ? own.map(classOf) : [classOf(nodes[at].ends[0])];
  // An end that is lost leaves C where it was, or S without its answer; both sides have decided.
  expect(seen).toEqual([expected === "lost end" ? "none" : expected]);
  counts.set(expected, (counts.get(expected) ?? 0) + 1);
  expectTruth(flow, isEnd(name) || expected === "done", nodes);
}

describe.each([
  ["key generation", "kg"],
  ["refresh", "rf"],
] as const)("a %s with a message", (_, flow) => {
  for (const [place, name] of NAMES[flow].entries())
    it(`(${name}) in each wrong form or place has its class, and leaves the truth`, () => {
      for (const [index, way] of WAYS.entries())
        if ((index + place) % EVERY === 0)
          try {
            expectClass(flow, name, way);
          } catch (error) {
            throw new Error(`${name} ${way.name}`, { cause: error });
          }
    });

  it("(the second) whose nonce is that of the first is a violation, also under the id that both would have", () => {
    const nodes = flow === "kg" ? fresh(SEED) : wallet(SEED);
    let nonce: Buffer | null = null;
    carry(nodes, flow === "kg" ? nodes[0].keygen() : nodes[0].refresh(0), (message) => {
      if (nameOf(message) === `${flow}1`) nonce = Buffer.from(message.body.subarray(0, 32));
      if (nameOf(message) !== `${flow}2` || nonce === null) return [message];
      return [{ header: message.header, body: Buffer.concat([nonce, message.body.subarray(32)]) }];
    });
    expect(classOf(nodes[0].ends[0])).toBe("violation");
    expectTruth(flow, false, nodes);
  });
});
