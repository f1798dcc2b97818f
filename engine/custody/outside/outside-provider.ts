/**
 * Server wallets whose keys an outside signer holds, behind the port that the rest of the service knows
 * (wallet-provider.ts). Its contract is docs/outside-signer.md; what it hands over is checked before it is used.
 */
import type { TimerHandle } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type {
  SignerProblem,
  SigningOrigin,
  SigningRequest,
  Wallet,
  WalletPage,
  WalletProvider,
  WalletProviderStatus,
  WalletSignature,
} from "../provider/wallet-provider.js";
import { CALL_MS } from "./follow-request.js";
import { unavailable } from "./outcomes.js";
import { OutsideCreations } from "./outside-creations.js";
import { OutsideCounts, type OutsidePorts } from "./outside-ports.js";
import { OutsideSignatures } from "./outside-signatures.js";
import type { OutsideReply } from "./outside-signer.js";
import { OutsideRequestBook } from "./request-book.js";
import { RequestIds } from "./request-ids.js";
import { OutsideWalletBook } from "./wallet-book.js";

const PROBE_MS = 15_000;
const SWEEP_MS = 3_600_000;
/** Signers keep what they ended for at least a day, as Idempotency-Keys are kept here; a little longer leaves no gap. */
export const ENDED_KEPT_MS = 2 * 86_400_000;
/** A signer ends by itself what its people left for 30 days. */
export const OPEN_KEPT_MS = 31 * 86_400_000;

export class OutsideProvider implements WalletProvider {
  readonly #ports: OutsidePorts;
  readonly #wallets: OutsideWalletBook;
  readonly #requests: OutsideRequestBook;
  readonly #signatures: OutsideSignatures;
  readonly #creations: OutsideCreations;
  readonly #ids: RequestIds;
  readonly #counts = new OutsideCounts();
  readonly #timers = new Map<string, TimerHandle>();
  #problem: SignerProblem | null = "CONNECTING";
  #isStopped = false;

  constructor(ports: OutsidePorts) {
    this.#ports = ports;
    this.#wallets = new OutsideWalletBook(ports.store, ports.owners);
    this.#requests = new OutsideRequestBook(ports.store);
    this.#ids = new RequestIds(ports.hash);
    const heard = (reply: OutsideReply): void => this.#heard(reply);
    this.#signatures = new OutsideSignatures(ports, this.#requests, this.#ids, this.#counts, heard);
    this.#creations = new OutsideCreations(ports, this.#wallets, this.#ids, this.#signatures, this.#counts, heard);
  }

  /** Rejects where a row of the store cannot be read. A signer that is away keeps nobody from starting. */
  async start(): Promise<void> {
    await this.#wallets.load();
    await this.#requests.load();
    await this.#probe();
    this.#every("sweep", SWEEP_MS, () => this.sweep());
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers.values()) this.#ports.clock.clearTimer(timer);
    this.#timers.clear();
  }

  async create(userId: string, ownerId: string | null, who: string): Promise<Wallet> {
    if (this.#isStopped) throw unavailable(null);
    return this.#creations.create(userId, ownerId, who);
  }

  find(name: string, ownerId: string | null): Wallet | null {
    return this.#wallets.find(name, ownerId);
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    return this.#wallets.list(ownerId, after, limit);
  }

  all(): readonly Wallet[] {
    return [...this.#wallets.all()];
  }

  async sign(walletId: string, origin: SigningOrigin, request: SigningRequest): Promise<WalletSignature> {
    if (this.#isStopped) throw unavailable(null);
    const row = this.#wallets.get(walletId);
    if (row === null || row.state !== "ACTIVE" || row.made === null) throw new ServiceError("WALLET_NOT_FOUND");
    return this.#signatures.sign({ ...row.made, walletId }, origin, request);
  }

  status(): WalletProviderStatus {
    return {
      problem: this.#isStopped ? "STOPPED" : this.#problem,
      wallets: this.#wallets.activeCount,
      ...{ frozen: 0, lost: 0 },
      sessions: {
        ...{ signed: this.#counts.signed, failed: { ...this.#counts.failed }, dropped: 0 },
        queued: this.#requests.openCount + this.#wallets.underWayCount,
      },
    };
  }

  /** Rows of requests that nobody asks for any more: what the signer ended is ended here, and goes later. */
  async sweep(): Promise<void> {
    const { clock, signer } = this.#ports;
    const nowMs = clock.wallMs();
    for (const { place, row } of this.#requests.openSince(nowMs - ENDED_KEPT_MS)) {
      if (this.#isStopped) return;
      const requestId = this.#ids.signature(place.walletId, place.origin, place.digest, row.round);
      const reply = await signer.look({ kind: "signature", requestId }, CALL_MS);
      this.#heard(reply);
      const end = endOf(reply) ?? (row.atMs < nowMs - OPEN_KEPT_MS ? "ENDED" : null);
      // Asked for again meanwhile, it is in that ask's hands.
      const isSame = (await this.#requests.get(place)) === row;
      if (end !== null && isSame) await this.#requests.put(place, { ...row, state: end, atMs: clock.wallMs() });
    }
    await this.#requests.removeEnded(nowMs - ENDED_KEPT_MS);
  }

  async #probe(): Promise<void> {
    const problem = await this.#ports.signer.health(CALL_MS);
    this.#problem = problem;
    this.#later("probe", PROBE_MS, () => this.#probe());
  }

  #heard(reply: OutsideReply): void {
    if (reply.kind === "unknown" || reply.kind === "notTaken") this.#problem = reply.problem;
    else if (reply.kind !== "rejected") this.#problem = null;
  }

  #every(name: string, ms: number, act: () => Promise<void>): void {
    this.#later(name, ms, async () => {
      try {
        await act();
      } catch (error) {
        const errorName = error instanceof Error ? error.name : "unknown";
        this.#ports.logger.warn("outside_signer.sweep_failed", { errorName });
      }
      this.#every(name, ms, act);
    });
  }

  #later(name: string, ms: number, act: () => Promise<void>): void {
    if (!this.#isStopped)
      this.#timers.set(
        name,
        this.#ports.clock.setTimer(() => void act(), ms),
      );
  }
}

function endOf(reply: OutsideReply): "SIGNED" | "ENDED" | null {
  if (reply.kind === "absent") return "ENDED";
  if (reply.kind !== "standing") return null;
  const { state } = reply.standing;
  if (state === "DONE") return "SIGNED";
  return state === "REFUSED" || state === "FAILED" ? "ENDED" : null;
}
