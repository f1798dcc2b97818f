/**
 * What sessions draw, and when: no id, no output of a seed and no nonce comes twice, whatever ended a session, and nothing
 * is drawn or derived before both nonces are known (docs/mpc.md, duties 4, 35, 40 and 42).
 *
 * The short form runs 30 sessions; `MPC_RUNS=1000` runs 1,000.
 */
import type * as Crypto from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import type { RandomSource } from "../base/random.js";
import type { Message } from "../wire/header.js";
import { kindOfType } from "../wire/message-types.js";
import { carry, classOf, copyOf, Node, type Store, type Tamper } from "./link.js";
import { constantRandom, seededBytes } from "./seeded-random.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

/** The steps that are hashed, and of PRG calls the outputs: two are equal only where the inputs are. */
const hashes = vi.hoisted(() => ({ steps: [] as string[], streams: [] as string[] }));
vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof Crypto>();
  return {
    ...crypto,
    hash(algorithm: string, data: Uint8Array, encoding: "buffer") {
      const digest = crypto.hash(algorithm, data, encoding);
      // Behind the length of the label, which ends with the name of the step.
      const text = Buffer.from(data.subarray(4, 80)).toString("latin1");
      const step = /^u2e\/1\/[a-z0-9-]+\/([a-z0-9]+(?:\/[a-z0-9]+)?)/.exec(text)?.[1] ?? "plain";
      hashes.steps.push(step);
      if (step === "ext/prg") hashes.streams.push(digest.toString("latin1", 0, 12));
      return digest;
    },
  };
});

const RUNS = Number(process.env["MPC_RUNS"] ?? 30);
const INTENT = Buffer.from("t:pay");
const FLIGHTS = ["f1", "f2", "f3", "f4", "f5", "f6"] as const;
/** Two flights' worth of PRG calls: a chooser's and a multiplier's, two blocks each. */
const STREAMS_OF_A_PARTY = 256 * (2 + 1) * 2;
let stores: readonly [Store, Store];

const nameOf = ({ header }: Message) => kindOfType(header.type)?.name ?? "none";

/** A generator that counts: each output is another one, as the system's. */
function counting(name: string): RandomSource {
  let drawn = 0;
  return { fill: (label, target) => target.set(seededBytes(`${name}/${drawn++}`, label, target.length)) };
}

function wallet(randoms: readonly [RandomSource, RandomSource]): readonly [Node, Node] {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, randoms[party], undefined, store);
  };
  return [node(0), node(1)];
}

beforeAll(() => {
  const nodes = [new Node(0, counting("made/0")), new Node(1, counting("made/1"))] as const;
  carry(nodes, nodes[0].keygen());
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});
beforeEach(() => {
  hashes.steps.length = 0;
  hashes.streams.length = 0;
});

/** Loses the message of one flight and ends both sides by their deadline; the last run of seven loses none. */
function signOnce(nodes: readonly [Node, Node], run: number, sids: Set<string>): void {
  const lost = FLIGHTS[run % (FLIGHTS.length + 1)];
  const tamper: Tamper = (message) => {
    if (nameOf(message) === "f2") sids.add(Buffer.from(message.header.sid).toString("hex"));
    return nameOf(message) === lost ? [] : [message];
  };
  carry(nodes, nodes[0].sign(INTENT), tamper);
  for (const each of nodes) if (each.session !== null) each.run(each.session.end("deadline"));
}

describe("sessions of one digest", () => {
  const generators = [
    ["both generators at work", counting("0"), counting("1")],
    ["a dead generator at C", counting("0"), constantRandom],
    ["a dead generator at S", constantRandom, counting("1")],
    ["dead generators at both", constantRandom, constantRandom],
  ] as const;
  it.each(generators)("have an id each with %s, and no output of a seed comes twice", (_, ofService, ofCosigner) => {
    const nodes = wallet([ofService, ofCosigner]);
    const sids = new Set<string>();
    for (let run = 0; run < RUNS; run++) signOnce(nodes, run, sids);
    // Where F1 is lost no F2 is made.
    const begun = Array.from({ length: RUNS }, (__, run) => run % 7).filter((way) => way !== 0).length;
    expect(sids.size).toBe(begun);
    expect(nodes[0].released.length).toBe(Math.floor(RUNS / 7));
    // The other side of a direction computes the pads of its choice: of each pair of outputs one is made twice, no more.
    const times = new Map<string, number>();
    for (const stream of hashes.streams) times.set(stream, (times.get(stream) ?? 0) + 1);
    expect(times.size).toBeGreaterThan((begun * STREAMS_OF_A_PARTY) / 2);
    expect(Math.max(...times.values())).toBe(2);
  });

  it("have an id each where C alone gives something new: S's store and its generator are those of before", () => {
    const sids = new Set<string>();
    for (let run = 0; run < 3; run++) signOnce(wallet([constantRandom, counting(`c/${run}`)]), 6, sids);
    expect(sids.size).toBe(3);
  });

  it("release nothing where the last flight is lost", () => {
    const nodes = wallet([counting("0"), counting("1")]);
    signOnce(nodes, FLIGHTS.indexOf("f6"), new Set());
    expect(nodes.map(({ ends }) => classOf(ends[0]))).toEqual(["transport", "done"]);
    expect(nodes[0].released).toEqual([]);
  });
});

describe("before both nonces are known", () => {
  /** Whose generator was asked for what, and what was hashed, up to and with the receipt of this message. */
  function upTo(last: (typeof FLIGHTS)[number], change: Tamper = (message) => [message]) {
    const asked: [string[], string[]] = [[], []];
    const watched = ([0, 1] as const).map((party) => {
      const source = counting(`watched/${party}`);
      const fill = (label: string, target: Uint8Array) => {
        asked[party].push(label.replace(/^.*\//, ""));
        source.fill(label, target);
      };
      return { fill };
    }) as unknown as readonly [RandomSource, RandomSource];
    const nodes = wallet(watched);
    hashes.steps.length = 0;
    const seen: Message[] = [];
    carry(nodes, nodes[0].sign(INTENT), (message) => {
      if (nameOf(message) !== last) return [message];
      seen.push(copyOf(message));
      return [];
    });
    const [before, [message]] = [{ asked: asked.map((each) => [...each]), steps: [...hashes.steps] }, seen];
    if (message === undefined) throw new Error(`no ${last}`);
    const receiver: Party = FLIGHTS.indexOf(last) % 2 === 0 ? 1 : 0;
    for (const each of change(message, receiver)) nodes[receiver].take(each);
    return { before, asked, nodes };
  }

  const spoilt: Tamper = ({ header, body }) => {
    const changed = Buffer.from(body);
    // The tag, in F1 and F2 alike.
    changed.writeUInt8(changed.readUInt8(40) ^ 1, 40);
    return [{ header, body: changed }];
  };

  it("S draws its nonce and hashes nothing of the protocol; C draws nothing", () => {
    const { before } = upTo("f1");
    expect(before.asked).toEqual([["nonce"], []]);
    expect(before.steps.filter((step) => step !== "plain")).toEqual([]);
  });

  it("C draws nothing for an F1 that it refuses, and its nonce and one root for one that it takes", () => {
    const refused = upTo("f1", spoilt);
    expect(classOf(refused.nodes[1].ends[0])).toBe("refused TAG");
    expect(refused.asked[1]).toEqual([]);
    expect(hashes.steps.filter((step) => step !== "plain")).toEqual([]);
    expect(upTo("f1").asked[1]).toEqual(["nonce", "rng"]);
    expect(hashes.steps).toEqual(expect.arrayContaining(["sign/sid", "hedge", "ext/prg"]));
  });

  it("S draws no root for an F2 that is none of this session, and one for that of it", () => {
    const refused = upTo("f2", spoilt);
    expect(classOf(refused.nodes[0].ends[0])).toBe("violation");
    expect(refused.asked[0]).toEqual(["nonce"]);
    expect(upTo("f2").asked[0]).toEqual(["nonce", "rng"]);
  });

  it("S draws no root before check 3 has passed", () => {
    const cheat = upTo("f2", ({ header, body }) => {
      const changed = Buffer.from(body);
      changed.writeUInt8(changed.readUInt8(200) ^ 1, 200);
      return [{ header, body: changed }];
    });
    expect(classOf(cheat.nodes[0].ends[0])).toBe("cheat");
    expect(cheat.asked[0]).toEqual(["nonce"]);
  });
});
