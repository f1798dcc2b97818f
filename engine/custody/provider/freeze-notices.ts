/**
 * `Freeze` and `Frozen` (docs/mpc.md, section 10): a freeze is durable before its notice leaves, and the caller waits for
 * the peer's answer for 2 s. A notice of the peer is obeyed without a reason, and answered once it is durable.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { Party } from "../mpc/base/parameters.js";
import { onFreezeNotice } from "../mpc/state/freeze.js";
import type { Message } from "../mpc/wire/header.js";
import type { HeldWallet } from "./held-wallet.js";
import { linkMessage } from "./host-messages.js";
import type { PartyRows } from "./party-rows.js";

const ANSWER_MS = 2_000;
const NOTICES_MAX = 3;
const NOTICES_NS = 60_000 * 1e6;
const NO_BODY = new Uint8Array(0);

interface Waiting {
  readonly timer: TimerHandle;
  readonly told: () => void;
}

export interface FreezePorts {
  readonly party: Party;
  readonly rows: PartyRows;
  readonly clock: Clock;
  send(message: Message): void;
}

/** What a notice came to. `refused`: it names another epoch, a violation. */
export type NoticeResult = "frozen" | "frozen already" | "refused" | "owed";

export class FreezeNotices {
  readonly #ports: FreezePorts;
  readonly #waiting = new Map<string, Waiting>();
  #noticesNs: number[] = [];

  constructor(ports: FreezePorts) {
    this.#ports = ports;
  }

  /** The freeze is durable. Resolves at the peer's answer, or after 2 s. */
  tell(wallet: HeldWallet): Promise<void> {
    const { party, clock } = this.#ports;
    this.answered(wallet.id);
    const told = new Promise<void>((resolve) => {
      const timer = clock.setTimer(() => this.answered(wallet.id), ANSWER_MS);
      this.#waiting.set(wallet.id, { timer, told: resolve });
    });
    this.#ports.send(linkMessage(party, "freeze", wallet.walletId, wallet.row?.activeEpoch ?? 0, NO_BODY));
    return told;
  }

  /** `Frozen` came, or nothing did. False: nobody waits for it. */
  answered(walletId: string): boolean {
    const waiting = this.#waiting.get(walletId);
    if (waiting === undefined) return false;
    this.#waiting.delete(walletId);
    this.#ports.clock.clearTimer(waiting.timer);
    waiting.told();
    return true;
  }

  /** In the wallet's turn; its session has ended. */
  async noticed(wallet: HeldWallet, epoch: number): Promise<NoticeResult> {
    const { party, rows, clock } = this.#ports;
    if (wallet.row === null) return "refused";
    const notice = onFreezeNotice(party, wallet.row, epoch, clock.wallMs());
    if (notice.verdict === "violation") return "refused";
    const wasFrozen = wallet.row.status === "frozen";
    if (notice.verdict === "freeze" && !(await rows.write(wallet, notice.change))) return "owed";
    if (notice.verdict === "frozen already" && wallet.debt !== null) return "owed";
    this.#ports.send(linkMessage(party, "frozen", wallet.walletId, epoch, NO_BODY));
    return wasFrozen ? "frozen already" : "frozen";
  }

  /** Counts a notice; true: it is the first one above three in a minute. */
  isTooMany(): boolean {
    const nowNs = this.#ports.clock.monoNs();
    this.#noticesNs = [...this.#noticesNs.filter((atNs) => nowNs - atNs < NOTICES_NS), nowNs];
    return this.#noticesNs.length === NOTICES_MAX + 1;
  }

  stop(): void {
    for (const walletId of [...this.#waiting.keys()]) this.answered(walletId);
  }
}
