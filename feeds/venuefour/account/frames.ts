/**
 * Frames of the private channels: text → checked rows. What cannot be read is reported as unreadable, never guessed.
 */
import {
  asFields,
  asList,
  decodeWith,
  type Fields,
  integerField,
  isFields,
  parseJsonExact,
  textField,
} from "../../shared/room/wire-fields.js";
import {
  decodeOrderUpdate,
  decodePositionUpdate,
  decodeTradeUpdate,
  type VenuefourWireFill,
  type VenuefourWirePosition,
  type VenuefourWireUpdate,
} from "./wire.js";

const FILLS = "account_trades";
/** Without the first three the account is not known; the others report its settings. */
export const ESSENTIAL_CHANNELS = ["account_positions", "account_order_updates", FILLS] as const;
export const ACCOUNT_CHANNELS = [...ESSENTIAL_CHANNELS, "account_leverage", "account_margin"] as const;

export type AccountFrame =
  | { readonly kind: "echo"; readonly channel: string }
  /** `li` is null where the frame has none. */
  | { readonly kind: "positions"; readonly rows: readonly VenuefourWirePosition[]; readonly li: number | null }
  | { readonly kind: "orders"; readonly rows: readonly VenuefourWireUpdate[] }
  | { readonly kind: "fills"; readonly rows: readonly VenuefourWireFill[] }
  | { readonly kind: "settings" }
  /** Known, and of no consequence here. */
  | { readonly kind: "ignored" }
  /** Of a channel that this room does not know. */
  | { readonly kind: "unknown"; readonly channel: string }
  /** `isOfFills` false: it is of a channel that reports none. */
  | { readonly kind: "malformed"; readonly problem: string; readonly isOfFills: boolean };

/** Answers of the control, and private channels that this room does not ask for (fact sheet 7). */
const LEFT_ALONE: ReadonlySet<unknown> = new Set(["pong", "unsubscribe", "account_info", "account_orders"]);

/** Answers to requests name a type or a code and no channel. */
function isLeftAlone({ channel, type, code }: Fields): boolean {
  return channel === undefined ? type !== undefined || code !== undefined : LEFT_ALONE.has(channel);
}

export function decodeAccountFrame(text: string): AccountFrame {
  const parsed = parseJsonExact(text);
  if (!isFields(parsed)) return { kind: "malformed", problem: "not JSON", isOfFills: true };
  const decoded = decodeWith(parsed, (): AccountFrame => {
    const { channel, data } = parsed;
    switch (channel) {
      case "subscribe":
        return { kind: "echo", channel: textField(asFields(data, "echo"), "source") };
      case "account_positions": {
        const rows = asList(data, "positions").map(decodePositionUpdate);
        return { kind: "positions", rows, li: parsed["li"] === undefined ? null : integerField(parsed, "li") };
      }
      case "account_order_updates":
        return { kind: "orders", rows: asList(data, "order updates").map(decodeOrderUpdate) };
      case FILLS:
        return { kind: "fills", rows: asList(data, "trade updates").map(decodeTradeUpdate) };
      case "account_leverage":
      case "account_margin":
        return { kind: "settings" };
      default:
        return isLeftAlone(parsed)
          ? { kind: "ignored" }
          : { kind: "unknown", channel: typeof channel === "string" ? channel : "(none)" };
    }
  });
  if (decoded.ok) return decoded.value;
  return { kind: "malformed", problem: decoded.problem, isOfFills: parsed["channel"] === FILLS };
}
