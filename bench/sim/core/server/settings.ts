/** Settings of a venue that the control API changes while it runs. */

/** Returns the settings that `known` names with the values of `body`; values of another type are left out. */
export function withKnown<T extends object>(settings: T, body: Readonly<Record<string, unknown>>, known: T): T {
  const changes = Object.entries(body).filter(
    ([name, value]) => Object.hasOwn(known, name) && typeof value === typeof known[name as keyof T],
  );
  return { ...settings, ...Object.fromEntries(changes) };
}
