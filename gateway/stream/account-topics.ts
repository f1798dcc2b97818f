/**
 * Subscribe and resume frames of the account topics → keys: `positions:<wallet>#<scope>`.
 *
 * The scope is a keyed hash of the owner who asks, the exchanges, the credentials for them and the server wallet. Two callers of one wallet with
 * different credentials share neither frames nor rings nor resume points, and a key text alone opens nothing.
 *
 * Invariant: credentials leave this file only into the portfolio, which opens a session with them; nothing here keeps
 * them beyond the present frame.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { ROUTABLE_VENUES, type RoutableVenue, VENUES, type Venue } from "../../engine/domain/venue.js";
import { NO_TERMS } from "../../engine/orders/single/order-facts.js";
import type { ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import { canonicalJson, type Portfolio } from "../../engine/portfolio/portfolio.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import { subscribeOrdersSchema, subscribePositionsSchema } from "../../schemas/stream.js";
import { compileValidator } from "../../schemas/validate.js";
import { checkWalletAddress } from "../accounts/account-access.js";
import type { AccountSources, AccountWish } from "./account-members.js";
import { checked } from "./checked.js";
import type { KeySpec } from "./feed.js";
import { PULSE_MS } from "./limits.js";
import { OrdersFeed } from "./orders-feed.js";
import { PositionsFeed } from "./positions-feed.js";
import { type Blocks, type StoredWallets, walletOfFrame } from "./stored-blocks.js";

export interface StreamAccounts {
  readonly portfolio: Portfolio;
  /** Absent: there is no client-signed venue. */
  readonly chain?: ChainPortfolio;
  /** The server's own: scopes are valid nowhere else. */
  readonly hash: KeyedHash;
  /** How callers described their orders; absent: nothing is known of that. */
  readonly termsOf?: AccountSources["termsOf"];
  /** Server wallets with keys; absent: there are none. */
  readonly wallets?: StoredWallets;
}

type AccountTopic = "positions" | "orders";

/** A subscription that a client kept, with what is needed to open it again. */
export interface ResumedSub {
  readonly sub: string;
  readonly exchanges?: readonly Venue[];
  readonly walletId?: string;
  readonly credentials?: Blocks;
}

/** What a private key is made of. */
interface Named {
  readonly walletAddress: string;
  readonly exchanges: readonly Venue[] | undefined;
  readonly walletId: string | undefined;
  readonly credentials: Blocks | undefined;
  readonly ownerId: string | null;
  readonly payer: string | null;
}

/** 128 bits in hex: keys of others cannot be guessed, and never collide. */
const SCOPE_CHARS = 32;
const KEY_TEXT = /^(positions|orders):([0-9A-Za-z]{1,128})#([0-9a-f]{32})$/;
/** A change of profit alone waits for the pulse; a change of size does not. */
const POSITIONS_INTERVAL_MS = PULSE_MS;

export class AccountTopics {
  readonly #sources: AccountSources;
  readonly #hash: KeyedHash;
  readonly #wallets: StoredWallets | null;
  readonly #positions = compileValidator(subscribePositionsSchema);
  readonly #orders = compileValidator(subscribeOrdersSchema);

  constructor(sources: Omit<AccountSources, "portfolio" | "chain" | "termsOf">, accounts: StreamAccounts) {
    const { portfolio, chain = null, hash, termsOf = () => NO_TERMS } = accounts;
    this.#sources = { ...sources, portfolio, chain, termsOf };
    this.#hash = hash;
    this.#wallets = accounts.wallets ?? null;
  }

  isKeyText(text: string): boolean {
    return KEY_TEXT.test(text);
  }

  /** `ownerId`: who asks, `payer`: its key; null without a key. */
  subscribed(topic: AccountTopic, frame: unknown, ownerId: string | null, payer: string | null): KeySpec {
    const { walletAddress, exchanges, walletId, credentials } =
      topic === "orders" ? checked(this.#orders, frame) : checked(this.#positions, frame);
    return this.#spec(topic, { walletAddress, exchanges, walletId, credentials, ownerId, payer });
  }

  /** Throws UNKNOWN_SUBSCRIPTION unless exchanges, credentials and owner match the key. */
  resumed(
    { sub, exchanges, walletId, credentials }: ResumedSub,
    ownerId: string | null,
    payer: string | null,
  ): KeySpec {
    const [, topic = "", walletAddress = ""] = KEY_TEXT.exec(sub) ?? [];
    const named = topic === "orders" ? "orders" : "positions";
    const spec = this.#spec(named, { walletAddress, exchanges, walletId, credentials, ownerId, payer });
    if (spec.text !== sub) {
      const problem = "exchanges and credentials are not those of the subscription: they are needed again to resume it";
      throw new ServiceError("UNKNOWN_SUBSCRIPTION", { sub, problem });
    }
    return spec;
  }

  #spec(topic: AccountTopic, named: Named): KeySpec {
    const { exchanges, credentials = {}, ownerId, payer } = named;
    const walletAddress = walletOf(named.walletAddress);
    const wallet = walletOfFrame(this.#wallets, { ...named, walletAddress });
    const venues = [...new Set(exchanges ?? VENUES)].sort();
    const blocks = blocksOf(venues, credentials);
    // The keys of a server wallet come and go, and its subscriptions stay.
    const parts = [topic, ownerId ?? "", walletAddress, venues.join(","), canonicalJson(blocks)];
    const scope = this.#hash
      .hmacHex("stream.scope", wallet === null ? parts : [...parts, wallet.walletId])
      .slice(0, SCOPE_CHARS);
    const wish: AccountWish = { walletAddress, venues, blocks, wallet, ownerId, payer };
    const sources = this.#sources;
    const text = `${topic}:${walletAddress}#${scope}`;
    if (topic === "orders")
      return { text, intervalMs: 0, isPrivate: true, open: (mark) => new OrdersFeed(sources, wish, mark) };
    return {
      text,
      intervalMs: POSITIONS_INTERVAL_MS,
      isPrivate: true,
      open: (mark, shown) => new PositionsFeed(sources, wish, mark, shown),
    };
  }
}

/** Lower-cases hex, so that one wallet has one key; in base58 the case matters. */
function walletOf(text: string): string {
  const wallet = checkWalletAddress(text, null);
  return wallet.startsWith("0x") || wallet.startsWith("0X") ? wallet.toLowerCase() : wallet;
}

/** The blocks of the requested exchanges; the others are not read. */
function blocksOf(venues: readonly Venue[], credentials: Blocks): Partial<Record<RoutableVenue, unknown>> {
  const blocks: Partial<Record<RoutableVenue, unknown>> = {};
  for (const venue of ROUTABLE_VENUES) {
    const block = credentials[venue] ?? null;
    if (block !== null && venues.includes(venue)) blocks[venue] = block;
  }
  return blocks;
}
