/**
 * The reader of a room that also streams: positions by the policy of all rooms (shared/account/position-reads.ts), and the end of an order from it the moment it is pushed.
 */
import type { Clock } from "../../../engine/domain/clock.js";
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
import { readerOverStreams, type StreamedAccounts } from "../../shared/account/position-reads.js";
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
  const rest = trading.reader;
  return {
    ...readerOverStreams({ rest, accounts: accountsOf(trading, streams), verified }),
    readOrder: async (session, instrument, ref, call) => {
      const ended = streamedEnd(trading, streams, session, ref);
      if (ended !== null && ended.nativeSymbol === instrument.nativeSymbol)
        return { ok: true, value: ended, asOfMs: clock.wallMs(), source: "stream" };
      const read = await rest.readOrder(session, instrument, ref, call);
      // The acknowledgement does not say what an order filled; until a frame does, this read may be all that does.
      if (read.ok && read.value !== null) watchedBy(trading, streams, session)?.reads.fills.looked(read.value);
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
  };
}

/** Nothing streamed is shown to a key that the venue has not confirmed. */
function accountsOf(trading: VenuethreeReads, streams: VenuethreeAccountStreams): StreamedAccounts<ConfirmedKey> {
  const watched = ({ accountIndex }: ConfirmedKey): VenuethreeWatchedAccount | null => streams.watched(accountIndex);
  return {
    known: (session) => {
      const key = trading.knownKey(session);
      return key?.ok === true ? key.value : null;
    },
    resolve: async (session, call) => trading.knownKey(session) ?? trading.resolveKey(session, call),
    nameOf: ({ accountIndex }) => String(accountIndex),
    readerOf: () => "",
    standing: ({ accountIndex }, wanted) => streams.livePositions(accountIndex, wanted),
    watched: (key) => {
      const account = watched(key);
      return account === null ? [] : [account];
    },
    own: watched,
    noteUse: (key, use, payer) => {
      if (use === "TRADED") streams.noteUse(key, payer);
    },
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
 * The end of an order is final: once it was streamed, the venue is not asked, which saves two or three of the few
 * reads. Returns null where it was not, or to a key that the venue has not confirmed.
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
