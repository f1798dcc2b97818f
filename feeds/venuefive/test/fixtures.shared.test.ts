/** Captured answers of the venue's own services, through the code that reads the chain. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { VENUEFIVE_PAIRS } from "../../../schemas/venuefive/contracts.js";
import { orderOf, positionOf } from "../account/normalize.js";
import { pairMapOf, parsePairs } from "../market/pair-map.js";
import { liquidationPriceOf } from "../rules/formulas.js";

const FOLDER = fileURLToPath(new URL("../../../../shared/fixtures/venuefive/", import.meta.url));
const read = (name: string): unknown => JSON.parse(readFileSync(`${FOLDER}${name}`, "utf8"));
type Raw = Readonly<Record<string, string | number | boolean>>;

describe.skipIf(!existsSync(FOLDER))("captured answers of venuefive (needs ../shared)", () => {
  it("have the prices of liquidation that the formula gives, and read as positions and orders", () => {
    const { positions, limitOrders } = read("user-data.2025-09.json") as { positions: Raw[]; limitOrders: Raw[] };
    const [position, order] = [positions[0] ?? {}, limitOrders[0] ?? {}];
    const big = (raw: Raw, name: string): bigint => BigInt(String(raw[name]));
    const number = (raw: Raw, name: string): number => Number(raw[name]);
    const meaning = { map: pairMapOf(VENUEFIVE_PAIRS), dollarBased: new Set<number>() };
    const of = { isLong: false, threshold: 85n };
    const amounts = (raw: Raw) => ({ collateral: big(raw, "collateral"), leverage: big(raw, "leverage") });
    const fee = big(position, "rolloverFee");
    const liquidation = liquidationPriceOf({
      ...{ ...of, ...amounts(position), openPrice: big(position, "openPrice"), rolloverFee: fee },
    });
    expect(liquidation).toBe(big(position, "liquidationPrice"));
    const shown = positionOf(
      {
        ...{
          trader: String(position["trader"]),
          pairIndex: number(position, "pairIndex"),
          index: 0,
          ...amounts(position),
        },
        ...{ openPrice: big(position, "openPrice"), isLong: false, tp: big(position, "tp"), sl: big(position, "sl") },
        ...{ openedAt: number(position, "openedAt"), isBeingClosed: false, rolloverFee: fee },
        ...{ liquidationPrice: liquidation, isZeroFee: false },
      },
      meaning,
    );
    expect(shown).toMatchObject({
      ...{ symbol: "PAIR_62", direction: "SHORT", entryPrice: "44.3574692469", liquidationPrice: "48.1278299403" },
      ...{ rolloverFee: "0.010908", collateral: "2000", leverage: "10", openedAtMs: 1_758_710_931_000 },
    });
    const rest = orderOf(
      {
        ...{ trader: String(order["trader"]), pairIndex: 99, index: 0, ...amounts(order), isLong: false },
        ...{
          tp: big(order, "tp"),
          sl: big(order, "sl"),
          price: big(order, "price"),
          slippage: big(order, "slippageP"),
        },
        block: number(order, "block"),
        liquidationPrice: liquidationPriceOf({
          ...of,
          ...amounts(order),
          openPrice: big(order, "price"),
          rolloverFee: 0n,
        }),
      },
      meaning,
      { block: number(order, "block"), orderType: null, timestampMs: 0, txHash: null },
    );
    expect(rest).toMatchObject({ orderId: "99:0:35961058", liquidationPrice: "3791.96", slippagePercent: "3" });
    // 3000 USD of notional, as the answer says it, at 3760.
    expect(rest.size).toBe("0.7978723404");
  });

  it("have other pairs than the interface spec at all indexes but five, and a map of their own can be written down", () => {
    const live = Object.entries(read("pair-index-live.2026-07.json") as Record<string, { from: string }>);
    const same = VENUEFIVE_PAIRS.filter(
      (symbol, index) => live.find(([at]) => Number(at) === index)?.[1].from === symbol,
    );
    expect(same).toEqual(["ETH", "BTC", "SOL", "DOGE", "AVAX"]);
    const entries = live
      .filter(([, { from }]) => from === "ETH" || from === "BTC")
      .map(([at, { from }]) => `${from}=${at}`);
    expect(parsePairs(entries).ok).toBe(true);
  });
});
