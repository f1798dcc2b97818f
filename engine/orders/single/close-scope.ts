/** Which of an account close-all is about: everything, or some symbols; and the open orders of these, cancelled. */
import type { Logger } from "../../domain/logger.js";
import type { Instrument } from "../../domain/instrument.js";
import type { CancelAllOutcome, Refused } from "../../domain/order.js";
import type { VenuePosition } from "../../domain/position.js";
import type { AccountSession, CallOptions, VenueRoom } from "../../ports.js";
import { cancelAllOrders } from "./cancel-all.js";
import { isInstrument, listedInstrument } from "./open-account.js";
import type { OrderRefusal } from "./order-desk.js";

/** `instruments` null: everything. */
export interface CloseScope {
  readonly ok: true;
  readonly instruments: readonly Instrument[] | null;
  /** Symbols named that the venue does not list, or not any more. */
  readonly unlisted: readonly string[];
}

/** Also of contracts that are known and not followed. Where the venue lists none of them, there is nothing to ask it. */
export function scopeOn(room: VenueRoom, symbols: readonly string[] | null): CloseScope | OrderRefusal {
  if (symbols === null) return { ok: true, instruments: null, unlisted: [] };
  const instruments: Instrument[] = [];
  const unlisted: string[] = [];
  let refused: OrderRefusal | null = null;
  for (const symbol of symbols) {
    const followed = listedInstrument(room, symbol);
    const listed = isInstrument(followed) ? followed : (room.instruments?.get(symbol) ?? followed);
    if (isInstrument(listed)) {
      instruments.push(listed);
      continue;
    }
    unlisted.push(symbol);
    refused ??= listed;
  }
  return instruments.length === 0 && refused !== null ? refused : { ok: true, instruments, unlisted };
}

/** Null when more than one contract's positions have to be read. */
export function onlyContract({ instruments, unlisted }: CloseScope): Instrument | null {
  return instruments?.length === 1 && unlisted.length === 0 ? (instruments[0] ?? null) : null;
}

/** A holding that nobody can count goes by the venue's name alone: one that holds a name asked for may be what is meant. */
export function isInScope(
  { instruments, unlisted }: CloseScope,
  { nativeSymbol, uncounted }: Pick<VenuePosition, "nativeSymbol" | "uncounted">,
): boolean {
  if (instruments === null || instruments.some((instrument) => instrument.nativeSymbol === nativeSymbol)) return true;
  return (
    uncounted !== undefined && unlisted.some((symbol) => nativeSymbol.toUpperCase().includes(symbol.toUpperCase()))
  );
}

/** One outcome for all symbols: unknown outranks refused, refused outranks accepted. Never rejects. */
export async function cancelScope(
  parts: { readonly logger: Logger },
  room: VenueRoom,
  session: AccountSession,
  { instruments }: CloseScope,
  options: CallOptions,
): Promise<CancelAllOutcome> {
  if (instruments === null) return cancelAllOrders(parts, room, session, null, options);
  const outcomes = await Promise.all(
    instruments.map((instrument) => cancelAllOrders(parts, room, session, instrument, options)),
  );
  const failed: Refused[] = [];
  let canceledCount: number | null = 0;
  for (const outcome of outcomes) {
    if (outcome.outcome === "unknown") return outcome;
    if (outcome.outcome === "rejected") {
      failed.push(outcome);
      continue;
    }
    failed.push(...outcome.failed);
    canceledCount =
      outcome.canceledCount === null || canceledCount === null ? null : canceledCount + outcome.canceledCount;
  }
  return { outcome: "accepted", canceledCount, failed };
}
