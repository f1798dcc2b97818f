/**
 * Keys of server wallets at venues, for the routes: whose wallet it is, one act for each Idempotency-Key, and a row in
 * the audit log for what became of it.
 *
 * Invariant: a secret is in the first answer of its key alone: what is kept with an Idempotency-Key has none.
 */
import type { KeyView } from "../../engine/custody/registration/key-views.js";
import type { KeyRegistrations, RegisteredKey, Revoked } from "../../engine/custody/registration/registrations.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { ActRows, type AppendAct, whoOf } from "./act-rows.js";
import type { KeyedRequests } from "./keyed-requests.js";
import type { WalletCall } from "./wallet-desk.js";

export interface KeyDeskParts {
  readonly registrations: Pick<KeyRegistrations, "register" | "rotate" | "revoke" | "find" | "list">;
  readonly keyed: KeyedRequests;
  readonly logger: Logger;
  readonly appendAct: AppendAct;
}

/** A key without its secret: plain data, kept with an Idempotency-Key. */
type KeyFacts = Omit<RegisteredKey, "secretHex">;

export interface KeyAnswer {
  readonly key: KeyFacts;
  /** In the first answer alone, and where the interface shows it; else null. */
  readonly secretHex: string | null;
  /** Of an earlier request with the same key. */
  readonly replayed: boolean;
}

type What = "venue-key.register" | "venue-key.rotate" | "venue-key.revoke";

/** What routes use of it. */
export type KeyDeskPort = Pick<KeyDesk, "register" | "rotate" | "revoke" | "list">;

export class KeyDesk {
  readonly #parts: KeyDeskParts;
  readonly #rows: ActRows;

  constructor(parts: KeyDeskParts) {
    this.#parts = parts;
    this.#rows = new ActRows(parts);
  }

  /** All keys of a wallet. */
  list(walletId: string): readonly KeyView[] {
    return this.#parts.registrations.list(walletId);
  }

  /** Rejects as KeyRegistrations does, and with the refusals of an Idempotency-Key. */
  async register(wallet: Wallet, venue: RoutableVenue, showsSecret: boolean, call: WalletCall): Promise<KeyAnswer> {
    const { registrations } = this.#parts;
    const owner = ownerOf(wallet, venue);
    return this.#make("venue-key.register", wallet, venue, call, {
      // Whether the key that there is stands in the way, the venue may have to say.
      check: () => {},
      act: (requestId) => registrations.register({ ...owner, requestId }, showsSecret),
    });
  }

  async rotate(wallet: Wallet, venue: RoutableVenue, showsSecret: boolean, call: WalletCall): Promise<KeyAnswer> {
    const { registrations } = this.#parts;
    const owner = ownerOf(wallet, venue);
    return this.#make("venue-key.rotate", wallet, venue, call, {
      check: () => {
        if (registrations.find(owner) === null) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: venue });
      },
      act: (requestId) => registrations.rotate({ ...owner, requestId }, showsSecret),
    });
  }

  async revoke(wallet: Wallet, venue: RoutableVenue, call: WalletCall): Promise<Revoked> {
    const row = rowOf("venue-key.revoke", wallet, venue, call);
    try {
      const revoked = await this.#parts.registrations.revoke(ownerOf(wallet, venue));
      const isPending = revoked.pending > 0;
      await this.#rows.appendOrLog({ ...row, outcome: "done", details: { ...row.details, isPending } });
      return revoked;
    } catch (error) {
      throw await this.#rows.refused(error, "FAILED_TO_REGISTER_KEY", row);
    }
  }

  async #make(
    what: What,
    wallet: Wallet,
    venue: RoutableVenue,
    call: WalletCall,
    work: { check(): void; act(requestId: string): Promise<RegisteredKey> },
  ): Promise<KeyAnswer> {
    const row = rowOf(what, wallet, venue, call);
    let secretHex: string | null = null;
    const act = async (requestId: string): Promise<KeyFacts> => {
      try {
        const { secretHex: shown, ...key } = await work.act(requestId);
        secretHex = shown;
        await this.#rows.appendOrLog({ ...row, outcome: "done", details: { ...row.details, signer: key.signer } });
        return key;
      } catch (error) {
        throw await this.#rows.refused(error, "FAILED_TO_REGISTER_KEY", row);
      }
    };
    const recover = (requestId: string): Promise<KeyFacts> => {
      // Done, and told, before the crash: there is no second secret. A later rotation may have taken its place since.
      const found = this.list(wallet.walletId).find(
        (key) => key.venue === venue && key.isAnswered && key.requestIds.includes(requestId),
      );
      return found === undefined ? act(requestId) : Promise.resolve(found);
    };
    const isOpen = (error: unknown): boolean =>
      error instanceof ServiceError && (error.context["isUnsettled"] === true || error.status === 202);
    const { value, replayed } = await this.#parts.keyed.perform(call, {
      check: work.check,
      act: () => act(call.requestId),
      recover,
      isOpen,
    });
    return { key: value, secretHex, replayed };
  }
}

function ownerOf({ walletId, address }: Wallet, venue: RoutableVenue) {
  return { walletId, venue, account: address.toLowerCase() };
}

function rowOf(what: What, { walletId }: Wallet, venue: RoutableVenue, { keyId }: WalletCall) {
  return { who: whoOf(keyId), what, subject: walletId, details: { exchange: venue } };
}
