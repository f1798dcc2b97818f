/**
 * The account calls: mirrors the venue's endpoints with wire types, checked. Private reads carry an auth token in the
 * Authorization header; what is public carries none. `sendTx` gives the raw result: the order path reads it itself.
 */
import type { CallOptions, Read } from "../../../engine/ports.js";
import {
  failedRead,
  isRateLimitStatus,
  readFailureOf,
  retryAfterMs,
  venueText,
  type HttpResponse,
} from "../../shared/net/call-results.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { decodeWith, isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import {
  decodeAccountLimits,
  decodeAccounts,
  decodeAccountTrades,
  decodeDefaultMargin,
  decodeKeys,
  decodeNonce,
  decodeOrders,
  decodePositionFundings,
  decodeTx,
  type VenuethreePage,
  type VenuethreeWireAccount,
  type VenuethreeWireAccountTrade,
  type VenuethreeWireKey,
  type VenuethreeWireLimits,
  type VenuethreeWireOrder,
  type VenuethreeWirePositionFunding,
  type VenuethreeWireTx,
} from "./wire.js";
import { CODE_BAD_PARAMETER, isCredentialCode, isLimitCode, isUnknownAccountCode } from "../rules/errors.js";
import { ALL_API_KEYS, ALL_MARKETS, callWeight, type TierName } from "../rules/limits.js";

/** Accounts of one address that are asked for: far more than the venue lets one have. */
const MAX_ACCOUNT_PAGES = 4;

/** What pages of orders, trades and funding are asked with. */
export interface PageQuery {
  readonly accountIndex: number;
  /** Null means all. */
  readonly marketId: number | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/** The venue says whose an account is. */
export type OnAccount = (accountIndex: number, l1Address: string) => void;

const FORM_HEADERS = { "content-type": "application/x-www-form-urlencoded" };

export class VenuethreeAccountRest {
  readonly #http: VenueHttp;
  readonly #tier: TierName;
  readonly #onAccount: OnAccount;

  constructor(http: VenueHttp, tier: TierName, onAccount: OnAccount = () => {}) {
    this.#http = http;
    this.#tier = tier;
    this.#onAccount = onAccount;
  }

  async accountByIndex(index: number, options: CallOptions): Promise<Read<VenuethreeWireAccount>> {
    const page = await this.#read(`account?by=index&value=${index}`, null, options, decodeAccounts);
    if (!page.ok) return page;
    const account = page.value.rows.find((row) => row.index === index);
    if (account === undefined) return failedRead("BAD_RESPONSE", "account: the answer is about another account");
    this.#onAccount(account.index, account.l1_address);
    return { ...page, value: account };
  }

  /** All accounts of a first-layer address; none where the venue does not know it. */
  async accountsByAddress(address: string, options: CallOptions): Promise<Read<readonly VenuethreeWireAccount[]>> {
    const accounts: VenuethreeWireAccount[] = [];
    let cursor: string | null = null;
    for (let pageIndex = 0; pageIndex < MAX_ACCOUNT_PAGES; pageIndex++) {
      const next: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const query = `account?by=l1_address&value=${address}${next}`;
      const page: AccountsRead = await this.#read(query, null, options, decodeAccounts, NO_ACCOUNTS);
      if (!page.ok) return page;
      accounts.push(...page.value.rows);
      for (const row of page.value.rows) this.#onAccount(row.index, row.l1_address);
      cursor = page.value.nextCursor;
      if (cursor === null || page.value.rows.length === 0) return { ...page, value: accounts };
    }
    return failedRead("BAD_RESPONSE", "account: more pages than an address can have");
  }

  apiKeys(accountIndex: number, options: CallOptions): Promise<Read<readonly VenuethreeWireKey[]>> {
    return this.#read(
      `apikeys?account_index=${accountIndex}&api_key_index=${ALL_API_KEYS}`,
      null,
      options,
      decodeKeys,
      NO_KEYS,
    );
  }

  nextNonce(accountIndex: number, apiKeyIndex: number, options: CallOptions): Promise<Read<number>> {
    return this.#read(
      `nextNonce?account_index=${accountIndex}&api_key_index=${apiKeyIndex}`,
      null,
      options,
      decodeNonce,
    );
  }

  activeOrders(
    accountIndex: number,
    marketId: number | null,
    token: string,
    options: CallOptions,
  ): Promise<Read<VenuethreePage<VenuethreeWireOrder>>> {
    const query = `accountActiveOrders?account_index=${accountIndex}&market_id=${marketId ?? ALL_MARKETS}`;
    return this.#read(query, token, options, decodeOrders);
  }

  /** Newest end first. */
  inactiveOrders(
    page: PageQuery,
    token: string,
    options: CallOptions,
  ): Promise<Read<VenuethreePage<VenuethreeWireOrder>>> {
    return this.#read(`accountInactiveOrders?${pageQuery(page)}`, token, options, decodeOrders);
  }

  trades(
    page: PageQuery,
    token: string,
    options: CallOptions,
  ): Promise<Read<VenuethreePage<VenuethreeWireAccountTrade>>> {
    return this.#read(`trades?sort_by=timestamp&${pageQuery(page)}`, token, options, decodeAccountTrades);
  }

  positionFunding(
    page: PageQuery,
    token: string,
    options: CallOptions,
  ): Promise<Read<VenuethreePage<VenuethreeWirePositionFunding>>> {
    return this.#read(`positionFunding?side=all&${pageQuery(page)}`, token, options, decodePositionFundings);
  }

  accountLimits(accountIndex: number, token: string, options: CallOptions): Promise<Read<VenuethreeWireLimits>> {
    return this.#read(`accountLimits?account_index=${accountIndex}`, token, options, decodeAccountLimits);
  }

  defaultMarginFraction(marketId: number, options: CallOptions): Promise<Read<number>> {
    return this.#read(`orderBookDetails?market_id=${marketId}`, null, options, decodeDefaultMargin);
  }

  /** The outcome of a transaction; null where the venue does not know it (yet). */
  tx(hash: string, options: CallOptions): Promise<Read<VenuethreeWireTx | null>> {
    return this.#read<VenuethreeWireTx | null>(`tx?by=hash&value=${hash}`, null, options, decodeTx, NO_TX);
  }

  sendTx(type: number, info: string, accountIndex: number, options: CallOptions): Promise<HttpResult> {
    return this.#http.request({
      method: "POST",
      path: "/api/v1/sendTx",
      headers: FORM_HEADERS,
      body: `tx_type=${type}&tx_info=${encodeURIComponent(info)}`,
      lane: options.lane,
      weight: callWeight(this.#tier, "sendTx"),
      timeoutMs: options.timeoutMs,
      account: String(accountIndex),
      payer: options.payer ?? null,
      accountWeight: 1,
    });
  }

  /** `ifAbsent`: the value where the venue says that it knows no such thing. */
  async #read<T>(
    query: string,
    token: string | null,
    options: CallOptions,
    decode: (value: unknown) => T,
    ifAbsent?: { readonly isAbsent: (code: number) => boolean; readonly value: T },
  ): Promise<Read<T>> {
    const name = /^\w+/.exec(query)?.[0] ?? "";
    const caller = options.caller ?? /\b(?:account_index|by=index&value)=(\d+)/.exec(query)?.[1];
    const result = await this.#http.request({
      method: "GET",
      path: `/api/v1/${query}`,
      headers: token === null ? {} : { authorization: token },
      body: null,
      lane: options.lane,
      weight: callWeight(this.#tier, name),
      timeoutMs: options.timeoutMs,
      account: null,
      accountWeight: 0,
      payer: options.payer ?? null,
      ...(caller === undefined ? {} : { caller }),
    });
    const failure = readFailureOf(result);
    if (failure !== null || result.kind !== "response") return failure ?? failedRead("VENUE_ERROR", name);
    const data = parseJsonExact(result.body);
    const code = isFields(data) && typeof data["code"] === "number" ? data["code"] : null;
    if (result.status !== 200 || (code !== null && code !== CODE_OK)) {
      if (code !== null && ifAbsent?.isAbsent(code) === true)
        return { ok: true, value: ifAbsent.value, asOfMs: result.receivedAtMs, source: "venue" };
      if (code === CODE_BAD_PARAMETER && query.includes("&cursor=")) return failedRead("BAD_CURSOR", name);
      return refusedRead(name, result, code, isFields(data) ? data["message"] : null);
    }
    const decoded = decodeWith(data, decode);
    return decoded.ok
      ? { ok: true, value: decoded.value, asOfMs: result.receivedAtMs, source: "venue" }
      : failedRead("BAD_RESPONSE", `${name}: ${decoded.problem}`);
  }
}

type AccountsRead = Read<VenuethreePage<VenuethreeWireAccount>>;

const CODE_OK = 200;
/** `transaction not found` and `not found`. */
const CODES_NO_TX: ReadonlySet<number> = new Set([21500, 29404]);
const NO_TX = { isAbsent: (code: number): boolean => CODES_NO_TX.has(code), value: null };
const NO_ACCOUNTS = { isAbsent: isUnknownAccountCode, value: { rows: [], nextCursor: null } };
const NO_KEYS = { isAbsent: isUnknownAccountCode, value: [] };

function refusedRead(name: string, response: HttpResponse, code: number | null, message: unknown): Read<never> {
  const text = `${name}: ${venueText(typeof message === "string" ? message : `HTTP ${response.status}`)}`;
  if (isRateLimitStatus(response.status) || (code !== null && isLimitCode(code)))
    return failedRead("RATE_LIMITED", text, retryAfterMs(response));
  const isTokenMissing = code === CODE_BAD_PARAMETER && text.includes("auth");
  if (response.status === 401 || isTokenMissing || (code !== null && isCredentialCode(code)))
    return failedRead("AUTH", text);
  return failedRead("VENUE_ERROR", text);
}

function pageQuery({ accountIndex, marketId, limit, cursor }: PageQuery): string {
  const market = marketId === null ? "" : `&market_id=${marketId}`;
  const next = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
  return `account_index=${accountIndex}&limit=${limit}${market}${next}`;
}
