/** venueone's answers about what an account did and how it is set: JSON → checked wire values, strict as account/wire.ts. */
import {
  asFields,
  asList,
  decimalField,
  decimalOrNull,
  integerField,
  oneOf,
  textField,
} from "../../shared/room/wire-fields.js";
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
