/** What a party says of itself to audit, metrics and alerts, and how it counts violations. */
import type { Clock } from "../../domain/clock.js";
import type { Party } from "../mpc/base/parameters.js";
import type { SessionEnd } from "../mpc/sessions/effects.js";
import type { StateRow } from "../mpc/state/state-row.js";
import type { CustodyAlert, CustodyEvent, CustodyEvents } from "./custody-events.js";
import type { HeldWallet } from "./held-wallet.js";
import type { SessionNames } from "./live-session.js";
import type { PartyRows } from "./party-rows.js";
import { NEW_WALLETS, ViolationCount } from "./violation-count.js";

export class PartyReports {
  readonly violations: ViolationCount;
  readonly #party: Party;
  readonly #events: CustodyEvents;
  readonly #rows: PartyRows;

  constructor(party: Party, events: CustodyEvents, clock: Clock, rows: PartyRows) {
    this.violations = new ViolationCount(clock);
    this.#party = party;
    this.#events = events;
    this.#rows = rows;
  }

  emit(event: CustodyEvent): void {
    this.#events.emit(this.#party, event);
  }

  alert(alert: CustodyAlert, walletId: string | null): void {
    this.emit({ kind: "alert", alert, walletId });
  }

  violated(walletId: Uint8Array | null): void {
    const wallet = walletId === null ? null : this.#rows.get(walletId);
    const isKnown = wallet !== null && wallet.row !== null && wallet.row.activeEpoch !== 0;
    const id = isKnown ? wallet.id : null;
    this.emit({ kind: "violation", walletId: id });
    if (this.violations.note(id ?? NEW_WALLETS)) this.alert("VIOLATIONS", id);
  }

  frozen(walletId: string, row: StateRow | null, by: "cheat" | "peer"): void {
    this.emit({ kind: "frozen", walletId, by, atMs: row?.frozenAtMs ?? 0 });
  }

  /** A rule or a late message ends what a session left half done: before the row in memory changes. */
  endedLate(wallet: HeldWallet, row: StateRow): void {
    const { id: walletId, row: former, unconfirmed } = wallet;
    if (former === null) return;
    const isActivated = row.activeEpoch > former.activeEpoch;
    if (isActivated && former.activeEpoch === 0)
      // S has the row of its audit log in the same commit.
      this.emit({ kind: "created", walletId, isAsked: this.#party === 0 });
    else if (isActivated && this.#party === 1)
      this.emit({ kind: "refreshed", walletId, epoch: row.activeEpoch, mode: former.preparedMode, isAsked: false });
    if (former.keptEpoch === 0 || row.keptEpoch !== 0) return;
    const { mode, isAsked } = unconfirmed ?? { mode: null, isAsked: false };
    this.emit({ kind: "refreshed", walletId, epoch: row.activeEpoch, mode, isAsked });
    wallet.unconfirmed = null;
  }

  restored({ id, row }: HeldWallet, isAsked: boolean): void {
    if (row !== null) this.emit({ kind: "restored", walletId: id, epoch: row.activeEpoch, isAsked });
  }

  settled({ id, verdict }: HeldWallet): void {
    if (verdict === "alert") this.alert("TAGS_DIFFER", id);
    else if (verdict !== "settled") this.alert("RESTORED_STORE", id);
  }

  /** `isStoreOpen`: otherwise the store has its own alert, and what comes of it needs none. */
  ended(wallet: HeldWallet, names: SessionNames, end: SessionEnd, isStoreOpen: boolean): void {
    const walletId = wallet.id;
    const { isAsked } = names;
    if (end.kind === "done" && names.kind === "keygen") this.emit({ kind: "created", walletId, isAsked });
    if (end.kind === "done" && names.kind === "refresh")
      this.emit({ kind: "refreshed", walletId, epoch: names.epoch, mode: names.mode ?? 0, isAsked });
    if (end.kind !== "failed") return;
    const { failure } = end;
    if (failure.kind === "violation") this.violated(wallet.walletId);
    if (failure.kind === "fault" && isStoreOpen) this.alert("FAULT", walletId);
    if (failure.kind !== "refused") return;
    this.emit({ kind: "refused", walletId, code: failure.code, rule: failure.detail, isAsked });
    if (failure.code === "DIGEST") this.alert("DIGESTS_DIFFER", walletId);
    if (failure.code === "TAG") this.alert("TAGS_DIFFER", walletId);
  }
}
