/**
 * The two request paths behind both transports: budget per IP, typing, execution. A refusal before typing costs the
 * base weight, as the venue counts requests and not answers.
 */
import { decodeExchange } from "./wire/actions.js";
import { MinuteBudget } from "./records/budgets.js";
import { type ExchangeApi, itemCount } from "./orders/exchange-api.js";
import { answerInfo, infoWeight } from "./info.js";
import type { InfoContext } from "./account/info-account.js";
import type { JsonNode } from "./wire/json.js";
import { TEXT_BAD_SHAPE } from "./wire/texts.js";

export interface RequestOutcome {
  readonly status: number;
  /** A plain text when `isText`, else the JSON value. */
  readonly body: unknown;
  readonly isText: boolean;
  readonly infoType: string | null;
}

const ITEMS_PER_WEIGHT = 40;

export class RequestHandler {
  readonly #context: InfoContext;
  readonly #exchangeApi: ExchangeApi;
  readonly #budget: MinuteBudget;

  constructor(context: InfoContext, exchangeApi: ExchangeApi) {
    this.#context = context;
    this.#exchangeApi = exchangeApi;
    this.#budget = new MinuteBudget(context.venue.limits.ipWeightPerMinute);
  }

  info(node: JsonNode, remoteAddress: string): RequestOutcome {
    const nowMs = this.#nowMs();
    if (!this.#budget.trySpend(remoteAddress, infoWeight(node), nowMs)) return json(429, null);
    const answer = answerInfo(node, this.#context);
    if (answer.kind === "badShape") return text(422, TEXT_BAD_SHAPE);
    if (answer.kind === "serverError") return json(500, null);
    this.#budget.charge(remoteAddress, answer.extraWeight, nowMs);
    return { status: 200, body: answer.data, isText: false, infoType: answer.type };
  }

  exchange(node: JsonNode, remoteAddress: string): RequestOutcome {
    const request = node.kind === "object" ? decodeExchange(node) : null;
    const weight = request === null ? 1 : 1 + Math.floor(itemCount(request) / ITEMS_PER_WEIGHT);
    if (!this.#budget.trySpend(remoteAddress, weight, this.#nowMs())) return json(429, null);
    return request === null ? text(422, TEXT_BAD_SHAPE) : json(200, this.#exchangeApi.execute(request));
  }

  /** Of the machine: a skewed venue clock moves no budget. */
  #nowMs(): number {
    return this.#context.venue.exchange.clock.wallMs();
  }
}

function json(status: number, body: unknown): RequestOutcome {
  return { status, body, isText: false, infoType: null };
}

function text(status: number, body: string): RequestOutcome {
  return { status, body, isText: true, infoType: null };
}
