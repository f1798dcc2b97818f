/**
 * Vectors of venuefive: calls of its contracts, their events and answers, refusals of an opening, and formulas, against
 * what no code of ours made. One check for each group of entries.
 */
import { parseScaledBig } from "../../engine/domain/decimal.js";
import { USDC_DECIMALS, VENUEFIVE_DECIMALS, VENUEFIVE_PAIRS } from "../../schemas/venuefive/contracts.js";
import { expectEqual, expectTrue, type Vector, VectorMismatch, type VectorChecks } from "../shared/sign/vector.js";
import { readSlots } from "./account/slots.js";
import { closeValueOf, liquidationPriceOf } from "./rules/formulas.js";
import { type CheckedOpen, checkOpen, type OpenInput, type OpenRefusal } from "./rules/open-order.js";
import { canonical, decodedEvent, decodedResult, encodedCall, typedDigest } from "./sign/calldata.js";

export const vectors: VectorChecks = {
  openTrade: checkOpening,
  closeTradeMarket: checkClosing,
  cancelOpenLimitOrder: checkCall,
  updateOpenLimitOrder: checkCall,
  updateMargin: checkCall,
  updateTpAndSl: checkCall,
  approve: checkCall,
  delegation: checkCall,
  read: checkCall,
  keeper: checkCall,
  decode: checkDecoded,
  event: checkEvent,
  "v2-intent-digest": checkDigest,
  reject: checkRefused,
  liquidation: checkLiquidation,
  closeValue: checkCloseValue,
};

/** What an entry says where an opening is to be refused, and our reason for it. */
const REFUSALS: Readonly<Record<string, OpenRefusal>> = {
  "symbol not in the pair map": "SYMBOL",
  "max 50x outside ETH and BTC": "LEVERAGE_MAX",
  "min 1x": "LEVERAGE_MIN",
  "zero fee min 75x": "LEVERAGE_MIN",
  "zero fee only ETH, BTC, SOL": "ZERO_FEE_SYMBOL",
  "notional 99.9 below 100 USD": "NOTIONAL",
  "USDC has 6 decimals": "DECIMALS",
  "openPrice required for every order type": "OPEN_PRICE",
  "contract reverts WRONG_TP": "TAKE_PROFIT",
  "contract requires slippage below 80 percent (INVALID_SLIPPAGE)": "SLIPPAGE",
};

function checkOpening(vector: Vector): void {
  if (vector.has("input")) {
    const checked = opening(vector.object("input"), vector.text("account"));
    if (!checked.ok) throw new VectorMismatch(`refused: ${checked.message}`);
    const { t, type, slippage } = checked.args;
    const args = vector.object("args").fields;
    expectEqual("args", canonical({ t, _type: type, _slippageP: slippage }), canonical(args));
  }
  checkCall(vector);
}

function checkClosing(vector: Vector): void {
  const input = vector.object("input");
  const [pairIndex, index, amount] = vector.list("args");
  expectEqual("pairIndex", String(input.integer("pairIndex")), String(pairIndex));
  expectEqual("index", String(input.integer("tradeIndex")), String(index));
  // Without an amount it is what the storage has of it.
  const part = input.textOrNull("closeAmountUsdc");
  if (part !== null) expectEqual("amount", String(parseScaledBig(part, USDC_DECIMALS)), String(amount));
  checkCall(vector);
}

function checkCall(vector: Vector): void {
  const expected = vector.object("expected");
  expected.allowOnly(["to", "data", "selector", "valueWei"]);
  const call = encodedCall(vector.text("contract"), vector.text("function"), vector.fields["args"]);
  expectEqual("to", call.to.toLowerCase(), expected.text("to").toLowerCase());
  expectEqual("data", call.data, expected.text("data"));
  expectEqual("selector", call.data.slice(0, SELECTOR_CHARS), expected.text("selector"));
  if (expected.has("valueWei")) expectEqual("valueWei", String(call.value), expected.text("valueWei"));
}

const SELECTOR_CHARS = "0x12345678".length;

function checkDecoded(vector: Vector): void {
  const data = vector.text("returnData");
  const decoded = decodedResult(vector.text("contract"), vector.text("function"), data);
  expectEqual("expected", canonical(decoded), canonical(vector.list("expected")));
  const kept = vector.object("expectedKept");
  kept.allowOnly(["trades", "orders"]);
  const rows = readSlots(data);
  expectEqual("trades", String(rows.trades.length), String(kept.integer("trades")));
  expectEqual("orders", String(rows.orders.length), String(kept.integer("orders")));
}

function checkEvent(vector: Vector): void {
  const log = vector.object("log");
  const topics = log.list("topics").map(String);
  const { name, args } = decodedEvent(vector.text("contract"), topics, log.text("data"));
  expectEqual("event", name, vector.text("event"));
  expectEqual("expected", canonical(args), canonical(vector.object("expected").fields));
}

function checkDigest(vector: Vector): void {
  const { domain, types, message } = vector.fields;
  const digest = typedDigest(domain, types, vector.text("primaryType"), message);
  expectEqual("expectedDigest", digest, vector.text("expectedDigest"));
}

function checkRefused(vector: Vector): void {
  const expected = vector.text("expectedError");
  const refusal = Object.hasOwn(REFUSALS, expected) ? REFUSALS[expected] : undefined;
  if (refusal === undefined) throw new VectorMismatch(`refusal ${expected} is not known`);
  const checked = opening(vector.object("input"), NO_TRADER);
  expectEqual("refusal", checked.ok ? "none" : checked.refusal, refusal);
}

const NO_TRADER = `0x${"0".repeat(40)}`;

function opening(input: Vector, trader: string): CheckedOpen {
  const direction = input.text("direction");
  expectTrue(direction === "LONG" || direction === "SHORT", `direction ${direction}`);
  return checkOpen(
    {
      symbol: input.text("symbol"),
      direction: direction as OpenInput["direction"],
      positionSizeUsd: input.text("positionSizeUsd"),
      leverage: numberText(input, "leverage"),
      openPrice: input.text("openPrice"),
      orderType: input.text("orderType") as OpenInput["orderType"],
      slippagePercent: input.has("slippagePercent") ? numberText(input, "slippagePercent") : null,
      tp: input.textOrNull("tp"),
      sl: input.textOrNull("sl"),
    },
    trader,
    VENUEFIVE_PAIRS,
  );
}

function checkLiquidation(vector: Vector): void {
  const input = vector.object("input");
  const price = liquidationPriceOf({
    openPrice: BigInt(input.text("openPrice")),
    isLong: input.flag("buy"),
    collateral: BigInt(input.text("collateral")),
    leverage: BigInt(input.text("leverage")),
    rolloverFee: BigInt(input.text("rolloverFee")),
    threshold: BigInt(input.integer("liqThresholdP")),
  });
  expectEqual("expected", String(price), vector.text("expected"));
}

function checkCloseValue(vector: Vector): void {
  const input = vector.object("input");
  const expected = vector.object("expected");
  expected.allowOnly(["grossPnl", "closingFee", "usdcSentToTrader"]);
  const { grossPnl, closingFee, sent } = closeValueOf({
    openPrice: scaled(input, "openPrice", VENUEFIVE_DECIMALS),
    closePrice: scaled(input, "closePrice", VENUEFIVE_DECIMALS),
    isLong: input.flag("buy"),
    collateral: scaled(input, "collateralClosed", USDC_DECIMALS),
    leverage: scaled(input, "leverage", VENUEFIVE_DECIMALS),
    closeFee: scaled(input, "closeFeeP", VENUEFIVE_DECIMALS),
    rolloverFee: scaled(input, "rolloverFee", USDC_DECIMALS),
  });
  // The publisher rounded; what it allows is read by the same scale.
  const tolerance = BigInt(Math.round((vector.fields["toleranceUsdc"] as number) * 10 ** USDC_DECIMALS));
  for (const [name, actual] of Object.entries({ grossPnl, closingFee, usdcSentToTrader: sent })) {
    const difference = actual - scaled(expected, name, USDC_DECIMALS);
    const isWithin = difference <= tolerance && difference >= -tolerance;
    expectTrue(isWithin, `${name}: ${actual} is ${difference} from what is expected`);
  }
}

/** The files have these as JSON numbers, of few digits. */
function numberText(fields: Vector, name: string): string {
  const value = fields.fields[name];
  if (typeof value !== "number" || !Number.isFinite(value)) throw new VectorMismatch(`${name} is not a number`);
  return String(value);
}

function scaled(fields: Vector, name: string, decimals: number): bigint {
  const value = parseScaledBig(numberText(fields, name), decimals);
  if (value === null) throw new VectorMismatch(`${name} is not of ${decimals} decimals`);
  return value;
}
