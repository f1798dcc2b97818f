/**
 * Makes wallets: one for an owner and user id whatever is asked for at once, two at a time, each attempt under a new
 * wallet id (docs/mpc.md, 5.3, 11). What an attempt that failed came to is what both parties agree on afterwards.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { SessionOutcome } from "./live-session.js";
import { type ProviderPorts, walletOf } from "./provider-ports.js";
import { notReady, type ServiceHost } from "./service-host.js";
import { errorOfEnd, isPeerFault, isTransport, unavailable, unsettled } from "./session-outcomes.js";
import { Turns } from "./session-queue.js";
import type { BackupOwner } from "./open-backup.js";
import { RETRIES_MAX } from "./wallet-acts.js";
import { markedWalletId, walletIdText } from "./wallet-names.js";
import type { Wallet } from "./wallet-provider.js";
import type { WalletRows } from "./wallet-rows.js";

export const KEYGENS_MAX = 2;
export const CREATIONS_QUEUED_MAX = 16;
/** Of a creation with its place in the queue. */
export const CREATE_MS = 60_000;

/** For a store of this side that refused for a moment. */
const STORE_MS = 3_000;

export class WalletCreations {
  readonly #ports: ProviderPorts;
  readonly #service: ServiceHost;
  readonly #rows: WalletRows;
  readonly #turns: Turns;
  /** By effective owner and user id. */
  readonly #creating = new Map<string, Promise<Wallet>>();

  constructor(ports: ProviderPorts, service: ServiceHost, rows: WalletRows) {
    this.#ports = ports;
    this.#service = service;
    this.#rows = rows;
    this.#turns = new Turns(ports.clock, KEYGENS_MAX, CREATIONS_QUEUED_MAX);
  }

  get waitingCount(): number {
    return this.#turns.waitingCount;
  }

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
    this.#assertFree(userId, ownerId);
    if (!this.#service.host.isReady) throw notReady(this.#service.host);
    return this.#turns.run(deadline.leftMs(), async () => {
      for (let retry = 0; ; retry++) {
        this.#assertFree(userId, ownerId);
        const made = await this.#attempt({ ownerId, userId, createdAt: this.#ports.clock.wallMs() }, who, deadline);
        if (made instanceof ServiceError) throw made;
        if (made !== null) return made;
        if (retry >= RETRIES_MAX || deadline.leftMs() === 0) throw unavailable();
      }
    });
  }

  /** As `#answerOf`, and whose row of the audit log it is is settled. */
  async #attempt(owner: BackupOwner, who: string, deadline: Deadline): Promise<Wallet | ServiceError | null> {
    const drawn = Buffer.alloc(16);
    this.#ports.random.fill("walletId", drawn);
    const walletId = markedWalletId(drawn);
    const id = walletIdText(walletId);
    const outcome = await this.#service.keygen(walletId, owner, who);
    const answer = await this.#answerOf(id, outcome, deadline);
    const isInDoubt = answer instanceof ServiceError && answer.context["isUnsettled"] === true;
    const isGivenUp = this.#service.creationRows.answered(id, isInDoubt);
    return isInDoubt && isGivenUp ? unavailable(outcome.unwritten) : answer;
  }

  /** Null: a transport failure, and nothing of the attempt is left. */
  async #answerOf(id: string, outcome: SessionOutcome, deadline: Deadline): Promise<Wallet | ServiceError | null> {
    const { rules } = this.#ports;
    if (outcome.end.kind === "done") return this.#acknowledged(id);
    // Decided, or in doubt: what both agree on is the answer, if the caller's time is enough for it.
    const isAgreed = () => this.#service.host.isReady && (this.#service.host.rows.byId(id)?.isSettled ?? true);
    // A store that refuses may do so for hours; what it left in doubt the same request hears of later.
    const waitMs = outcome.unwritten === "STORE_FAILED" ? Math.min(STORE_MS, deadline.leftMs()) : deadline.leftMs();
    const isKnown = await this.#service.waiters.until(isAgreed, waitMs);
    if (isKnown && this.#service.host.rows.byId(id)?.isPlain === true) return this.#acknowledged(id);
    // What C cannot do now it cannot do in a second either, and each try costs both seconds of arithmetic.
    const mayRetry = isTransport(outcome.end) && !isPeerFault(outcome.end);
    if (isKnown && this.#service.host.rows.byId(id) === null && mayRetry) return null;
    const ofPeer = isPeerFault(outcome.end) ? "COSIGNER_FAILED" : null;
    if (this.#service.host.rows.byId(id) !== null) return unsettled(outcome.unwritten ?? ofPeer);
    if (this.#service.hasLost) return new ServiceError("RESTORED_STORE");
    // A cheat in the test signature froze nothing: there is no wallet.
    const isCheat = outcome.end.kind === "failed" && outcome.end.failure.kind === "cheat";
    if (isCheat) return new ServiceError("FAILED_TO_CREATE_WALLET");
    return errorOfEnd(outcome, rules, "FAILED_TO_CREATE_WALLET") ?? unavailable();
  }

  #acknowledged(id: string): Wallet {
    const row = this.#rows.get(id);
    const wallet = row === null ? null : walletOf(row, this.#service.wallet(row.walletId));
    if (wallet === null) throw new ServiceError("INTERNAL", { problem: "custody: wallet without a row" });
    return wallet;
  }

  #assertFree(userId: string, ownerId: string | null): void {
    const row = this.#rows.inTheWay(userId, ownerId);
    if (row !== null && walletOf(row, this.#service.wallet(row.walletId)) !== null) throw this.#exists(row, ownerId);
    // An attempt of before is not settled with C: it may become the wallet, or go.
    if (row !== null) throw unsettled();
    if (this.#service.hasLost) throw new ServiceError("RESTORED_STORE");
  }

  /** Names the wallet to whoever reaches it. */
  #exists(wallet: Pick<Wallet, "walletId" | "ownerId">, ownerId: string | null): ServiceError {
    const isReached = this.#ports.owners.reaches(ownerId, wallet.ownerId);
    return new ServiceError("WALLET_EXISTS", isReached ? { walletId: wallet.walletId } : {});
  }
}
