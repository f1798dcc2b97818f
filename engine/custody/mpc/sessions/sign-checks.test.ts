/**
 * A multiplier that puts in another nonce share or key share than its public ones, and is honest in all else, so that no
 * check before the two Gammas can see it (docs/mpc.md, 8.3): each freezes at the other party, by the check that is for it.
 */
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { otherParty, type Party } from "../base/parameters.js";
import type * as Multiplier from "../parts/multiply-multiplier.js";
import { carry, classOf, Node, type Store } from "../test/link.js";
import { seededRandom } from "../test/seeded-random.js";

vi.mock("../base/point.js", async (original) =>
  (await import("../test/memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

/** What is added to the inputs of the multiplier of this direction, which is the party's own. */
const cheat = vi.hoisted(() => ({ direction: -1, nonce: 0n, key: 0n }));
vi.mock("../parts/multiply-multiplier.js", async (original) => {
  const module = await original<typeof Multiplier>();
  const multiplyAsMultiplier: typeof module.multiplyAsMultiplier = (input, arena) => {
    const [nonce, share] = input.inputs;
    if (input.direction !== cheat.direction) return module.multiplyAsMultiplier(input, arena);
    return module.multiplyAsMultiplier({ ...input, inputs: [nonce + cheat.nonce, share + cheat.key] }, arena);
  };
  return { ...module, multiplyAsMultiplier };
});

const SEED = "gamma-1";
let stores: readonly [Store, Store];

function wallet(): readonly [Node, Node] {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom(SEED), undefined, store);
  };
  return [node(0), node(1)];
}

beforeAll(() => {
  const nodes = [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))] as const;
  carry(nodes, nodes[0].keygen());
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});
beforeEach(() => Object.assign(cheat, { direction: -1, nonce: 0n, key: 0n }));

/** What the other party found; the name of the check. */
function foundAgainst(party: Party): unknown {
  const nodes = wallet();
  cheat.direction = party;
  carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
  const other = nodes[otherParty(party)];
  expect([nodes[0].released.length, other.row?.status]).toEqual([0, "frozen"]);
  const [end] = other.ends;
  expect(classOf(end)).toBe("cheat");
  return end?.kind === "failed" && end.failure.kind === "cheat" ? end.failure.check : null;
}

describe.each([0, 1] as const)("party %s", (party) => {
  it("that multiplies with another nonce share than that of its R is a cheat by Gamma-u", () => {
    cheat.nonce = 1n;
    expect(foundAgainst(party)).toBe("gamma-u");
  });

  it("that multiplies with another key share than its own is a cheat by Gamma-v, and the least difference is enough", () => {
    cheat.key = 1n;
    expect(foundAgainst(party)).toBe("gamma-v");
  });
});

it("both that multiply with their own sign", () => {
  const nodes = wallet();
  carry(nodes, nodes[0].sign(Buffer.from("t:pay")));
  expect(nodes[0].released).toHaveLength(1);
});
