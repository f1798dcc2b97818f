/**
 * A scene: a few requests of one trader in a fixed order, which is its point. Its dice come from the workload's seed;
 * its prices come from the venues' books while it plays. It concludes nothing: its trades and asks are judged with all
 * the others.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimOrderRequest, SimRefusal } from "../../../sim/core/model/types.js";
import { type Ask, type AskKind, type AskTerms, EVERYTHING, sendAsk } from "../trade-ask.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues } from "../four-venues.js";
import {
  askExecution,
  hasEnd,
  MARKET_TERMS,
  sendTrade,
  type TradeAnswer,
  type TradeClient,
  type TradeTerms,
  type TradeTrial,
  untilFinal,
} from "../trade-trial.js";

export interface SceneMarket {
  readonly symbol: "BTC" | "ETH";
  readonly direction: "LONG" | "SHORT";
}

export const LONG_BTC: SceneMarket = { symbol: "BTC", direction: "LONG" };
export const SHORT_ETH: SceneMarket = { symbol: "ETH", direction: "SHORT" };

interface TradeFields extends SceneMarket {
  readonly kind: TradeTrial["kind"];
  /** Base units, or ALL. */
  readonly size: string;
  readonly preferred?: FourVenue | null;
  readonly terms?: Partial<TradeTerms>;
  /** Fields beside `terms`. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly routingOptions?: Readonly<Record<string, unknown>>;
  /** Default: a key of its own. */
  readonly key?: string;
  /** Credentials in place of the trader's own. */
  readonly credentials?: Readonly<Record<string, unknown>>;
}

export interface StageParts {
  readonly four: FourVenues;
  readonly client: TradeClient;
  readonly trader: FourTrader;
  readonly random: Random;
  /** Prefix of every key of the scene. */
  readonly name: string;
  /** Venue that is down while the scene plays. */
  readonly down: FourVenue | null;
  /** No venue fails while the scene plays. */
  readonly isCalm: boolean;
  /** Venues answer and take orders, whatever their streams do. Default: where it is calm. */
  readonly isReadable?: boolean;
  readonly trials: TradeTrial[];
  readonly asks: Ask[];
}

/** Long enough for a machine that pauses for seconds: the verdict must not depend on it. */
const PATIENT = { deadlineMs: 8_000, maxQuoteAgeMs: 30_000 };

/** Longest wait of a scene; in most, no order is in doubt for so long. */
const PATIENCE_MS = 6_000;

/** A scene that cannot continue; that is no finding. */
export class SceneOver extends Error {
  override readonly name = "SceneOver";
}

export class Stage {
  readonly four: FourVenues;
  readonly trader: FourTrader;
  readonly random: Random;
  readonly down: FourVenue | null;
  readonly isCalm: boolean;
  readonly isReadable: boolean;
  readonly #parts: StageParts;
  #keys = 0;

  constructor(parts: StageParts) {
    this.#parts = parts;
    this.four = parts.four;
    this.trader = parts.trader;
    this.random = parts.random;
    this.down = parts.down;
    this.isCalm = parts.isCalm;
    this.isReadable = parts.isReadable ?? parts.isCalm;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random.next() * items.length)] as T;
  }

  /** One of the venues that serve. */
  venue(): FourVenue {
    return this.pick(FOUR_VENUES.filter((venue) => venue !== this.down));
  }

  market(): SceneMarket {
    return this.random.next() < 0.5 ? LONG_BTC : SHORT_ETH;
  }

  /** Returns a price `share` away from the venue's mid, on every venue's grid. */
  price(venue: FourVenue, symbol: string, share: number): string {
    const price = this.four.mid(venue, symbol) * (1 + share);
    return symbol === "BTC" ? String(Math.round(price)) : price.toFixed(1);
  }

  /** Sends the trade once. */
  async trade(fields: TradeFields): Promise<TradeTrial> {
    const trial = this.trial(fields);
    await this.again(trial);
    return trial;
  }

  /** Sends the trade until its end is known. */
  async tradeToEnd(fields: TradeFields): Promise<TradeTrial> {
    const trial = await this.trade(fields);
    await this.toEnd(trial);
    return trial;
  }

  again(trial: TradeTrial): Promise<TradeAnswer> {
    return sendTrade(this.four, this.#parts.client, trial);
  }

  /**
   * Throws where the end stays unknown for long: the rest of the scene makes no sense then. The run looks for the end
   * later.
   */
  async toEnd(trial: TradeTrial): Promise<void> {
    await untilFinal(this.four, this.#parts.client, trial, false, sendTrade, PATIENCE_MS);
    if (!hasEnd(trial)) throw new SceneOver();
  }

  trial(fields: TradeFields): TradeTrial {
    const { kind, symbol, direction, size, preferred = null, routingOptions = {}, body = {} } = fields;
    const credentials = fields.credentials ?? this.trader.credentials;
    const excluded = (routingOptions["excludeExchanges"] ?? []) as readonly FourVenue[];
    const terms: TradeTerms = {
      ...MARKET_TERMS,
      allowSplit: routingOptions["allowSplit"] === true,
      members: FOUR_VENUES.filter((venue) => credentials[venue] !== undefined && !excluded.includes(venue)),
      ...fields.terms,
    };
    const { orderType, limitPrice, triggerPrice, takeProfit, stopLoss, maxSlippageBps, quote } = terms;
    const trial: TradeTrial = {
      trader: this.trader,
      kind,
      symbol,
      direction,
      size: size === "ALL" ? null : size,
      preferred,
      besides: null,
      terms,
      key: fields.key ?? this.#nextKey(),
      body: JSON.stringify({
        credentials,
        symbol,
        direction,
        size,
        orderType,
        limitPrice,
        ...(kind === "CLOSE" ? { triggerPrice } : { takeProfit, stopLoss }),
        preferredExchange: preferred,
        quoteId: quote?.quoteId ?? null,
        routingOptions: { ...PATIENT, maxSlippageBps, ...routingOptions },
        ...body,
      }),
      answers: [],
    };
    this.#parts.trials.push(trial);
    return trial;
  }

  /** Returns a dry run of it; null without one. The only check on it is that nothing was sent. */
  async quote(fields: TradeFields): Promise<TradeTerms["quote"]> {
    const trial = this.trial({ ...fields, body: { ...fields.body, dryRun: true } });
    const answer = await this.again(trial);
    return answer.data?.quote ?? null;
  }

  /** Runs it while `veto` decides about each order of the trader on the venues. */
  async vetoed(
    venues: readonly FourVenue[],
    veto: (venue: FourVenue, request: SimOrderRequest) => SimRefusal | null,
    run: () => Promise<unknown>,
  ): Promise<void> {
    const ends = venues.map((venue) => this.four.veto(venue, this.trader, (request) => veto(venue, request)));
    try {
      await run();
    } finally {
      for (const end of ends) end();
    }
  }

  async ask(
    kind: AskKind,
    path: string,
    terms: Partial<AskTerms>,
    request: {
      readonly method?: "GET" | "POST" | "DELETE";
      readonly body?: Readonly<Record<string, unknown>>;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Ask> {
    const { method = "POST", body } = request;
    const credentials = Buffer.from(JSON.stringify(this.trader.credentials)).toString("base64url");
    const asked = { key: this.#nextKey(), kind, trader: this.trader, terms: { ...EVERYTHING, ...terms } };
    const ask = await sendAsk(this.four, this.#parts.client, asked, path, {
      method,
      headers: {
        // A body has its own content type.
        ...(body === undefined ? { "x-venue-credentials": credentials } : { "content-type": "application/json" }),
        ...request.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    this.#parts.asks.push(ask);
    return ask;
  }

  /** Adds the execution's current state as one more answer to the trade. */
  refresh(trial: TradeTrial): Promise<void> {
    return askExecution(this.four, this.#parts.client, trial);
  }

  #nextKey(): string {
    return `${this.#parts.name}-${this.#keys++}`;
  }
}

export interface Scene {
  /** Returns what is held on every venue at the beginning. */
  readonly positions: Readonly<Record<string, string>>;
  readonly play: (stage: Stage) => Promise<void>;
}
