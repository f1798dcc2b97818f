/** All published calldata, and the published rejects. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkOpen, type OpenPositionParameters } from "./open-order.js";
import { built, CONFIG, type Vector } from "../test/venuefive-vectors.js";

const FILE = join(
  fileURLToPath(new URL("../../", import.meta.url)),
  "..",
  "shared",
  "vectors",
  "venuefive-calldata.json",
);
const WRITES = [
  ...["openTrade", "closeTradeMarket", "cancelOpenLimitOrder", "updateOpenLimitOrder"],
  ...["updateMargin", "updateTpAndSl", "approve"],
];
/** By what the vector says of its error. */
const CODES: Readonly<Record<string, string>> = {
  "reject-unknown-symbol": "UNKNOWN_SYMBOL",
  "reject-leverage-above-50": "LEVERAGE_OUT_OF_RANGE",
  "reject-leverage-below-1": "LEVERAGE_OUT_OF_RANGE",
  "reject-zero-fee-below-75": "LEVERAGE_OUT_OF_RANGE",
  "reject-zero-fee-other-asset": "ZERO_FEE_NOT_ALLOWED",
  "reject-notional-below-100": "NOTIONAL_TOO_SMALL",
  "reject-usdc-seven-decimals": "TOO_MANY_DECIMALS",
  "reject-open-price-missing": "INVALID_PARAMETERS",
  "reject-long-tp-below-open": "INVALID_TAKE_PROFIT",
  "reject-slippage-80": "SLIPPAGE_OUT_OF_RANGE",
};

interface Vectors {
  readonly vectors: readonly Vector[];
  readonly rejects: readonly { readonly id: string; readonly input: OpenPositionParameters }[];
}

describe.skipIf(!existsSync(FILE))("the published vectors (need ../shared)", () => {
  const { vectors, rejects }: Vectors = existsSync(FILE)
    ? JSON.parse(readFileSync(FILE, "utf8"))
    : { vectors: [], rejects: [] };

  it("of writes are what the library sends, byte for byte", () => {
    const writes = vectors.filter(({ group, input }) => WRITES.includes(group) && (group !== "openTrade" || input));
    const ours = writes.map((vector) => ({ id: vector.id, call: built(vector) }));
    const skipped = ours.filter(({ call }) => call === null).map(({ id }) => id);
    expect(skipped).toEqual(["margin-deposit-five-arg-overload"]);
    const compared = writes.filter(({ id }) => !skipped.includes(id));
    expect(compared).toHaveLength(14);
    expect(ours.flatMap(({ id, call }) => (call === null ? [] : [{ id, ...call }]))).toEqual(
      compared.map(({ id, expected: { to, data, valueWei } }) => ({ id, to, data, valueWei })),
    );
  });

  it("of rejects are refused with the code of their reason", () => {
    const codes = rejects.map(({ id, input }) => {
      try {
        checkOpen(input, CONFIG.pairs);
        return [id, null];
      } catch (error) {
        return [id, (error as { code: string }).code];
      }
    });
    expect(Object.fromEntries(codes)).toEqual(CODES);
  });
});
