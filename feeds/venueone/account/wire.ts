/**
 * Answers of venueone about accounts and orders: JSON → checked wire values (wire.ts). Strict: sides, sizes, prices
 * and states that this room does not know are faults, not guesses. Old recordings lack newer descriptive fields, so
 * those alone may be absent.
 */
import {
  asFields,
  asList,
  booleanField,
  decimalField,
  decimalOrNull,
  flagField,
  integerField,
  isFields,
  oneOf,
  textField,
  textOrNull,
  WireFault,
  type Fields,
} from "../../shared/room/wire-fields.js";
import type {
  VenueoneWireFill,
  VenueoneWireOrder,
  VenueoneWireOrderUpdate,
  VenueoneWirePosition,
} from "../market/wire.js";

/** `clearinghouseState`: positions and the margin figures of the account. */
export interface VenueoneWireAccount {
  readonly time: number;
  /** Equity of the perp account, USDC. */
  readonly accountValue: string;
  /** The part of it that backs cross positions. */
  readonly crossAccountValue: string;
  readonly withdrawable: string;
  /** Absent on 2023 recordings, as the next. */
  readonly totalMarginUsed: string | null;
  readonly crossMaintenanceMarginUsed: string | null;
  readonly positions: readonly VenueoneWirePosition[];
}

/** `userRole`: what an address is. */
export type VenueoneWireRole =
  | { readonly role: "missing" | "user" | "vault" }
  | { readonly role: "agent"; readonly user: string }
  | { readonly role: "subAccount"; readonly master: string };

/** `orderStatus`. */
export type VenueoneWireOrderStatus = VenueoneWireOrderUpdate | null;

export interface VenueoneWireAgent {
  readonly address: string;
}

export interface VenueoneWireSpotBalance {
  readonly coin: string;
  readonly total: string;
  readonly hold: string;
}

/** `userRateLimit`: requests of an address over its whole life, and how many it has been granted. */
export interface VenueoneWireRateLimit {
  readonly nRequestsUsed: number;
  readonly nRequestsCap: number;
}

export interface VenueoneWireFees {
  /** Taker, fraction of notional. */
  readonly userCrossRate: string;
  /** Maker; negative is a rebate. */
  readonly userAddRate: string;
}

/** One entry of `statuses` in an answer to orders or cancels. */
export type VenueoneWireStatus =
  | { readonly kind: "resting"; readonly oid: number; readonly cloid: string | null }
  | {
      readonly kind: "filled";
      readonly oid: number;
      readonly cloid: string | null;
      readonly totalSz: string;
      readonly avgPx: string;
    }
  | { readonly kind: "waiting"; readonly word: string }
  | { readonly kind: "success" }
  | { readonly kind: "error"; readonly text: string };

/** Answer of `/exchange`: refused as a whole, or one status per item. */
export type VenueoneWireExchange =
  | { readonly kind: "err"; readonly text: string }
  | { readonly kind: "ok"; readonly type: string; readonly statuses: readonly VenueoneWireStatus[] };

export function decodeAccount(value: unknown): VenueoneWireAccount {
  const state = asFields(value, "clearinghouseState");
  // Absent on 2023 recordings and on a reduced sample: the cross summary says the same there.
  const summary = asFields(state["marginSummary"] ?? state["crossMarginSummary"], "marginSummary");
  return {
    time: state["time"] === undefined ? 0 : integerField(state, "time"),
    accountValue: decimalField(summary, "accountValue"),
    crossAccountValue: decimalField(
      asFields(state["crossMarginSummary"] ?? summary, "crossMarginSummary"),
      "accountValue",
    ),
    withdrawable: decimalField(state, "withdrawable"),
    totalMarginUsed: decimalOrNull(summary, "totalMarginUsed"),
    crossMaintenanceMarginUsed: decimalOrNull(state, "crossMaintenanceMarginUsed"),
    positions: asList(state["assetPositions"], "assetPositions").map(decodeAssetPosition),
  };
}

function decodeAssetPosition(value: unknown): VenueoneWirePosition {
  const row = asFields(value, "assetPosition");
  // The only account kind the venue has; another would change what szi means.
  oneOf(row, "type", ["oneWay"]);
  return decodePosition(row["position"]);
}

export function decodePosition(value: unknown): VenueoneWirePosition {
  const position = asFields(value, "position");
  const leverage = asFields(position["leverage"], "leverage");
  return {
    coin: textField(position, "coin"),
    szi: decimalField(position, "szi"),
    entryPx: decimalOrNull(position, "entryPx"),
    positionValue: decimalField(position, "positionValue"),
    unrealizedPnl: decimalField(position, "unrealizedPnl"),
    liquidationPx: decimalOrNull(position, "liquidationPx"),
    marginUsed: decimalField(position, "marginUsed"),
    leverageType: oneOf(leverage, "type", ["cross", "isolated"]),
    leverage: integerField(leverage, "value"),
  };
}

/** Row of `openOrders`, `frontendOpenOrders`, `orderStatus`. */
export function decodeOrderRow(value: unknown): VenueoneWireOrder {
  const row = asFields(value, "order");
  return {
    coin: textField(row, "coin"),
    side: oneOf(row, "side", ["A", "B"]),
    limitPx: decimalField(row, "limitPx"),
    sz: decimalField(row, "sz"),
    // Absent on 2023 recordings.
    origSz: decimalOrNull(row, "origSz") ?? decimalField(row, "sz"),
    oid: integerField(row, "oid"),
    timestamp: row["timestamp"] === undefined ? 0 : integerField(row, "timestamp"),
    cloid: textOrNull(row, "cloid"),
    reduceOnly: flagField(row, "reduceOnly"),
    isTrigger: flagField(row, "isTrigger"),
    triggerPx: decimalOrNull(row, "triggerPx"),
    orderType: textOrNull(row, "orderType"),
    tif: textOrNull(row, "tif"),
  };
}

/** Rows of the account streams, which no recording of 2023 holds: what may be absent there is a fault here. */
export function decodeStreamedOrders(value: unknown): readonly VenueoneWireOrder[] {
  return asList(value, "open orders").map((item) => {
    const row = asFields(item, "order");
    decimalField(row, "origSz");
    integerField(row, "timestamp");
    booleanField(row, "reduceOnly");
    if (booleanField(row, "isTrigger")) decimalField(row, "triggerPx");
    return decodeOrderRow(row);
  });
}

export function decodeStreamedFills(value: unknown): readonly VenueoneWireFill[] {
  return asList(value, "fills").map((item) => {
    const row = asFields(item, "fill");
    integerField(row, "tid");
    decimalField(row, "fee");
    textField(row, "feeToken");
    return decodeFill(row);
  });
}

export function decodeStreamedAccount(value: unknown): VenueoneWireAccount {
  integerField(asFields(value, "clearinghouseState"), "time");
  return decodeAccount(value);
}

export function decodeOpenOrders(value: unknown): readonly VenueoneWireOrder[] {
  return asList(value, "open orders").map(decodeOrderRow);
}

/** Null when the venue knows no such order. */
export function decodeOrderStatus(value: unknown): VenueoneWireOrderStatus {
  const answer = asFields(value, "orderStatus");
  if (oneOf(answer, "status", ["order", "unknownOid"]) === "unknownOid") return null;
  const found = asFields(answer["order"], "order");
  return {
    order: decodeOrderRow(found["order"]),
    status: textField(found, "status"),
    statusTimestamp: integerField(found, "statusTimestamp"),
  };
}

export function decodeFill(value: unknown): VenueoneWireFill {
  const row = asFields(value, "fill");
  const liquidation = row["liquidation"] ?? null;
  const liquidatedUser =
    liquidation === null ? null : textOrNull(asFields(liquidation, "liquidation"), "liquidatedUser");
  return {
    coin: textField(row, "coin"),
    px: decimalField(row, "px"),
    sz: decimalField(row, "sz"),
    side: oneOf(row, "side", ["A", "B"]),
    time: integerField(row, "time"),
    startPosition: decimalField(row, "startPosition"),
    oid: integerField(row, "oid"),
    // Absent on 2023 recordings.
    tid: row["tid"] === undefined ? 0 : integerField(row, "tid"),
    fee: decimalOrNull(row, "fee") ?? "0",
    feeToken: textOrNull(row, "feeToken") ?? "USDC",
    crossed: booleanField(row, "crossed"),
    cloid: textOrNull(row, "cloid"),
    closedPnl: decimalOrNull(row, "closedPnl"),
    ...(liquidatedUser === null ? {} : { liquidatedUser: liquidatedUser.toLowerCase() }),
  };
}

export function decodeFills(value: unknown): readonly VenueoneWireFill[] {
  return asList(value, "fills").map(decodeFill);
}

export function decodeRole(value: unknown): VenueoneWireRole {
  const answer = asFields(value, "userRole");
  const role = oneOf(answer, "role", ["missing", "user", "vault", "agent", "subAccount"]);
  if (role === "agent") return { role, user: addressField(asFields(answer["data"], "data"), "user") };
  if (role === "subAccount") return { role, master: addressField(asFields(answer["data"], "data"), "master") };
  return { role };
}

/** Of `extraAgents`. */
export function decodeAgents(value: unknown): readonly VenueoneWireAgent[] {
  return asList(value, "extraAgents").map((row) => ({ address: addressField(asFields(row, "agent"), "address") }));
}

export function decodeSpotBalances(value: unknown): readonly VenueoneWireSpotBalance[] {
  return asList(asFields(value, "spotClearinghouseState")["balances"], "balances").map((row) => {
    const balance = asFields(row, "balance");
    return {
      coin: textField(balance, "coin"),
      total: decimalField(balance, "total"),
      hold: decimalField(balance, "hold"),
    };
  });
}

export function decodeFees(value: unknown): VenueoneWireFees {
  const fees = asFields(value, "userFees");
  return { userCrossRate: decimalField(fees, "userCrossRate"), userAddRate: decimalField(fees, "userAddRate") };
}

export function decodeRateLimit(value: unknown): VenueoneWireRateLimit {
  const limit = asFields(value, "userRateLimit");
  return { nRequestsUsed: integerField(limit, "nRequestsUsed"), nRequestsCap: integerField(limit, "nRequestsCap") };
}

/** `userAbstraction`: where the collateral of the account is kept. */
export function decodeAbstraction(value: unknown): "unifiedAccount" | "portfolioMargin" | "disabled" | "default" {
  return oneOf({ abstraction: value }, "abstraction", ["unifiedAccount", "portfolioMargin", "disabled", "default"]);
}

/** The three refusal shapes and the successes of `/exchange` (sheet section 5.3). */
export function decodeExchange(value: unknown): VenueoneWireExchange {
  const answer = asFields(value, "answer");
  if (oneOf(answer, "status", ["ok", "err"]) === "err") return { kind: "err", text: textField(answer, "response") };
  // Deployer actions answer without the inner object; to an order that is no answer, and its type will say so.
  const isBare = answer["response"] === undefined && isFields(answer["data"]);
  const response = isBare ? answer : asFields(answer["response"], "response");
  const type = isBare ? "bare" : textField(response, "type");
  const data = response["data"];
  if (!isFields(data)) return { kind: "ok", type, statuses: [] };
  // TWAP answers hold a single `status`.
  const rows = data["statuses"] === undefined ? [data["status"]] : asList(data["statuses"], "statuses");
  return { kind: "ok", type, statuses: rows.map(decodeStatus) };
}

function decodeStatus(value: unknown): VenueoneWireStatus {
  if (value === "success") return { kind: "success" };
  if (value === "waitingForFill" || value === "waitingForTrigger") return { kind: "waiting", word: value };
  const row = asFields(value, "status");
  if (row["error"] !== undefined) return { kind: "error", text: textField(row, "error") };
  if (row["resting"] !== undefined) {
    const resting = asFields(row["resting"], "resting");
    return { kind: "resting", oid: integerField(resting, "oid"), cloid: textOrNull(resting, "cloid") };
  }
  if (row["filled"] !== undefined) {
    const filled = asFields(row["filled"], "filled");
    return {
      kind: "filled",
      oid: integerField(filled, "oid"),
      cloid: textOrNull(filled, "cloid"),
      totalSz: decimalField(filled, "totalSz"),
      avgPx: decimalField(filled, "avgPx"),
    };
  }
  throw new WireFault("status", "has no known shape");
}

function addressField(fields: Fields, name: string): string {
  const text = textField(fields, name).toLowerCase();
  if (!/^0x[0-9a-f]{40}$/.test(text)) throw new WireFault(name, "is not an address");
  return text;
}
