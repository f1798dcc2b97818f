/**
 * The ledger of a wallet's day as bytes of its row in the store. A row that is not exactly what was written throws: what
 * was spent is unknown then, and counts as spent (provider/day-book.ts).
 */
import { utf8ToBytes } from "@noble/hashes/utils";
import { isJsonArray, isJsonObject, type JsonValue, parseStrictJson } from "../digest/strict-json.js";
import { readInteger } from "./config-reader.js";
import { type DayState, MAX_ASSETS_PER_DAY, MAX_DIGESTS_PER_DAY } from "./daily-amounts.js";

const FORMAT = 1;
const ROW_DEPTH = 3;
const MEMBERS = ["format", "day", "spentThrough", "totals", "digests"];

export function encodeDayRow(state: DayState): Uint8Array {
  const { day, spentThrough } = state;
  const totals = [...state.totals].map(([asset, amount]) => [asset, String(amount)]);
  return utf8ToBytes(JSON.stringify({ format: FORMAT, day, spentThrough, totals, digests: [...state.digests] }));
}

/** Throws RangeError. */
export function decodeDayRow(bytes: Uint8Array): DayState {
  const parsed = parseStrictJson(bytes, ROW_DEPTH);
  const row = parsed.ok ? parsed.value : null;
  if (row === null || !isJsonObject(row)) throw damaged("no object");
  if ([...row.keys()].some((name) => !MEMBERS.includes(name)) || row.get("format") !== FORMAT) throw damaged("format");
  const totals = listOf(row.get("totals"), MAX_ASSETS_PER_DAY).map(readTotal);
  const digests = listOf(row.get("digests"), MAX_DIGESTS_PER_DAY).map(readDigest);
  const state = {
    day: dayOf(row.get("day")),
    spentThrough: dayOf(row.get("spentThrough")),
    totals: new Map(totals),
    digests: new Set(digests),
  };
  if (state.totals.size < totals.length || state.digests.size < digests.length) throw damaged("an entry twice");
  return state;
}

function listOf(value: JsonValue | undefined, most: number): readonly JsonValue[] {
  if (!isJsonArray(value) || value.length > most) throw damaged("a list");
  return value;
}

function readTotal(entry: JsonValue): readonly [string, bigint] {
  const [asset, text, ...rest] = isJsonArray(entry) ? entry : [];
  const amount = typeof text === "string" ? readInteger(text) : null;
  if (typeof asset !== "string" || amount === null || rest.length > 0) throw damaged("a total");
  return [asset, amount];
}

function readDigest(entry: JsonValue): string {
  if (typeof entry !== "string" || !/^0x[0-9a-f]{64}$/.test(entry)) throw damaged("a digest");
  return entry;
}

function dayOf(value: JsonValue | undefined): number {
  if (typeof value !== "number" || value < -1) throw damaged("a day");
  return value;
}

function damaged(what: string): RangeError {
  return new RangeError(`the row of a wallet's day is damaged: ${what}`);
}
