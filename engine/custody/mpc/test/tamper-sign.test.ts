/**
 * The tamper matrix of signing: every field of docs/mpc.md, 8.7, with a bit flipped in its first, its middle and its last
 * byte by a peer. Expected classes come from the table of the page.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import type { SignatureVerifier } from "../parts/final-signature.js";
import { portableVerifier } from "../parts/final-signature.js";
import { checkFrame, type Header, type Message } from "../wire/header.js";
import { kindOfType, type MessageName } from "../wire/message-types.js";
import { carry, classOf, copyOf, HONEST, Node, reconnect, type Store, type Tamper } from "./link.js";
import { seededRandom } from "./seeded-random.js";
import { type Field, flipped, offsetOf, POSITIONS, SIGN_FIELDS } from "./tamper-table.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const SEED = "tamper-1";
const INTENT = Buffer.from("t:pay");
const FLIGHTS = ["f1", "f2", "f3", "f4", "f5", "f6"] as const;
let stores: readonly [Store, Store];
let recorded: Map<string, Message>;
const counts = new Map<string, number>();

type Nodes = readonly [Node, Node];

/** A wallet that has signed once: ctr 2 at both. */
function wallet(verifier: SignatureVerifier = portableVerifier): Nodes {
  const node = (party: Party) => {
    const made = new Node(party, seededRandom(SEED), verifier, copied(stores[party]));
    made.restart();
    return made;
  };
  return [node(0), node(1)];
}

function copied(store: Store): Store {
  return { row: store.row === null ? null : Buffer.from(store.row), shares: new Map(store.shares), backups: [] };
}

function nameOf(message: Message): string {
  return kindOfType(message.header.type)?.name ?? "none";
}

/** Changes the first message of this name. */
function change(name: string, make: (message: Message) => readonly Message[]): Tamper {
  let isDone = false;
  return (message) => {
    if (isDone || nameOf(message) !== name) return [message];
    isDone = true;
    return make(message);
  };
}

function withBody(message: Message, body: Uint8Array): Message {
  return { header: { ...message.header, length: body.byteLength }, body };
}

function withHeader(message: Message, header: Partial<Header>): Message {
  return { header: { ...message.header, ...header }, body: message.body };
}

/** Runs one signature; whatever happened no signature left, and a wallet with a cheat is frozen for good at both. */
function signWith(tamper: Tamper, expected: { at: Party; class: string }, nodes = wallet()): Nodes {
  carry(nodes, nodes[0].sign(INTENT), tamper);
  counts.set(expected.class, (counts.get(expected.class) ?? 0) + 1);
  expect(classOf(nodes[expected.at].ends[0])).toBe(expected.class);
  expect(nodes[0].released).toEqual([]);
  const isCheat = expected.class === "cheat";
  expect(nodes[expected.at].row?.status === "frozen").toBe(isCheat);
  if (isCheat) expectFrozen(nodes);
  return nodes;
}

/** The notice freezes the other; then nothing signs, from the restored rows neither. */
function expectFrozen(nodes: Nodes): void {
  for (const node of nodes) if (node.row?.status !== "frozen") node.freezeNotice(node.row?.activeEpoch ?? 0);
  for (const node of nodes) node.restart();
  expect(reconnect(nodes)).toBe("settled");
  expect(nodes.map(({ row }) => row?.status)).toEqual(["frozen", "frozen"]);
  carry(nodes, nodes[0].sign(INTENT));
  expect(nodes[0].released).toEqual([]);
  expect(classOf(nodes[0].ends.at(-1))).toBe("refused STATE");
}

beforeAll(() => {
  const nodes: Nodes = [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))];
  carry(nodes, nodes[0].keygen());
  recorded = new Map();
  carry(nodes, nodes[0].sign(INTENT), (message) => {
    recorded.set(nameOf(message), copyOf(message));
    return [message];
  });
  expect(nodes[0].released.length).toBe(1);
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});

afterAll(() => {
  process.stdout.write(`tampered signatures: ${[...counts].map(([name, found]) => `${name} ${found}`).join(", ")}\n`);
});

describe("a signature with one bit flipped", () => {
  for (const field of SIGN_FIELDS)
    it(`in ${field.name} of ${field.message} gives ${field.good} at party ${field.at}, or a violation`, () => {
      for (const position of POSITIONS) flipAt(field, position);
    });

  function flipAt(field: Field, position: (typeof POSITIONS)[number]): void {
    const { isLegal } = flipped(bodyOf(field), offsetOf(SIGN_FIELDS, field), field, position);
    // What is illegal is noticed by the receiver, whoever would notice the legal.
    const receiver: Party = field.message === "f1" || field.message === "f3" || field.message === "f5" ? 1 : 0;
    let legal = isLegal;
    const tamper = change(field.message, (message) => {
      const made = flipped(message.body, offsetOf(SIGN_FIELDS, field), field, position);
      legal = made.isLegal;
      return [withBody(message, made.changed)];
    });
    const nodes = wallet();
    carry(nodes, nodes[0].sign(INTENT), tamper);
    const at = legal ? field.at : receiver;
    const expected = legal ? field.good : "violation";
    counts.set(expected, (counts.get(expected) ?? 0) + 1);
    expect(`${position}: ${classOf(nodes[at].ends[0])}`).toBe(`${position}: ${expected}`);
    expect(nodes[0].released).toEqual([]);
    expect(nodes[at].row?.status === "frozen").toBe(expected === "cheat");
    if (expected === "cheat") expectFrozen(nodes);
  }

  function bodyOf({ message }: Field): Uint8Array {
    const found = recorded.get(message);
    if (found === undefined) throw new Error("not recorded");
    return found.body;
  }

  it("in the intent is refused before anything is spent", () => {
    for (const at of [0, 2, 4]) {
      const tamper = change("f1", (message) => {
        const body = Buffer.from(message.body);
        body.writeUInt8(body.readUInt8(96 + at) ^ 1, 96 + at);
        return [withBody(message, body)];
      });
      const nodes = signWith(tamper, { at: 1, class: at === 0 ? "refused POLICY" : "refused DIGEST" });
      expect(nodes[1].row?.ctr).toBe(2n);
    }
  });
});

describe("a signature with a changed header", () => {
  const flip = (bytes: Uint8Array) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(3) ^ 4, 3);
    return copy;
  };
  for (const [index, name] of FLIGHTS.entries()) {
    const at: Party = index % 2 === 0 ? 1 : 0;
    const isFirst = name === "f1";
    const cases: readonly (readonly [string, (header: Header) => Partial<Header>, string])[] = [
      ["wallet", ({ walletId }) => ({ walletId: flip(walletId) }), isFirst ? "refused WALLET" : "none"],
      ["epoch", ({ epoch }) => ({ epoch: epoch + 1 }), isFirst ? "refused EPOCH" : "violation"],
      ["lower ctr", ({ ctr }) => ({ ctr: ctr - 1n }), isFirst ? "refused CTR" : "none"],
      ["ctr far above", ({ ctr }) => ({ ctr: ctr + 2n ** 40n }), isFirst ? "refused CTR" : "violation"],
      ["sid", ({ sid }) => ({ sid: flip(sid) }), "violation"],
      ["sender", ({ to }) => ({ from: to }), "violation"],
      ["receiver", ({ from }) => ({ to: from }), "violation"],
      ["seq", ({ seq }) => ({ seq: seq + 1 }), "violation"],
    ];
    for (const [what, make, expected] of cases)
      it(`(${what} of ${name}) gives ${expected}`, () => {
        signWith(
          change(name, (message) => [withHeader(message, make(message.header))]),
          { at, class: expected },
        );
      });
  }

  it("(a ctr of F1 that is higher by less than 2^20) is taken by C and a violation at S", () => {
    const tamper = change("f1", (message) => [withHeader(message, { ctr: message.header.ctr + 9n })]);
    signWith(tamper, { at: 0, class: "violation" });
  });
});

describe("a signature with a message", () => {
  for (const [index, name] of FLIGHTS.entries()) {
    const at: Party = index % 2 === 0 ? 1 : 0;
    it(`(${name}) cut, lengthened or doubled in length is a violation, and its frame closes the connection`, () => {
      const shapes: readonly ((body: Uint8Array) => Buffer)[] = [
        (body) => Buffer.from(body.subarray(0, name === "f1" ? 95 : body.byteLength - 1)),
        () => Buffer.alloc(0),
        ...(name === "f1" ? [] : [(body: Uint8Array) => Buffer.concat([body, Buffer.alloc(1)])]),
        ...(name === "f1" ? [] : [(body: Uint8Array) => Buffer.concat([body, body])]),
      ];
      for (const shape of shapes)
        signWith(
          change(name, (message) => {
            const made = withBody(message, shape(message.body));
            expect(checkFrame(made.header, at)).toMatchObject({ fault: "length", closes: true });
            return [made];
          }),
          { at, class: "violation" },
        );
    });

    it(`(${name}) sent twice never gives two signatures and never freezes`, () => {
      const nodes = wallet();
      carry(
        nodes,
        nodes[0].sign(INTENT),
        change(name, (message) => [message, copyOf(message)]),
      );
      const isLast = name === "f5" || name === "f6";
      expect(nodes[0].released.length).toBe(isLast ? 1 : 0);
      if (!isLast) expect(classOf(nodes[at].ends[0])).toBe("violation");
      expect(nodes.map(({ row }) => row?.status)).toEqual(["active", "active"]);
      count(isLast ? "done" : "violation");
    });

    it(`(${name}) of another session is dropped, and its body under this header gives the class of the page`, () => {
      const old = recorded.get(name);
      if (old === undefined) throw new Error("not recorded");
      const nodes = wallet();
      carry(
        nodes,
        nodes[0].sign(INTENT),
        change(name, () => [copyOf(old)]),
      );
      expect(nodes[0].released).toEqual([]);
      expect(classOf(nodes[at].ends[0])).toBe(name === "f1" ? "refused CTR" : "none");
      const classes = { f1: [0, "violation"], f2: [0, "violation"], f3: [1, "cheat"], f4: [0, "cheat"] } as const;
      const [who, expected] =
        name === "f5" ? ([1, "cheat"] as const) : name === "f6" ? ([0, "violation"] as const) : classes[name];
      signWith(
        change(name, (message) => [withBody(message, old.body)]),
        { at: who, class: expected },
      );
    });

    it(`(${name}) given back to its sender is a violation`, () => {
      const nodes = wallet();
      const sender = at === 0 ? 1 : 0;
      carry(nodes, nodes[0].sign(INTENT), (message) => {
        if (nameOf(message) !== name) return [message];
        if (nodes[sender].session !== null) nodes[sender].take(copyOf(message));
        return [];
      });
      expect(nodes[0].released).toEqual([]);
      if (name !== "f6") expect(classOf(nodes[sender].ends[0])).toBe("violation");
    });
  }

  it("of any type in any state is a violation, or is dropped", () => {
    for (const wanted of FLIGHTS)
      for (const instead of FLIGHTS) {
        const other = recorded.get(instead);
        if (instead === wanted || other === undefined) continue;
        const nodes = wallet();
        const at: Party = FLIGHTS.indexOf(wanted) % 2 === 0 ? 1 : 0;
        carry(
          nodes,
          nodes[0].sign(INTENT),
          change(wanted, ({ header }) => [
            withHeader(copyOf(other), {
              ...header,
              type: other.header.type,
              seq: other.header.seq,
              length: other.body.byteLength,
            }),
          ]),
        );
        expect(nodes[0].released).toEqual([]);
        const first = classOf(nodes[at].ends[0]);
        expect(["violation", "none"], `${instead} for ${wanted}`).toContain(first);
        count(first);
      }
  });

  const points = [
    ["the identity", Buffer.alloc(33)],
    ["off the curve", Buffer.concat([Buffer.of(2), offCurve()])],
    ["x above p", Buffer.concat([Buffer.of(2), Buffer.alloc(32, 255)])],
    ["an uncompressed head", Buffer.concat([Buffer.of(4), Buffer.alloc(32, 1)])],
  ] as const;
  for (const field of SIGN_FIELDS.filter(({ kind }) => kind === "point"))
    for (const [what, bytes] of points)
      it(`whose ${field.name} of ${field.message} is ${what} is a violation`, () => {
        const at: Party = field.message === "f3" ? 1 : 0;
        signWith(put(field, bytes), { at, class: "violation" });
      });

  for (const field of SIGN_FIELDS.filter(({ kind }) => kind === "scalar" || kind === "scalars")) {
    it(`whose ${field.name} of ${field.message} is n is a violation, and 0 is ${field.good}`, () => {
      const at: Party = field.message === "f3" || field.message === "f5" ? 1 : 0;
      const order = Buffer.from(secp256k1.CURVE.n.toString(16), "hex");
      signWith(put(field, order), { at, class: "violation" });
      signWith(put(field, Buffer.alloc(32)), { at: field.at, class: field.good });
    });
  }

  it("of an older store of C makes a refresh due at S and gives no signature", () => {
    const tamper = change("f2", (message) => {
      const body = Buffer.from(message.body);
      body.writeBigUInt64BE(0n, 64);
      return [withBody(message, body)];
    });
    const nodes = signWith(tamper, { at: 0, class: "refused CTR" });
    expect(nodes[0].row?.status).toBe("refreshDue");
  });

  function put(field: Field, bytes: Uint8Array): Tamper {
    return change(field.message as MessageName, (message) => {
      const body = Buffer.from(message.body);
      body.set(bytes, offsetOf(SIGN_FIELDS, field));
      return [withBody(message, body)];
    });
  }
});

describe("a check that has begun", () => {
  it("is finished and freezes, whatever ends the session meanwhile", () => {
    for (const cause of ["deadline", "lost", "stopped", "freeze notice"] as const) {
      // The verifier is asked in the middle of the last checks: the end comes right there.
      let nodes: Nodes | null = null;
      const verifier: SignatureVerifier = {
        recover: () => {
          for (const { session } of nodes ?? []) if (session !== null) expect(session.end(cause).effects).toEqual([]);
          return null;
        },
        verify: () => false,
      };
      nodes = wallet(verifier);
      // The other side's session is not in a step, so its end is refused by nothing.
      carry([nodes[0], nodes[1]], nodes[0].sign(INTENT), (message, from) => {
        if (nameOf(message) === "f4" && nodes !== null) nodes[1].session = null;
        return from === 0 || nodes !== null ? [message] : [];
      });
      expect(classOf(nodes[0].ends[0])).toBe("cheat");
      expect(nodes[0].row?.status).toBe("frozen");
    }
  });

  it("and passes sends nothing once its session was ended", () => {
    let nodes: Nodes | null = null;
    const verifier: SignatureVerifier = {
      recover: (...given) => {
        nodes?.[0].session?.end("deadline");
        return portableVerifier.recover(...given);
      },
      verify: portableVerifier.verify,
    };
    nodes = wallet(verifier);
    const sent: string[] = [];
    carry(nodes, nodes[0].sign(INTENT), (message) => {
      sent.push(nameOf(message));
      return [message];
    });
    expect(sent).toEqual(["f1", "f2", "f3", "f4", "abort"]);
    expect(classOf(nodes[0].ends[0])).toBe("transport");
    expect(nodes[0].released).toEqual([]);
  });

  it("and dies of an exception of ours leaves its abort unexplained", () => {
    const verifier: SignatureVerifier = {
      recover: () => {
        throw new Error("broken");
      },
      verify: () => true,
    };
    const nodes = wallet(verifier);
    carry(nodes, nodes[0].sign(INTENT), HONEST);
    expect(nodes[0].ends[0]).toMatchObject({ kind: "failed", failure: { kind: "fault" }, explained: false });
    // The rows are those of a crash, so each side has one abort already.
    expect(nodes[0].row?.openAborts).toBe(2);
    expect(nodes[0].row?.status).toBe("active");
    expect(nodes[1].row?.openAborts).toBe(1);
  });
});

describe("a session", () => {
  it("that was used throws, cannot be serialised and cannot be cloned", () => {
    const nodes = wallet();
    nodes[0].sign(INTENT);
    const { session } = nodes[0];
    expect(() => JSON.stringify(session)).toThrow();
    expect(() => structuredClone(session)).toThrow();
    expect(() => (session as unknown as { start(): void }).start()).toThrow();
    session?.end("deadline");
    expect(() => session?.end("deadline")).toThrow();
    const f2 = recorded.get("f2");
    if (f2 !== undefined) expect(() => session?.receive(f2)).toThrow();
  });
});

function count(name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** An x that belongs to no point. */
function offCurve(): Buffer {
  for (let last = 1; last < 256; last++) {
    const x = Buffer.alloc(32);
    x.writeUInt8(last, 31);
    try {
      secp256k1.ProjectivePoint.fromHex(Buffer.concat([Buffer.of(2), x]));
    } catch {
      return x;
    }
  }
  throw new Error("none found");
}
