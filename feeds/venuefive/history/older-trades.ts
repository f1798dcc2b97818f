/**
 * Closed trades of before the index, from the vendor's history service: pages of 20 from 1 on, newest first. A trade that is
 * closed meanwhile moves the rows to later pages, so a mark is a time and the ids of that time, and never a page alone.
 *
 * The service answers 200 whatever happened: `success` says whether it did. Its numbers are doubles, and are taken to the
 * places of the chain, to the nearest.
 */
import type { ChainRead, ClosedTrade } from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { decimalPlaces, divideBig, parseScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { CallOptions } from "../../../engine/ports.js";
import { USDC_DECIMALS, VENUEFIVE_DECIMALS } from "../../../schemas/venuefive/contracts.js";
import {
  failedRead,
  isRateLimitStatus,
  readFailureOf,
  retryAfterMs,
  type FailedRead,
} from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { HttpPool, type HttpPoolOptions } from "../../shared/net/http-pool.js";
import {
  amountField,
  asFields,
  asList,
  booleanField,
  decodeJson,
  type Fields,
  integerField,
  parseMoneyJson,
  textField,
  WireFault,
} from "../../shared/room/wire-fields.js";
import { scaledText, sizeText, usdcText } from "./amounts.js";
import type { DollarBased, SymbolOf } from "./fold.js";
import { type OlderMark, SHOWN_MAX } from "./page-cursor.js";

interface OlderTradesOptions {
  readonly http: VenueHttp;
  /** Of the service's URL, without a slash at the end. */
  readonly basePath: string;
  readonly symbolOf: SymbolOf;
  readonly isDollarBased: DollarBased;
  readonly clock: Clock;
}

type Pairs = Pick<OlderTradesOptions, "symbolOf" | "isDollarBased">;

interface OlderPage {
  readonly ok: true;
  readonly rows: readonly ClosedTrade[];
  /** Null: there is no more. */
  readonly next: OlderMark | null;
}

/** The service's own maximum. */
const PAGE_ROWS = 20;
/** Requests of one page of ours; the service takes about ten a second. */
const REQUESTS_MAX = 5;
/** What it says where a trader has no trade. */
const EMPTY = "Unable to get the portfolio.";

/** Its own limit is about ten requests a second for each address. */
const BUDGET_PER_SECOND = 8;
const CONNECTIONS = 4;
const BODY_BYTES_MAX = 1024 * 1024;

export interface OlderConnection {
  readonly trades: OlderTrades;
  close(graceMs: number): Promise<void>;
}

/** Throws RangeError for a URL that cannot be meant. */
export function connectOlderTrades(
  url: string,
  options: Pick<HttpPoolOptions, "clock" | "random" | "logger"> &
    Pick<OlderTradesOptions, "symbolOf" | "isDollarBased">,
): OlderConnection {
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw new RangeError("the URL of the history service cannot be read");
  const { origin, pathname } = new URL(url);
  const { symbolOf, isDollarBased, clock, random, logger } = options;
  const http = new HttpPool({
    ...{ name: "venuefive.history", baseUrl: origin, clock, random, logger, accountLimits: [] },
    ...{ budget: BUDGET_PER_SECOND, budgetWindowMs: 1_000, connections: CONNECTIONS, maxBodyBytes: BODY_BYTES_MAX },
  });
  const basePath = pathname.replace(/\/+$/, "");
  return {
    trades: new OlderTrades({ http, basePath, symbolOf, isDollarBased, clock }),
    close: (graceMs) => http.close(graceMs),
  };
}

interface OlderRow {
  readonly id: string;
  readonly trade: ClosedTrade;
}

interface VendorPage {
  readonly rows: readonly OlderRow[];
  readonly isLast: boolean;
}

export class OlderTrades {
  readonly #options: OlderTradesOptions;

  constructor(options: OlderTradesOptions) {
    this.#options = options;
  }

  async read(
    trader: string,
    from: OlderMark,
    { limit, symbol }: { readonly limit: number; readonly symbol: string | null },
    options: CallOptions,
  ): Promise<OlderPage | Extract<ChainRead<never>, { ok: false }>> {
    const deadline = new Deadline(this.#options.clock, options);
    const rows: ClosedTrade[] = [];
    let mark = from;
    for (let requests = 0; requests < REQUESTS_MAX; requests++) {
      const left = deadline.left();
      const page = left === null ? failedRead("TIMEOUT", "no time left") : await this.#page(trader, mark.page, left);
      // What came before it is shown, and the next page begins there.
      if (!page.ok) return rows.length > 0 ? { ok: true, rows, next: mark } : page;
      for (const row of page.value.rows) {
        if (!isBehind(mark, row)) continue;
        if (rows.length === limit) return { ok: true, rows, next: mark };
        mark = behind(mark, row);
        if (symbol === null || row.trade.symbol === symbol) rows.push(row.trade);
      }
      if (page.value.isLast) return { ok: true, rows, next: null };
      mark = { ...mark, page: mark.page + 1 };
    }
    return { ok: true, rows, next: mark };
  }

  async #page(
    trader: string,
    page: number,
    options: CallOptions,
  ): Promise<{ readonly ok: true; readonly value: VendorPage } | FailedRead> {
    const { http, basePath } = this.#options;
    const result = await http.request({
      method: "GET",
      path: `${basePath}/v2/history/portfolio/history/${trader}/${page}/${PAGE_ROWS}`,
      headers: { accept: "application/json" },
      body: null,
      lane: options.lane,
      weight: 1,
      timeoutMs: options.timeoutMs,
      account: null,
      payer: options.payer ?? null,
      accountWeight: 0,
    });
    const failure = failureOf(result);
    if (failure !== null) return failure;
    const body = result.kind === "response" ? result.body : "";
    const decoded = decodeJson(body, (value) => vendorPage(value, trader, page, this.#options), parseMoneyJson);
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `history service: ${decoded.problem}`);
    return decoded.value === null
      ? failedRead("VENUE_ERROR", "the history service refuses")
      : { ok: true, value: decoded.value };
  }
}

function failureOf(result: HttpResult): FailedRead | null {
  const failure = readFailureOf(result);
  if (failure !== null || result.kind !== "response") return failure;
  if (isRateLimitStatus(result.status))
    return failedRead("RATE_LIMITED", `history service: HTTP ${result.status}`, retryAfterMs(result));
  return result.status === 200 ? null : failedRead("VENUE_ERROR", `history service: HTTP ${result.status}`);
}

function isBehind(mark: OlderMark, { id, trade }: OlderRow): boolean {
  return trade.closedAtMs < mark.beforeMs || (trade.closedAtMs === mark.beforeMs && !mark.shown.includes(id));
}

function behind(mark: OlderMark, { id, trade }: OlderRow): OlderMark {
  const shown = trade.closedAtMs === mark.beforeMs ? [...mark.shown, id].slice(-SHOWN_MAX) : [id];
  return { page: mark.page, beforeMs: trade.closedAtMs, shown };
}

/** Null: it refuses. */
function vendorPage(value: unknown, trader: string, page: number, pairs: Pairs): VendorPage | null {
  const answer = asFields(value, "answer");
  if (answer["success"] !== true) return answer["errorMessage"] === EMPTY ? { rows: [], isLast: true } : null;
  const list = asList(answer["portfolio"], "portfolio");
  if (list.length > PAGE_ROWS) throw new WireFault("portfolio", "is longer than a page");
  const rows = list.map((row) => olderRow(asFields(row, "row"), trader, pairs));
  return { rows, isLast: rows.length === 0 || page >= integerField(answer, "pageCount") };
}

function olderRow(row: Fields, trader: string, { symbolOf, isDollarBased }: Pairs): OlderRow {
  const args = asFields(asFields(row["event"], "event")["args"], "args");
  const trade = asFields(args["t"], "t");
  if (textField(trade, "trader").toLowerCase() !== trader) throw new WireFault("trader", "is another one");
  const closedAtMs = Date.parse(textField(row, "timeStamp"));
  if (!Number.isSafeInteger(closedAtMs)) throw new WireFault("timeStamp", "is no time");
  const collateral = units(args, "positionSizeUSDC", USDC_DECIMALS);
  const sent = units(args, "usdcSentToTrader", USDC_DECIMALS);
  const leverage = units(trade, "leverage", VENUEFIVE_DECIMALS);
  const openPrice = units(trade, "openPrice", VENUEFIVE_DECIMALS);
  const pairIndex = integerField(trade, "pairIndex");
  const pnl = sent - collateral;
  const fees = units(row, "_grossPnl", USDC_DECIMALS) - pnl;
  return {
    id: textField(row, "_id"),
    trade: {
      symbol: symbolOf(pairIndex),
      direction: booleanField(trade, "buy") ? "LONG" : "SHORT",
      entryPrice: scaledText(openPrice),
      exitPrice: scaledText(units(args, "price", VENUEFIVE_DECIMALS)),
      collateral: usdcText(collateral),
      size: sizeText(collateral.toString(), leverage.toString(), openPrice.toString(), isDollarBased(pairIndex)),
      leverage: scaledText(leverage),
      realizedPnl: usdcText(pnl),
      fees: fees < 0n ? null : usdcText(fees),
      usdcReceived: usdcText(sent),
      isZeroFee: booleanField(args, "isPnl"),
      isLiquidation: isLiquidated(args),
      openedAtMs: integerField(trade, "timestamp") * 1_000,
      closedAtMs,
      txHash: null,
    },
  };
}

function isLiquidated(args: Fields): boolean {
  const info = args["_feeInfo"];
  if (info === undefined || info === null) return false;
  const fields = asFields(info, "_feeInfo");
  return fields["liquidationFee"] !== undefined && units(fields, "liquidationFee", USDC_DECIMALS) > 0n;
}

/** A double has a tail of digits that nobody wrote: to the nearest. */
function units(fields: Fields, name: string, decimals: number): bigint {
  const text = amountField(fields, name);
  const places = Math.max(decimals, decimalPlaces(text));
  const exact = parseScaledBig(text, places);
  if (exact === null) throw new WireFault(name, "is not a decimal");
  return divideBig(exact, pow10Big(places - decimals), "halfUp");
}
