/** New shares that would be zero, equal or of no point are refused, by both parties alike (docs/mpc.md, section 9). */
import { describe, expect, it } from "vitest";
import { failureOf } from "../base/outcome.js";
import type { Party } from "../base/parameters.js";
import { baseTimes, encodePublic, sum } from "../base/point.js";
import { inversePublic, ORDER, reduced } from "../base/scalar.js";
import type { OpenShare } from "../state/share-record.js";
import { shifted } from "./refresh-shares.js";

const SHARES = [11n, 31n] as const;

/** What `shifted` reads of a party's open record. */
function opened(party: Party, shares: readonly [bigint, bigint] = SHARES): OpenShare {
  const points = [baseTimes(shares[0]), baseTimes(shares[1])] as const;
  const publicShares = [encodePublic(points[0]), encodePublic(points[1])] as const;
  const key = encodePublic(sum(points[0], points[1]));
  return { party, share: shares[party], publicShares, key } as unknown as OpenShare;
}

function refusedAs(party: Party, delta: bigint): string {
  try {
    shifted(opened(party), delta);
    return "taken";
  } catch (error) {
    const failure = failureOf(error);
    return failure.kind === "violation" ? `violation ${failure.field}` : failure.kind;
  }
}

describe("the step of a refresh", () => {
  it("that makes the own share zero is refused, and the other party refuses its public share", () => {
    expect(refusedAs(0, ORDER - SHARES[0])).toBe("violation share");
    expect(refusedAs(1, ORDER - SHARES[0])).toBe("violation P");
    expect(refusedAs(1, SHARES[1])).toBe("violation share");
    expect(refusedAs(0, SHARES[1])).toBe("violation P");
  });

  it("of zero is refused", () => {
    for (const party of [0, 1] as const) expect(refusedAs(party, 0n)).toBe("violation delta");
  });

  it("that makes both shares equal is refused", () => {
    const delta = reduced((SHARES[1] - SHARES[0]) * inversePublic(2n));
    for (const party of [0, 1] as const) expect(refusedAs(party, delta)).toBe("violation P");
  });

  it("beside each of these is taken, and the key stays", () => {
    const steps = [1n, ORDER - 1n, ORDER - SHARES[0] - 1n, ORDER - SHARES[0] + 1n, SHARES[1] - 1n, SHARES[1] + 1n];
    for (const delta of steps) {
      const [first, second] = [shifted(opened(0), delta), shifted(opened(1), delta)];
      expect([first.share === 0n, second.share === 0n]).toEqual([false, false]);
      expect(first.publicShares.map(({ bytes }) => bytes)).toEqual(second.publicShares.map(({ bytes }) => bytes));
      expect(first.publicShares[0].bytes).toEqual(encodePublic(baseTimes(first.share)).bytes);
      expect(first.publicShares[1].bytes).toEqual(encodePublic(baseTimes(second.share)).bytes);
    }
  });
});
