/**
 * Chooses the form of a reply by the Accept header (RFC 9110, 12.5.1). For each form the most specific range that names
 * it gives its weight, the greatest weight wins, and our order breaks ties. Parameters other than `q` are not compared;
 * an element that is no media range is ignored, because its caller may still mean the others.
 */
import { ServiceError } from "../../engine/domain/errors.js";

export type ReplyForm = "json" | "csv" | "ndjson";

/** In the order in which ties are broken: the first is the default. */
export const REPLY_TYPES: Readonly<Record<ReplyForm, string>> = {
  json: "application/json",
  csv: "text/csv",
  ndjson: "application/x-ndjson",
};

const RANGE = /^([a-z0-9!#$&^_.+-]+|\*)\/([a-z0-9!#$&^_.+-]+|\*)$/;
const QUALITY = /^q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$/;
/** Elements beyond this number are not read: no caller needs them for three forms. */
const MAX_ELEMENTS = 32;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
}

/** Throws NOT_ACCEPTABLE with the list of available forms. A missing header ("") accepts everything. */
export function negotiateForm(accept: string): ReplyForm {
  if (accept.trim() === "") return "json";
  const ranges = accept.toLowerCase().split(",", MAX_ELEMENTS).map(parseRange);
  let best: ReplyForm | null = null;
  let bestWeight = 0;
  for (const form of Object.keys(REPLY_TYPES) as ReplyForm[]) {
    const weight = weightOf(REPLY_TYPES[form], ranges);
    if (weight > bestWeight) {
      best = form;
      bestWeight = weight;
    }
  }
  if (best === null) throw new ServiceError("NOT_ACCEPTABLE", { available: Object.values(REPLY_TYPES) });
  return best;
}

function weightOf(mediaType: string, ranges: readonly (Range | null)[]): number {
  const [type, subtype] = mediaType.split("/");
  let weight = 0;
  let precision = 0;
  for (const range of ranges) {
    if (range === null) continue;
    const matched =
      range.type === type && range.subtype === subtype
        ? 3
        : range.type === type && range.subtype === "*"
          ? 2
          : range.type === "*" && range.subtype === "*"
            ? 1
            : 0;
    if (matched > precision) {
      precision = matched;
      weight = range.weight;
    } else if (matched !== 0 && matched === precision) weight = Math.max(weight, range.weight);
  }
  return weight;
}

function parseRange(element: string): Range | null {
  const [name = "", ...parameters] = element.split(";").map((part) => part.trim());
  const range = RANGE.exec(name);
  if (range === null) return null;
  let weight = 1;
  for (const parameter of parameters) {
    if (!/^q\s*=/.test(parameter)) continue;
    const quality = QUALITY.exec(parameter.replace(/\s/g, ""));
    if (quality === null) return null;
    weight = Number(quality[1]);
  }
  return { type: range[1] as string, subtype: range[2] as string, weight };
}
