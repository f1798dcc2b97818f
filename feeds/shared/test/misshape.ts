/** A recorded frame with one field spoilt at a time, for tests of what is read strictly. */
type Json = Readonly<Record<string, unknown>> | readonly unknown[];

export interface Misshapen {
  /** Path of the field and its outcome. */
  readonly what: string;
  readonly frame: unknown;
}

/** The frame without the field at the end of `path`, and with a value there that no venue means. */
export function misshapen(frame: unknown, path: readonly (string | number)[]): readonly Misshapen[] {
  const name = path.join(".");
  return [
    { what: `${name} is missing`, frame: changed(frame, path, (holder, key) => delete holder[key]) },
    { what: `${name} is an object`, frame: changed(frame, path, (holder, key) => (holder[key] = {})) },
    { what: `${name} is no word, number or flag`, frame: changed(frame, path, (holder, key) => (holder[key] = "?")) },
  ];
}

/** A copy of the frame with another value at the end of `path`. */
export function withField(frame: unknown, path: readonly (string | number)[], value: unknown): unknown {
  return changed(frame, path, (holder, key) => (holder[key] = value));
}

function changed(
  frame: unknown,
  path: readonly (string | number)[],
  change: (holder: Record<string | number, unknown>, key: string | number) => unknown,
): unknown {
  const copy = structuredClone(frame) as Json;
  let holder = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>;
  const key = path.at(-1);
  if (key === undefined || !(key in holder)) throw new Error(`no ${path.join(".")} in the frame`);
  change(holder, key);
  return copy;
}
