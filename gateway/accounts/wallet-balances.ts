/**
 * What a server wallet has on its chains and at its venues. Each part is read by itself: one that fails says so and hides
 * none of the others.
 */
import { type Chain, COIN_DECIMALS } from "../../engine/chain.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { formatScaledBig } from "../../engine/domain/decimal.js";
import { errorText, ServiceError } from "../../engine/domain/errors.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { AccountSession, CallOptions, Read } from "../../engine/ports.js";
import type { Token, VenueBalance, VenueMoney } from "../../engine/venue-money.js";
import { networkOf, type WalletBalancesData } from "../../schemas/transfers.js";

export interface WalletBalancesParts {
  readonly chains: ReadonlyMap<number, Chain>;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
  /** Null: the wallet has no key there that trades. The caller closes it. */
  readonly openSession: (
    walletId: string,
    venue: RoutableVenue,
    payer: string | null,
  ) => Promise<AccountSession | null>;
}

type Asked = Pick<Wallet, "ownerId" | "walletId" | "address">;
type ChainPart = WalletBalancesData["chains"][number];
type VenuePart = WalletBalancesData["venues"][number];
type PartError = NonNullable<ChainPart["error"]>;

const READ_OPTIONS: CallOptions = { timeoutMs: 5_000, lane: "read" };

export class WalletBalances {
  readonly #parts: WalletBalancesParts;

  constructor(parts: WalletBalancesParts) {
    this.#parts = parts;
  }

  async read(wallet: Asked): Promise<WalletBalancesData> {
    const { chains, rails } = this.#parts;
    const account = wallet.address.toLowerCase();
    const [ofChains, ofVenues] = await Promise.all([
      Promise.all([...chains.values()].map((chain) => this.#ofChain(chain, account))),
      Promise.all([...rails].map(([venue, rail]) => this.#ofVenue(venue, rail, wallet))),
    ]);
    return { walletId: wallet.walletId, address: wallet.address, chains: ofChains, venues: ofVenues };
  }

  /** Of one account of a venue, in token units. Rejects with UNSUPPORTED_EXCHANGE, API_KEY_NOT_FOUND, VENUE_UNAVAILABLE. */
  async free(
    wallet: Asked,
    { venue, accountType, asset }: Pick<VenueBalance, "accountType" | "asset"> & { readonly venue: RoutableVenue },
  ): Promise<string> {
    const rail = this.#parts.rails.get(venue);
    if (rail === undefined) throw new ServiceError("UNSUPPORTED_EXCHANGE");
    const read = await this.#balances(venue, rail, wallet);
    if (!read.ok) {
      if (read.code === "NEEDS_CREDENTIALS") throw new ServiceError("API_KEY_NOT_FOUND", { exchange: venue });
      throw new ServiceError("VENUE_UNAVAILABLE", { exchange: venue, reason: read.message });
    }
    return read.value.find((row) => row.accountType === accountType && row.asset === asset)?.free ?? "0";
  }

  async #ofChain(chain: Chain, account: string): Promise<ChainPart> {
    const { chainId } = chain;
    const tokens = this.#tokensOf(chainId);
    const [native, ...held] = await Promise.all([
      chain.nativeBalance(account, READ_OPTIONS),
      ...tokens.map(({ address }) => chain.tokenBalance(address, account, READ_OPTIONS)),
    ]);
    const failed = [native, ...held].some((read) => read?.ok !== true);
    return {
      ...{ chainId, network: networkOf(chainId) },
      native: native?.ok === true ? formatScaledBig(native.value, COIN_DECIMALS) : null,
      tokens: tokens.flatMap(({ symbol, address, decimals }, index) => {
        const read = held[index];
        return read?.ok === true ? [{ symbol, address, amount: formatScaledBig(read.value, decimals) }] : [];
      }),
      ...(failed ? { error: partError("CHAIN_UNAVAILABLE", { chainId }) } : {}),
    };
  }

  #tokensOf(chainId: number): readonly Token[] {
    const byAddress = new Map<string, Token>();
    for (const { deposits } of this.#parts.rails.values())
      for (const { token } of deposits.routes) if (token.chainId === chainId) byAddress.set(token.address, token);
    return [...byAddress.values()];
  }

  async #ofVenue(exchange: RoutableVenue, rail: VenueMoney, wallet: Asked): Promise<VenuePart> {
    const read = await this.#balances(exchange, rail, wallet);
    if (read.ok) return { exchange, balances: read.value.map((row) => ({ ...row })) };
    const code = read.code === "NEEDS_CREDENTIALS" ? "API_KEY_NOT_FOUND" : "VENUE_UNAVAILABLE";
    return { exchange, balances: [], error: partError(code, { exchange }) };
  }

  async #balances(
    venue: RoutableVenue,
    rail: VenueMoney,
    { ownerId, walletId, address }: Asked,
  ): Promise<Read<readonly VenueBalance[]>> {
    let session: AccountSession | null = null;
    try {
      session = await this.#parts.openSession(walletId, venue, ownerId);
      // Data that is public is read without a session: the share is the owner's all the same.
      return await rail.balances(address.toLowerCase(), session, { ...READ_OPTIONS, payer: ownerId });
    } catch (error) {
      const message = error instanceof ServiceError ? error.code : "INTERNAL";
      return { ok: false, code: "VENUE_ERROR", message, retryAfterMs: null };
    } finally {
      session?.close();
    }
  }
}

function partError(
  code: "CHAIN_UNAVAILABLE" | "VENUE_UNAVAILABLE" | "API_KEY_NOT_FOUND",
  context: Readonly<Record<string, unknown>>,
): PartError {
  return {
    code,
    message: code === "CHAIN_UNAVAILABLE" ? `Chain ${context["chainId"]} does not answer` : errorText(code, context),
  };
}
