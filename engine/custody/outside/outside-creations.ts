/**
 * Makes wallets at the outside signer: one for an owner and user id, whatever is asked for at once and whatever is killed
 * meanwhile. A wallet is acknowledged once its key belongs to its address, it has given a test signature, and both are
 * durable.
 *
 * Invariant: while the signer may have made a wallet, no other one is asked for.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Wallet } from "../provider/wallet-provider.js";
import { followRequest } from "./follow-request.js";
import { openError, refusalOf, unavailable } from "./outcomes.js";
import type { Heard, OutsideCounts, OutsidePorts } from "./outside-ports.js";
import type { OutsideSignatures } from "./outside-signatures.js";
import type { RequestIds } from "./request-ids.js";
import { type CheckedWallet, checkedWallet } from "./signature-check.js";
import { type OutsideWalletBook, walletOf } from "./wallet-book.js";
import type { OutsideWalletRow } from "./wallet-row.js";

/** Of one ask, the test signature included: less than a caller usually waits. Keys of several parties take seconds. */
export const CREATE_MS = 8_000;
/** Wallets that were asked for and are not there yet. */
export const CREATIONS_MAX = 1_024;

export class OutsideCreations {
  readonly #ports: OutsidePorts;
  readonly #book: OutsideWalletBook;
  readonly #ids: RequestIds;
  readonly #signatures: OutsideSignatures;
  readonly #counts: OutsideCounts;
  readonly #heard: Heard;
  /** By effective owner and user id. */
  readonly #creating = new Map<string, Promise<Wallet>>();

  constructor(
    ports: OutsidePorts,
    book: OutsideWalletBook,
    ids: RequestIds,
    signatures: OutsideSignatures,
    counts: OutsideCounts,
    heard: Heard,
  ) {
    this.#ports = ports;
    this.#book = book;
    this.#ids = ids;
    this.#signatures = signatures;
    this.#counts = counts;
    this.#heard = heard;
  }

  /** `who`: of the wallet's row in the audit log, which is in the commit that makes it. */
  async create(userId: string, ownerId: string | null, who: string): Promise<Wallet> {
    const key = `${this.#ports.owners.effectiveOwner(ownerId)}\0${userId}`;
    const running = this.#creating.get(key);
    if (running !== undefined) throw this.#exists(await running, ownerId);
    const creation = this.#create(userId, ownerId, who);
    this.#creating.set(key, creation);
    try {
      return await creation;
    } finally {
      this.#creating.delete(key);
    }
  }

  async #create(userId: string, ownerId: string | null, who: string): Promise<Wallet> {
    const deadline = new Deadline(this.#ports.clock, CREATE_MS);
    const existing = this.#book.inTheWay(userId, ownerId);
    if (existing !== null) throw this.#exists(existing, ownerId);
    const underWay = this.#book.underWay(userId, ownerId);
    if (underWay !== null && !this.#ports.owners.reaches(ownerId, underWay.ownerId))
      throw this.#exists(underWay, ownerId);
    const row = underWay ?? (await this.#begun(userId, ownerId));
    const made = row.made ?? (await this.#made(row, underWay === null, deadline));
    return this.#acknowledged({ ...row, made }, made, who, deadline);
  }

  /** Durable when it resolves. */
  async #begun(userId: string, ownerId: string | null): Promise<OutsideWalletRow> {
    if (this.#book.underWayCount >= CREATIONS_MAX) throw unavailable("TOO_MANY_OPEN");
    const walletId = this.#ids.wallet(ownerId, userId);
    const before = this.#book.get(walletId);
    const round = before === null ? 0 : before.round + 1;
    const createdAt = this.#ports.clock.wallMs();
    const row = { walletId, ownerId, userId, round, state: "ASKED", made: null, createdAt } as const;
    await this.#book.put(row);
    return row;
  }

  async #made(row: OutsideWalletRow, isNew: boolean, deadline: Deadline): Promise<CheckedWallet> {
    const { signer, clock, logger } = this.#ports;
    const requestId = this.#ids.creation(row.walletId, row.round);
    const followed = await followRequest(
      { signer, clock, heard: this.#heard },
      { kind: "wallet", requestId },
      isNew,
      deadline,
    );
    this.#counts.note(followed);
    if (followed.kind === "rejected") await this.#book.put({ ...row, state: "ENDED" });
    if (followed.kind !== "ended") throw openError(followed, requestId, "FAILED_TO_CREATE_WALLET");
    const { end } = followed;
    if (end.state !== "DONE") {
      await this.#book.put({ ...row, state: "ENDED" });
      throw refusalOf(end, "FAILED_TO_CREATE_WALLET");
    }
    const made = end.wallet === null ? null : checkedWallet(end.wallet);
    if (made === null || this.#book.isTaken(made.address, row.walletId)) {
      // The request stays: a further one would be a second wallet at the signer, which calls this one made.
      this.#counts.failed.cheat++;
      logger.error("outside_signer.wrong_wallet", { requestId });
      throw new ServiceError("FAILED_TO_CREATE_WALLET");
    }
    await this.#book.put({ ...row, state: "MADE", made });
    return made;
  }

  async #acknowledged(row: OutsideWalletRow, made: CheckedWallet, who: string, deadline: Deadline): Promise<Wallet> {
    try {
      await this.#signatures.test({ ...made, walletId: row.walletId }, deadline);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "FAILED_TO_SIGN") throw error;
      throw new ServiceError("FAILED_TO_CREATE_WALLET", {}, { cause: error });
    }
    const active = { ...row, state: "ACTIVE", made } as const;
    await this.#book.put(active, this.#ports.creationWrites({ who, walletId: row.walletId, isMade: true }));
    const wallet = walletOf(active);
    if (wallet === null) throw new ServiceError("INTERNAL", { problem: "custody: an outside wallet without a key" });
    return wallet;
  }

  /** Names the wallet to whoever reaches it. */
  #exists({ walletId, ownerId: rowOwner }: Pick<Wallet, "walletId" | "ownerId">, ownerId: string | null): ServiceError {
    return new ServiceError("WALLET_EXISTS", this.#ports.owners.reaches(ownerId, rowOwner) ? { walletId } : {});
  }
}
