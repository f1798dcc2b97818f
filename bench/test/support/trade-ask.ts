/**
 * Requests of traders other than opening and closing: close-all, cancels, switches, reads of positions. Each is as its
 * caller sees it, with the times and the lengths of the venues' logs on either side. Others judge it.
 */
import type { Json, Reply, RequestOptions } from "../../../gateway/test/client.js";
import { isNetworkError } from "./close-judge.js";
import type { FourTrader, FourVenue, FourVenues } from "./four-venues.js";
import { logLengthsOf, type TradeClient } from "./trade-trial.js";

export type AskKind = "CLOSE_ALL" | "CANCEL" | "CANCEL_ALL" | "ARM" | "POSITIONS" | "ORDER" | "STATUS";

/** The caller's terms. */
export interface AskTerms {
  /** Venues that the request names and has credentials for. */
  readonly venues: readonly FourVenue[];
  /** Null: every symbol. */
  readonly symbols: readonly string[] | null;
  readonly dryRun: boolean;
  /** A field that the operation does not know. */
  readonly unknownField: string | null;
  /** For a cancel: the venue's id of the order. */
  readonly orderId: string | null;
  /** For a single order: its terms and its key. */
  readonly order: AskedOrder | null;
}

export interface AskedOrder {
  readonly idempotencyKey: string;
  readonly symbol: string;
  readonly side: "BUY" | "SELL";
  readonly quantity: string;
}

/** Requests whose whole body is read: they have no `data`, or not on every venue. */
const WHOLE: ReadonlySet<AskKind> = new Set(["POSITIONS", "ORDER"]);

export interface Ask {
  readonly key: string;
  readonly kind: AskKind;
  readonly trader: FourTrader;
  readonly terms: AskTerms;
  readonly status: number;
  readonly code: string | null;
  /** The whole body, for positions and single orders. */
  readonly data: Json;
  /** Count of the caller's secrets in its text or its headers, whole or in part. */
  readonly leakCount: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  readonly logLengthsBefore: Readonly<Record<FourVenue, number>>;
  readonly logLengths: Readonly<Record<FourVenue, number>>;
  /** For an armed switch, set at the end of the run: orders of its account that are still open at its venue. */
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

/** Sends one request. A broken connection counts as an answer: `NETWORK`. */
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

/** Leading characters of a secret that already count as the secret. */
const PART = 12;

function leaks({ secrets }: FourTrader, text: string): number {
  return secrets.filter((secret) => text.includes(secret.slice(0, PART))).length;
}
