import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  decodeBalances,
  decodeCommission,
  decodeEmpty,
  decodeListenKey,
  decodeOrder,
  decodeOrders,
  decodePositionRisk,
  readError,
} from "../account/wire.js";
import { statusOfWord } from "../account/normalize.js";
import { isListedCode } from "../rules/errors.js";

const dir = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "..", "shared", "fixtures", "venuetwo");

function read(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(dir, file), "utf8")) as Record<string, unknown>;
}

/** Documentation pages print one example or a list of them. */
function examples(value: unknown): unknown[] {
  return Array.isArray(value) && value.some((item) => Array.isArray(item)) ? (value as unknown[]) : [value];
}

describe.skipIf(!existsSync(dir))("recorded and documented answers about trading (needs ../shared)", () => {
  it("live excerpts: order acknowledgement, flat position, balance row, refused cancel", () => {
    const live = read("aster/cx-recorded-rest-samples.json");
    expect(decodeOrder(live["newOrderAck"])).toMatchObject({
      orderId: "17338441758",
      status: "NEW",
      executedQty: "0",
      reduceOnly: false,
    });
    expect(decodePositionRisk(live["positionRisk"])).toHaveLength(1);
    const rows = JSON.parse(readFileSync(join(dir, "aster/cx-static-answers-excerpt.json"), "utf8")) as {
      what: string;
      data: unknown;
    }[];
    const found = (start: string): unknown => rows.find((row) => row.what.startsWith(start))?.data;
    expect(decodeBalances([found("futures balance row")])).toHaveLength(1);
    // Spot answers of the same family have no position side.
    expect(decodeOrder(found("spot order answer"))).toMatchObject({ positionSide: "BOTH", type: "STOP_MARKET" });
    expect(decodeOrder(found("spot market order"))).toMatchObject({ status: "NEW", type: "MARKET" });
    const [refused] = found("cancel several orders") as unknown[];
    expect(readError(JSON.stringify(refused))).toEqual({ code: -2011, msg: "Unknown order sent." });
  });

  it.each(["aster/doc-examples-v1-futures.json", "aster/doc-examples-v3-futures.json"])(
    "%s: every order, position, balance, fee and key example",
    (file) => {
      let decodedCount = 0;
      for (const [title, value] of Object.entries(read(file))) {
        for (const example of examples(value)) {
          if (
            /^(Cancel Order|Query Order|New Order|Query Current Open Order|Modify Order)\b/.test(title) &&
            isOrder(example)
          ) {
            expect(statusOfWord(decodeOrder(example).status)).not.toBe("UNKNOWN");
          } else if (/^(Current )?All (Open )?Orders/.test(title)) {
            expect(decodeOrders(example).length).toBeGreaterThan(0);
          } else if (/^Position Information/.test(title)) {
            for (const rows of examples(example)) expect(decodePositionRisk(rows).length).toBeGreaterThan(0);
          } else if (/^Futures Account Balance/.test(title)) {
            expect(decodeBalances(example).length).toBeGreaterThan(0);
          } else if (/^User Commission Rate/.test(title)) {
            expect(decodeCommission(example).symbol).toBe("BTCUSDT");
          } else if (/^Start User Data Stream/.test(title)) {
            expect(decodeListenKey(example)).not.toBe("");
          } else if (/^(Keepalive|Close) User Data Stream/.test(title)) {
            expect(decodeEmpty(example)).toBeNull();
          } else if (/^Error Codes/.test(title)) {
            expect(isListedCode(readError(JSON.stringify(example))?.code ?? 0)).toBe(true);
          } else continue;
          decodedCount++;
        }
      }
      expect(decodedCount).toBeGreaterThanOrEqual(9);
    },
  );

  it("the ancestor dialect: order response, positions of both modes, commission", () => {
    expect(decodeOrder(read("binance-usdm/nt-rs-order_response.json"))).toMatchObject({
      orderId: "12345678",
      status: "NEW",
    });
    for (const mode of ["hedge", "one_way"]) {
      expect(
        decodePositionRisk(read(`binance-usdm/nt-py-http_futures_account_positions_${mode}.json`)).length,
      ).toBeGreaterThan(0);
    }
    expect(
      decodeCommission(read("binance-usdm/nt-py-http_futures_wallet_commission_rate_btcusdt.json")).takerCommissionRate,
    ).toBe("0.0005");
  });
});

function isOrder(value: unknown): boolean {
  return typeof value === "object" && value !== null && "orderId" in value;
}
