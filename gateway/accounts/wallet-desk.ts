/**
 * Server wallets for the routes: whose they are, one act for each Idempotency-Key, and a row in the audit log for what
 * the signers signed or refused. The row of a wallet is the provider's, in the commit that makes it.
 *
 * Invariants: a caller reaches the wallets of the owners that it reaches, and no others. No signature leaves without its
 * row. With a key a request acts once, also across a crash: a wallet that was made is answered again, also one that was
 * in doubt at first; a signature whose reply was lost is made anew, of the same bytes. A refusal is not kept: a retry
 * asks again. What an outside signer has not decided stays with its key, and a retry continues it.
 *
 * Bounds: the requests in flight are bounded by their routes; records live 24 hours.
 */
import type {
  SigningRequest,
  Wallet,
  WalletPage,
  WalletProvider,
  WalletProviderStatus,
  WalletSignature,
} from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Owners } from "../../engine/domain/owner.js";
import { ActRows, type AppendAct, whoOf } from "./act-rows.js";
import type { KeyedRequests } from "./keyed-requests.js";

export interface WalletDeskParts {
  readonly provider: WalletProvider;
  readonly owners: Owners;
  readonly keyed: KeyedRequests;
  readonly logger: Logger;
  readonly appendAct: AppendAct;
}

/** Who asks, and by which request. */
export interface WalletCall {
  readonly ownerId: string | null;
  /** Null without a key. */
  readonly keyId: string | null;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /** What the key is bound to. */
  readonly boundBytes: Uint8Array;
}

export interface WalletAnswer<T> {
  readonly value: T;
  /** Of an earlier request with the same key. */
  readonly replayed: boolean;
}

export class WalletDesk {
  readonly #provider: WalletProvider;
  readonly #owners: Owners;
  readonly #appendAct: AppendAct;
  readonly #rows: ActRows;
  readonly #keyed: KeyedRequests;

  constructor(parts: WalletDeskParts) {
    this.#provider = parts.provider;
    this.#owners = parts.owners;
    this.#appendAct = parts.appendAct;
    this.#rows = new ActRows(parts);
    this.#keyed = parts.keyed;
  }

  /** By user id, wallet id or address. Null: the caller reaches none of this name. */
  find(name: string, ownerId: string | null): Wallet | null {
    for (const owner of this.#owners.reachedBy(ownerId)) {
      const wallet = this.#provider.find(name, owner);
      // Whatever the provider found: a wallet of another owner goes no further.
      if (wallet !== null && wallet.ownerId === owner) return wallet;
    }
    return null;
  }

  /** In ascending order of wallet id. `after`: exclusive start. */
  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    const pages = this.#owners.reachedBy(ownerId).map((owner) => this.#provider.list(owner, after, limit));
    // A provider that knows of the adoption itself lists adopted wallets under both owners.
    const byId = new Map(pages.flatMap(({ wallets }) => wallets).map((wallet) => [wallet.walletId, wallet]));
    const all = [...byId.values()].sort((a, b) => (a.walletId < b.walletId ? -1 : 1));
    const wallets = all.slice(0, limit);
    const hasMore = all.length > limit || pages.some(({ next }) => next !== null);
    return { wallets, next: hasMore ? (wallets.at(-1)?.walletId ?? null) : null };
  }

  status(): WalletProviderStatus {
    return this.#provider.status();
  }

  /** Rejects with WALLET_EXISTS, what the provider rejects with, and the refusals of a key. */
  create(userId: string, call: WalletCall): Promise<WalletAnswer<Wallet>> {
    return this.#keyed.perform(call, {
      check: () => {
        const existing = this.find(userId, call.ownerId);
        if (existing !== null) throw new ServiceError("WALLET_EXISTS", { walletId: existing.walletId });
      },
      act: () => this.#create(userId, call),
      // The wallet's row came with it.
      recover: async () => this.find(userId, call.ownerId) ?? this.#create(userId, call),
      isOpen: isUndecided,
    });
  }

  async #create(userId: string, call: WalletCall): Promise<Wallet> {
    try {
      return await this.#provider.create(userId, call.ownerId, whoOf(call.keyId));
    } catch (error) {
      // Unknown is not failed: the row says what it came to, once that is known, and is the provider's.
      if (isUndecided(error)) throw error;
      const act = { who: whoOf(call.keyId), what: "wallet.create", subject: "", details: {} } as const;
      throw await this.#rows.refused(error, "INTERNAL", act);
    }
  }

  /**
   * Rejects with what the provider rejects with, FAILED_TO_SIGN for any other fault, STORE_UNAVAILABLE where the row
   * could not be written, and the refusals of a key.
   */
  sign(wallet: Wallet, request: SigningRequest, call: WalletCall): Promise<WalletAnswer<WalletSignature>> {
    const act = () => this.#sign(wallet, request, call);
    return this.#keyed.perform(call, { check: () => {}, act, recover: act, isOpen: isUndecided });
  }

  async #sign({ walletId }: Wallet, request: SigningRequest, call: WalletCall): Promise<WalletSignature> {
    const details = { kind: request.kind };
    const row = { who: whoOf(call.keyId), what: "wallet.sign", subject: walletId, details } as const;
    let signature: WalletSignature;
    try {
      signature = await this.#provider.sign(walletId, "caller", request);
    } catch (error) {
      throw await this.#rows.refused(error, "FAILED_TO_SIGN", row);
    }
    await this.#appendAct({ ...row, outcome: "done" });
    return signature;
  }
}

/** It may have been begun: the next try with the same key continues it. */
function isUndecided(error: unknown): boolean {
  return error instanceof ServiceError && error.context["isUnsettled"] === true;
}
