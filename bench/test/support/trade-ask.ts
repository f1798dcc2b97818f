/**
 * What traders ask beside opening and closing: close-all, cancels, switches, reads of positions. Each as its caller sees
 * it, with the moments and the venues' log lengths on either side; what it is worth is judged elsewhere.
 */
import type { Json, Reply, RequestOptions } from "../../../gateway/test/client.js";
import { isNetworkError } from "./close-judge.js";
import type { FourTrader, FourVenue, FourVenues } from "./four-venues.js";
import { logLengthsOf, type TradeClient } from "./trade-trial.js";

export type AskKind = "CLOSE_ALL" | "CANCEL" | "CANCEL_ALL" | "ARM" | "POSITIONS" | "ORDER" | "STATUS";

/** What the caller stated. */
export interface AskTerms {
  /** Venues whose credentials were given, and that were named. */
  readonly venues: readonly FourVenue[];
  /** Null means of every symbol. */
  readonly symbols: readonly string[] | null;
  readonly dryRun: boolean;
  /** A field that no such operation knows. */
  readonly unknownField: string | null;
  /** Of a cancel: the venue's id of the order. */
  readonly orderId: string | null;
  /** Of a single order: what it is for, and the key that it is asked under. */
  readonly order: AskedOrder | null;
}

export interface AskedOrder {
  readonly idempotencyKey: string;
  readonly symbol: string;
  readonly side: "BUY" | "SELL";
  readonly quantity: string;
}

/** Replies whose body is read whole: they have no `data`, or not on every venue. */
const WHOLE: ReadonlySet<AskKind> = new Set(["POSITIONS", "ORDER"]);

export interface Ask {
  readonly key: string;
  readonly kind: AskKind;
  readonly trader: FourTrader;
  readonly terms: AskTerms;
  readonly status: number;
  readonly code: string | null;
  /** Of positions and single orders: the whole body. */
  readonly data: Json;
  /** How many of the caller's secrets its text or its headers hold, whole or a part of them. */
  readonly leakCount: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  readonly logLengthsBefore: Readonly<Record<FourVenue, number>>;
  readonly logLengths: Readonly<Record<FourVenue, number>>;
  /** Of a switch that was armed: set at the end of the run, orders of its account that still work at its venue. */
  workingAtEnd: number | null;
}

export const EVERYTHING: AskTerms = {
  venues: ["venueone", "venuetwo", "venuethree", "venuefour"],
  symbols: null,
  dryRun: false,
  unknownField: null,
  orderId: null,
  order: null,
};

/** One request. A connection that broke is an answer too: `NETWORK`. */
export async function sendAsk(
  four: FourVenues,
  client: TradeClient,
  asked: Pick<Ask, "key" | "kind" | "trader" | "terms">,
  path: string,
  options: RequestOptions,
): Promise<Ask> {
  const askedAtMs = four.nowMs();
  const logLengthsBefore = logLengthsOf(four);
  let reply: Pick<Reply, "status" | "body" | "text" | "headers">;
  try {
    reply = await client.send(path, options);
  } catch (error) {
    if (!isNetworkError(error)) throw error;
    reply = { status: 0, body: { code: "NETWORK" }, text: "", headers: {} };
  }
  const body = reply.body as { readonly code?: string; readonly data?: Json } | null;
  return {
    ...asked,
    status: reply.status,
    code: body?.code ?? null,
    data: WHOLE.has(asked.kind) ? reply.body : (body?.data ?? null),
    leakCount: leaks(asked.trader, `${reply.text} ${Object.values(reply.headers).join(" ")}`),
    askedAtMs,
    answeredAtMs: four.nowMs(),
    logLengthsBefore,
    logLengths: logLengthsOf(four),
    workingAtEnd: null,
  };
}

/** What of a secret is one already: its beginning, of this many characters. */
const PART = 12;

function leaks({ secrets }: FourTrader, text: string): number {
  return secrets.filter((secret) => text.includes(secret.slice(0, PART))).length;
}
