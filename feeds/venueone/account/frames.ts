/**
 * Frames of an account's socket: the channels of accounts here, whatever else comes as market/decode.ts reads it.
 * Nothing throws: what can not be read comes out as `malformed`.
 */
import { asFields, asList, type Fields, flagField, integerField, textField } from "../../shared/room/wire-fields.js";
import { decodeFrameBy, decodeMarketChannel, type VenueoneMarketFrame } from "../market/decode.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";
import {
  decodeFills,
  decodeOrderRow,
  decodeStreamedAccount,
  decodeStreamedFills,
  decodeStreamedOrders,
  type VenueoneWireAccount,
} from "./wire.js";

export type VenueoneAccountFrame =
  | VenueoneMarketFrame
  /** Names no user: one account per socket. */
  | { readonly kind: "orderUpdates"; readonly updates: readonly VenueoneWireOrderUpdate[] }
  /** Channel `user`; other user events than fills come with none. Names no user. */
  | { readonly kind: "userEvents"; readonly fills: readonly VenueoneWireFill[] }
  | {
      readonly kind: "userFills";
      readonly user: string;
      readonly isSnapshot: boolean;
      readonly fills: readonly VenueoneWireFill[];
    }
  | { readonly kind: "openOrders"; readonly user: string; readonly orders: readonly VenueoneWireOrder[] }
  | { readonly kind: "clearinghouseState"; readonly user: string; readonly account: VenueoneWireAccount };

export function decodeAccountFrame(data: Uint8Array): VenueoneAccountFrame {
  return decodeFrameBy(data, decodeAccountChannel);
}

function decodeAccountChannel(channel: string, data: unknown): VenueoneAccountFrame {
  switch (channel) {
    case "orderUpdates":
      return { kind: "orderUpdates", updates: asList(data, "orderUpdates").map(decodeOrderUpdate) };
    case "user": {
      const fills = asFields(data, "user").fills;
      return { kind: "userEvents", fills: fills === undefined ? [] : decodeFills(fills) };
    }
    case "userFills": {
      const row = asFields(data, "userFills");
      const fills = decodeStreamedFills(row.fills);
      return { kind: "userFills", user: userField(row), isSnapshot: flagField(row, "isSnapshot"), fills };
    }
    case "openOrders": {
      const row = asFields(data, "openOrders");
      return { kind: "openOrders", user: userField(row), orders: decodeStreamedOrders(row.orders) };
    }
    case "clearinghouseState": {
      const row = asFields(data, "clearinghouseState");
      return {
        kind: "clearinghouseState",
        user: userField(row),
        account: decodeStreamedAccount(row.clearinghouseState),
      };
    }
    default:
      return decodeMarketChannel(channel, data);
  }
}

function userField(row: Fields): string {
  return textField(row, "user").toLowerCase();
}

function decodeOrderUpdate(value: unknown): VenueoneWireOrderUpdate {
  const row = asFields(value, "update");
  return {
    order: decodeOrderRow(row.order),
    status: textField(row, "status"),
    statusTimestamp: integerField(row, "statusTimestamp"),
  };
}
