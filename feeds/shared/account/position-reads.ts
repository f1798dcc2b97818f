/**
 * Reads of positions in a room that streams its accounts: may what is streamed be used in place of
 * the venue's own answer? One policy for all rooms: streamed-reads.ts decides it for one account, this file decides whose
 * account it is and what is asked instead.
 *
 *   held      streamed, or nothing: no question is asked
 *   read      streamed where it is trusted, else the venue
 *   verified  the venue, newer than every order of ours that it answered; what is streamed is compared with it
 *
 * Invariants: nothing streamed is shown to credentials that the venue has not confirmed, or that opened no stream of
 * their own where accounts are streamed by credentials; a stream that contradicts the venue is not trusted until it
 * agrees again; a verified position is never less than what is held at least. No caller waits longer than their own time.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountReader, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { type LiveRead, type StreamedReads, streamedVersion, type WantedLots } from "./streamed-reads.js";
import type { VerifiedReads } from "./verified-reads.js";

/** The reads that always go to the venue. */
export type VenueReader = Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">>;
export type StreamedReader = Required<Omit<AccountReader, "followOrder">>;

/** An account as it is streamed. */
export interface ComparedAccount {
  readonly reads: StreamedReads;
  /** Returns what is held at least (AccountSessionStream.compare). */
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[];
}

/** `SHOWN`: all positions at once, for a caller that shows them. A trade reads its own contract, or verifies. */
export type AccountUse = "SHOWN" | "TRADED";

/** How a room finds what is streamed of a session's account. `A` is the account as the room names it. */
export interface StreamedAccounts<A> {
  /** Whose positions the session reads, as the venue has confirmed it; null where the venue has to be asked. */
  known(session: AccountSession): A | null;
  /** The same, asked of the venue where it has to be. */
  resolve(session: AccountSession, options: CallOptions): Promise<Read<A>>;
  /** The name under which orders are counted and reads are shared (VerifiedReads). */
  nameOf(account: A): string;
  /** Which of the account's readers share an answer; "" where all of them may. */
  readerOf(account: A): string;
  /** What may be used in place of a live read by this account's session; else null. `wanted` null: exact sizes count. */
  standing(account: A, wanted: WantedLots | null): LiveRead | null;
  /** The account as it is streamed, for each set of credentials that watches it. */
  watched(account: A): readonly ComparedAccount[];
  /** The one of them that this account's session may see. */
  own(account: A): ComparedAccount | null;
  /** Absent where use earns no stream. `payer`: of the session that uses it. */
  noteUse?(account: A, use: AccountUse, payer: string | null): void;
}

export interface PositionReadsOptions<A> {
  readonly rest: VenueReader;
  readonly accounts: StreamedAccounts<A>;
  readonly verified: VerifiedReads<readonly VenuePosition[]>;
  /** One read of the venue returns all positions: callers who want different ones share it. */
  readonly readsWhole?: boolean;
}

export class PositionReads<A> implements Pick<StreamedReader, "heldPositions" | "readPositions" | "verifyPositions"> {
  readonly #options: PositionReadsOptions<A>;

  constructor(options: PositionReadsOptions<A>) {
    this.#options = options;
  }

  heldPositions(session: AccountSession, instrument: Instrument, wantedLots?: number): LiveRead | null {
    const { accounts } = this.#options;
    const wanted = wantedLots === undefined ? null : { coin: instrument.nativeSymbol, lots: wantedLots };
    const account = accounts.known(session);
    const held = account === null ? null : accounts.standing(account, wanted);
    // Where nothing is held, readPositions notes the use.
    if (account !== null && held !== null) accounts.noteUse?.(account, "TRADED", session.payer);
    return held === null ? null : { ...held, value: ofIt(held.value, instrument) };
  }

  async readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    const { accounts, rest } = this.#options;
    const before = accounts.known(session);
    const held = before === null ? null : accounts.standing(before, null);
    const read =
      held === null
        ? await rest.readPositions(session, instrument, options)
        : { ...held, value: ofIt(held.value, instrument) };
    // The venue's answer names the account.
    const account = before ?? accounts.known(session);
    if (account !== null) accounts.noteUse?.(account, instrument === null ? "SHOWN" : "TRADED", session.payer);
    return read;
  }

  async verifyPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>> {
    const { accounts, readsWhole = false, rest, verified } = this.#options;
    const deadline = verified.deadline(options);
    const resolved = await accounts.resolve(session, options);
    if (!resolved.ok) return resolved;
    const account = resolved.value;
    accounts.noteUse?.(account, "TRADED", session.payer);
    const left = deadline.left();
    if (left === null) return NO_TIME;
    const asked = readsWhole ? null : instrument;
    const watched = accounts.watched(account);
    // Whoever waits for another key's read waits for that key's share of the lane.
    const part = `${session.payer ?? ""} ${accounts.readerOf(account)} ${asked?.nativeSymbol ?? ""}`;
    const version = streamedVersion(watched);
    const read = await verified.read(accounts.nameOf(account), part, version, left, (rested) =>
      rest.readPositions(session, asked, rested),
    );
    if (!read.ok) return read;
    const own = accounts.own(account);
    // What other credentials opened is compared and not shown.
    for (const one of watched) if (one !== own) one.compare(asked, read.value);
    const value = own?.compare(asked, read.value) ?? read.value;
    return { ...read, value: ofIt(value, instrument) };
  }
}

/** A room's reader: positions as above, all else from the venue. */
export function readerOverStreams<A>(options: PositionReadsOptions<A>): StreamedReader {
  const { rest } = options;
  const positions = new PositionReads(options);
  return {
    heldPositions: (session, instrument, wantedLots) => positions.heldPositions(session, instrument, wantedLots),
    readPositions: (session, instrument, call) => positions.readPositions(session, instrument, call),
    verifyPositions: (session, instrument, call) => positions.verifyPositions(session, instrument, call),
    readOrder: (session, instrument, ref, call) => rest.readOrder(session, instrument, ref, call),
    readOpenOrders: (session, instrument, call) => rest.readOpenOrders(session, instrument, call),
    readBalances: (session, call) => rest.readBalances(session, call),
    readFeeRates: (session, instrument, call) => rest.readFeeRates(session, instrument, call),
    findOrder: (session, ref, call) => rest.findOrder(session, ref, call),
    readAccount: (session, call) => rest.readAccount(session, call),
  };
}

/** `instrument` null: all of them. */
function ofIt(positions: readonly VenuePosition[], instrument: Instrument | null): readonly VenuePosition[] {
  if (instrument === null) return positions;
  return positions.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol);
}

const NO_TIME = failedRead("TIMEOUT", "no time left after the account was looked up");
