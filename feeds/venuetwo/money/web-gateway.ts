/** The calls of venuetwo's web gateway by which a wallet logs in and gets a key (sheet section 9.1). None retries. */
import type { CallOptions } from "../../../engine/ports.js";
import { isRateLimitStatus } from "../../shared/net/call-results.js";
import type { VenueHttp } from "../../shared/net/http.js";
import {
  type FailedAct,
  refusedAct,
  unansweredAct,
  UNKNOWN_ACT,
  wordlessAct,
} from "../../shared/orders/act-outcome.js";
import { type Fields, isFields, parseJsonExact } from "../../shared/room/wire-fields.js";

const PATHS = "/bapi/futures/v1/public/future/web3";
const HEADERS = { "content-type": "application/json", clientType: "broker" };
const SUCCESS = "000000";
/** The venue never saw the wallet. */
const NO_ACCOUNT = "40000005";
/** Single use, and short-lived. */
const NONCE_OVER = "099008";
/** Where the key's wallet lives, as the gateway names it. */
const CHAIN_ID = 56;

/** What a nonce is for. */
export type NoncePurpose = "LOGIN" | "CREATE_API_KEY";

export interface NewKey {
  readonly apiKey: string;
  readonly apiSecret: string;
}

export type WebAnswer<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "noAccount"; readonly text: string }
  | { readonly kind: "nonceOver" }
  | FailedAct;

export interface KeyTerms {
  /** Unique for the account. */
  readonly desc: string;
  /** From where the key may be used; empty: from everywhere. */
  readonly ipWhitelist: readonly string[];
}

export class WebGateway {
  readonly #http: VenueHttp;

  /** `http`: of the gateway's own base URL. */
  constructor(http: VenueHttp) {
    this.#http = http;
  }

  nonce(account: string, type: NoncePurpose, options: CallOptions): Promise<WebAnswer<string>> {
    return this.#call("get-nonce", { sourceAddr: account, type }, options, ({ nonce }) =>
      (typeof nonce === "string" || typeof nonce === "number") && /^[0-9]{1,20}$/.test(String(nonce))
        ? String(nonce)
        : null,
    );
  }

  /** Gives a wallet its account. */
  logIn(account: string, signature: string, options: CallOptions): Promise<WebAnswer<true>> {
    return this.#call("ae/login", { signature, sourceAddr: account, chainId: CHAIN_ID }, options, () => true);
  }

  createKey(
    account: string,
    signature: string,
    { desc, ipWhitelist }: KeyTerms,
    options: CallOptions,
  ): Promise<WebAnswer<NewKey>> {
    const body = {
      desc,
      ip: ipWhitelist.join(","),
      network: String(CHAIN_ID),
      signature,
      sourceAddr: account,
      type: "CREATE_API_KEY",
      sourceCode: "ae",
    };
    return this.#call("broker-create-api-key", body, options, ({ apiKey, apiSecret }) =>
      isToken(apiKey) && isToken(apiSecret) ? { apiKey, apiSecret } : null,
    );
  }

  async #call<T>(
    name: string,
    body: Readonly<Record<string, unknown>>,
    options: CallOptions,
    read: (data: Fields) => T | null,
  ): Promise<WebAnswer<T>> {
    const result = await this.#http.request({
      method: "POST",
      path: `${PATHS}/${name}`,
      headers: HEADERS,
      body: JSON.stringify(body),
      lane: options.lane,
      weight: 1,
      timeoutMs: options.timeoutMs,
      account: null,
      payer: options.payer ?? null,
      accountWeight: 0,
    });
    if (result.kind !== "response") return unansweredAct(result);
    if (result.status >= 500) return UNKNOWN_ACT;
    const answer = parseJsonExact(result.body);
    if (!isFields(answer) || answer["code"] === undefined || isRateLimitStatus(result.status))
      return wordlessAct(result);
    const code = String(answer["code"]);
    if (code === SUCCESS && answer["success"] !== false) {
      const value = read(isFields(answer["data"]) ? answer["data"] : {});
      return value === null ? UNKNOWN_ACT : { kind: "done", value };
    }
    const { message } = answer;
    const text = `${code} ${typeof message === "string" ? message : ""}`;
    if (code === NO_ACCOUNT) return { kind: "noAccount", text };
    return code === NONCE_OVER ? { kind: "nonceOver" } : refusedAct("OTHER", text);
  }
}

/** As a header and a JSON text have it unchanged. */
function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9]{16,128}$/.test(value);
}
