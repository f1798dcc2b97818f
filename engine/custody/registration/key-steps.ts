/** What an approval and a revocation have in common: the row of one key, and the look at the venue's list. */
import type { Deadline } from "../../domain/deadline.js";
import type { AgentRegistrar, KeyStanding, WalletAct } from "../../key-registrar.js";
import { callWithin, type KeyParts, withSecret } from "./key-parts.js";
import type { KeyPlace, StoredKey } from "./key-row.js";

/** An act that the venue takes for no longer than this is made anew before it is sent. */
export const SEND_MARGIN_MS = 2_000;
/** Where the venue does not say how long it is busy with a key that was dropped. */
export const BUSY_MS = 5_000;

type Book = Pick<KeyParts, "book">;

export function keyOf({ book }: Book, place: KeyPlace, serial: number): StoredKey | undefined {
  return book.keysOf(place).find((key) => key.serial === serial);
}

/** Durable when it resolves. */
export function changeKey(
  { book }: Book,
  place: KeyPlace,
  serial: number,
  change: Partial<Pick<StoredKey, "state" | "act">>,
): Promise<void> {
  return book.update(place, (keys) => keys.map((key) => (key.serial === serial ? { ...key, ...change } : key)));
}

/** Durable when it resolves. */
export function dropKey({ book }: Book, place: KeyPlace, serial: number): Promise<void> {
  return book.update(place, (keys) => keys.filter((key) => key.serial !== serial));
}

/** The venue takes the act at that time no more. */
export function isOver({ validUntilMs }: Pick<WalletAct, "validUntilMs">, atMs: number): boolean {
  return atMs > validUntilMs;
}

export async function standingOf(
  parts: KeyParts,
  registrar: AgentRegistrar,
  { place, key, time }: { readonly place: KeyPlace; readonly key: StoredKey; readonly time: Deadline },
): Promise<KeyStanding | "unknown"> {
  const options = callWithin(time);
  if (options === null) return "unknown";
  const read = await withSecret(parts, place, key, (secret) => registrar.look(key, secret, options));
  return read.ok ? read.value : "unknown";
}
