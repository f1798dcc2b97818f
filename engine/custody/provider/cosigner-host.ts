/**
 * Party C: what it admits, its policy and its operator's approvals (docs/mpc.md, 5, 8.3, 9, 11). It starts nothing by
 * itself but `State` and `Freeze`.
 */
import type { StateWrite } from "../../storage/state-store.js";
import type { RefusalCode } from "../mpc/base/outcome.js";
import type { Effect } from "../mpc/sessions/effects.js";
import { allowsRefresh } from "../mpc/state/refresh-mode.js";
import type { RefreshMode, StateRow } from "../mpc/state/state-row.js";
import type { Message } from "../mpc/wire/header.js";
import type { AbortBody } from "../mpc/wire/link-bodies.js";
import type { MessageKind } from "../mpc/wire/message-types.js";
import { Approvals } from "./approvals.js";
import type { DayBook } from "./day-book-port.js";
import type { HeldWallet } from "./held-wallet.js";
import { abortMessage, linkMessage, NO_WALLET } from "./host-messages.js";
import { countBody, type CountKeeper, countOfBody } from "./instance-count.js";
import type { LiveSession, SessionNames } from "./live-session.js";
import { PartyHost } from "./party-host.js";
import type { HostPorts, PartyRole } from "./party-ports.js";
import type { StoredParty, StoredShare } from "./party-store.js";
import { type RestoredWallet, restoreWallet } from "./restored-wallet.js";
import type { CosignerRequest } from "./session-runner.js";
import { NEW_WALLETS } from "./violation-count.js";
import { addressBytesOf, addressText } from "./wallet-names.js";

export const SESSIONS_MAX = 32;
export const KEYGENS_MAX = 2;
const WALLETS_MAX = 100_000;
const REFUSED_BUSY: AbortBody = { class: "transport" };

export interface CosignerPorts extends HostPorts<CosignerRequest> {
  readonly dayBook: DayBook;
  readonly counts: CountKeeper;
}

export interface CosignerWallet {
  readonly walletId: string;
  readonly address: string;
  readonly status: StateRow["status"];
  readonly epoch: number;
}

export type ApprovalReport =
  /** The epoch that the refresh makes. */
  | { readonly ok: true; readonly epoch: number }
  /** The state of the wallet does not allow it; null: no such wallet. */
  | { readonly ok: false; readonly status: StateRow["status"] | null };

export class CosignerHost {
  readonly host: PartyHost<CosignerRequest>;
  readonly #dayBook: DayBook;
  readonly #counts: CountKeeper;
  readonly #approvals: Approvals;
  readonly #walletsMax: number;

  constructor(ports: CosignerPorts, walletsMax = WALLETS_MAX) {
    this.#dayBook = ports.dayBook;
    this.#counts = ports.counts;
    this.#approvals = new Approvals(ports.clock);
    this.#walletsMax = walletsMax;
    this.host = new PartyHost(ports, this.#role());
  }

  async start(): Promise<void> {
    await this.host.rows.load();
    this.host.ports.link.listen(this.host);
  }

  stop(): Promise<void> {
    return this.host.stop();
  }

  wallets(): readonly CosignerWallet[] {
    const found: CosignerWallet[] = [];
    for (const { id, row, activeName } of this.host.rows.all())
      if (row !== null && activeName !== null)
        found.push({
          ...{ walletId: id, status: row.status, epoch: row.activeEpoch },
          address: addressText(addressBytesOf(activeName.publicKey)),
        });
    return found;
  }

  /** The operator allows one refresh of this mode: 1 unfreeze, 2 after a restore; ten minutes, once. */
  approve(walletId: string, mode: Exclude<RefreshMode, 0>): ApprovalReport {
    const row = this.host.rows.byId(walletId)?.row ?? null;
    if (row === null || row.activeEpoch === 0) return { ok: false, status: null };
    // A state that does not allow it yet may do so within the ten minutes, for a cause that nobody has looked at. So a
    // wallet that is restored here is unfrozen once this party knows of the freeze. An epoch that is prepared says nothing
    // against it: it is settled with the service before a refresh begins.
    const isAllowed = mode === 1 ? row.status === "frozen" : allowsRefresh({ ...row, stage: "none" }, mode);
    if (!isAllowed) return { ok: false, status: row.status };
    const epoch = row.activeEpoch + 1;
    this.#approvals.open(walletId, mode, epoch);
    return { ok: true, epoch };
  }

  /** What C's store has of a wallet, for the plan of a restore; null: nothing. */
  stored(walletId: string): StoredParty | null {
    return this.host.rows.byId(walletId)?.stored() ?? null;
  }

  /** The amounts of the day count as spent, since they are not known any more. */
  restore(wallet: RestoredWallet): Promise<void> {
    return restoreWallet(this.host, wallet, this.#dayBook.spentOf(wallet.walletId));
  }

  #role(): PartyRole {
    return {
      beside: (wallet, _session, effect) => this.#beside(wallet, effect),
      besideChange: () => [],
      opening: (message, kind) => this.#opening(message, kind),
      counted: (message) => this.#count(message),
      ...{ sessionEnded() {}, unknown() {}, settled() {}, greeted() {}, lost() {} },
    };
  }

  /** A store that takes nothing answers nothing: S signs no transfer without the answer. */
  async #count({ body }: Message): Promise<void> {
    const own = await this.#counts.told(countOfBody(body));
    this.host.ports.link.send(linkMessage(1, "counted", NO_WALLET, 0, countBody(own)));
  }

  #beside(
    { walletId }: HeldWallet,
    effect: Extract<Effect, { kind: "commit" | "unreserve" | "amounts spent" }>,
  ): readonly StateWrite[] {
    if (effect.kind === "amounts spent") return this.#dayBook.spentOf(walletId);
    if (effect.kind === "unreserve") return this.#dayBook.releaseOf(walletId, effect.reservation);
    return effect.reservation === null ? [] : this.#dayBook.writeOf(walletId, effect.reservation);
  }

  async #opening(message: Message, kind: MessageKind): Promise<void> {
    const { walletId, epoch, ctr } = message.header;
    const known = this.host.rows.get(walletId);
    if (known?.session !== null && known?.session !== undefined) {
      // Of a session that runs: twice, late, or the first message of its test signature.
      const { names } = known.session;
      const isOfSession = names.kind === "sign" ? ctr <= names.ctr && kind.name === "f1" : epoch === names.epoch;
      if (isOfSession) return this.host.toSession(known, message, () => this.#open(known, message, kind));
      return this.#refuse(message, REFUSED_BUSY);
    }
    const wallet = known ?? this.host.rows.attempt(walletId);
    await wallet.inTurn(() => this.#open(wallet, message, kind));
    this.host.rows.forgetEmpty(wallet);
  }

  async #open(wallet: HeldWallet, message: Message, kind: MessageKind): Promise<void> {
    const { driver } = this.host;
    if (wallet.session !== null) return this.#refuse(message, REFUSED_BUSY);
    const share = await this.#activeShare(wallet);
    const problem = share === "unreadable" ? { class: "fault" as const } : this.#unfit(wallet, kind);
    if (problem !== null || share === "unreadable") return this.#refuse(message, problem ?? REFUSED_BUSY);
    const { epoch, ctr } = message.header;
    const names: SessionNames = {
      ...{ epoch, ctr, owner: null, isAsked: false },
      ...(kind.name === "f1"
        ? { kind: "sign", mode: null }
        : kind.name === "kg1"
          ? { kind: "keygen", mode: null }
          : { kind: "refresh", mode: modeOf(message) }),
    };
    const isKnown = wallet.row !== null;
    const session = driver.register(wallet, names);
    await driver.start(wallet, session, this.#request(wallet, session, message, isKnown, share));
  }

  /** What a host refuses before there is a session; the rest is the session's own table. */
  #unfit(wallet: HeldWallet, kind: MessageKind): AbortBody | null {
    const { host } = this;
    const isNew = kind.name === "kg1";
    if (host.isStopped) return REFUSED_BUSY;
    if (!host.rows.isOpen) return { class: "fault" };
    if (host.reports.violations.isRefused(isNew ? NEW_WALLETS : wallet.id)) return refusal("RATE");
    if (!host.exchange.isOpen || !wallet.isSettled) return refusal("STATE");
    if (host.driver.sessionCount >= SESSIONS_MAX) return REFUSED_BUSY;
    return isNew && host.driver.keygenCount >= KEYGENS_MAX ? REFUSED_BUSY : null;
  }

  #request(
    wallet: HeldWallet,
    session: LiveSession,
    message: Message,
    isKnown: boolean,
    share: StoredShare | null,
  ): CosignerRequest {
    const { walletId, row } = wallet;
    if (session.names.kind === "keygen") {
      // The attempt itself is in the count.
      const hasRoom = this.host.rows.count <= this.#walletsMax;
      const admission = { walletId, isKnown, hasRoom, isBlocked: this.#isBlocked, busy: false };
      return { kind: "keygen", message, admission };
    }
    const held = row === null || share === null ? null : { row, share };
    if (session.names.kind === "refresh") {
      const useApproval = (mode: RefreshMode, epoch: number) => this.#approvals.use(wallet.id, mode, epoch);
      return { kind: "refresh", message, held, useApproval };
    }
    const address = share === null ? new Uint8Array(20) : addressBytesOf(share.publicKey);
    return { kind: "sign", message, held, intents: this.#dayBook.reader(walletId, address) };
  }

  async #activeShare(wallet: HeldWallet): Promise<StoredShare | null | "unreadable"> {
    const epoch = wallet.row?.activeEpoch ?? 0;
    if (epoch === 0) return null;
    try {
      return await this.host.rows.share(wallet, epoch);
    } catch {
      this.host.reports.alert("FAULT", wallet.id);
      return "unreadable";
    }
  }

  /** A wallet that S lost would get a second one, since its user is not known there. */
  get #isBlocked(): boolean {
    if (!this.host.exchange.isAllAnswered) return true;
    for (const { verdict } of this.host.rows.all()) if (verdict === "restore service") return true;
    return false;
  }

  async #refuse({ header }: Message, abort: AbortBody): Promise<void> {
    const { walletId, epoch, ctr } = header;
    if (abort.class === "refused")
      this.host.reports.emit({
        ...{ kind: "refused", code: abort.code, rule: abort.detail, isAsked: false },
        walletId: this.host.rows.get(walletId)?.id ?? "",
      });
    this.host.ports.link.send(abortMessage(1, { walletId, epoch, ctr }, abort));
  }
}

function refusal(code: RefusalCode): AbortBody {
  return { class: "refused", code, detail: 0 };
}

/** The last byte of RF1; what it may be is the session's to judge. */
function modeOf({ body }: Message): RefreshMode | null {
  const mode = body.at(-1);
  return mode === 0 || mode === 1 || mode === 2 ? mode : null;
}
