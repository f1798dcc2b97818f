/**
 * Frames of account channels → wire types, checked at the border. Never throws; a frame that cannot be read names the
 * account it was for, so that this account alone is reconciled.
 */
import {
  asFields,
  asList,
  decodeWith,
  type Fields,
  isFields,
  parseJsonExact,
  WireFault,
} from "../../shared/room/wire-fields.js";
import { decodeAccountTrade, decodeOrder, decodePositions } from "./wire.js";
import type { VenuethreeWireAccountTrade, VenuethreeWireOrder, VenuethreeWirePosition } from "./wire.js";

export const ACCOUNT_CHANNELS = ["account_all_orders", "account_all_trades", "account_all_positions"] as const;
export type AccountChannel = (typeof ACCOUNT_CHANNELS)[number];

export type AccountFrame =
  /** Snapshot: all open orders. Else the changed ones, ended ones among them. */
  | {
      readonly kind: "orders";
      readonly accountIndex: number;
      readonly isSnapshot: boolean;
      readonly orders: readonly VenuethreeWireOrder[];
    }
  | {
      readonly kind: "trades";
      readonly accountIndex: number;
      readonly isSnapshot: boolean;
      readonly trades: readonly VenuethreeWireAccountTrade[];
    }
  /** Always the whole picture: a market that is missing is flat. */
  | {
      readonly kind: "positions";
      readonly accountIndex: number;
      readonly isSnapshot: boolean;
      readonly positions: readonly VenuethreeWirePosition[];
      /** Venue ms of the send; null where the frame does not say. */
      readonly sentAtMs: number | null;
    }
  | { readonly kind: "unreadable"; readonly accountIndex: number | null; readonly problem: string }
  /** `accountIndex` where the text names a channel of one. */
  | {
      readonly kind: "error";
      readonly code: number;
      readonly accountIndex: number | null;
      readonly channel: AccountChannel | null;
    }
  | { readonly kind: "ping" }
  /** Known, and of no consequence here. */
  | { readonly kind: "other" }
  /** Of a type that this room does not know. */
  | { readonly kind: "unknown"; readonly type: string };

export function accountChannel(channel: AccountChannel, accountIndex: number): string {
  return `${channel}/${accountIndex}`;
}

export function decodeAccountFrame(text: string): AccountFrame {
  const data = parseJsonExact(text);
  if (!isFields(data)) return { kind: "unreadable", accountIndex: null, problem: "not JSON" };
  const { error, type } = data;
  if (isFields(error)) return errorFrame(error);
  if (type === "error") return errorFrame(data);
  if (type === "ping") return { kind: "ping" };
  const match = typeof type === "string" ? /^(subscribed|update)\/(account_all_\w+)$/.exec(type) : null;
  const channel = ACCOUNT_CHANNELS.find((name) => name === match?.[2]);
  if (match === null || channel === undefined) return leftAlone(type);
  const named = channelOf(data["channel"]);
  // Whose it is cannot be known.
  if (named?.channel !== channel) return { kind: "unreadable", accountIndex: null, problem: `${channel}: channel` };
  const { accountIndex } = named;
  const isSnapshot = match[1] === "subscribed";
  const decoded = decodeWith(data, (): AccountFrame => {
    switch (channel) {
      case "account_all_orders":
        return { kind: "orders", accountIndex, isSnapshot, orders: listsOf(data, "orders").map(decodeOrder) };
      case "account_all_trades":
        return { kind: "trades", accountIndex, isSnapshot, trades: listsOf(data, "trades").map(decodeAccountTrade) };
      case "account_all_positions":
        return {
          kind: "positions",
          accountIndex,
          isSnapshot,
          positions: decodePositions(pictureOf(data)),
          sentAtMs: typeof data["timestamp"] === "number" ? data["timestamp"] : null,
        };
    }
  });
  return decoded.ok ? decoded.value : { kind: "unreadable", accountIndex, problem: `${channel}: ${decoded.problem}` };
}

/** Answers of the control, and channels of accounts that this room does not ask for (fact sheet 9.3). */
const LEFT_ALONE =
  /^(?:connected|pong|unsubscribed(?:\/[\w/:]+)?|(?:subscribed|update)\/(?:account_(?:all|all_assets|market|orders|spot_avg_entry_prices|tx)|user_stats|notification|pool_(?:data|info)))$/;

function leftAlone(type: unknown): AccountFrame {
  const text = typeof type === "string" ? type : "(none)";
  return LEFT_ALONE.test(text) ? { kind: "other" } : { kind: "unknown", type: text };
}

/** Each frame is the whole picture: one without it is not a flat account. */
function pictureOf(data: Fields): unknown {
  const positions = data["positions"];
  if (positions === undefined || positions === null) throw new WireFault("positions", "are missing");
  return positions;
}

/** A map from market to list, a bare list, or null for nothing. */
function listsOf(data: Fields, name: string): readonly unknown[] {
  const value = data[name];
  if (value === null) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  return Object.values(asFields(value, name)).flatMap((list) => (list === null ? [] : asList(list, name)));
}

function errorFrame(error: Fields): AccountFrame {
  const { code, message } = error;
  if (typeof code !== "number") return { kind: "other" };
  // `… : account_all_orders:1`: the only place where an error names its channel.
  const named = typeof message === "string" ? channelOf(/(account_all_\w+[:/]\d{1,15})\s*$/.exec(message)?.[1]) : null;
  return { kind: "error", code, accountIndex: named?.accountIndex ?? null, channel: named?.channel ?? null };
}

/** With a colon, as the venue writes it, or a slash. */
function channelOf(text: unknown): { readonly channel: AccountChannel; readonly accountIndex: number } | null {
  const match = typeof text === "string" ? /^(account_all_\w+)[:/](\d{1,15})$/.exec(text) : null;
  const channel = ACCOUNT_CHANNELS.find((name) => name === match?.[1]);
  return match === null || channel === undefined ? null : { channel, accountIndex: Number(match[2]) };
}
