/**
 * `POST /exchange` after typing, in the venue's order: recover the signer, vault ownership, account, request budget,
 * nonce (consumed from here on), expiry, whole-batch validation, execution. Refusals are HTTP 200 in three shapes.
 */
import type { ExchangeRequest, L1Action } from "../wire/actions.js";
import { addressCap, withinAddressBudget } from "../records/budgets.js";
import type { Journal } from "./journal.js";
import { executeOrders, findBatchError, logged, type OrderContext, type OrderStatusItem } from "./place.js";
import { executeCancels, executeModify } from "./revise.js";
import { volumeText } from "../records/rows.js";
import { recoverSigner, requestDigest } from "../wire/signature.js";
import { REFUSED } from "../wire/texts.js";
import type { Tpsl } from "./tpsl.js";
import { approvalRecord, executeAgentSend, executeSubAccountTransfer, executeUserAction } from "./transfers.js";
import { E12_PER_USD, type Venue, type VenueAccount } from "../records/venue.js";

const ITEMS_MAX = 200;
/** Expired actions are charged five times to the account's request budget. */
const EXPIRED_COST = 5;
const SCHEDULE_VOLUME_E12 = 1_000_000n * E12_PER_USD;
const SCHEDULE_LEAD_MS = 5_000;
const SCHEDULE_FIRINGS_PER_DAY = 10;
const DAY_MS = 86_400_000;
/** A leverage of one, as its decimal text is read. */
const LEVERAGE_UNIT_E8 = 100_000_000n;
/** Price of one reserved request, in USD E12: 0.0005. */
const RESERVE_PRICE_E12 = E12_PER_USD / 2_000n;

export type ExchangeReply =
  | { readonly status: "ok"; readonly response: Readonly<Record<string, unknown>> }
  | { readonly status: "err"; readonly response: string };

export interface ExchangeApiDeps {
  readonly venue: Venue;
  readonly tpsl: Tpsl;
  readonly journal: Journal;
}

export class ExchangeApi {
  readonly #deps: ExchangeApiDeps;

  constructor(deps: ExchangeApiDeps) {
    this.#deps = deps;
  }

  execute(request: ExchangeRequest): ExchangeReply {
    const { venue, tpsl, journal } = this.#deps;
    const admitted = admit(this.#deps, request);
    if (!admitted.ok) return refused(admitted.text);
    const { account, signer } = admitted;
    const cost = itemCount(request);
    if (request.expiresAfter !== null && request.expiresAfter < venue.exchange.nowMs()) {
      account.requestsUsed += EXPIRED_COST;
      return refused(REFUSED.expired);
    }
    const reply = perform({ venue, tpsl, account, signer, nonce: request.nonce }, request);
    // A refusal of the whole action is not counted; failed items are.
    if (reply.status === "ok") account.requestsUsed += cost;
    journal.commit();
    return reply;
  }
}

/** Items of a batch; the weight per IP is 1 + floor(items / 40). */
export function itemCount({ action }: ExchangeRequest): number {
  switch (action.type) {
    case "order":
      return action.orders.length;
    case "cancel":
    case "cancelByCloid":
      return action.cancels.length;
    case "batchModify":
      return action.modifies.length;
    default:
      return 1;
  }
}

type Admission =
  | { readonly ok: true; readonly account: VenueAccount; readonly signer: string }
  | { readonly ok: false; readonly text: string };

function admit({ venue, tpsl }: ExchangeApiDeps, request: ExchangeRequest): Admission {
  const no = (text: string): Admission => ({ ok: false, text });
  const nowMs = venue.exchange.nowMs();
  const signer = recoverSigner(requestDigest(request, venue.isMainnet), request.signature);
  if (signer === null) return no(REFUSED.unrecoverable);
  const { action } = request;
  const isL1 = action.family === "l1";
  const principal = (isL1 ? venue.agents.find(signer, nowMs)?.accountId : undefined) ?? signer;
  const vault = isL1 && request.vaultAddress !== null ? venue.account(request.vaultAddress) : null;
  if (isL1 && request.vaultAddress !== null && (vault === null || vault.master !== principal)) {
    return no(REFUSED.vaultUnknown(request.vaultAddress));
  }
  const account = vault ?? venue.account(principal);
  if (account === null || !venue.hasDeposited(account)) return no(strangerText(venue, signer, isL1));
  const isCancel = action.type === "cancel" || action.type === "cancelByCloid";
  const cap = addressCap(account, venue.limits.addressRequests, isCancel);
  if (!withinAddressBudget(account, itemCount(request), cap, nowMs)) {
    return no(REFUSED.addressBudget(account.requestsUsed, cap, volumeText(account.volumeE12)));
  }
  const refusal = nonceRefusal(venue, signer, request.nonce, nowMs);
  if (refusal === null) return { ok: true, account, signer };
  // The signature was true, so the log records it: tests look for a nonce that is used twice.
  if (action.type === "order") {
    const context: OrderContext = { venue, tpsl, account, signer, nonce: request.nonce };
    for (const order of action.orders) logged(context, order).refused("NONCE", refusal);
  }
  if (action.type === "approveAgent")
    venue.log.refused(venue.log.received(approvalRecord(account, action)), "NONCE", refusal);
  return no(refusal);
}

/** Consumes the nonce when it returns null. */
function nonceRefusal(venue: Venue, signer: string, nonce: number, nowMs: number): string | null {
  const verdict = venue.nonces(signer).admit(nonce, nowMs);
  switch (verdict.kind) {
    case "duplicate":
      return REFUSED.nonceDuplicate(nonce);
    case "tooLow":
      return REFUSED.nonceTooLow(nonce, verdict.min);
    case "tooHigh":
      return REFUSED.nonceTooHigh(nonce, verdict.max);
    case "admitted":
      return null;
  }
}

/** The text for a replaced agent names its master, the text for anybody else the recovered address. */
function strangerText(venue: Venue, signer: string, isL1: boolean): string {
  if (!isL1) return REFUSED.mustDeposit(signer);
  const former = venue.agents.former(signer);
  return former?.ended === "replaced" ? REFUSED.mustDeposit(former.accountId) : REFUSED.unknownSigner(signer);
}

function perform(context: OrderContext, request: ExchangeRequest): ExchangeReply {
  const { action } = request;
  const { venue, account } = context;
  if (action.family === "user") {
    if (action.innerNonce !== request.nonce) return refused(REFUSED.innerNonce);
    return defaultOr(executeUserAction(venue, account, action));
  }
  if (itemCount(request) > ITEMS_MAX) return refused(REFUSED.overWeight);
  switch (action.type) {
    case "order":
      return placeBatch(context, action);
    case "cancel":
    case "cancelByCloid":
      return withStatuses("cancel", executeCancels(context, action));
    case "modify":
      return modifyOne(context, action);
    case "batchModify":
      return modifyBatch(context, action);
    case "scheduleCancel":
      return defaultOr(scheduleCancel(venue, account, action.time));
    case "updateLeverage":
      return defaultOr(updateLeverage(context, action));
    case "updateIsolatedMargin":
      return defaultOr(updateIsolatedMargin(venue, account, action));
    case "topUpIsolatedOnlyMargin":
      return defaultOr(topUpIsolatedMargin(venue, account, action));
    case "noop":
    case "setReferrer":
      return done();
    case "reserveRequestWeight":
      return defaultOr(reserveRequests(venue, account, action.weight));
    case "createSubAccount":
      return createSubAccount(venue, account);
    case "subAccountTransfer":
      return defaultOr(executeSubAccountTransfer(venue, account, action));
    case "agentSendAsset":
      if (action.innerNonce !== request.nonce) return refused(REFUSED.innerNonce);
      return defaultOr(executeAgentSend(venue, account, action));
  }
}

function placeBatch(context: OrderContext, action: Extract<L1Action, { type: "order" }>): ExchangeReply {
  const error = findBatchError(context.venue, action.orders, action.grouping, action.builder);
  return error === null
    ? withStatuses("order", executeOrders(context, action))
    : batchRefused(context, action.orders.length, error);
}

function modifyOne(context: OrderContext, action: Extract<L1Action, { type: "modify" }>): ExchangeReply {
  const error = findBatchError(context.venue, [action.modify.order], "na", null);
  const status: OrderStatusItem | null =
    error === null ? executeModify(context, action.modify, action.alwaysPlace) : { error };
  if (status === null) return refused(REFUSED.modifyGone);
  return typeof status === "object" && "error" in status ? refused(status.error) : done();
}

function modifyBatch(context: OrderContext, action: Extract<L1Action, { type: "batchModify" }>): ExchangeReply {
  const orders = action.modifies.map((modify) => modify.order);
  const error = findBatchError(context.venue, orders, "na", null);
  if (error !== null) return withStatuses("order", [{ error }]);
  const statuses = action.modifies.map(
    (modify) => executeModify(context, modify, action.alwaysPlace) ?? { error: REFUSED.modifyGone },
  );
  return withStatuses("order", statuses);
}

function reserveRequests(venue: Venue, account: VenueAccount, weight: number): string | null {
  if (!venue.moveCash(account, -BigInt(weight) * RESERVE_PRICE_E12, "ADJUSTMENT")) return REFUSED.transferBalance;
  account.requestsReserved += weight;
  return null;
}

function createSubAccount(venue: Venue, account: VenueAccount): ExchangeReply {
  const sub = venue.openSubAccount(account);
  if (sub === null) return refused(REFUSED.subAccountTooMany);
  return { status: "ok", response: { type: "createSubAccount", data: sub.address } };
}

/** Pre-validation refuses n orders with one error; the log records it once, too. */
function batchRefused(context: OrderContext, orderCount: number, error: string): ExchangeReply {
  const { log } = context.venue;
  const draft = {
    action: "place",
    signer: context.signer,
    accountId: context.account.address,
    nonce: String(context.nonce),
  };
  log.refused(
    log.received({ ...draft, qty: orderCount === 1 ? null : `batch of ${orderCount}` }),
    "PRE_VALIDATION",
    error,
  );
  return withStatuses("order", [{ error }]);
}

function updateLeverage(
  { venue, account, signer, nonce }: OrderContext,
  action: Extract<L1Action, { type: "updateLeverage" }>,
): string | null {
  const { exchange } = venue;
  const perp = venue.universe.perps[action.asset];
  if (perp === undefined || perp.isDelisted) return REFUSED.leverageInvalid;
  const index = venue.log.received({
    action: "leverage",
    signer,
    accountId: account.address,
    symbol: perp.name,
    qty: String(action.leverage),
    nonce: String(nonce),
  });
  const refuse = (text: string): string => {
    venue.log.refused(index, "LEVERAGE", text);
    return text;
  };
  if (action.leverage < 1 || action.leverage > perp.maxLeverage) return refuse(REFUSED.leverageInvalid);
  const mode = action.isCross ? "cross" : "isolated";
  const hasPosition = (exchange.accounts.position(account.address, perp.name, "BOTH")?.qtyLots ?? 0) !== 0;
  if (exchange.accounts.marginMode(account.address, perp.name) !== mode) {
    if (hasPosition) return refuse(REFUSED.leverageTypeSwitch);
    if (!exchange.desk.setMarginMode(account.address, perp.name, mode).ok) return refuse(REFUSED.leverageTypeSwitch);
  }
  if (!exchange.desk.setLeverage(account.address, perp.name, action.leverage).ok)
    return refuse(REFUSED.isolatedMarginAmount);
  venue.log.executed(index, null);
  return null;
}

function updateIsolatedMargin(
  venue: Venue,
  account: VenueAccount,
  action: Extract<L1Action, { type: "updateIsolatedMargin" }>,
): string | null {
  const { exchange } = venue;
  const perp = venue.universe.perps[action.asset];
  if (perp === undefined || perp.isDelisted) return REFUSED.notIsolated;
  if (exchange.accounts.marginMode(account.address, perp.name) !== "isolated") return REFUSED.notIsolated;
  const moved = exchange.desk.moveIsolatedMargin(
    account.address,
    perp.name,
    "BOTH",
    BigInt(action.ntliE6) * 1_000_000n,
  );
  return moved.ok ? null : REFUSED.isolatedMarginAmount;
}

/** Adds what the target leverage requires of the position at mark; a position that already has it does not change. */
function topUpIsolatedMargin(
  venue: Venue,
  account: VenueAccount,
  action: Extract<L1Action, { type: "topUpIsolatedOnlyMargin" }>,
): string | null {
  const { exchange } = venue;
  const perp = venue.universe.perps[action.asset];
  if (perp === undefined || perp.isDelisted) return REFUSED.notIsolated;
  if (exchange.accounts.marginMode(account.address, perp.name) !== "isolated") return REFUSED.notIsolated;
  if (action.leverageE8 === 0n) return REFUSED.leverageInvalid;
  const position = exchange.accounts.position(account.address, perp.name, "BOTH");
  if (position === null || position.qtyLots === 0) return REFUSED.isolatedMarginAmount;
  const { notionalE12, unrealizedE12 } = exchange.accounts.positionFigures(position);
  const neededE12 = (notionalE12 * LEVERAGE_UNIT_E8 + action.leverageE8 - 1n) / action.leverageE8;
  const missingE12 = neededE12 - position.isolatedE12 - unrealizedE12;
  if (missingE12 <= 0n) return null;
  const moved = exchange.desk.moveIsolatedMargin(account.address, perp.name, "BOTH", missingE12);
  return moved.ok ? null : REFUSED.isolatedMarginAmount;
}

function scheduleCancel(venue: Venue, account: VenueAccount, time: number | null): string | null {
  if (account.volumeE12 < SCHEDULE_VOLUME_E12) return REFUSED.scheduleVolume("1000000", volumeText(account.volumeE12));
  const nowMs = venue.exchange.nowMs();
  if (time !== null && time < nowMs + SCHEDULE_LEAD_MS) return REFUSED.scheduleTooEarly;
  if (time !== null && firingsToday(account, nowMs) >= SCHEDULE_FIRINGS_PER_DAY) return REFUSED.scheduleTooMany;
  account.scheduledCancelMs = time;
  return null;
}

function firingsToday(account: VenueAccount, nowMs: number): number {
  return account.scheduledFirings.day === Math.floor(nowMs / DAY_MS) ? account.scheduledFirings.count : 0;
}

/** Fires the dead man's switches that are due; called once per block. */
export function fireScheduledCancels(venue: Venue): void {
  const nowMs = venue.exchange.nowMs();
  for (const account of venue.accounts()) {
    if (account.scheduledCancelMs === null || account.scheduledCancelMs > nowMs) continue;
    account.scheduledCancelMs = null;
    account.scheduledFirings = { day: Math.floor(nowMs / DAY_MS), count: firingsToday(account, nowMs) + 1 };
    for (const order of venue.exchange.orders.open(account.address)) {
      venue.exchange.orders.cancel(account.address, order.orderId, "SCHEDULED");
    }
  }
}

function refused(text: string): ExchangeReply {
  return { status: "err", response: text };
}

function done(): ExchangeReply {
  return { status: "ok", response: { type: "default" } };
}

function defaultOr(refusal: string | null): ExchangeReply {
  return refusal === null ? done() : refused(refusal);
}

function withStatuses(type: string, statuses: readonly unknown[]): ExchangeReply {
  return { status: "ok", response: { type, data: { statuses } } };
}
