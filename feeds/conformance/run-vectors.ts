/**
 * Runs a vector file through the project's own pure functions. Total is the number of entries in the file; an entry
 * of a kind, or group, that no check knows fails, so a new kind cannot pass unnoticed.
 */
import { VECTOR_CHECKS } from "../registry.js";
import { isObject, Vector } from "../shared/sign/vector.js";

export interface VectorReport {
  readonly total: number;
  readonly passed: number;
  readonly failures: readonly { readonly id: string; readonly problem: string }[];
}

const CHECKS: ReadonlyMap<string, (vector: Vector) => void> = new Map(
  VECTOR_CHECKS.flatMap((checks) => Object.entries(checks)),
);

/** Lists of a file's object, of which all entries count. */
const LISTS = ["vectors", "rejects", "formulas"];

/** `text` is the file's content: a JSON list of entries, or an object whose `vectors` is one, with others beside it. */
export function runVectors(text: string): VectorReport {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { total: 1, passed: 0, failures: [{ id: "(file)", problem: "not valid JSON" }] };
  }
  const entries = isObject(parsed) ? entriesOf(parsed) : parsed;
  if (!Array.isArray(entries) || entries.length === 0) {
    return { total: 1, passed: 0, failures: [{ id: "(file)", problem: "no list of vectors" }] };
  }
  const failures: { id: string; problem: string }[] = [];
  for (const [index, entry] of entries.entries()) {
    const problem = checkEntry(entry);
    if (problem !== null) failures.push({ id: entryId(entry, index), problem });
  }
  return { total: entries.length, passed: entries.length - failures.length, failures };
}

/** Null where one of the lists is none. */
function entriesOf(file: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const lists = LISTS.map((name) => (name === "vectors" ? file[name] : (file[name] ?? [])));
  return lists.every(Array.isArray) ? lists.flat() : null;
}

function checkEntry(entry: unknown): string | null {
  if (!isObject(entry)) return "not an object";
  const kind = entry["kind"] ?? entry["group"];
  const check = typeof kind === "string" ? CHECKS.get(kind) : undefined;
  if (check === undefined) return `unknown kind ${String(kind)}`;
  try {
    check(new Vector(entry));
    return null;
  } catch (error) {
    // Any fault while computing an entry is that entry's failure; the others still run.
    return error instanceof Error ? error.message : "threw a value that is no error";
  }
}

function entryId(entry: unknown, index: number): string {
  return isObject(entry) && typeof entry["id"] === "string" ? entry["id"] : `#${index}`;
}
