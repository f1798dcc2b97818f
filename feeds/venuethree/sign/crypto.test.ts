/** The field, the curve and the signatures against arithmetic in BigInt and against each other's laws. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addPoints,
  decode,
  doublePoint,
  encode,
  equalPoints,
  generator,
  makeTable,
  multiplyGenerator,
  multiplyPoint,
  multiplyTable,
  neutral,
  ORDER,
  scalarFromBytes,
  scalarToBytes,
} from "./curve.js";
import * as base from "./goldilocks.js";
import { hash, permute } from "./poseidon2.js";
import * as quintic from "./quintic.js";
import { NoncePool, nonceOf, publicKeyOf, randomScalar, signMessage, verifySignature } from "./schnorr.js";

const P = base.P;
const EDGES = [
  0n,
  1n,
  2n,
  0xffff_ffffn,
  1n << 32n,
  P - 1n,
  P - 2n,
  P - (1n << 32n),
  (1n << 63n) - 1n,
  0xffff_ffff_0000_0000n,
];
const element = fc.oneof(fc.constantFrom(...EDGES), fc.bigInt({ min: 0n, max: P - 1n }));
const five = fc.tuple(element, element, element, element, element);
const scalar = fc.bigInt({ min: 0n, max: ORDER - 1n });

function word(value: bigint): Uint32Array {
  const out = new Uint32Array(2);
  base.fromBigInt(out, 0, value);
  return out;
}

function computed(compute: (out: Uint32Array) => void): bigint {
  const out = new Uint32Array(2);
  compute(out);
  return base.toBigInt(out, 0);
}

describe("the base field", () => {
  it("adds, subtracts and multiplies as BigInt does, canonically", () => {
    fc.assert(
      fc.property(element, element, fc.integer({ min: 0, max: (1 << 20) - 1 }), (a, b, small) => {
        const [x, y] = [word(a), word(b)];
        expect(computed((out) => base.add(out, 0, x, 0, y, 0))).toBe((a + b) % P);
        expect(computed((out) => base.subtract(out, 0, x, 0, y, 0))).toBe((a - b + P) % P);
        expect(computed((out) => base.multiply(out, 0, x, 0, y, 0))).toBe((a * b) % P);
        expect(computed((out) => base.multiplySmall(out, 0, x, 0, small))).toBe((a * BigInt(small)) % P);
      }),
    );
  });

  it("reduces columns and sums that are not carried yet", () => {
    const column = fc.integer({ min: 0, max: 2 ** 45 });
    const sum = fc.integer({ min: -(2 ** 51), max: 2 ** 51 });
    fc.assert(
      fc.property(column, column, column, column, sum, sum, (c0, c1, c2, c3, low, high) => {
        const value = BigInt(c0) + (BigInt(c1) << 32n) + (BigInt(c2) << 64n) + (BigInt(c3) << 96n);
        expect(computed((out) => base.reduceColumns(out, 0, c0, c1, c2, c3))).toBe(value % P);
        const signed = BigInt(low) + (BigInt(high) << 32n);
        expect(computed((out) => base.reduceSum(out, 0, low, high))).toBe(((signed % P) + P) % P);
      }),
    );
  });

  it("inverts, and takes roots of squares only", () => {
    fc.assert(
      fc.property(element, (a) => {
        const x = word(a);
        const inverse = computed((out) => base.invert(out, 0, x, 0));
        expect((inverse * a) % P).toBe(a === 0n ? 0n : 1n);
        const squared = word((a * a) % P);
        expect(base.squareRoot(squared, 0, squared, 0)).toBe(true);
        const root = base.toBigInt(squared, 0);
        expect(root === a || root === (P - a) % P).toBe(true);
        // 7 is no square, so seven squares are none.
        const other = word((a * a * 7n) % P);
        expect(base.squareRoot(other, 0, other, 0)).toBe(a === 0n);
      }),
      { numRuns: 40 },
    );
  });
});

describe("the quintic extension", () => {
  it("multiplies as polynomials mod X^5 − 3", () => {
    fc.assert(
      fc.property(five, five, (a, b) => {
        const expected = [0n, 0n, 0n, 0n, 0n];
        for (const [i, x] of a.entries()) {
          for (const [j, y] of b.entries()) {
            const k = (i + j) % 5;
            expected[k] = ((expected[k] as bigint) + x * y * (i + j >= 5 ? 3n : 1n)) % P;
          }
        }
        const out = quintic.quintic(...a);
        quintic.multiply(out, out, quintic.quintic(...b));
        expect(quintic.toBytes(out)).toEqual(quintic.toBytes(quintic.quintic(...expected)));
      }),
    );
  });

  it("squares as it multiplies", () => {
    fc.assert(
      fc.property(five, (a) => {
        const x = quintic.quintic(...a);
        const product = x.slice();
        quintic.multiply(product, x, x);
        quintic.square(x, x);
        expect(quintic.equals(x, product)).toBe(true);
      }),
    );
  });

  it("inverts, recognises squares and takes their roots", () => {
    fc.assert(
      fc.property(five, (a) => {
        const x = quintic.quintic(...a);
        const out = x.slice();
        quintic.invert(out, x);
        quintic.multiply(out, out, x);
        expect(quintic.equals(out, quintic.quintic(quintic.isZero(x) ? 0n : 1n))).toBe(true);
        const squared = x.slice();
        quintic.multiply(squared, x, x);
        expect(quintic.isSquare(squared)).toBe(true);
        expect(quintic.squareRoot(out, squared)).toBe(true);
        quintic.multiply(out, out, out);
        expect(quintic.equals(out, squared)).toBe(true);
        expect(quintic.squareRoot(out, x)).toBe(quintic.isSquare(x));
      }),
      { numRuns: 30 },
    );
  });
});

describe("the hash", () => {
  it("overwrites the state chunk by chunk, short last chunk included, and squeezes on", () => {
    fc.assert(
      fc.property(
        fc.array(element, { minLength: 0, maxLength: 20 }),
        fc.integer({ min: 1, max: 20 }),
        (values, count) => {
          const input = new Uint32Array(2 * values.length);
          for (const [index, value] of values.entries()) base.fromBigInt(input, 2 * index, value);
          const state = new Uint32Array(24);
          for (let from = 0; from < values.length; from += 8) {
            state.set(input.subarray(2 * from, 2 * Math.min(from + 8, values.length)));
            permute(state);
          }
          const out: number[] = [];
          while (out.length < 2 * count) {
            if (out.length > 0) permute(state);
            out.push(...state.subarray(0, 16));
          }
          expect([...hash(input, values.length, count)]).toEqual(out.slice(0, 2 * count));
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("the curve", () => {
  it("is a group: multiples of the generator add as scalars do, by table and by doubling", () => {
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        const sum = neutral();
        addPoints(sum, multiplyGenerator(a), multiplyGenerator(b));
        expect(equalPoints(sum, multiplyGenerator((a + b) % ORDER))).toBe(true);
        expect(equalPoints(multiplyGenerator(a), multiplyPoint(generator(), a))).toBe(true);
      }),
      { numRuns: 5 },
    );
  });

  it("doubles as it adds to itself, and multiplies as bits of the scalar say, by table as well", () => {
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        const point = multiplyGenerator(a);
        const naive = neutral();
        for (const bit of b.toString(2)) {
          const before = { ...naive, x: naive.x.slice(), z: naive.z.slice(), u: naive.u.slice(), t: naive.t.slice() };
          addPoints(naive, naive, naive);
          doublePoint(before, before);
          expect(equalPoints(naive, before)).toBe(true);
          if (bit === "1") addPoints(naive, naive, point);
        }
        expect(equalPoints(multiplyPoint(point, b), naive)).toBe(true);
        expect(equalPoints(multiplyTable(makeTable(point), b), naive)).toBe(true);
      }),
      { numRuns: 4 },
    );
  });

  it.each([0n, 1n, 2n, 15n, 16n, 17n, 31n, 32n, ORDER - 1n, 1n << 318n])("multiplies by %s", (value) => {
    expect(equalPoints(multiplyGenerator(value), multiplyPoint(generator(), value))).toBe(true);
  });

  it("comes back to the neutral after its order", () => {
    expect(quintic.isZero(encode(multiplyPoint(generator(), ORDER)))).toBe(true);
  });

  it("decodes what it encodes, and refuses what is no point", () => {
    let refusedCount = 0;
    fc.assert(
      fc.property(scalar, five, (a, w) => {
        const encoded = encode(multiplyGenerator(a));
        const back = decode(encoded);
        expect(back !== null && quintic.equals(encode(back), encoded)).toBe(true);
        const other = decode(quintic.quintic(...w));
        if (other === null) refusedCount++;
        else expect(quintic.equals(encode(other), quintic.quintic(...w))).toBe(true);
      }),
      { numRuns: 20 },
    );
    // About half of all field elements encode nothing.
    expect(refusedCount).toBeGreaterThan(2);
  });
});

describe("signatures", () => {
  it("verify for their message and key, and for nothing else", () => {
    fc.assert(
      fc.property(scalar, five, fc.integer({ min: 0, max: 639 }), (sk, m, bit) => {
        const key = new Uint8Array(40);
        scalarToBytes(key, 0, sk);
        const message = quintic.quintic(...m);
        const signature = signMessage(message, key, nonceOf(randomScalar()));
        const publicKey = publicKeyOf(key);
        expect(verifySignature(message, signature, publicKey)).toBe(true);
        const bent = signature.slice();
        bent[bit >> 3] = (bent[bit >> 3] as number) ^ (1 << (bit & 7));
        // A bent scalar may be the same one after reduction only when it was changed by a multiple of the order.
        expect(verifySignature(message, bent, publicKey)).toBe(false);
        expect(verifySignature(message, signature.subarray(1), publicKey)).toBe(false);
      }),
      { numRuns: 4 },
    );
  });

  it("verify the same whether a key is new or has come often, and after it was forgotten", () => {
    const keyOf = (index: number): Uint8Array => Uint8Array.from({ length: 40 }, (_, at) => (at === 0 ? index + 1 : 7));
    const message = quintic.quintic(1n, 2n, 3n, 4n, 5n);
    const publicKey = publicKeyOf(keyOf(0));
    const signature = signMessage(message, keyOf(0), nonceOf(randomScalar()));
    const other = signMessage(message, keyOf(1), nonceOf(randomScalar()));
    const check = (): void => {
      expect(verifySignature(message, signature, publicKey)).toBe(true);
      expect(verifySignature(message, other, publicKey)).toBe(false);
    };
    for (let times = 0; times < 5; times++) check();
    for (let index = 1; index <= 65; index++) {
      expect(verifySignature(message, signature, publicKeyOf(keyOf(index)))).toBe(false);
    }
    check();
  });

  it("take each pair of the pool once, and make one where it is empty", () => {
    const pool = new NoncePool(3);
    expect(pool.fill(2)).toBe(true);
    expect(pool.fill(5)).toBe(false);
    expect(pool.size).toBe(3);
    const taken = Array.from({ length: 5 }, () => pool.take().k);
    expect(new Set(taken).size).toBe(5);
    expect(pool.missCount).toBe(2);
    pool.fill(2);
    pool.clear();
    expect(pool.size).toBe(0);
  });

  it("draw scalars below the order, never 0", () => {
    for (let draw = 0; draw < 200; draw++) {
      const k = randomScalar();
      expect(k > 0n && k < ORDER).toBe(true);
    }
    expect(scalarFromBytes(new Uint8Array(40).fill(255))).toBe(((1n << 320n) - 1n) % ORDER);
  });
});
