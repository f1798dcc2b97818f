/** venueone's answers about what an account did and how it is set: JSON → checked wire values, strict as account/wire.ts. */
import {
  asFields,
  asList,
  decimalField,
  decimalOrNull,
  integerField,
  oneOf,
  textField,
  textOrNull,
} from "../../shared/room/wire-fields.js";
import { isPlainDecimal } from "../../../engine/domain/decimal.js";
import { decodeOrderRow } from "./wire.js";
import type { VenueoneWireOrderUpdate } from "../market/wire.js";

/** Row of `userFunding`. */
export interface VenueoneWireFunding {
  readonly time: number;
  readonly coin: string;
  /** Received, negative is paid. */
  readonly usdc: string;
  /** Of the hour, fraction; null where the row has none. */
  readonly fundingRate: string | null;
}

/** `activeAssetData`: how the account is set for one coin. */
export interface VenueoneWireAssetSettings {
  readonly coin: string;
  readonly leverageType: "cross" | "isolated";
  readonly leverage: number;
}

/** `usdc` in units of the coin. */
export type VenueoneWireLedgerRow = {
  /** Unix epoch, ms. */
  readonly time: number;
  /** Of the venue's own chain. */
  readonly hash: string | null;
} & (
  | { readonly kind: "deposit"; readonly usdc: string }
  /** `nonce` is that of the action; `fee` null where the row names none that can be read. */
  | { readonly kind: "withdraw"; readonly usdc: string; readonly nonce: number; readonly fee: string | null }
  | { readonly kind: "other" }
);

export function decodeFunding(value: unknown): readonly VenueoneWireFunding[] {
  return asList(value, "userFunding").map((item) => {
    const row = asFields(item, "funding");
    const delta = asFields(row["delta"], "delta");
    return {
      time: integerField(row, "time"),
      coin: textField(delta, "coin"),
      usdc: decimalField(delta, "usdc"),
      fundingRate: decimalOrNull(delta, "fundingRate"),
    };
  });
}

/** Deposits and withdrawals of the ledger; rows of other kinds have no money that came or left by a chain. */
export function decodeLedger(value: unknown): readonly VenueoneWireLedgerRow[] {
  return asList(value, "userNonFundingLedgerUpdates").map((item) => {
    const row = asFields(item, "ledger");
    const delta = asFields(row["delta"], "delta");
    const type = textField(delta, "type");
    const base = { time: integerField(row, "time"), hash: textOrNull(row, "hash") };
    if (type === "deposit") return { ...base, kind: "deposit", usdc: decimalField(delta, "usdc") };
    if (type !== "withdraw") return { ...base, kind: "other" };
    const fee = feeOf(delta["fee"]);
    return { ...base, kind: "withdraw", usdc: decimalField(delta, "usdc"), nonce: integerField(delta, "nonce"), fee };
  });
}

/** What was paid is known without it, so it makes no row unreadable. */
function feeOf(value: unknown): string | null {
  return typeof value === "string" && isPlainDecimal(value) && !value.startsWith("-") ? value : null;
}

/** The list may hold an order once for each of its states. */
export function decodeHistoricalOrders(value: unknown): readonly VenueoneWireOrderUpdate[] {
  return asList(value, "historicalOrders").map((item) => {
    const row = asFields(item, "historicalOrder");
    return {
      order: decodeOrderRow(row["order"]),
      status: textField(row, "status"),
      statusTimestamp: integerField(row, "statusTimestamp"),
    };
  });
}

export function decodeAssetSettings(value: unknown): VenueoneWireAssetSettings {
  const row = asFields(value, "activeAssetData");
  const leverage = asFields(row["leverage"], "leverage");
  return {
    coin: textField(row, "coin"),
    leverageType: oneOf(leverage, "type", ["cross", "isolated"]),
    leverage: integerField(leverage, "value"),
  };
}
