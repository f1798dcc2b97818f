/**
 * Server wallets whose key two parties hold: this is party S behind the port that the rest of the service knows
 * (wallet-provider.ts). Creation is here; what is signed and refreshed is in wallet-acts.ts.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { FailureKind } from "../mpc/base/outcome.js";
import type { RefreshMode } from "../mpc/state/state-row.js";
import type { HeldWallet } from "./held-wallet.js";
import type { SessionOutcome } from "./live-session.js";
import type { RestoredWallet } from "./restored-wallet.js";
import { ServiceHost } from "./service-host.js";
import { type ProviderPorts, walletOf } from "./provider-ports.js";
import { errorOfEnd, isTransport, unavailable } from "./session-outcomes.js";
import { Turns } from "./session-queue.js";
import type { BackupOwner } from "./session-runner.js";
import { RETRIES_MAX, WalletActs } from "./wallet-acts.js";
import { markedWalletId, walletIdText } from "./wallet-names.js";
import type {
  SignerProblem,
  SigningOrigin,
  SigningRequest,
  Wallet,
  WalletPage,
  WalletProvider,
  WalletProviderStatus,
  WalletSignature,
} from "./wallet-provider.js";
import { type WalletRow, WalletRows } from "./wallet-rows.js";

export const KEYGENS_MAX = 2;
export const CREATIONS_QUEUED_MAX = 16;
/** Of a creation with its place in the queue. */
export const CREATE_MS = 60_000;

export class EmbeddedProvider implements WalletProvider {
  readonly #ports: ProviderPorts;
  readonly #rows: WalletRows;
  readonly #service: ServiceHost;
  readonly #acts: WalletActs;
  readonly #creations: Turns;
  /** By effective owner and user id. */
  readonly #creating = new Map<string, Promise<Wallet>>();
  readonly #failed: Record<FailureKind, number> = { transport: 0, refused: 0, violation: 0, cheat: 0, fault: 0 };
  #signedCount = 0;
  #wasReady = false;

  constructor(ports: ProviderPorts) {
    this.#ports = ports;
    this.#rows = new WalletRows(ports.owners);
    this.#service = new ServiceHost(ports, this.#rows, {
      sessionEnded: (wallet, outcome) => this.#sessionEnded(wallet, outcome),
      settled: (wallet) => this.#settled(wallet),
      lost: () => {
        this.#wasReady = false;
      },
    });
    this.#acts = new WalletActs(this.#service, ports.clock, ports.rules);
    this.#creations = new Turns(ports.clock, KEYGENS_MAX, CREATIONS_QUEUED_MAX);
  }

  /** Rejects where a row of the store cannot be read. */
  async start(): Promise<void> {
    await this.#rows.load(this.#ports.rows);
    await this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  async create(userId: string, ownerId: string | null): Promise<Wallet> {
    const key = `${this.#ports.owners.effectiveOwner(ownerId)}\0${userId}`;
    const running = this.#creating.get(key);
    if (running !== undefined) throw exists((await running).walletId);
    const creation = this.#create(userId, ownerId);
    this.#creating.set(key, creation);
    try {
      return await creation;
    } finally {
      this.#creating.delete(key);
    }
  }

  find(name: string, ownerId: string | null): Wallet | null {
    const row = this.#rows.find(name, ownerId);
    return row === null ? null : this.#walletOf(row);
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    const wallets: Wallet[] = [];
    for (const row of this.#rows.after(after, ownerId)) {
      const wallet = this.#walletOf(row);
      if (wallet === null) continue;
      if (wallets.length === limit) return { wallets, next: wallets.at(-1)?.walletId ?? null };
      wallets.push(wallet);
    }
    return { wallets, next: null };
  }

  async sign(walletId: string, origin: SigningOrigin, request: SigningRequest): Promise<WalletSignature> {
    const wallet = this.#known(walletId);
    const { intent, digest } = this.#ports.intents.encode(origin, request);
    const { bytes, recoveryId } = await this.#acts.sign(wallet, intent, digest);
    const signature = Buffer.concat([bytes, Uint8Array.of(27 + recoveryId)]);
    return { signature: `0x${signature.toString("hex")}`, digest: `0x${Buffer.from(digest).toString("hex")}` };
  }

  status(): WalletProviderStatus {
    const held = [...this.#service.host.rows.all()].filter(({ row }) => row !== null && row.activeEpoch !== 0);
    return {
      problem: this.#problem(),
      wallets: held.length,
      frozen: held.filter(({ row }) => row?.status === "frozen").length,
      lost: this.#service.lostCount,
      sessions: {
        ...{ signed: this.#signedCount, failed: { ...this.#failed }, dropped: this.#service.host.droppedCount },
        queued: this.#acts.queuedCount + this.#creations.waitingCount,
      },
    };
  }

  /** An operator's refresh: 0 routine, 1 unfreeze, 2 after a restore. Returns the epoch that is active then. */
  refresh(walletId: string, mode: RefreshMode): Promise<number> {
    return this.#acts.refresh(this.#known(walletId), mode);
  }

  /** An operator's restore from S's backup. */
  restore(wallet: RestoredWallet, owner: BackupOwner): Promise<void> {
    return this.#service.restore(wallet, owner);
  }

  async #create(userId: string, ownerId: string | null): Promise<Wallet> {
    const deadline = new Deadline(this.#ports.clock, CREATE_MS);
    this.#assertFree(userId, ownerId);
    if (!this.#service.host.isReady) throw unavailable();
    return this.#creations.run(deadline.leftMs(), async () => {
      for (let retry = 0; ; retry++) {
        this.#assertFree(userId, ownerId);
        const made = await this.#attempt({ ownerId, userId, createdAt: this.#ports.clock.wallMs() }, deadline);
        if (made instanceof ServiceError) throw made;
        if (made !== null) return made;
        if (retry >= RETRIES_MAX || deadline.leftMs() === 0) throw unavailable();
      }
    });
  }

  /** Null: a transport failure, and nothing of the attempt is left. */
  async #attempt(owner: BackupOwner, deadline: Deadline): Promise<Wallet | ServiceError | null> {
    const { random, rules } = this.#ports;
    const drawn = Buffer.alloc(16);
    random.fill("walletId", drawn);
    const walletId = markedWalletId(drawn);
    const id = walletIdText(walletId);
    const outcome = await this.#service.keygen(walletId, owner);
    if (outcome.end.kind === "done") return this.#acknowledged(id);
    // Decided, or in doubt: what both agree on is the answer, if the caller's time is enough for it.
    const isAgreed = () => this.#service.host.isReady && (this.#held(id)?.isSettled ?? true);
    const isKnown = await this.#service.whenReady(isAgreed, deadline.leftMs());
    if (isKnown && this.#held(id)?.isPlain === true) return this.#acknowledged(id);
    if (isKnown && this.#held(id) === null && isTransport(outcome.end)) return null;
    if (this.#service.lostCount > 0) return new ServiceError("RESTORED_STORE");
    // A cheat in the test signature froze nothing: there is no wallet.
    const isCheat = outcome.end.kind === "failed" && outcome.end.failure.kind === "cheat";
    if (isCheat) return new ServiceError("FAILED_TO_SIGN");
    return errorOfEnd(outcome.end, rules, !this.#service.host.rows.isOpen) ?? unavailable();
  }

  #acknowledged(id: string): Wallet {
    const row = this.#rows.get(id);
    const wallet = row === null ? null : this.#walletOf(row);
    if (wallet === null) throw new ServiceError("INTERNAL", { problem: "custody: wallet without a row" });
    return wallet;
  }

  #assertFree(userId: string, ownerId: string | null): void {
    const row = this.#rows.ofUser(userId, ownerId);
    if (row !== null && this.#walletOf(row) !== null) throw exists(row.walletId);
    // An attempt of before is not settled with C: it may become the wallet, or go.
    if (row !== null) throw unavailable();
    if (this.#service.lostCount > 0) throw new ServiceError("RESTORED_STORE");
  }

  #known(walletId: string): HeldWallet {
    const wallet = this.#service.wallet(walletId);
    if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
    return wallet;
  }

  #held(id: string): HeldWallet | null {
    return this.#service.host.rows.byId(id);
  }

  #walletOf(row: WalletRow): Wallet | null {
    return walletOf(row, this.#service.wallet(row.walletId));
  }

  #problem(): SignerProblem | null {
    const { host } = this.#service;
    if (host.isStopped) return "STOPPED";
    if (!host.rows.isOpen) return "STORE";
    if (host.greeting.problem !== null) return host.greeting.problem;
    if (host.isReady) return null;
    return (host.greeting.isConnected ? null : this.#ports.linkProblem()) ?? "CONNECTING";
  }

  #sessionEnded(wallet: HeldWallet, { end, signature }: SessionOutcome): void {
    if (signature !== null) this.#signedCount++;
    if (end.kind === "failed") this.#failed[end.failure.kind]++;
    this.#acts.refreshIfDue(wallet);
  }

  #settled(wallet: HeldWallet | null): void {
    const { isReady, rows } = this.#service.host;
    // The last of the first answers lets all begin that are due.
    const hasOpened = isReady && !this.#wasReady;
    this.#wasReady = isReady;
    if (hasOpened) for (const each of rows.all()) this.#acts.refreshIfDue(each);
    else if (wallet !== null) this.#acts.refreshIfDue(wallet);
  }
}

function exists(walletId: string): ServiceError {
  return new ServiceError("WALLET_EXISTS", { walletId });
}
