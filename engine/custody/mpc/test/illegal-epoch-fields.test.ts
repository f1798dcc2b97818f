/** Points and scalars of key generation and refresh that are none, or zero (docs/mpc.md, 8.7): a violation, nothing is kept. */
import { secp256k1 } from "@noble/curves/secp256k1";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../base/parameters.js";
import { kindOfType } from "../wire/message-types.js";
import { carry, classOf, Node, type Store, type Tamper } from "./link.js";
import { seededRandom } from "./seeded-random.js";
import { type Field, isLegal, KEYGEN_FIELDS, offsetOf, REFRESH_FIELDS } from "./tamper-table.js";

vi.mock("../base/point.js", async (original) =>
  (await import("./memo.js")).memoizedPoints(await original<typeof import("../base/point.js")>()),
);

const SEED = "illegal-1";
type Nodes = readonly [Node, Node];
let stores: readonly [Store, Store];

const fresh = (): Nodes => [new Node(0, seededRandom(SEED)), new Node(1, seededRandom(SEED))];
beforeAll(() => {
  const nodes = fresh();
  carry(nodes, nodes[0].keygen());
  stores = [nodes[0].copyOfStore(), nodes[1].copyOfStore()];
});

function wallet(): Nodes {
  const node = (party: Party) => {
    const { row, shares } = stores[party];
    const store = { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
    return new Node(party, seededRandom(SEED), undefined, store);
  };
  return [node(0), node(1)];
}

/** The first x from 1 on that no point has. */
function offCurve(): Buffer {
  for (let x = 1; ; x++) {
    const bytes = Buffer.alloc(33);
    bytes.writeUInt8(2, 0);
    bytes.writeUInt8(x, 32);
    if (!isLegal(bytes, "point")) return bytes;
  }
}

const POINTS = [
  ["the identity", Buffer.alloc(33)],
  ["off the curve", offCurve()],
  ["x above p", Buffer.concat([Buffer.of(2), Buffer.alloc(32, 255)])],
  ["an uncompressed head", Buffer.concat([Buffer.of(4), Buffer.alloc(32, 1)])],
] as const;
/** Zero is a scalar, and one that nobody has proven or committed to. */
const SCALARS = [
  ["n", Buffer.from(secp256k1.CURVE.n.toString(16), "hex")],
  ["zero", Buffer.alloc(32)],
] as const;

function put(table: readonly Field[], field: Field, bytes: Uint8Array): Tamper {
  return (message) => {
    if (kindOfType(message.header.type)?.name !== field.message) return [message];
    const body = Buffer.from(message.body);
    // Of many points the last one.
    body.set(bytes, offsetOf(table, field) + field.bytes - bytes.byteLength);
    return [{ header: message.header, body }];
  };
}

const isEncoded = ({ kind }: Field) => kind !== "bytes";

describe.each([
  ["key generation", KEYGEN_FIELDS],
  ["refresh", REFRESH_FIELDS],
] as const)("a %s", (flow, table) => {
  for (const field of table.filter(isEncoded))
    for (const [what, bytes] of field.kind.startsWith("point") ? POINTS : SCALARS)
      it(`whose ${field.name} of ${field.message} is ${what} is a violation`, () => {
        const nodes = flow === "refresh" ? wallet() : fresh();
        const first = flow === "refresh" ? nodes[0].refresh(0) : nodes[0].keygen();
        carry(nodes, first, put(table, field, bytes));
        expect(nodes.map(({ ends }) => classOf(ends[0]))).toContain("violation");
        expect(nodes.map(({ store }) => [...store.shares.keys()])).toEqual(flow === "refresh" ? [[1], [1]] : [[], []]);
        expect(nodes.every(({ row }) => row?.status !== "frozen")).toBe(true);
      });
});
