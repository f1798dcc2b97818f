/**
 * The fields of each signed operation, fact sheet sections 3 and 6. The signed text is rebuilt from the fields that the
 * operation has, in the form in which they came: unknown fields are ignored, a null counts as absent.
 */
import { fromBase58 } from "./base58.js";
import { refuseBody } from "./errors.js";

export type Fields = Readonly<Record<string, unknown>>;

type Kind = "text" | "decimal" | "integer" | "truth" | "side" | "tif" | "uuid" | "triggerPrice" | "address";

interface Rule {
  readonly kind: Kind | Shape;
  readonly isNeeded: boolean;
}

export interface Shape {
  readonly [name: string]: Rule;
}

const DECIMAL = /^\d{1,20}(?:\.\d{1,20})?$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_TEXT = 64;

const TESTS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string" && value.length > 0 && value.length <= MAX_TEXT,
  decimal: (value) => typeof value === "string" && DECIMAL.test(value),
  integer: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
  truth: (value) => typeof value === "boolean",
  side: (value) => value === "bid" || value === "ask",
  tif: (value) => value === "GTC" || value === "IOC" || value === "ALO" || value === "TOB",
  uuid: (value) => typeof value === "string" && UUID.test(value),
  triggerPrice: (value) => value === "mark_price" || value === "last_trade_price" || value === "mid_price",
  address: (value) => typeof value === "string" && fromBase58(value, 32) !== null,
};

function need(kind: Kind | Shape): Rule {
  return { kind, isNeeded: true };
}

function may(kind: Kind | Shape): Rule {
  return { kind, isNeeded: false };
}

const PROTECTION: Shape = {
  stop_price: need("decimal"),
  limit_price: may("decimal"),
  amount: may("decimal"),
  client_order_id: may("uuid"),
  trigger_price_type: may("triggerPrice"),
};
const ORDER: Shape = {
  symbol: need("text"),
  amount: need("decimal"),
  side: need("side"),
  reduce_only: need("truth"),
  client_order_id: may("uuid"),
  take_profit: may(PROTECTION),
  stop_loss: may(PROTECTION),
  builder_code: may("text"),
};
const REFERENCE: Shape = { symbol: need("text"), order_id: may("integer"), client_order_id: may("uuid") };
const AGENT: Shape = { agent_wallet: need("address") };

const SHAPES = {
  create_market_order: { ...ORDER, slippage_percent: need("decimal") },
  create_order: { ...ORDER, price: need("decimal"), tif: need("tif") },
  edit_order: { ...REFERENCE, price: need("decimal"), amount: need("decimal") },
  cancel_order: REFERENCE,
  cancel_all_orders: { all_symbols: need("truth"), exclude_reduce_only: need("truth"), symbol: may("text") },
  create_stop_order: {
    symbol: need("text"),
    side: need("side"),
    reduce_only: need("truth"),
    stop_order: need({ ...PROTECTION, amount: need("decimal") }),
    builder_code: may("text"),
  },
  cancel_stop_order: REFERENCE,
  set_position_tpsl: {
    symbol: need("text"),
    side: need("side"),
    take_profit: may(PROTECTION),
    stop_loss: may(PROTECTION),
    builder_code: may("text"),
  },
  update_leverage: { symbol: need("text"), leverage: need("integer") },
  update_margin_mode: { symbol: need("text"), is_isolated: need("truth") },
  bind_agent_wallet: AGENT,
  list_agent_wallets: {},
  revoke_agent_wallet: AGENT,
  revoke_all_agent_wallets: {},
  create_api_key: {},
  list_api_keys: {},
  revoke_api_key: { api_key: need("text") },
} as const satisfies Readonly<Record<string, Shape>>;

export type OperationName = keyof typeof SHAPES;

/** The path implies the type, which is signed and not sent. */
export const OPERATION_OF_PATH: ReadonlyMap<string, OperationName> = new Map([
  ["orders/create_market", "create_market_order"],
  ["orders/create", "create_order"],
  ["orders/edit", "edit_order"],
  ["orders/cancel", "cancel_order"],
  ["orders/cancel_all", "cancel_all_orders"],
  ["orders/stop/create", "create_stop_order"],
  ["orders/stop/cancel", "cancel_stop_order"],
  ["positions/tpsl", "set_position_tpsl"],
  ["account/leverage", "update_leverage"],
  ["account/margin", "update_margin_mode"],
  ["agent/bind", "bind_agent_wallet"],
  ["agent/list", "list_agent_wallets"],
  ["agent/revoke", "revoke_agent_wallet"],
  ["agent/revoke_all", "revoke_all_agent_wallets"],
  ["account/api_keys/create", "create_api_key"],
  ["account/api_keys", "list_api_keys"],
  ["account/api_keys/revoke", "revoke_api_key"],
]);

/** Operations over the socket; `batch_orders` is apart. */
export const SOCKET_OPERATIONS: ReadonlySet<string> = new Set<OperationName>([
  "create_market_order",
  "create_order",
  "edit_order",
  "cancel_order",
  "cancel_all_orders",
]);

/** Only the account's own key may sign these: an agent must not make agents. */
export const OWNER_ONLY: ReadonlySet<OperationName> = new Set<OperationName>([
  "bind_agent_wallet",
  "list_agent_wallets",
  "revoke_agent_wallet",
  "revoke_all_agent_wallets",
  "create_api_key",
  "list_api_keys",
  "revoke_api_key",
]);

/** The operation's own fields out of a flat body; throws the front's refusal for what does not fit. */
export function readPayload(operation: OperationName, body: Fields): Fields {
  return readShape(SHAPES[operation], body, "");
}

function readShape(shape: Shape, body: Fields, path: string): Fields {
  const read: Record<string, unknown> = {};
  for (const [name, { kind, isNeeded }] of Object.entries(shape)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === undefined || value === null) {
      if (isNeeded) throw refuseBody(`missing field \`${path}${name}\``);
      continue;
    }
    if (typeof kind === "string") {
      if (!TESTS[kind](value)) throw refuseBody(`${path}${name}: invalid value, expected ${kind}`);
      read[name] = value;
    } else {
      if (!isObject(value)) throw refuseBody(`${path}${name}: invalid type, expected struct`);
      read[name] = readShape(kind, value, `${path}${name}.`);
    }
  }
  return read;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
