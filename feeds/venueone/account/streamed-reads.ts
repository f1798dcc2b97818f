/**
 * The trading half with its account streams: positions by the policy of all rooms (shared/account/position-reads.ts),
 * orders and settings announced to the streams of their account.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type {
  AccountReader,
  AccountSession,
  AccountSettings,
  CallOptions,
  OrderSender,
  Read,
} from "../../../engine/ports.js";
import { readerOverStreams, type StreamedAccounts } from "../../shared/account/position-reads.js";
import type { LiveRead, WantedLots } from "../../shared/account/streamed-reads.js";
import { changeTold, type OrderAudience, toldOrders } from "../../shared/orders/own-order.js";
import type { VerifiedReads } from "../../shared/account/verified-reads.js";
import type { VenueoneAccount } from "./reader.js";
import type { VenueoneAccountStreams } from "./streams.js";

/** What the trading half of this venue brings (trading.ts). */
export interface VenueoneTradingHalf {
  readonly reader: VenueoneAccount;
  readonly settings: AccountSettings;
  readonly orders: Required<Omit<OrderSender, "ordersDoubtMs">>;
  knownAccount(session: AccountSession): Read<string> | null;
  resolveAccount(session: AccountSession, call: CallOptions): Promise<Read<string>>;
}

export interface WatchedHalf {
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly settings: AccountSettings;
}

export function watchAccounts(
  trading: VenueoneTradingHalf,
  streams: VenueoneAccountStreams,
  verified: VerifiedReads<readonly VenuePosition[]>,
): WatchedHalf {
  const { settings } = trading;
  /** Account of each session that was read, so that an order finds it without waiting. */
  const accountOf = new WeakMap<AccountSession, string>();
  const known = (session: AccountSession): string | null => {
    const account = trading.knownAccount(session);
    if (account?.ok !== true) return null;
    accountOf.set(session, account.value);
    return account.value;
  };
  const audienceOf = (session: AccountSession): OrderAudience => {
    const account = accountOf.get(session) ?? known(session);
    return {
      streamed: () => streams.watched(account),
      note: () => verified.noteOrder(account),
      isGuess: account === null,
    };
  };
  const accounts: StreamedAccounts<string> = {
    known,
    resolve: async (session, call) => {
      const account = await trading.resolveAccount(session, call);
      if (account.ok) accountOf.set(session, account.value);
      return account;
    },
    nameOf: (account) => account,
    readerOf: () => "",
    standing: (account, wanted) => standing(streams, account, wanted),
    watched: (account) => streams.watched(account),
    own: (account) => streams.watched(account)[0] ?? null,
    noteUse: (account, _use, payer) => streams.noteUse(account, payer),
  };
  return {
    reader: readerOverStreams({ rest: trading.reader, accounts, verified }),
    orders: toldOrders(trading.orders, audienceOf),
    settings: {
      read: (session, instrument, call) => settings.read(session, instrument, call),
      setLeverage: (session, instrument, leverage, call) =>
        changeTold(audienceOf(session), () => settings.setLeverage(session, instrument, leverage, call), "positions"),
      setMarginMode: (session, instrument, mode, call) =>
        changeTold(audienceOf(session), () => settings.setMarginMode(session, instrument, mode, call), "positions"),
    },
  };
}

/** Null when only REST may answer. */
function standing(streams: VenueoneAccountStreams, account: string, wanted: WantedLots | null): LiveRead | null {
  return streams.livePositions(account, wanted);
}
