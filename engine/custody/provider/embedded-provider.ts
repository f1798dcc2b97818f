/**
 * Server wallets whose key two parties hold: this is party S behind the port that the rest of the service knows
 * (wallet-provider.ts). Creation is here; what is signed and refreshed is in wallet-acts.ts.
 */
import { ServiceError } from "../../domain/errors.js";
import type { FailureKind } from "../mpc/base/outcome.js";
import type { RefreshMode } from "../mpc/state/state-row.js";
import type { Verdict } from "../mpc/state/two-phase.js";
import type { HeldWallet } from "./held-wallet.js";
import type { SessionOutcome } from "./live-session.js";
import type { StoredParty } from "./party-store.js";
import type { RestoredWallet } from "./restored-wallet.js";
import { ServiceHost } from "./service-host.js";
import { type ProviderPorts, walletOf } from "./provider-ports.js";
import type { BackupOwner } from "./open-backup.js";
import { WalletActs } from "./wallet-acts.js";
import { WalletCreations } from "./wallet-creations.js";
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
import { WalletRows } from "./wallet-rows.js";

/** What the last meeting of the two parties came to for a wallet. */
interface WalletAgreement {
  readonly walletId: string;
  /** At this side. */
  readonly epoch: number;
  readonly verdict: Verdict;
  /** False: it is still being asked. */
  readonly isSettled: boolean;
}

/** A caller without a key, as the audit log names it. */
const NO_KEY = "local";

export class EmbeddedProvider implements WalletProvider {
  readonly #ports: ProviderPorts;
  readonly #rows: WalletRows;
  readonly #service: ServiceHost;
  readonly #acts: WalletActs;
  readonly #creations: WalletCreations;
  readonly #failed: Record<FailureKind, number> = { transport: 0, refused: 0, violation: 0, cheat: 0, fault: 0 };
  /** The service's store has counted on. */
  readonly tellCount = (): void => this.#service.tellCount();
  /** Whether the co-signer holds the same of each wallet, as far as the two have settled it; null: they have not met. */
  readonly agreement = (): readonly WalletAgreement[] | null => agreementOf(this.#service);
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
    this.#creations = new WalletCreations(ports, this.#service, this.#rows);
  }

  /** Rejects where a row of the store cannot be read. */
  async start(): Promise<void> {
    await this.#rows.load(this.#ports.rows);
    await this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  create(userId: string, ownerId: string | null, who = NO_KEY): Promise<Wallet> {
    return this.#creations.create(userId, ownerId, who);
  }

  find(name: string, ownerId: string | null): Wallet | null {
    const row = this.#rows.find(name, ownerId);
    return row === null ? null : walletOf(row, this.#service.wallet(row.walletId));
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    const wallets: Wallet[] = [];
    for (const row of this.#rows.after(after, ownerId)) {
      const wallet = walletOf(row, this.#service.wallet(row.walletId));
      if (wallet === null) continue;
      if (wallets.length === limit) return { wallets, next: wallets.at(-1)?.walletId ?? null };
      wallets.push(wallet);
    }
    return { wallets, next: null };
  }

  /** Of all owners, for the operator. */
  all(): readonly Wallet[] {
    return [...this.#rows.all()].flatMap((row) => walletOf(row, this.#service.wallet(row.walletId)) ?? []);
  }

  /** UUIDs of wallets that this store lost, for the operator. */
  lost(): readonly string[] {
    return this.#service.lost();
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
      problem: problemOf(this.#service, this.#ports),
      wallets: held.length,
      frozen: held.filter(({ row }) => row?.status === "frozen").length,
      lost: this.#service.lost().length,
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

  /** What S's store has of a wallet, for the plan of a restore; null: nothing. */
  stored(walletId: string): StoredParty | null {
    return this.#service.host.rows.byId(walletId)?.stored() ?? null;
  }

  /** An operator's restore from S's backup. */
  restore(wallet: RestoredWallet, owner: BackupOwner): Promise<void> {
    return this.#service.restore(wallet, owner);
  }

  #known(walletId: string): HeldWallet {
    const wallet = this.#service.wallet(walletId);
    if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
    return wallet;
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

function agreementOf({ host }: ServiceHost): readonly WalletAgreement[] | null {
  if (!host.isReady) return null;
  return [...host.rows.all()].flatMap(({ id, row, verdict, isSettled }) =>
    row === null || row.activeEpoch === 0 ? [] : [{ walletId: id, epoch: row.activeEpoch, verdict, isSettled }],
  );
}

function problemOf({ host }: ServiceHost, { linkProblem }: ProviderPorts): SignerProblem | null {
  if (host.isStopped) return "STOPPED";
  if (!host.rows.isOpen) return "STORE";
  if (host.greeting.problem !== null) return host.greeting.problem;
  if (host.isReady) return null;
  return (host.greeting.isConnected ? null : linkProblem()) ?? "CONNECTING";
}
