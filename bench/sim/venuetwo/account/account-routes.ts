/** Account routes, fact sheet 5.4, and the listen keys of 6.7. */
import { moneyText, parseScaled } from "../../core/model/fixed.js";
import type { SimIncome, SimPositionSide, SimRefusal } from "../../core/model/types.js";
import { RawJson, type Route, type SignedCall, tradedRules } from "../records/context.js";
import { MONEY_ROUTES } from "./money-routes.js";
import { withdrawRoute } from "./withdraw-route.js";
import { printAccount, printBalances, printIncome, printPositions, transactionId } from "./account-view.js";
import { refuse, refuseInvalid, refuseMandatory, VenuetwoRefusal } from "../wire/errors.js";
import type { VenuetwoRules } from "../records/listing.js";
import { maxNotional, refusalOf, rulesOf } from "../orders/order-rules.js";
import { printUserTrade } from "../orders/order-view.js";

const WEEK_MS = 7 * 24 * 3600 * 1000;
const TRANSFER_IDS_MAX = 10_000;
const LEVERAGE_MAX = 125;

interface TransferMemory {
  readonly used: Set<string>;
  nextId: number;
}

interface MarginMove {
  readonly symbol: string;
  readonly accountId: string;
  readonly type: number;
  readonly amount: string;
  readonly positionSide: SimPositionSide;
  readonly tsMs: number;
}

type Routes = Readonly<Record<string, Route>>;

/** What transfers and moved margins remember lives as long as the routes. */
export function accountRoutes(): Routes {
  const transfers: TransferMemory = { used: new Set(), nextId: 1 };
  const marginMoves: MarginMove[] = [];
  return {
    ...READS,
    ...SETTINGS,
    ...LISTEN_KEYS,
    "POST positionMargin": { weight: 1, security: "trade", answer: (call) => moveMargin(call, marginMoves) },
    "GET positionMargin/history": { weight: 1, security: "signed", answer: (call) => movedMargin(call, marginMoves) },
    "POST asset/wallet/transfer": { weight: 5, security: "transfer", answer: (call) => transfer(call, transfers) },
    "POST aster/user-withdraw": withdrawRoute("perp"),
    ...MONEY_ROUTES,
  };
}

const READS: Routes = {
  "GET balance": {
    weight: 5,
    security: "signed",
    answer: ({ context, account }) => printBalances(context.exchange, account),
  },
  "GET account": { weight: 5, security: "signed", answer: wholeAccount },
  "GET accountWithJoinMargin": { weight: 5, security: "signed", answer: wholeAccount },
  "GET positionRisk": { weight: 5, security: "signed", answer: positionRisk },
  "GET userTrades": { weight: 5, security: "signed", answer: userTrades },
  "GET income": { weight: 30, security: "signed", answer: income },
  "GET leverageBracket": { weight: 1, security: "signed", answer: leverageBracket },
  "GET commissionRate": { weight: 20, security: "signed", answer: commissionRate },
};

const SETTINGS: Routes = {
  "POST leverage": { weight: 1, security: "trade", answer: setLeverage },
  "POST marginType": { weight: 1, security: "trade", answer: setMarginType },
  "GET positionSide/dual": {
    weight: 30,
    security: "signed",
    answer: ({ account }) => ({ dualSidePosition: account.hedgeMode }),
  },
  "POST positionSide/dual": { weight: 1, security: "trade", answer: setPositionMode },
};

const LISTEN_KEYS: Routes = {
  "POST listenKey": {
    weight: 1,
    security: "key",
    answer: ({ context, account }) => ({ listenKey: context.listenKeys.open(account.accountId) }),
  },
  "PUT listenKey": {
    weight: 1,
    security: "key",
    answer: ({ context, account }) => {
      if (!context.listenKeys.extend(account.accountId)) throw refuse("listenKey");
      return {};
    },
  },
  "DELETE listenKey": {
    weight: 1,
    security: "key",
    answer: ({ context, account }) => {
      if (!context.listenKeys.drop(account.accountId)) throw refuse("listenKey");
      return {};
    },
  },
};

function wholeAccount({ context, account }: SignedCall): unknown {
  return printAccount(context.exchange, account, tradedRules(context), 0);
}

function chosenRules(call: SignedCall): readonly VenuetwoRules[] {
  return call.params.has("symbol") ? [rulesOf(call.context.listing.rules, call.params)] : tradedRules(call.context);
}

function positionRisk(call: SignedCall): unknown {
  return printPositions(call.context.exchange, call.account, chosenRules(call));
}

function userTrades(call: SignedCall): unknown {
  const { context, account, params } = call;
  const { symbol, instrument } = rulesOf(context.listing.rules, params);
  const limit = params.limit(500, 1000);
  const fromId = params.integer("fromId");
  const startTime = params.integer("startTime");
  const endTime = params.integer("endTime");
  const orderId = params.integer("orderId");
  if (fromId !== null && (startTime !== null || endTime !== null)) throw refuse("combination");
  checkRange(startTime, endTime);
  const rows = context.exchange.accounts
    .fills(account.accountId)
    .filter(
      (fill) =>
        fill.symbol === symbol &&
        (orderId === null || fill.orderId === orderId) &&
        (fromId === null || fill.tradeId >= fromId) &&
        (startTime === null || fill.tsMs >= startTime) &&
        (endTime === null || fill.tsMs <= endTime),
    );
  const chosen = fromId === null && startTime === null ? rows.slice(-limit) : rows.slice(0, limit);
  return chosen.map((fill) => printUserTrade(fill, instrument));
}

function checkRange(startTime: number | null, endTime: number | null): void {
  if (startTime === null || endTime === null) return;
  if (endTime < startTime) throw refuse("startAfterEnd");
  if (endTime - startTime > WEEK_MS) throw new VenuetwoRefusal(-4165, "Invalid time interval");
}

function income(call: SignedCall): unknown {
  const { context, account, params } = call;
  const limit = params.limit(100, 1000);
  const type = params.text("incomeType");
  const symbol = params.text("symbol");
  const nowMs = context.exchange.nowMs();
  const startTime = params.integer("startTime") ?? nowMs - WEEK_MS;
  const endTime = params.integer("endTime") ?? nowMs;
  const wanted = (row: SimIncome): boolean =>
    (type === null || row.type === type) &&
    (symbol === null || row.symbol === symbol) &&
    row.tsMs >= startTime &&
    row.tsMs <= endTime;
  return context.exchange.accounts.income(account.accountId).filter(wanted).slice(0, limit).map(printIncome);
}

/** An object when the symbol was sent, else a list (the parent dialect answers a list either way). */
function leverageBracket(call: SignedCall): unknown {
  const rows = chosenRules(call).map((rules) => ({
    symbol: rules.symbol,
    brackets: rules.instrument.brackets.map((bracket, index) => ({
      bracket: index + 1,
      initialLeverage: bracket.maxLeverage,
      notionalCap: bracket.notionalCap,
      notionalFloor: bracket.notionalFloor,
      maintMarginRatio: bracket.maintenancePpm / 1_000_000,
      cum: bracket.cum,
    })),
  }));
  return call.params.has("symbol") ? rows[0] : rows;
}

function commissionRate(call: SignedCall): unknown {
  const { symbol } = rulesOf(call.context.listing.rules, call.params);
  const rate = (milliBps: number): string => (milliBps / 10_000_000).toFixed(6);
  return {
    symbol,
    makerCommissionRate: rate(call.account.makerFeeMilliBps),
    takerCommissionRate: rate(call.account.takerFeeMilliBps),
  };
}

function setLeverage(call: SignedCall): unknown {
  const { context, account, params } = call;
  const rules = rulesOf(context.listing.rules, params);
  const leverage = params.integer("leverage");
  if (leverage === null) throw refuseMandatory("leverage");
  if (leverage < 1 || leverage > LEVERAGE_MAX) throw refuse("leverage");
  const index = context.log.received({
    action: "leverage",
    signer: call.caller.signer,
    accountId: account.accountId,
    symbol: rules.symbol,
    qty: String(leverage),
    nonce: call.caller.nonce,
  });
  const done = context.exchange.desk.setLeverage(account.accountId, rules.symbol, leverage);
  if (!done.ok) {
    const refusal =
      done.reason === "HAS_POSITION"
        ? refuse("leverageIsolated")
        : done.reason === "MARGIN"
          ? refuse("minLeverageRatio")
          : refuse("leverage");
    context.log.refused(index, String(refusal.code), refusal.message);
    throw refusal;
  }
  context.log.executed(index, null);
  return { symbol: rules.symbol, leverage, maxNotionalValue: String(maxNotional(rules, leverage)) };
}

function setMarginType(call: SignedCall): unknown {
  const { context, account, params } = call;
  const rules = rulesOf(context.listing.rules, params);
  const type = params.required("marginType");
  if (type !== "ISOLATED" && type !== "CROSSED") throw refuseInvalid("marginType");
  const done = context.exchange.desk.setMarginMode(
    account.accountId,
    rules.symbol,
    type === "ISOLATED" ? "isolated" : "cross",
  );
  if (!done.ok) throw modeRefusal(done.reason, "marginTypeSame", "marginTypeOrders", "marginTypePosition");
  return { code: 200, msg: "success" };
}

function setPositionMode(call: SignedCall): unknown {
  const hedge = call.params.boolean("dualSidePosition");
  if (hedge === null) throw refuseMandatory("dualSidePosition");
  const done = call.context.exchange.desk.setHedgeMode(call.account.accountId, hedge);
  if (!done.ok) throw modeRefusal(done.reason, "positionModeSame", "positionModeOrders", "positionModePosition");
  return { code: 200, msg: "success" };
}

type ErrorName = Parameters<typeof refuse>[0];

function modeRefusal(reason: SimRefusal, same: ErrorName, orders: ErrorName, position: ErrorName): VenuetwoRefusal {
  if (reason === "NO_CHANGE") return refuse(same);
  if (reason === "HAS_ORDERS") return refuse(orders);
  return reason === "HAS_POSITION" ? refuse(position) : refusalOf(reason);
}

function moveMargin(call: SignedCall, moves: MarginMove[]): unknown {
  const { context, account, params } = call;
  const rules = rulesOf(context.listing.rules, params);
  const type = params.integer("type");
  if (type !== 1 && type !== 2) throw refuseInvalid("type");
  const amountText = params.required("amount");
  const amount = parseScaled(amountText, 8);
  if (amount === null) throw refuseInvalid("amount");
  if (amount <= 0n) throw refuse("amountPositive");
  const side = params.text("positionSide") ?? "BOTH";
  if (side !== "BOTH" && side !== "LONG" && side !== "SHORT") throw refuse("positionSideInvalid");
  if (context.exchange.accounts.marginMode(account.accountId, rules.symbol) !== "isolated")
    throw refuse("isolatedOnly");
  const amountE12 = amount * 10_000n;
  const done = context.exchange.desk.moveIsolatedMargin(
    account.accountId,
    rules.symbol,
    side,
    type === 1 ? amountE12 : -amountE12,
  );
  if (!done.ok)
    throw done.reason === "HAS_POSITION"
      ? refuse("noPositionForMargin")
      : refuse(type === 1 ? "crossBalance" : "isolatedBalance");
  if (moves.length >= TRANSFER_IDS_MAX) moves.shift();
  moves.push({
    symbol: rules.symbol,
    accountId: account.accountId,
    type,
    amount: moneyText(amountE12, 8),
    positionSide: side,
    tsMs: context.exchange.nowMs(),
  });
  return { amount: Number(amountText), code: 200, msg: "Successfully modify position margin.", type };
}

function movedMargin(call: SignedCall, moves: readonly MarginMove[]): unknown {
  const { symbol } = rulesOf(call.context.listing.rules, call.params);
  return moves
    .filter((move) => move.accountId === call.account.accountId && move.symbol === symbol)
    .map((move) => ({
      amount: move.amount,
      asset: "USDT",
      symbol,
      time: move.tsMs,
      type: move.type,
      positionSide: move.positionSide,
    }));
}

function transfer(call: SignedCall, memory: TransferMemory): unknown {
  const { context, account, params } = call;
  const kind = params.required("kindType");
  if (kind !== "SPOT_FUTURE" && kind !== "FUTURE_SPOT") throw refuseInvalid("kindType");
  const clientTranId = params.required("clientTranId");
  if (clientTranId.length > 64) throw refuse("transferIdLength");
  const amount = parseScaled(params.required("amount"), 8);
  if (amount === null) throw refuseInvalid("amount");
  if (amount <= 0n) throw refuse("amountPositive");
  if (params.required("asset") !== "USDT") throw new VenuetwoRefusal(-1108, "Bad asset.");
  const key = `${account.accountId}|${clientTranId}`;
  if (memory.used.has(key)) throw refuse("transferIdUsed");
  const done = context.exchange.desk.transferSpot(
    account.accountId,
    amount * 10_000n,
    kind === "SPOT_FUTURE" ? "toPerp" : "toSpot",
  );
  if (!done.ok) throw refuse("balance");
  if (memory.used.size >= TRANSFER_IDS_MAX) memory.used.clear();
  memory.used.add(key);
  const index = context.log.received({
    action: "transfer",
    signer: call.caller.signer,
    accountId: account.accountId,
    qty: params.required("amount"),
    clientId: clientTranId,
    nonce: call.caller.nonce,
  });
  context.log.executed(index, null);
  return new RawJson(`{"tranId":${transactionId(memory.nextId++)},"status":"SUCCESS"}`);
}
