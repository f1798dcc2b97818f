/**
 * The reader of a room that also streams: positions come from the stream where it may stand for a live read
 * (shared/account/streamed-reads.ts), and the end of an order from it the moment it is pushed.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type {
  AccountReader,
  AccountSession,
  CallOptions,
  FollowedOrder,
  OrderRef,
  Read,
} from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { streamedVersion, type WantedLots } from "../../shared/account/streamed-reads.js";
import type { VerifiedReads } from "../../shared/account/verified-reads.js";
import type { ConfirmedKey } from "./key-directory.js";
import { type VenuethreeAccount, wantedId } from "./reader.js";
import type { VenuethreeAccountStreams, VenuethreeWatchedAccount } from "./streams.js";

/** Between the execution of an order and the moment from which a read shows it. */
const READ_LAG_MS = 60;
/** What a push may take beyond that before a live stream is not waited for any longer. */
const PUSH_GRACE_MS = 500;

export type PositionReads = VerifiedReads<readonly VenuePosition[]>;

/** What the trading half of this venue reads by (trading.ts). */
export interface VenuethreeReads {
  readonly reader: VenuethreeAccount;
  resolveKey(session: AccountSession, options: CallOptions): Promise<Read<ConfirmedKey>>;
  knownKey(session: AccountSession): Read<ConfirmedKey> | null;
}

/** `takerDelayMs`: the venue's own, before it executes what takes. */
export function streamedReader(
  trading: VenuethreeReads,
  streams: VenuethreeAccountStreams,
  clock: Clock,
  takerDelayMs: number,
  verified: PositionReads,
): AccountReader {
  const inner = trading.reader;
  /** Null means ask the venue. Nothing streamed is shown to a key that the venue has not confirmed. */
  const held = (
    session: AccountSession,
    instrument: Instrument | null,
    wanted: WantedLots | null,
  ): Read<readonly VenuePosition[]> | null => {
    const key = trading.knownKey(session);
    if (key === null || !key.ok) return null;
    const live = streams.livePositions(key.value.accountIndex, wanted);
    if (live === null || instrument === null) return live;
    return { ...live, value: live.value.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol) };
  };
  const noteUse = (session: AccountSession): void => {
    const key = trading.knownKey(session);
    if (key?.ok === true) streams.noteUse(key.value);
  };
  return {
    heldPositions: (session, instrument, wantedLots) => {
      const wanted = wantedLots === undefined ? null : { coin: instrument.nativeSymbol, lots: wantedLots };
      const found = held(session, instrument, wanted);
      // Nothing in hand: readPositions notes the use.
      if (found !== null) noteUse(session);
      return found;
    },
    readPositions: async (session, instrument, call) => {
      const read = held(session, instrument, null) ?? (await inner.readPositions(session, instrument, call));
      // All positions at once are for whoever shows them; a trade asks for its own.
      if (instrument !== null) noteUse(session);
      return read;
    },
    verifyPositions: async (session, instrument, call) => {
      const deadline = new Deadline(clock, call);
      const key = trading.knownKey(session) ?? (await trading.resolveKey(session, call));
      if (!key.ok) return key;
      streams.noteUse(key.value);
      const { accountIndex } = key.value;
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left after the key was looked up");
      const watched = streams.watched(accountIndex);
      const version = streamedVersion(watched === null ? [] : [watched]);
      const read = await verified.read(String(accountIndex), instrument?.nativeSymbol ?? "", version, left, (call) =>
        inner.readPositions(session, instrument, call),
      );
      return read.ok && watched !== null ? { ...read, value: watched.compare(instrument, read.value) } : read;
    },
    readOrder: async (session, instrument, ref, call) => {
      const told = streamedEnd(trading, streams, session, ref);
      if (told !== null && told.nativeSymbol === instrument.nativeSymbol)
        return { ok: true, value: told, asOfMs: clock.wallMs(), source: "stream" };
      const read = await inner.readOrder(session, instrument, ref, call);
      // The acknowledgement does not say what an order filled; until a frame does, this read may be all that does.
      if (read.ok && read.value !== null) watchedBy(trading, streams, session)?.reads.looked(read.value);
      return read;
    },
    followOrder: (session, instrument, ref, onEnd): FollowedOrder => {
      const account = watchedBy(trading, streams, session);
      const wanted = wantedId(ref);
      const stop =
        account === null || wanted?.field !== "client_order_id"
          ? null
          : account.source.followOrder(wanted.text, (order) => {
              if (order.nativeSymbol === instrument.nativeSymbol) onEnd(order);
            });
      const isPushed = stop !== null && account?.state === "LIVE";
      return {
        lookAfterMs: takerDelayMs + READ_LAG_MS + (isPushed ? PUSH_GRACE_MS : 0),
        stop: stop ?? NOTHING_TO_STOP,
      };
    },
    readOpenOrders: (session, instrument, call) => inner.readOpenOrders(session, instrument, call),
    readBalances: (session, call) => inner.readBalances(session, call),
    readFeeRates: (session, instrument, call) => inner.readFeeRates(session, instrument, call),
    findOrder: (session, ref, call) => inner.findOrder(session, ref, call),
    readAccount: (session, call) => inner.readAccount(session, call),
  };
}

const NOTHING_TO_STOP = (): void => {};

/** Null where nothing is streamed of it, or to a key that the venue has not confirmed. */
export function watchedBy(
  trading: VenuethreeReads,
  streams: VenuethreeAccountStreams,
  session: AccountSession,
): VenuethreeWatchedAccount | null {
  const key = trading.knownKey(session);
  return key?.ok === true ? streams.watched(key.value.accountIndex) : null;
}

/**
 * The end of an order is final: once it was streamed, nobody is asked. Two or three of the few reads are spared. Null
 * where it was not, or to a key that the venue has not confirmed.
 */
export function streamedEnd(
  trading: VenuethreeReads,
  streams: VenuethreeAccountStreams,
  session: AccountSession,
  ref: OrderRef,
): VenueOrder | null {
  const wanted = wantedId(ref);
  return wanted === null
    ? null
    : (watchedBy(trading, streams, session)?.source.endedOrder(wanted.field, wanted.text) ?? null);
}
