/**
 * Wallets of the demo get money to try the service with: tokens and coins for gas on the local chains, once each, from
 * the control API of a local venue. Nothing but the demo can reach this file (.dependency-cruiser.cjs), and the money is
 * made by a local chain, so there is none of it anywhere else.
 */
import type {
  SigningOrigin,
  SigningRequest,
  Wallet,
  WalletPage,
  WalletProvider,
  WalletProviderStatus,
  WalletSignature,
} from "../../engine/custody/provider/wallet-provider.js";
import { type Clock, delay } from "../../engine/domain/clock.js";

/** `coins`: of the chain's own, for gas. */
export interface Gift {
  readonly chainId: number;
  readonly token: string;
  readonly amount: string;
  readonly coins?: string;
}

export const GIFTS: readonly Gift[] = [
  { chainId: 56, token: "USDT", amount: "1000", coins: "1" },
  { chainId: 42161, token: "USDC", amount: "1000", coins: "1" },
  { chainId: 42161, token: "USDT", amount: "1000" },
  { chainId: 1, token: "USDT", amount: "1000", coins: "1" },
];

/** A new wallet is answered with its money, or after this long without. */
const WAIT_MS = 5_000;
const CALL_MS_MAX = 30_000;

export interface GiftParts {
  /** Of the local venue whose control API makes money. */
  readonly venueUrl: string;
  readonly gifts: readonly Gift[];
  readonly clock: Clock;
  /** A line for the person who runs the demo. */
  say(text: string): void;
}

export class GiftWallets implements WalletProvider {
  readonly #wallets: WalletProvider;
  readonly #parts: GiftParts;
  /** Wallets that have their money, or get it now. */
  readonly #given = new Map<string, Promise<void>>();
  /** By address: how many of the gifts it has. */
  readonly #counts = new Map<string, number>();

  constructor(wallets: WalletProvider, parts: GiftParts) {
    this.#wallets = wallets;
    this.#parts = parts;
  }

  async create(userId: string, ownerId: string | null, who: string): Promise<Wallet> {
    const wallet = await this.#wallets.create(userId, ownerId, who);
    await Promise.race([this.#give(wallet), delay(this.#parts.clock, WAIT_MS)]);
    return wallet;
  }

  /** One whose creation was in doubt at first is seen here. */
  find(name: string, ownerId: string | null): Wallet | null {
    const wallet = this.#wallets.find(name, ownerId);
    if (wallet !== null) void this.#give(wallet);
    return wallet;
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    return this.#wallets.list(ownerId, after, limit);
  }

  all(): readonly Wallet[] {
    return this.#wallets.all();
  }

  sign(walletId: string, origin: SigningOrigin, request: SigningRequest): Promise<WalletSignature> {
    return this.#wallets.sign(walletId, origin, request);
  }

  status(): WalletProviderStatus {
    return this.#wallets.status();
  }

  #give({ walletId, address }: Wallet): Promise<void> {
    const under = this.#given.get(walletId);
    if (under !== undefined) return under;
    const given = this.#mint(address).catch((error: unknown) => {
      // The same wallet may come by again.
      this.#given.delete(walletId);
      this.#parts.say(
        `the wallet ${address} got no money: ${error instanceof Error ? error.message : "unknown error"}`,
      );
    });
    this.#given.set(walletId, given);
    return given;
  }

  /** One after another: one key mints all of them. */
  async #mint(to: string): Promise<void> {
    const { venueUrl, gifts } = this.#parts;
    for (const gift of gifts.slice(this.#counts.get(to) ?? 0)) {
      const reply = await fetch(`${venueUrl}/_sim/mint`, {
        method: "POST",
        body: JSON.stringify({ to, ...gift }),
        signal: AbortSignal.timeout(CALL_MS_MAX),
      });
      if (!reply.ok) throw new Error(`the local venue answers ${reply.status}: ${(await reply.text()).slice(0, 200)}`);
      this.#counts.set(to, (this.#counts.get(to) ?? 0) + 1);
    }
  }
}
