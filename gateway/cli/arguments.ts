/** Arguments of `unwind` that have a form of their own. Each throws InvalidArgumentError with what is right. Pure. */
import { InvalidArgumentError } from "commander";

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `30m`, `24h`, `7d`, or `0`. */
export function durationMs(text: string): number {
  if (text === "0") return 0;
  const parts = /^(\d{1,7})([smhd])$/.exec(text);
  const unitMs = UNITS_MS[parts?.[2] ?? ""];
  if (parts === null || unitMs === undefined) throw new InvalidArgumentError("Use a time such as 90s, 30m, 24h or 7d.");
  return Number(parts[1]) * unitMs;
}

/** May be given more than once; each may hold several, with commas. */
export function addToList(text: string, before: readonly string[] = []): readonly string[] {
  const items = text.split(",").map((item) => item.trim());
  if (items.includes("")) throw new InvalidArgumentError("Use names with single commas between them.");
  return [...before, ...items];
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Use a whole number above 0.");
  return Number(text);
}
