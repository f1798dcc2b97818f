/**
 * What a room offers where its venue takes money from a server wallet and pays it out (interface spec 4.3 to 4.5). The
 * room knows the venue's contracts, acts and lists; what is made durable, and when, is engine/transfers.
 *
 * Invariants of an implementation: amounts are integers in the token's smallest unit, never floats. `send` sends once.
 * Its outcome is `refused` or `notSent` only where the act did not take effect and cannot later. No method throws for
 * what a venue or a network does.
 */
import type { ChainLog } from "./chain.js";
import type { MadeAct, UndoneAct, WalletAct } from "./key-registrar.js";
import type { AccountSession, CallOptions, MarketRoom, Read } from "./ports.js";

export interface Token {
  readonly chainId: number;
  /** As callers name it, such as USDT. */
  readonly symbol: string;
  /** Contract, `0x` hex, lower case. */
  readonly address: string;
  readonly decimals: number;
  /** An allowance that is not zero must be set to zero before it is changed. */
  readonly resetsAllowance: boolean;
}

/** One token on one chain, and the way it takes to the venue. */
export interface DepositRoute {
  readonly token: Token;
  /** Contract that takes the token from the wallet; null: the wallet sends it, and nothing is approved. */
  readonly spender: string | null;
  /** Less is refused here; at some venues it would be lost. */
  readonly minimum: bigint;
  /** `broker`: null where the venue knows none. */
  call(amount: bigint, broker: number | null): { readonly to: string; readonly data: Uint8Array };
  /** What the venue's contract says that it took for the account; null: the logs do not show that it did. */
  taken(logs: readonly ChainLog[], account: string): bigint | null;
}

export interface DepositRail {
  /** Null: 400. */
  route(chainId: number, symbol: string): DepositRoute | null;
  readonly routes: readonly DepositRoute[];
  /** Whether a credit names its transaction. False: credits are found by amount and time alone. */
  readonly isMatchedByHash: boolean;
  /**
   * The venue's own ids of credits that may be the mined deposit's, the likeliest first; empty while there is none.
   * `sentAtMs`: our time before it was first broadcast; some venues list no transaction, and an older deposit of the
   * same amount is not this one.
   */
  look(
    deposit: {
      readonly account: string;
      readonly hash: string;
      readonly chainId: number;
      readonly amount: bigint;
      readonly sentAtMs: number;
    },
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<readonly string[]>>;
}

export interface WithdrawalAsk {
  /** The wallet, lower case; the money arrives there, or at `receiver` where the venue allows another. */
  readonly account: string;
  readonly receiver: string;
  readonly token: Token;
  readonly amount: bigint;
  /** Which account of the venue pays; null where it has one. */
  readonly accountType: "spot" | "perp" | null;
}

export interface WithdrawalTerms {
  /** What the venue keeps, in the token's unit; it is signed where the venue has it signed. */
  readonly fee: bigint;
  readonly minimum: bigint;
  readonly available: bigint;
  /** Whether `fee` is taken from the amount, or on top of it. */
  readonly feeIsInside: boolean;
}

/** As the venue's history has it. */
export type WithdrawalStanding =
  | { readonly kind: "absent" }
  | {
      /** `left`: it has left the account, and the venue never shows more of it (`payoutEvent`). */
      readonly kind: "pending" | "left" | "completed";
      readonly venueId: string;
      readonly hash: string | null;
      readonly paid: bigint | null;
      /** What the venue kept, where its history names that. */
      readonly fee?: bigint;
    }
  /** The money is at the account again. */
  | { readonly kind: "failed"; readonly venueId: string };

export type MoneyOutcome =
  | { readonly kind: "done"; readonly venueId: string | null }
  | UndoneAct<"BALANCE" | "RATE_LIMITED" | "RIGHT" | "OTHER">;

export interface PastWithdrawal {
  readonly ask: WithdrawalAsk;
  /** As it was when the act was signed, and the most that the venue keeps; or what its history names. */
  readonly fee: bigint;
  readonly request: string;
  readonly sentAtMs: number;
  readonly venueId: string | null;
  /** Whether the venue's id is known to be of another withdrawal of the account. */
  isOthers(venueId: string): Promise<boolean>;
}

/**
 * What the chain of a withdrawal's token has once it is paid. `contract` and `topics` are the same for all withdrawals of an
 * account there: one search serves them.
 */
export interface PayoutEvent {
  readonly contract: string;
  /** A topic that is null may be any. */
  readonly topics: readonly (string | null)[];
  /** By the chain's time: no such log is older. */
  readonly sinceMs: number;
  /** What it paid; null: the log is of another withdrawal. */
  paid(log: ChainLog): bigint | null;
}

/** A withdrawal is an act that the wallet signs; the venue may want it sent with a key of the account, too. */
export interface WithdrawalRail {
  readonly needsKey: boolean;
  /** Whether another address than the wallet may receive. */
  readonly takesReceiver: boolean;
  /** Decimals that an amount may have in the venue's texts. */
  readonly placesMax: number;
  /** Tokens and chains that the venue pays out; null: 400. */
  token(chainId: number, symbol: string): Token | null;
  /** Ms after an answer of the venue in which its history may not show it yet. */
  readonly historyLagMs: number;
  /** Whether an act is found in the history by its own number. False: by account, chain, asset, amount and time alone. */
  readonly isMatchedById: boolean;
  /** Whether the venue acts once on the same bytes, however often they arrive: only then are they sent again. */
  readonly actsOnce: boolean;
  terms(ask: WithdrawalAsk, session: AccountSession | null, options: CallOptions): Promise<Read<WithdrawalTerms>>;
  make(ask: WithdrawalAsk, fee: bigint): Promise<MadeAct>;
  send(
    act: Pick<WalletAct, "request">,
    signature: string,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<MoneyOutcome>;
  look(
    withdrawal: PastWithdrawal,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<WithdrawalStanding>>;
  /**
   * How the chain tells that one which has `left` is paid, `shown` being what the history has of it. Null: it does not, and
   * so for an act of another program.
   */
  readonly payoutEvent:
    | ((
        withdrawal: Pick<PastWithdrawal, "ask" | "fee" | "request" | "sentAtMs"> & { readonly shown: bigint | null },
      ) => PayoutEvent | null)
    | null;
}

export interface InternalTransferAsk {
  readonly account: string;
  readonly asset: string;
  /** Decimal text in token units, as it is sent. */
  readonly amount: string;
  readonly kindType: "SPOT_FUTURE" | "FUTURE_SPOT";
  /** Unique for the account; the venue takes one of a name. */
  readonly clientTranId: string;
}

/** Between the accounts that a wallet has at the venue. */
export interface InternalTransferRail {
  /** Decimals that an amount may have in the venue's texts. */
  readonly placesMax: number;
  /** So long before a send `look` searches from, by the venue's clock as it is known. */
  readonly looksBackMs: number;
  send(ask: InternalTransferAsk, session: AccountSession, options: CallOptions): Promise<MoneyOutcome>;
  /** The venue's own ids of transfers that may be this one, the oldest first; empty: the venue does not show it. */
  look(
    ask: InternalTransferAsk,
    sentAtMs: number,
    session: AccountSession,
    options: CallOptions,
  ): Promise<Read<readonly string[]>>;
}

/** A line of the venue's own history of an account's money. */
export interface VenueEntry {
  readonly kind: "deposit" | "withdrawal" | "internal";
  readonly venueId: string;
  /** Null where the history does not say, and between accounts. */
  readonly chainId: number | null;
  readonly asset: string;
  /** What may have been asked for, token units as decimal text: several where the history leaves the fee open. */
  readonly amounts: readonly string[];
  /** Of a withdrawal: each of them may be with the fee or without it, and the history does not say how much that was. */
  readonly isFeeOpen?: boolean;
  /** Between accounts; null elsewhere. */
  readonly kindType: InternalTransferAsk["kindType"] | null;
  /** The chain's transaction, lower case; null where the history names none. */
  readonly hash: string | null;
  /** On our clock, as near as the venue's is known. */
  readonly atMs: number;
  /** The money is where it was before. */
  readonly hasFailed: boolean;
}

/** Balances of the wallet at the venue, in token units as decimal text, by the venue's account. */
export interface VenueBalance {
  readonly accountType: "spot" | "perp";
  readonly asset: string;
  readonly free: string;
}

export interface VenueMoney {
  readonly deposits: DepositRail;
  readonly withdrawals: WithdrawalRail;
  /** Null where the venue has one account alone. */
  readonly internal: InternalTransferRail | null;
  /**
   * All of the account's entries since then, of whatever origin; whole, or a failure. A venue that needs a key for it
   * (`withdrawals.needsKey`) fails without one.
   */
  history(
    account: string,
    sinceMs: number,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueEntry[]>>;
  balances(
    account: string,
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueBalance[]>>;
}

/** A room whose venue takes and pays money. */
export interface MoneyRoom extends MarketRoom {
  readonly money: VenueMoney;
}

export function isMoneyRoom(room: MarketRoom): room is MoneyRoom {
  return "money" in room;
}
