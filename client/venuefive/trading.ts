/**
 * Trading at venuefive from a user's own wallet (interface spec 4.6 and 4.7): what each operation reads, checks and sends.
 * How it is signed and followed is `transact.ts`. Parameters are checked before the wallet or the chain is asked.
 */
import type { Hex } from "viem";
import { ChainReader } from "./chain-reader.js";
import {
  cancelCall,
  closeCall,
  MARGIN_KINDS,
  type MarginKind,
  marginCall,
  openCall,
  type PriceUpdate,
  triggersCall,
  updateLimitCall,
} from "./contract-calls.js";
import {
  type CheckedOpen,
  checkDirection,
  checkFields,
  checkIndex,
  checkOpen,
  checkPrice,
  checkSlippage,
  checkSymbol,
  checkTriggers,
  type OpenPositionParameters,
  triggerE10,
  type VenuefiveDirection,
} from "./open-order.js";
import { type TradingConfig, tradingConfig, type VenuefiveTradingOptions } from "./options.js";
import { usdcE6, usdcText } from "./quantities.js";
import { type ExpectedEvent, openEvent, orderEvent, slotEvent } from "./receipt-events.js";
import { checkHash, notFollowed } from "./resume.js";
import type { VenuefiveOperation, VenuefiveStep } from "./steps.js";
import { invalid, VenuefiveTradeError } from "./trade-error.js";
import { type OperationOptions, type Prepare, Transact, type TransactionPlan } from "./transact.js";
import type { Signer } from "./wallet.js";

export interface OpenPositionResult {
  readonly txHash: Hex;
  readonly symbol: string;
  readonly direction: VenuefiveDirection;
  /** Decimal text, in tokens at the price that was given. */
  readonly size: string;
  readonly leverage: number;
}

export interface ClosePositionParameters {
  readonly pairIndex: number;
  readonly tradeIndex: number;
  /** Collateral as decimal text; absent: all of it. */
  readonly closeAmountUsdc?: string | undefined;
}

export interface LimitOrderParameters {
  readonly pairIndex: number;
  readonly orderIndex: number;
}

/** What is absent stays as it is; the trigger `0` is none. */
export interface UpdateLimitOrderParameters extends LimitOrderParameters {
  readonly price?: string | undefined;
  readonly slippagePercent?: number | undefined;
  readonly tp?: string | undefined;
  readonly sl?: string | undefined;
}

export interface UpdateMarginParameters {
  readonly pairIndex: number;
  readonly tradeIndex: number;
  readonly type: MarginKind;
  readonly amountUsdc: string;
}

/** What is absent stays as it is. `tp` `0` is the price of the largest gain, `sl` `0` is none. */
export interface UpdateTpAndSlParameters {
  readonly pairIndex: number;
  readonly tradeIndex: number;
  readonly tp?: string | undefined;
  readonly sl?: string | undefined;
}

export interface VenuefiveTrading {
  openPosition(parameters: OpenPositionParameters, options?: OperationOptions): Promise<OpenPositionResult>;
  closePosition(parameters: ClosePositionParameters, options?: OperationOptions): Promise<Hex>;
  /** Closes the lowest index of several; the step `matched` says how many there are. */
  closeBySymbol(symbol: string, direction: VenuefiveDirection, options?: OperationOptions): Promise<Hex>;
  cancelLimitOrder(parameters: LimitOrderParameters, options?: OperationOptions): Promise<Hex>;
  updateLimitOrder(parameters: UpdateLimitOrderParameters, options?: OperationOptions): Promise<Hex>;
  updateMargin(parameters: UpdateMarginParameters, options?: OperationOptions): Promise<Hex>;
  updateTpAndSl(parameters: UpdateTpAndSlParameters, options?: OperationOptions): Promise<Hex>;
  /** Follows a trade that the account has sent before, by default until it is executed; resolves as that trade would. */
  resume(txHash: Hex, options?: OperationOptions): Promise<Hex>;
}

/** The vendor's estimate: gas of the keeper's transaction with a tenth more, and a constant. */
const FEE_GAS = 935_000n;
const FEE_CONSTANT_WEI = 5_000_000_000n;
const FEE_DEFAULT_WEI = 350_000_000_000_000n;

export function createVenuefiveTrading(options: VenuefiveTradingOptions): VenuefiveTrading {
  return new Trading(tradingConfig(options));
}

/** The operations may be called without their object: they are given to hooks and handlers. */
class Trading implements VenuefiveTrading {
  readonly #config: TradingConfig;
  readonly #reader: ChainReader;

  constructor(config: TradingConfig) {
    this.#config = config;
    this.#reader = new ChainReader(config);
  }

  readonly openPosition = async (
    parameters: OpenPositionParameters,
    options?: OperationOptions,
  ): Promise<OpenPositionResult> => {
    const order = checkOpen(parameters, this.#config.pairs);
    const txHash = await this.#run("openPosition", options, async ({ address }) => {
      await this.#guardSymbol(order);
      const feeWei = await this.#executionFeeWei();
      const call = openCall(this.#config.addresses.Trading, address, order, feeWei);
      const { pairIndex, isMarket } = order;
      const expects = [openEvent({ pairIndex, isMarket, isBuy: order.direction === "LONG" })];
      return { call: async () => call, spendsE6: order.collateralE6, expects };
    });
    const { symbol, direction, size, leverage } = order;
    return { txHash, symbol, direction, size, leverage };
  };

  readonly closePosition = async (parameters: ClosePositionParameters, options?: OperationOptions): Promise<Hex> => {
    checkFields(parameters, ["pairIndex", "tradeIndex", "closeAmountUsdc"]);
    const pairIndex = checkIndex(parameters.pairIndex, "pairIndex");
    const tradeIndex = checkIndex(parameters.tradeIndex, "tradeIndex");
    const amountE6 = optionalAmountE6(parameters.closeAmountUsdc);
    return this.#run("closePosition", options, (signer) => this.#closing(signer, pairIndex, tradeIndex, { amountE6 }));
  };

  readonly closeBySymbol = async (
    symbol: string,
    direction: VenuefiveDirection,
    options?: OperationOptions,
  ): Promise<Hex> => {
    const named = checkSymbol(symbol, this.#config.pairs);
    checkDirection(direction);
    return this.#run("closeBySymbol", options, async (signer, step) => {
      await this.#guardSymbol(named);
      const tradeIndex = await this.#lowestMatch(signer, named.pairIndex, direction, step);
      return this.#closing(signer, named.pairIndex, tradeIndex, { direction });
    });
  };

  readonly cancelLimitOrder = async (parameters: LimitOrderParameters, options?: OperationOptions): Promise<Hex> => {
    checkFields(parameters, ["pairIndex", "orderIndex"]);
    const pairIndex = checkIndex(parameters.pairIndex, "pairIndex");
    const orderIndex = checkIndex(parameters.orderIndex, "orderIndex");
    return this.#run("cancelLimitOrder", options, async (signer) => {
      await this.#limitOrder(signer, pairIndex, orderIndex);
      const call = cancelCall(this.#config.addresses.Trading, pairIndex, orderIndex);
      return spendless(async () => call, [slotEvent("OpenLimitCanceled", pairIndex, orderIndex)]);
    });
  };

  readonly updateLimitOrder = async (
    parameters: UpdateLimitOrderParameters,
    options?: OperationOptions,
  ): Promise<Hex> => {
    checkFields(parameters, ["pairIndex", "orderIndex", "price", "slippagePercent", "tp", "sl"]);
    const pairIndex = checkIndex(parameters.pairIndex, "pairIndex");
    const orderIndex = checkIndex(parameters.orderIndex, "orderIndex");
    const price = ifGiven(parameters.price, (text) => checkPrice(text, "price"));
    const slippage = ifGiven(parameters.slippagePercent, checkSlippage);
    const [tp, sl] = [triggerChange(parameters.tp, "tp"), triggerChange(parameters.sl, "sl")];
    if ([price, slippage, tp, sl].every((change) => change === null)) throw nothingToChange();
    return this.#run("updateLimitOrder", options, async (signer) => {
      const order = await this.#limitOrder(signer, pairIndex, orderIndex);
      const priceE10 = price ?? order.price;
      const triggers = checkTriggers(order.buy ? "LONG" : "SHORT", priceE10, tp ?? order.tp, sl ?? order.sl);
      const values = { priceE10, slippageE10: slippage ?? order.slippageP, ...triggers };
      const call = updateLimitCall(this.#config.addresses.Trading, pairIndex, orderIndex, values);
      return spendless(async () => call, [slotEvent("OpenLimitUpdated", pairIndex, orderIndex)]);
    });
  };

  readonly updateMargin = async (parameters: UpdateMarginParameters, options?: OperationOptions): Promise<Hex> => {
    checkFields(parameters, ["pairIndex", "tradeIndex", "type", "amountUsdc"]);
    const pairIndex = checkIndex(parameters.pairIndex, "pairIndex");
    const tradeIndex = checkIndex(parameters.tradeIndex, "tradeIndex");
    const { type: kind } = parameters;
    if (!MARGIN_KINDS.includes(kind)) throw invalid("type", `one of ${MARGIN_KINDS.join(", ")}`);
    const amountE6 = amountAboveZero(parameters.amountUsdc, "amountUsdc");
    this.#checkOracle();
    return this.#run("updateMargin", options, async (signer) => {
      await this.#position(signer, pairIndex, tradeIndex);
      const call = async () => {
        const update = await this.#priceUpdate(pairIndex);
        return marginCall(this.#config.addresses.Trading, pairIndex, tradeIndex, { kind, amountE6, update });
      };
      const expects = [slotEvent("MarginUpdated", pairIndex, tradeIndex)];
      return { call, spendsE6: kind === "DEPOSIT" ? amountE6 : 0n, expects };
    });
  };

  readonly updateTpAndSl = async (parameters: UpdateTpAndSlParameters, options?: OperationOptions): Promise<Hex> => {
    checkFields(parameters, ["pairIndex", "tradeIndex", "tp", "sl"]);
    const pairIndex = checkIndex(parameters.pairIndex, "pairIndex");
    const tradeIndex = checkIndex(parameters.tradeIndex, "tradeIndex");
    const [tp, sl] = [triggerChange(parameters.tp, "tp"), triggerChange(parameters.sl, "sl")];
    if (tp === null && sl === null) throw nothingToChange();
    this.#checkOracle();
    return this.#run("updateTpAndSl", options, async (signer) => {
      const trade = await this.#position(signer, pairIndex, tradeIndex);
      const triggers = { tpE10: tp ?? trade.tp, slE10: sl ?? trade.sl };
      const call = async () => {
        const update = await this.#priceUpdate(pairIndex);
        return triggersCall(this.#config.addresses.Trading, pairIndex, tradeIndex, { ...triggers, update });
      };
      // A take profit may be corrected; a stop loss beyond the oracle's price is left as it was, without a revert.
      const tpEvent = tp === null ? [] : [slotEvent("TpUpdated", pairIndex, tradeIndex)];
      const slEvent = sl === null ? [] : [slotEvent("SlUpdated", pairIndex, tradeIndex, { newSl: sl })];
      return spendless(call, [...tpEvent, ...slEvent]);
    });
  };

  readonly resume = async (txHash: Hex, options?: OperationOptions): Promise<Hex> => {
    const hash = checkHash(txHash);
    const waitFor = options?.waitFor ?? "executed";
    try {
      return await new Transact(this.#config, this.#reader, "resume", { ...options, waitFor }).resume(hash);
    } catch (error) {
      throw notFollowed(error, hash);
    }
  };

  #run(operation: VenuefiveOperation, options: OperationOptions | undefined, prepare: Prepare): Promise<Hex> {
    return new Transact(this.#config, this.#reader, operation, options).run(prepare);
  }

  /** A full close is of exactly what is stored as collateral. */
  async #closing(
    signer: Signer,
    pair: number,
    index: number,
    { amountE6 = null, direction }: { readonly amountE6?: bigint | null; readonly direction?: VenuefiveDirection },
  ): Promise<TransactionPlan> {
    const trade = await this.#position(signer, pair, index);
    // Another position may have taken the slot since it was found.
    if (direction !== undefined && trade.buy !== (direction === "LONG")) throw noMatch(pair, direction);
    const whole = trade.initialPosToken;
    if (amountE6 !== null && amountE6 > whole)
      throw new VenuefiveTradeError("AMOUNT_TOO_LARGE", "closeAmountUsdc is more than the position's collateral", {
        details: { amount: usdcText(amountE6), collateral: usdcText(whole) },
      });
    const feeWei = await this.#executionFeeWei();
    const call = closeCall(this.#config.addresses.Trading, pair, index, amountE6 ?? whole, feeWei);
    return spendless(async () => call, [orderEvent(pair, { open: false })]);
  }

  async #position({ address }: Signer, pairIndex: number, tradeIndex: number) {
    const trade = await this.#reader.trade(address, pairIndex, tradeIndex);
    if (trade.leverage === 0n) throw await this.#nothingThere("NO_POSITION", { pairIndex, tradeIndex });
    if (trade.isBeingClosed) throw beingClosed({ pairIndex, tradeIndex });
    return trade;
  }

  async #limitOrder({ address }: Signer, pairIndex: number, orderIndex: number) {
    const order = await this.#reader.limitOrder(address, pairIndex, orderIndex);
    if (order === null) throw await this.#nothingThere("NO_LIMIT_ORDER", { pairIndex, orderIndex });
    return order;
  }

  async #nothingThere(
    code: "NO_POSITION" | "NO_LIMIT_ORDER",
    details: { readonly pairIndex: number } & Readonly<Record<string, unknown>>,
  ): Promise<VenuefiveTradeError> {
    const pairsCount = await this.#reader.pairsCount();
    if (BigInt(details.pairIndex) >= pairsCount)
      return new VenuefiveTradeError("UNKNOWN_PAIR", "the venue has no such pair", { details });
    const what = code === "NO_POSITION" ? "position" : "limit order";
    return new VenuefiveTradeError(code, `the account has no such ${what}`, { details });
  }

  async #lowestMatch(
    { address }: Signer,
    pairIndex: number,
    direction: VenuefiveDirection,
    step: (step: VenuefiveStep) => void,
  ): Promise<number> {
    const isLong = direction === "LONG";
    const rows = (await this.#reader.tradesOfPair(address, pairIndex)).filter(({ trade }) => trade.buy === isLong);
    const free = rows.filter(({ tradeInfo }) => !tradeInfo.beingMarketClosed).map(({ trade }) => Number(trade.index));
    if (free.length === 0 && rows.length > 0) throw beingClosed({ pairIndex });
    if (free.length === 0) throw noMatch(pairIndex, direction);
    const tradeIndex = Math.min(...free);
    step({ step: "matched", pairIndex, tradeIndex, matchCount: free.length });
    return tradeIndex;
  }

  /** The pair map is not the live chain's: under a wrong index an order would trade another asset. */
  async #guardSymbol({ symbol, pairIndex }: Pick<CheckedOpen, "symbol" | "pairIndex">): Promise<void> {
    if (!this.#config.symbolGuard) return;
    const [from, to] = await this.#reader.pairNames(pairIndex);
    if ((from === symbol && to === "USD") || `${from}${to}` === symbol) return;
    throw new VenuefiveTradeError("PAIR_MISMATCH", `the chain has another pair under the index of ${symbol}`, {
      details: { symbol, pairIndex, from, to },
    });
  }

  async #executionFeeWei(): Promise<bigint> {
    const { executionFeeWei, executionFeeWeiMax } = this.#config;
    if (executionFeeWei !== null) return executionFeeWei;
    const gasPrice = await this.#reader.node.gasPrice().catch(() => null);
    const fee = gasPrice === null ? FEE_DEFAULT_WEI : FEE_GAS * gasPrice + FEE_CONSTANT_WEI;
    if (fee <= executionFeeWeiMax) return fee;
    throw new VenuefiveTradeError("EXECUTION_FEE_TOO_HIGH", "the fee by the gas price is above executionFeeWeiMax", {
      details: { feeWei: String(fee), maximumWei: String(executionFeeWeiMax) },
    });
  }

  #checkOracle(): NonNullable<TradingConfig["getPriceUpdate"]> {
    const { getPriceUpdate } = this.#config;
    if (getPriceUpdate === null) throw withoutPrice("the option getPriceUpdate is not set");
    return getPriceUpdate;
  }

  /** Empty bytes would silently leave the stop loss as it is. */
  async #priceUpdate(pairIndex: number): Promise<PriceUpdate> {
    const getPriceUpdate = this.#checkOracle();
    const update = await this.#reader.node
      .within(Promise.resolve().then(() => getPriceUpdate(pairIndex)))
      .catch((cause: unknown) => {
        throw withoutPrice("getPriceUpdate failed", cause);
      });
    const { priceUpdateData, priceSourcing } = update ?? {};
    const isBytes = (one: unknown): boolean => typeof one === "string" && /^0x([0-9a-f]{2})+$/i.test(one);
    if (!Array.isArray(priceUpdateData) || priceUpdateData.length === 0 || !priceUpdateData.every(isBytes))
      throw withoutPrice("getPriceUpdate gave no bytes");
    if (priceSourcing !== 0 && priceSourcing !== 1) throw withoutPrice("getPriceUpdate gave no priceSourcing");
    return { priceUpdateData, priceSourcing };
  }
}

const spendless = (call: TransactionPlan["call"], expects: readonly ExpectedEvent[]): TransactionPlan => ({
  ...{ call, spendsE6: 0n, expects },
});

const ifGiven = <T, R>(value: T | undefined, check: (value: T) => R): R | null =>
  value === undefined ? null : check(value);

const triggerChange = (text: string | undefined, field: string): bigint | null =>
  ifGiven(text, (given) => triggerE10(given, field));

const optionalAmountE6 = (text: string | undefined): bigint | null =>
  ifGiven(text, (given) => amountAboveZero(given, "closeAmountUsdc"));

function amountAboveZero(text: unknown, field: string): bigint {
  const amountE6 = usdcE6(text, field);
  if (amountE6 === 0n) throw invalid(field, "an amount above zero");
  return amountE6;
}

const nothingToChange = (): VenuefiveTradeError =>
  new VenuefiveTradeError("INVALID_PARAMETERS", "the parameters change nothing");

const beingClosed = (details: Readonly<Record<string, unknown>>): VenuefiveTradeError =>
  new VenuefiveTradeError("ALREADY_BEING_CLOSED", "the position is being closed already", { details });

const noMatch = (pairIndex: number, direction: VenuefiveDirection): VenuefiveTradeError =>
  new VenuefiveTradeError("NO_POSITION", "the account has no position of this symbol and direction", {
    details: { pairIndex, direction },
  });

const withoutPrice = (message: string, cause?: unknown): VenuefiveTradeError =>
  new VenuefiveTradeError("PRICE_UPDATE_MISSING", message, { cause });
