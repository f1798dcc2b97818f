/**
 * The trading half of a room whose accounts are streamed by credentials (account-session-streams.ts): positions are read
 * over the streams, and orders are announced to every stream of their account, which is to report them.
 *
 * Invariant: the streams of other credentials are compared with the venue's answers, and show nothing.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountSession, OrderSender } from "../../../engine/ports.js";
import {
  type ComparedAccount,
  readerOverStreams,
  type StreamedAccounts,
  type StreamedReader,
  type VenueReader,
} from "../account/position-reads.js";
import type { LiveRead, WantedLots } from "../account/streamed-reads.js";
import type { VerifiedReads } from "../account/verified-reads.js";
import { failedRead } from "../net/call-results.js";
import { type AmendingSender, type StreamedAccount, toldOrders } from "./own-order.js";

/** What is used of AccountSessionStreams. */
export interface SessionStreams {
  /** Null for a session that is closed, or of another venue. */
  tagOf(session: AccountSession): string | null;
  positionsOf(session: AccountSession, wanted: WantedLots | null): LiveRead | null;
  ofSession(session: AccountSession): ComparedAccount | null;
  ofAccount(accountId: string): readonly (ComparedAccount & StreamedAccount)[];
}

export interface StreamedSessionsOptions {
  readonly rest: VenueReader;
  readonly orders: AmendingSender;
  readonly streams: SessionStreams;
  readonly verified: VerifiedReads<readonly VenuePosition[]>;
  /** As PositionReadsOptions. */
  readonly readsWhole?: boolean;
}

interface TaggedSession {
  readonly session: AccountSession;
  readonly tag: string;
}

const CLOSED = failedRead("AUTH", "the session is closed, or of another venue");

export function streamedSessions({ orders, streams, verified, ...reads }: StreamedSessionsOptions): {
  readonly reader: StreamedReader;
  readonly orders: OrderSender;
} {
  return {
    reader: readerOverStreams({ ...reads, accounts: accountsOf(streams), verified }),
    orders: toldOrders(orders, ({ accountId }) => ({
      streamed: () => streams.ofAccount(accountId),
      note: () => verified.noteOrder(accountId),
    })),
  };
}

/** A session sees the stream of its own credentials, which is LIVE only when the venue has answered them. */
function accountsOf(streams: SessionStreams): StreamedAccounts<TaggedSession> {
  const known = (session: AccountSession): TaggedSession | null => {
    const tag = streams.tagOf(session);
    return tag === null ? null : { session, tag };
  };
  return {
    known,
    resolve: (session) => {
      const value = known(session);
      return Promise.resolve(value === null ? CLOSED : { ok: true, value, asOfMs: 0, source: "venue" });
    },
    nameOf: ({ session }) => session.accountId,
    readerOf: ({ tag }) => tag,
    standing: ({ session }, wanted) => streams.positionsOf(session, wanted),
    watched: ({ session }) => streams.ofAccount(session.accountId),
    own: ({ session }) => streams.ofSession(session),
  };
}
