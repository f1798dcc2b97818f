/**
 * The ledger of a wallet's day as bytes of its row in the store. A row that is not exactly what was written throws: what
 * was spent is unknown then, and counts as spent (provider/day-book.ts).
 */
import { utf8ToBytes } from "@noble/hashes/utils";
import { isJsonArray, isJsonObject, type JsonValue, parseStrictJson } from "../digest/strict-json.js";
import { readInteger } from "./config-reader.js";
import { type CountedPayload, type DayState, MAX_ASSETS_PER_DAY, MAX_DIGESTS_PER_DAY } from "./daily-amounts.js";

/** Of a day without transactions, and of every day before format 2. */
const FORMAT_WITHOUT_PAYLOADS = 1;
const FORMAT = 2;
const ROW_DEPTH = 3;
const MEMBERS = ["format", "day", "spentThrough", "totals", "digests"];
const PAYLOADS = "payloads";

export function encodeDayRow(state: DayState): Uint8Array {
  const { day, spentThrough } = state;
  const payloads = [...state.payloads].map(([key, { gas, uses }]) => [key, String(gas), uses]);
  const totals = [...state.totals].map(([asset, amount]) => [asset, String(amount)]);
  const row = { day, spentThrough, totals, digests: [...state.digests] };
  const whole =
    payloads.length === 0 ? { format: FORMAT_WITHOUT_PAYLOADS, ...row } : { format: FORMAT, ...row, payloads };
  return utf8ToBytes(JSON.stringify(whole));
}

/** Throws RangeError. */
export function decodeDayRow(bytes: Uint8Array): DayState {
  const parsed = parseStrictJson(bytes, ROW_DEPTH);
  const row = parsed.ok ? parsed.value : null;
  if (row === null || !isJsonObject(row)) throw damaged("no object");
  const format = row.get("format");
  if (format !== FORMAT && format !== FORMAT_WITHOUT_PAYLOADS) throw damaged("format");
  const members = format === FORMAT ? [...MEMBERS, PAYLOADS] : MEMBERS;
  if ([...row.keys()].some((name) => !members.includes(name))) throw damaged("format");
  const totals = listOf(row.get("totals"), MAX_ASSETS_PER_DAY).map(readTotal);
  const digests = listOf(row.get("digests"), MAX_DIGESTS_PER_DAY).map(readDigest);
  const payloads = format === FORMAT ? listOf(row.get(PAYLOADS), MAX_DIGESTS_PER_DAY).map(readPayload) : [];
  const state = {
    day: dayOf(row.get("day")),
    spentThrough: dayOf(row.get("spentThrough")),
    totals: new Map(totals),
    digests: new Set(digests),
    payloads: new Map(payloads),
  };
  if (state.totals.size < totals.length || state.digests.size < digests.length) throw damaged("an entry twice");
  if (state.payloads.size < payloads.length) throw damaged("an entry twice");
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

function readPayload(entry: JsonValue): readonly [string, CountedPayload] {
  const [key, text, uses, ...rest] = isJsonArray(entry) ? entry : [];
  const gas = typeof text === "string" ? readInteger(text) : null;
  if (key === undefined || gas === null || rest.length > 0) throw damaged("a payload");
  if (typeof uses !== "number" || !Number.isSafeInteger(uses) || uses < 1) throw damaged("a payload");
  return [readDigest(key), { gas, uses }];
}

function dayOf(value: JsonValue | undefined): number {
  if (typeof value !== "number" || value < -1) throw damaged("a day");
  return value;
}

function damaged(what: string): RangeError {
  return new RangeError(`the row of a wallet's day is damaged: ${what}`);
}
