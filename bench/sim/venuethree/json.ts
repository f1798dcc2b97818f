/**
 * JSON text of values that may hold `bigint`: printed as plain JSON numbers, also beyond 2^53, as the venue prints its
 * order ids. Keys keep their order; undefined properties are left out.
 */
export function printJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const fields = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return `{${fields.map(([name, entry]) => `${JSON.stringify(name)}:${printJson(entry)}`).join(",")}}`;
}
