/**
 * Whole bodies of signing in the wrong place: of another wallet, of another epoch, and the receiver's own sent back to
 * it. Each has its class by docs/mpc.md, 8.3 and 8.7; none gives a signature.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import type { Message } from "../wire/header.js";
import { kindOfType } from "../wire/message-types.js";
import { carry, classOf, copyOf, Node, type Store, type Tamper } from "./link.js";
import { seededRandom } from "./seeded-random.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

type Nodes = readonly [Node, Node];
type Recorded = ReadonlyMap<string, Message>;
const INTENT = Buffer.from("t:pay");
const FLIGHTS = ["f1", "f2", "f3", "f4", "f5", "f6"] as const;
type Flight = (typeof FLIGHTS)[number];
const nameOf = ({ header }: Message) => kindOfType(header.type)?.name ?? "none";

let stores: readonly [Store, Store];
let recorded: Readonly<Record<"session" | "wallet" | "epoch", Recorded>>;
const counts = new Map<string, number>();

function wallet(of = stores): Nodes {
  const node = (party: Party) => {
    const { row, shares } = of[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom("misplaced"), undefined, store);
  };
  return [node(0), node(1)];
}

function signed(nodes: Nodes): Recorded {
  const seen = new Map<string, Message>();
  carry(nodes, nodes[0].sign(INTENT), (message) => {
    seen.set(nameOf(message), copyOf(message));
    return [message];
  });
  expect(classOf(nodes[0].ends.at(-1))).toBe("done");
  return seen;
}

function found(of: Recorded, name: string): Message {
  const message = of.get(name);
  if (message === undefined) throw new Error(`no ${name}`);
  return message;
}

beforeAll(() => {
  const nodes: Nodes = [new Node(0, seededRandom("misplaced")), new Node(1, seededRandom("misplaced"))];
  carry(nodes, nodes[0].keygen());
  const session = signed(nodes);
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
  carry(nodes, nodes[0].refresh(0));
  const epoch = signed(nodes);
  const others: Nodes = [new Node(0, seededRandom("others")), new Node(1, seededRandom("others"))];
  for (const each of others) each.walletId = Buffer.alloc(16, 9);
  carry(others, others[0].keygen());
  signed(others);
  recorded = { session, epoch, wallet: signed(others) };
});

afterAll(() => {
  process.stdout.write(`misplaced messages of signing: ${[...counts].map((each) => each.join(" ")).join(", ")}\n`);
});

/** Who notices, and as what. Nothing at all: the message is dropped, and the deadline ends both sides. */
type Expected = readonly [at: Party, found: string];

function expectClass(name: Flight, make: (message: Message) => Message, [at, expected]: Expected): void {
  const nodes = wallet();
  let isDone = false;
  const tamper: Tamper = (message) => {
    if (isDone || nameOf(message) !== name) return [message];
    isDone = true;
    return [make(message)];
  };
  carry(nodes, nodes[0].sign(INTENT), tamper);
  expect(classOf(nodes[at].ends[0])).toBe(expected);
  counts.set(expected, (counts.get(expected) ?? 0) + 1);
  expect(nodes[0].released).toEqual([]);
  expect(nodes[at].row?.status === "frozen").toBe(expected === "cheat");
  if (expected !== "none") return;
  for (const each of nodes) if (each.session !== null) each.run(each.session.end("deadline"));
  expect(classOf(nodes[0].ends[0])).toBe("transport");
  expect(nodes.map(({ row }) => row?.status)).toEqual(["active", "active"]);
}

// Header and body of another wallet's session, or of another epoch's, and that body under the header of this one.
const WHOLE: Readonly<Record<"wallet" | "epoch", Readonly<Record<Flight, Expected>>>> = {
  wallet: {
    f1: [1, "refused WALLET"],
    f2: [0, "none"],
    f3: [1, "none"],
    f4: [0, "none"],
    f5: [1, "none"],
    f6: [0, "none"],
  },
  epoch: {
    f1: [1, "refused EPOCH"],
    f2: [0, "violation"],
    f3: [1, "violation"],
    f4: [0, "violation"],
    f5: [1, "violation"],
    f6: [0, "violation"],
  },
};
const BODIES: Readonly<Record<Flight, Expected>> = {
  f1: [1, "refused TAG"],
  f2: [0, "violation"],
  f3: [1, "cheat"],
  f4: [0, "cheat"],
  f5: [1, "cheat"],
  f6: [0, "violation"],
};

describe("a signature with a message", () => {
  for (const source of ["wallet", "epoch"] as const)
    for (const name of FLIGHTS) {
      it(`(${name}) of another ${source} gives ${WHOLE[source][name][1]}`, () => {
        expectClass(name, () => copyOf(found(recorded[source], name)), WHOLE[source][name]);
      });

      it(`(${name}) that holds what another ${source} was sent gives ${BODIES[name][1]}`, () => {
        const { body } = found(recorded[source], name);
        expectClass(name, ({ header }) => ({ header: { ...header, length: body.byteLength }, body }), BODIES[name]);
      });
    }

  // What the receiver itself has sent in this session: the own extension, the own multiplication, the own last share.
  const [MSG_A, MSG_B] = [26_682, 40_163];
  const mirrored: readonly (readonly [string, Flight, Flight, number, number, number, Expected])[] = [
    ["nonce", "f2", "f1", 0, 0, 32, [0, "violation"]],
    ["extension", "f3", "f2", 0, 72, MSG_A, [1, "cheat"]],
    ["multiplication", "f4", "f3", 0, MSG_A, MSG_B, [0, "cheat"]],
    ["last share", "f5", "f4", 0, MSG_B, 64, [1, "cheat"]],
  ];
  for (const [what, name, from, at, sourceAt, bytes, expected] of mirrored)
    it(`(${name}) that gives the receiver its own ${what} back gives ${expected[1]}`, () => {
      const nodes = wallet();
      let own: Buffer | null = null;
      carry(nodes, nodes[0].sign(INTENT), (message) => {
        if (nameOf(message) === from) own = Buffer.from(message.body.subarray(sourceAt, sourceAt + bytes));
        if (nameOf(message) !== name || own === null) return [message];
        const body = Buffer.from(message.body);
        body.set(own, at);
        return [{ header: message.header, body }];
      });
      expect(own).not.toBeNull();
      expect(classOf(nodes[expected[0]].ends[0])).toBe(expected[1]);
      counts.set(expected[1], (counts.get(expected[1]) ?? 0) + 1);
      expect(nodes[0].released).toEqual([]);
    });

  it("is signed where every body is that of its own session: it is the place alone", () => {
    const nodes = wallet();
    signed(nodes);
    expect(nodes[0].released).toHaveLength(1);
  });
});
