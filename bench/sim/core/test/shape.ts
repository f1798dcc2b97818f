/** Compares answers of a local venue with recorded ones of the venue: same keys, same JSON types. */

/**
 * Problems of `shown` measured by `recorded`; empty when it has every recorded key with the recorded type. Lists are
 * compared by their first entries. A recorded null does not fix the type. Keys that only `shown` has are no problem:
 * later recordings may have them.
 */
export function shapeProblems(recorded: unknown, shown: unknown, path = ""): string[] {
  if (recorded === null) return shown === undefined ? [`${path} is missing`] : [];
  const [want, have] = [typeOf(recorded), typeOf(shown)];
  if (want !== have) return [`${path} is ${have}, recorded ${want}`];
  if (Array.isArray(recorded) && Array.isArray(shown)) {
    if (recorded.length === 0) return [];
    if (shown.length === 0) return [`${path} is empty`];
    return shapeProblems(recorded[0], shown[0], `${path}[0]`);
  }
  if (want !== "object") return [];
  const shownFields = shown as Readonly<Record<string, unknown>>;
  return Object.entries(recorded as object).flatMap(([name, value]) =>
    shapeProblems(value, shownFields[name], `${path}.${name}`),
  );
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
}
