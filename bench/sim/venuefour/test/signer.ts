/** A client's side of signing for this room's tests: flat bodies, and the calls that carry them. */
import { createPrivateKey, sign } from "node:crypto";
import { fromBase58, toBase58 } from "../wire/base58.js";
import type { Fields, OperationName } from "../wire/operations.js";
import { signedText } from "../records/signature.js";
import type { VenuefourSim } from "../sim.js";
import { type Answer, post } from "./support.js";

export interface Signer {
  readonly account: string;
  /** Base58 of 64 bytes. */
  readonly secret: string;
  /** Null when the account signs itself. */
  readonly agent: string | null;
}

const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export interface SignOptions {
  readonly timestamp?: number;
  readonly expiryWindow?: number;
  /** Signs another text than the one that the path implies. */
  readonly type?: string;
}

export function signedBody(
  venue: VenuefourSim,
  signer: Signer,
  type: OperationName,
  payload: Fields,
  options: SignOptions = {},
): Fields {
  const timestamp = options.timestamp ?? venue.exchange.nowMs();
  const expiry_window = options.expiryWindow ?? 5_000;
  const seed = fromBase58(signer.secret, 64)?.subarray(0, 32) ?? Buffer.alloc(32);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const text = signedText({ type: options.type ?? type, timestamp, expiry_window, data: payload });
  const signature = toBase58(sign(null, Buffer.from(text, "utf8"), key));
  const agent = signer.agent === null ? {} : { agent_wallet: signer.agent };
  return { account: signer.account, ...agent, signature, timestamp, expiry_window, ...payload };
}

const PATHS: Readonly<Record<OperationName, string>> = {
  create_market_order: "orders/create_market",
  create_order: "orders/create",
  edit_order: "orders/edit",
  cancel_order: "orders/cancel",
  cancel_all_orders: "orders/cancel_all",
  create_stop_order: "orders/stop/create",
  cancel_stop_order: "orders/stop/cancel",
  set_position_tpsl: "positions/tpsl",
  update_leverage: "account/leverage",
  update_margin_mode: "account/margin",
  bind_agent_wallet: "agent/bind",
  list_agent_wallets: "agent/list",
  revoke_agent_wallet: "agent/revoke",
  revoke_all_agent_wallets: "agent/revoke_all",
  create_api_key: "account/api_keys/create",
  list_api_keys: "account/api_keys",
  revoke_api_key: "account/api_keys/revoke",
};

export function act(
  venue: VenuefourSim,
  signer: Signer,
  type: OperationName,
  payload: Fields,
  options: SignOptions = {},
): Promise<Answer> {
  return post(venue, PATHS[type], signedBody(venue, signer, type, payload, options));
}
