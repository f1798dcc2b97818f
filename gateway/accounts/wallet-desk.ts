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
import { type ErrorCode, type ErrorContext, ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { KeyedRequests } from "./keyed-requests.js";

export interface WalletAct {
  /** A key id; `local` without a key. */
  readonly who: string;
  readonly what: "wallet.create" | "wallet.sign" | "venue-key.register" | "venue-key.rotate" | "venue-key.revoke";
  /** Wallet id; "" where none was made. */
  readonly subject: string;
  /** `pending`: an outside signer has it and has not decided. */
  readonly outcome: "done" | "refused" | "failed" | "pending";
  readonly details: Readonly<Record<string, string | boolean>>;
}

/** Durable when it resolves. */
export type AppendAct = (act: WalletAct) => Promise<void>;

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

/** Of a request that asked for what cannot be: the signers did nothing. */
const LEAVES_NO_ROW: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "INVALID_PARAMETERS",
  "WALLET_EXISTS",
  "WALLET_NOT_FOUND",
]);
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "POLICY_REFUSED",
  "DESTINATION_NOT_ALLOWED",
  "WALLET_FROZEN",
  "RESTORED_STORE",
]);

export class WalletDesk {
  readonly #provider: WalletProvider;
  readonly #owners: Owners;
  readonly #logger: Logger;
  readonly #appendAct: AppendAct;
  readonly #keyed: KeyedRequests;

  constructor(parts: WalletDeskParts) {
    this.#provider = parts.provider;
    this.#owners = parts.owners;
    this.#logger = parts.logger;
    this.#appendAct = parts.appendAct;
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
      throw await this.#refused(error, "INTERNAL", { call, what: "wallet.create", subject: "", details: {} });
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
    const row = { what: "wallet.sign", subject: walletId, details: { kind: request.kind } } as const;
    let signature: WalletSignature;
    try {
      signature = await this.#provider.sign(walletId, "caller", request);
    } catch (error) {
      throw await this.#refused(error, "FAILED_TO_SIGN", { call, ...row });
    }
    await this.#appendAct({ who: whoOf(call.keyId), outcome: "done", ...row });
    return signature;
  }

  /** Leaves the row of a refusal; returns what the caller gets. `otherwise`: for what the provider does not reject with. */
  async #refused(
    error: unknown,
    otherwise: ErrorCode,
    { call, details, ...row }: Pick<WalletAct, "what" | "subject" | "details"> & { readonly call: WalletCall },
  ): Promise<ServiceError> {
    const refusal = error instanceof ServiceError ? error : new ServiceError(otherwise, {}, { cause: error });
    const { code, context } = refusal;
    if (!(error instanceof ServiceError))
      this.#logger.error("wallets.failed", {
        what: row.what,
        errorName: error instanceof Error ? error.name : "unknown",
      });
    if (LEAVES_NO_ROW.has(code)) return refusal;
    const named = textsOf(context, ["rule", "signerRequestId"]);
    const outcome = code === "APPROVAL_PENDING" ? "pending" : REFUSALS.has(code) ? "refused" : "failed";
    await this.#appendOrLog({ who: whoOf(call.keyId), ...row, outcome, details: { ...details, code, ...named } });
    return refusal;
  }

  async #appendOrLog(act: WalletAct): Promise<void> {
    try {
      await this.#appendAct(act);
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#logger.error("wallets.audit_failed", { what: act.what, errorName });
    }
  }
}

/** It may have been begun: the next try with the same key continues it. */
function isUndecided(error: unknown): boolean {
  return error instanceof ServiceError && error.context["isUnsettled"] === true;
}

function textsOf(context: ErrorContext, names: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = context[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}

function whoOf(keyId: string | null): string {
  return keyId ?? "local";
}
