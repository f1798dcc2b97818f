/**
 * Best exit for a size: the request of the form, and the dry run's reply as rows for people, winner first and with the
 * reason of every venue that lost.
 */
import type { Static } from "@sinclair/typebox";
import type { candidateSchema, routingReplySchema } from "../../schemas/routing.js";
import { isDecimalText, isZeroText } from "../decimal.js";
import { fixedText, groupDigits } from "./format.js";
import { VENUES } from "./venues.js";

export type RoutingData = Static<typeof routingReplySchema>["data"];
type Candidate = Static<typeof candidateSchema>;
export type ExitSide = "SELL" | "BUY";

/** The longest size the service reads, and its finest step. */
const MAX_SIZE_CHARS = 40;
const MAX_SIZE_PLACES = 18;

export type SizeCheck = { readonly ok: true; readonly size: string } | { readonly ok: false; readonly problem: string };

/** Any other comma may be a decimal one: without it the size would be a thousand times as large. */
const IN_THOUSANDS = /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$/;

/** Turns a typed size into the text the service takes; accepts commas between thousands and blanks around it. */
export function checkSize(typed: string): SizeCheck {
  const given = typed.trim();
  const text = (IN_THOUSANDS.test(given) ? given.replaceAll(",", "") : given).replace(/^\./, "0.");
  if (text === "") return { ok: false, problem: "Enter a size." };
  if (!isDecimalText(text) || text.startsWith("-")) return { ok: false, problem: "A size is a number such as 0.25." };
  if (isZeroText(text)) return { ok: false, problem: "A size is greater than 0." };
  if (text.length > MAX_SIZE_CHARS || (text.split(".")[1]?.length ?? 0) > MAX_SIZE_PLACES)
    return { ok: false, problem: `At most ${MAX_SIZE_PLACES} decimals.` };
  return { ok: true, size: text };
}

export interface ExitRow {
  readonly venue: string;
  readonly chosen: boolean;
  readonly eligible: boolean;
  readonly allIn: string;
  readonly vwap: string;
  readonly fee: string;
  readonly cost: string;
  /** Why it won, or why it lost. */
  readonly why: string;
}

/** Venues that lost keep their places from one reply to the next. */
const ORDER: readonly string[] = VENUES;

const REASONS: Readonly<Record<string, string>> = {
  SYMBOL_NOT_LISTED: "Not listed here",
  VENUE_UNHEALTHY: "Venue is not healthy",
  BOOK_INVALID: "No live book",
  BOOK_STALE: "Book is too old",
  DEPTH_INSUFFICIENT: "Not enough depth",
  SLIPPAGE_CAP: "Beyond slippage limit",
  BELOW_MIN_SIZE: "Below its minimum",
  ABOVE_MAX_SIZE: "Above its maximum",
  PRICE_OUT_OF_RANGE: "Out of its price range",
  RATE_BUDGET: "No rate budget left",
  CLIENT_SIDE_ONLY: "Signed by the client",
};

const WIN_REASONS: Readonly<Record<string, string>> = {
  BEST_ALL_IN_PRICE: "Best all-in price",
  ONLY_ELIGIBLE_VENUE: "Only venue that can take it",
  TIE_LOWEST_LATENCY: "Equal price, fastest venue",
  TIE_LARGER_POSITION: "Equal price, larger position",
};

export interface ExitView {
  /** Null when no venue can take the size. */
  readonly winner: {
    readonly venue: string;
    readonly price: string;
    readonly allIn: string;
    readonly cost: string;
    readonly saves: string;
  } | null;
  readonly reason: string;
  readonly rows: readonly ExitRow[];
}

export function exitView(data: RoutingData): ExitView {
  const { routing } = data;
  const rows = exitRows(routing.candidates, routing.reason, routing.recommended);
  const chosen = routing.candidates.find((one) => one.exchange === routing.recommended);
  const reason = routing.reason === null ? "" : (WIN_REASONS[routing.reason] ?? wordsOf(routing.reason));
  if (routing.recommended === null || chosen === undefined) return { winner: null, reason, rows };
  return {
    winner: {
      venue: routing.recommended,
      price: groupDigits(routing.price),
      allIn: groupDigits(chosen.allInPrice ?? null),
      cost: bpsText(chosen.costBps),
      saves: isZeroText(routing.savings) ? "" : `${groupDigits(routing.savings)} ${chosen.quoteAsset ?? ""}`.trim(),
    },
    reason,
    rows,
  };
}

/** The service refused: rows of the venues it considered and why none was possible, where the reply has them. */
export function refusalRows(details: unknown): ExitRow[] {
  return exitRows(candidatesOf(details), null, null);
}

function candidatesOf(details: unknown): Candidate[] {
  if (typeof details !== "object" || details === null) return [];
  const { candidates } = details as { readonly candidates?: unknown };
  if (!Array.isArray(candidates)) return [];
  const isCandidate = (one: unknown): one is Candidate =>
    typeof one === "object" && one !== null && typeof (one as { exchange?: unknown }).exchange === "string";
  return candidates.filter(isCandidate);
}

/** Tells apart a size that is too large for every venue and a lack of venues. */
export function refusalTitle(code: string, error: string, details: unknown): string {
  if (code !== "NO_ELIGIBLE_VENUE" && code !== "SLIPPAGE_CAP") return error;
  const codes = candidatesOf(details).map((one) => one.reasonCode ?? "");
  const listed = codes.filter((one) => one !== "SYMBOL_NOT_LISTED" && one !== "CLIENT_SIDE_ONLY");
  if (codes.length > 0 && listed.length === 0) return "Not listed on any venue here";
  if (listed.length > 0 && listed.every((one) => NOT_READY.has(one))) return "No venue is ready: books are starting";
  return "No venue can take this size";
}

/** Reasons that have nothing to do with the size. */
const NOT_READY: ReadonlySet<string> = new Set(["BOOK_INVALID", "BOOK_STALE", "VENUE_UNHEALTHY"]);

function exitRows(candidates: readonly Candidate[], reason: string | null, winner: string | null): ExitRow[] {
  const best = candidates.find((one) => one.exchange === winner);
  const rows = candidates
    // The caller's own wallet signs its closes: it never competes here.
    .filter((one) => one.exchange !== "venuefive")
    .map((one): ExitRow & { readonly rank: number } => {
      const chosen = one.exchange === winner;
      return {
        venue: one.exchange,
        chosen,
        eligible: one.eligible,
        allIn: groupDigits(one.allInPrice ?? null),
        vwap: groupDigits(one.vwap ?? null),
        fee: bpsText(one.feeBps),
        cost: bpsText(one.costBps),
        why: chosen ? (WIN_REASONS[reason ?? ""] ?? "Chosen") : whyLost(one, best),
        rank: chosen ? 0 : one.eligible ? (one.rank ?? 50) : 100 + ORDER.indexOf(one.exchange),
      };
    });
  rows.sort((a, b) => a.rank - b.rank);
  return rows.map(({ rank: _, ...row }) => row);
}

function whyLost(candidate: Candidate, best: Candidate | undefined): string {
  if (!candidate.eligible)
    return candidate.reasonCode === undefined
      ? "Not eligible"
      : (REASONS[candidate.reasonCode] ?? wordsOf(candidate.reasonCode));
  const mine = Number(candidate.costBps ?? Number.NaN);
  const theirs = Number(best?.costBps ?? Number.NaN);
  const more = mine - theirs;
  if (!Number.isFinite(more)) return "Worse all-in price";
  return more < 0.005 ? "Same price, lost the tie" : `${more.toFixed(2)} bps worse`;
}

function bpsText(text: string | null | undefined): string {
  return fixedText(text ?? null, 2);
}

/** Makes a code that this page does not know yet readable. */
function wordsOf(code: string): string {
  const words = code.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
