/**
 * Party S: begins sessions once the parties have met and agreed, and keeps the wallet's own row in their commits
 * (docs/mpc.md, 5.3, 8, 9, 11). Queues and retries are above (wallet-acts.ts).
 */
import { ServiceError } from "../../domain/errors.js";
import type { StateWrite } from "../../storage/state-store.js";
import { isRefreshDue } from "../mpc/state/abort-count.js";
import { allowsRefresh } from "../mpc/state/refresh-mode.js";
import type { RefreshMode } from "../mpc/state/state-row.js";
import { CreationRows } from "./creation-rows.js";
import type { HeldWallet } from "./held-wallet.js";
import { linkMessage, NO_WALLET } from "./host-messages.js";
import { countBody, countOfBody } from "./instance-count.js";
import type { LiveSession, SessionNames, SessionOutcome } from "./live-session.js";
import { droppedWrite, LostWallets, undroppedWrite } from "./lost-wallets.js";
import { PartyHost } from "./party-host.js";
import type { PartyRole } from "./party-ports.js";
import type { StoredShare } from "./party-store.js";
import { type RestoredWallet, restoreWallet } from "./restored-wallet.js";
import { unavailable } from "./session-outcomes.js";
import type { BackupOwner } from "./open-backup.js";
import type { ProviderPorts } from "./provider-ports.js";
import type { ServiceRequest } from "./session-runner.js";
import { NEW_WALLETS } from "./violation-count.js";
import { Waiters } from "./waiters.js";
import { addressBytesOf, addressText, walletIdText } from "./wallet-names.js";
import type { WalletRows } from "./wallet-rows.js";

export interface ServiceListener {
  sessionEnded(wallet: HeldWallet, outcome: SessionOutcome): void;
  /** A wallet is settled with C, or all are. */
  settled(wallet: HeldWallet | null): void;
  lost(): void;
}

type ServicePorts = Omit<ProviderPorts, "owners" | "intents" | "rules" | "random" | "linkProblem">;

export class ServiceHost {
  readonly host: PartyHost<ServiceRequest>;
  readonly #ports: ServicePorts;
  readonly #walletRows: WalletRows;
  readonly #listener: ServiceListener;
  readonly #lost = new LostWallets();
  readonly waiters: Waiters;
  readonly creationRows: CreationRows;
  /** Without effect where the two have not met: they tell each other when they do. */
  readonly tellCount = (): void => {
    if (!this.host.greeting.isGreeted) return;
    const { instance, link } = this.#ports;
    link.send(linkMessage(0, "count", NO_WALLET, 0, countBody(instance.toTell)));
  };

  constructor(ports: ServicePorts, walletRows: WalletRows, listener: ServiceListener) {
    this.#ports = ports;
    this.#walletRows = walletRows;
    this.creationRows = new CreationRows(ports.creationWrites);
    this.#listener = listener;
    this.waiters = new Waiters(ports.clock);
    this.host = new PartyHost(ports, this.#role());
  }

  /** Wallet rows are loaded before. Rejects where a wallet has a share and no owner. */
  async start(): Promise<void> {
    await this.host.rows.load();
    for (const { id } of this.host.rows.all())
      if (this.#walletRows.get(id) === null)
        throw new ServiceError("INTERNAL", { problem: `custody: wallet ${id} has no owner` });
    const { backedUp, rows } = this.#ports;
    await this.#lost.look(await backedUp(), (id) => this.host.rows.byId(id) !== null, rows);
    if (this.#lost.isAny) this.host.reports.alert("RESTORED_STORE", null);
    this.host.ports.link.listen(this.host);
  }

  /** This store lost a wallet, so that no other is made. */
  get hasLost(): boolean {
    return this.#lost.isAny;
  }

  lost(): readonly string[] {
    return this.#lost.all();
  }

  /** The wallet, where sessions of it may be thought of; null: there is none that was ever active. */
  wallet(id: string): HeldWallet | null {
    const wallet = this.host.rows.byId(id);
    return wallet?.row === null || wallet?.row.activeEpoch === 0 ? null : wallet;
  }

  /** Whoever calls it says by `creationRows.answered` when nobody waits for the wallet any more. */
  async keygen(walletId: Uint8Array, owner: BackupOwner, who: string): Promise<SessionOutcome> {
    if (!this.host.isReady || this.host.reports.violations.isRefused(NEW_WALLETS)) throw notReady(this.host);
    if (this.hasLost) throw new ServiceError("RESTORED_STORE");
    const wallet = this.host.rows.attempt(walletId);
    this.creationRows.begun(wallet.id, who);
    const names: SessionNames = { kind: "keygen", epoch: 1, ctr: 0n, mode: null, owner, isAsked: true };
    return this.#begun(wallet, () => this.#started(wallet, names, { kind: "keygen", walletId, owner }));
  }

  async sign(wallet: HeldWallet, intent: Uint8Array, digest: Uint8Array): Promise<SessionOutcome> {
    return this.#begun(wallet, async () => {
      this.assertSigns(wallet);
      const { row, share } = await this.#active(wallet);
      this.assertSigns(wallet);
      const { walletId } = wallet;
      const names: SessionNames = {
        ...{ kind: "sign", epoch: share.epoch, ctr: row.ctr + 1n, mode: null, owner: null, isAsked: true },
      };
      return this.#started(wallet, names, { kind: "sign", walletId, row, share, intent, digest });
    });
  }

  /** `isAsked`: an operator waits for it. */
  async refresh(wallet: HeldWallet, mode: RefreshMode, isAsked: boolean): Promise<SessionOutcome> {
    return this.#begun(wallet, async () => {
      this.#assertRefreshes(wallet, mode);
      const { row, share } = await this.#active(wallet);
      this.#assertRefreshes(wallet, mode);
      const { walletId } = wallet;
      const owner = this.#walletRows.get(wallet.id);
      if (owner === null) throw new ServiceError("INTERNAL", { problem: "custody: wallet without owner" });
      const { ownerId, userId, createdAt } = owner;
      const named = { ownerId, userId, createdAt };
      const names: SessionNames = {
        ...{ kind: "refresh", epoch: row.activeEpoch + 1, ctr: 0n, mode, owner: named, isAsked },
      };
      return this.#started(wallet, names, { kind: "refresh", walletId, row, mode, share, owner: named });
    });
  }

  /** Throws what a caller gets where the wallet signs nothing now. */
  assertSigns(wallet: HeldWallet): void {
    const { row } = wallet;
    if (row?.status === "frozen") throw new ServiceError("WALLET_FROZEN");
    if (wallet.verdict !== "settled" || row?.status === "restored") throw new ServiceError("RESTORED_STORE");
    const isDue = row === null || row.status !== "active" || row.stage !== "none" || isRefreshDue(row);
    if (isDue || !this.#mayBegin(wallet)) throw notReady(this.host);
  }

  /** With its owner, which the backup has. */
  async restore(wallet: RestoredWallet, owner: BackupOwner): Promise<void> {
    const walletId = walletIdText(wallet.walletId);
    const address = addressText(addressBytesOf(wallet.share.publicKey));
    const known = this.#walletRows.get(walletId);
    const beside = known === null ? [this.#walletRows.put({ walletId, address, ...owner })] : [];
    try {
      await restoreWallet(this.host, wallet, [...beside, undroppedWrite(walletId)]);
    } catch (error) {
      // What the store has not taken yet is there, and owed.
      if (this.host.rows.byId(walletId)?.row != null) this.#lost.restored(walletId);
      else if (known === null) this.#walletRows.remove(walletId);
      throw error;
    }
    this.#lost.restored(walletId);
  }

  async stop(): Promise<void> {
    await this.host.stop();
    this.waiters.wake();
  }

  #mayBegin(wallet: HeldWallet): boolean {
    const { isReady, reports } = this.host;
    return isReady && wallet.isSettled && wallet.session === null && !reports.violations.isRefused(wallet.id);
  }

  #assertRefreshes(wallet: HeldWallet, mode: RefreshMode): void {
    const { row, verdict } = wallet;
    if (row === null || !allowsRefresh(row, mode)) {
      if (row?.status === "frozen") throw new ServiceError("WALLET_FROZEN");
      throw new ServiceError("INVALID_PARAMETERS", { problem: "the state of the wallet does not allow this" });
    }
    if (verdict !== "settled") throw new ServiceError("RESTORED_STORE");
    if (!this.#mayBegin(wallet)) throw notReady(this.host);
  }

  async #active(wallet: HeldWallet) {
    const { row } = wallet;
    const unreadable = (error: unknown): StoredShare | null => {
      const isLate = error instanceof ServiceError && error.context["reason"] === "TIMEOUT";
      this.host.reports.alert(isLate ? "STORE_FAILED" : "FAULT", wallet.id);
      if (isLate) throw unavailable("STORE_FAILED");
      return null;
    };
    const share = row === null ? null : await this.host.rows.share(wallet, row.activeEpoch).catch(unreadable);
    if (row === null || share === null) throw new ServiceError("FAILED_TO_SIGN");
    return { row, share };
  }

  /** The outcome is waited for outside of the wallet's turn, which the session's messages need. */
  async #begun(wallet: HeldWallet, begin: () => Promise<LiveSession>): Promise<SessionOutcome> {
    const session = await wallet.inTurn(begin);
    const outcome = await session.outcome;
    await outcome.told;
    return outcome;
  }

  async #started(wallet: HeldWallet, names: SessionNames, request: ServiceRequest): Promise<LiveSession> {
    const session = this.host.driver.register(wallet, names);
    await this.host.driver.start(wallet, session, request);
    return session;
  }

  /** An attempt that comes to nothing; its backup may be there. */
  #role(): PartyRole {
    return {
      beside: (wallet, { names: { owner, kind } }, effect) => {
        if (effect.kind !== "commit") return [];
        if (effect.row === null) return gone(this.#walletRows, wallet);
        if (kind === "keygen" && effect.row.activeEpoch !== 0) return this.creationRows.made(wallet.id);
        if (kind !== "keygen" || effect.put === null || owner === null) return [];
        const address = addressText(addressBytesOf(effect.put.publicKey));
        return [this.#walletRows.put({ walletId: wallet.id, address, ...owner })];
      },
      besideChange: (wallet, { row }) => {
        const isAttempt = wallet.row !== null && wallet.row.activeEpoch === 0;
        if (row === null)
          return [...gone(this.#walletRows, wallet), ...(isAttempt ? this.creationRows.givenUp(wallet.id) : [])];
        return isAttempt && row.activeEpoch !== 0 ? this.creationRows.made(wallet.id) : [];
      },
      opening: async () => {},
      sessionEnded: (wallet, _session, outcome) => {
        this.#listener.sessionEnded(wallet, outcome);
        this.waiters.wake();
      },
      unknown: (walletId, { active }) => {
        if (active === null) return;
        this.#lost.toldByPeer(walletIdText(walletId));
        this.host.reports.alert("RESTORED_STORE", walletIdText(walletId));
      },
      settled: (wallet) => {
        this.#listener.settled(wallet);
        this.waiters.wake();
      },
      greeted: () => {
        this.#lost.greeted();
        this.#ports.instance.met();
        this.tellCount();
      },
      counted: async ({ body }) => this.#ports.instance.heard(countOfBody(body)),
      lost: () => {
        this.#listener.lost();
        this.waiters.wake();
      },
    };
  }
}

/** For the commit that drops an attempt. */
function gone(rows: WalletRows, { id }: HeldWallet): readonly StateWrite[] {
  return [rows.remove(id), droppedWrite(id)];
}

export function needsRefresh({ row }: HeldWallet): boolean {
  return row !== null && allowsRefresh(row, 0) && (row.status === "refreshDue" || isRefreshDue(row));
}

/** What a caller gets while no session may begin. */
export function notReady({ rows }: Pick<PartyHost<ServiceRequest>, "rows">): ServiceError {
  return unavailable(rows.isOpen ? null : "STORE_FAILED");
}
