/**
 * What both parties do alike: greet, settle with the peer what is in doubt, carry messages to the session that they
 * belong to, obey freeze notices, count violations, stop in order. What only S or only C does is behind `PartyRole`.
 *
 * Invariant: a wallet is changed in its own turn alone, one task after the other (held-wallet.ts).
 */
import { failureOf } from "../mpc/base/outcome.js";
import type { SessionEnd } from "../mpc/sessions/effects.js";
import type { RowChange } from "../mpc/state/two-phase.js";
import { type Message, namesNoSession, sameBytes } from "../mpc/wire/header.js";
import { kindOfType, type MessageKind } from "../mpc/wire/message-types.js";
import { FreezeNotices } from "./freeze-notices.js";
import type { HeldWallet } from "./held-wallet.js";
import { Greeting, helloBody, inventoryOf } from "./hello.js";
import { linkMessage, NO_WALLET } from "./host-messages.js";
import type { LiveSession, SessionOutcome } from "./live-session.js";
import { lateActivation } from "./late-activation.js";
import type { LinkListener } from "./party-link.js";
import type { HostPorts, PartyRole } from "./party-ports.js";
import { PartyReports } from "./party-reports.js";
import { PartyRows, type RowWrite } from "./party-rows.js";
import type { StoredShare } from "./party-store.js";
import { type DriverHooks, SessionDriver } from "./session-driver.js";
import { StateExchange } from "./state-exchange.js";
import { walletIdText } from "./wallet-names.js";

/** Longer than any flight may take. */
const SILENT_MS = 15_000;

export class PartyHost<Request> implements LinkListener {
  readonly rows: PartyRows;
  readonly driver: SessionDriver<Request>;
  readonly exchange: StateExchange;
  readonly freezes: FreezeNotices;
  readonly reports: PartyReports;
  readonly greeting: Greeting;
  readonly ports: HostPorts<Request>;
  readonly #role: PartyRole;
  #isStopped = false;
  #lastFrameNs = Number.NEGATIVE_INFINITY;
  #droppedCount = 0;
  readonly malformed = (walletId: Uint8Array | null): void => this.reports.violated(walletId);
  readonly #dropped = (): void => {
    this.#droppedCount++;
  };

  constructor(ports: HostPorts<Request>, role: PartyRole) {
    const { clock, link, identity, runner, backups } = ports;
    const { party } = identity;
    const send = (message: Message): void => link.send(message);
    this.ports = ports;
    this.#role = role;
    this.greeting = new Greeting(identity);
    this.rows = new PartyRows(ports.store, clock, {
      closed: () => {
        this.reports.alert("STORE_FAILED", null);
        void this.driver.endAll("store failed");
      },
      healed: (wallet) => {
        if (wallet.owesNotice) void this.#frozenHere(wallet);
        if (wallet.owesRestore) this.reports.restored(wallet, false);
        wallet.owesRestore = false;
        if (!wallet.isPlain) this.exchange.ask(wallet);
      },
    });
    const { rows } = this;
    this.reports = new PartyReports(party, ports.events, clock, rows);
    this.freezes = new FreezeNotices({ party, rows, clock, send });
    this.driver = new SessionDriver({ party, runner, rows, backups, clock, send }, this.#driverHooks());
    this.exchange = new StateExchange(
      { party, rows, clock, send },
      {
        changed: (wallet, change) => this.#changed(wallet, change),
        unknown: (walletId, view) => role.unknown(walletId, view),
        settled: (wallet) => {
          if (wallet !== null) this.reports.settled(wallet);
          role.settled(wallet);
        },
        neverSettles: (wallet) => this.reports.alert("NEVER_SETTLES", wallet.id),
        dropped: () => this.#dropped(),
      },
    );
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** Sessions may begin, as far as the connection goes. */
  get isReady(): boolean {
    return this.greeting.isGreeted && this.exchange.isOpen && this.rows.isOpen && !this.#isStopped;
  }

  connected(): void {
    if (this.greeting.isConnected) this.lost();
    this.greeting.connected();
    const { identity } = this.ports;
    this.ports.link.send(linkMessage(identity.party, "hello", NO_WALLET, 0, helloBody(identity, this.rows.all())));
  }

  lost(): void {
    this.greeting.lost();
    this.exchange.lost();
    void this.driver.endAll("lost");
    this.#role.lost();
  }

  async message(message: Message): Promise<void> {
    this.#lastFrameNs = this.ports.clock.monoNs();
    if (this.#isStopped) return;
    const kind = kindOfType(message.header.type);
    const { party } = this.ports.identity;
    const { header } = message;
    const { from, to, seq, length, walletId } = header;
    if (kind === null || kind.from === party || length !== message.body.byteLength)
      return this.reports.violated(walletId);
    if (kind.name === "hello") return this.#hello(message);
    if (!this.greeting.isGreeted) return this.#closed();
    const isForSession = kind.scope !== "link" || kind.name === "activate" || kind.name === "activated";
    const isOfLink = from === 1 - party && to === party && seq === kind.seq && namesNoSession(header);
    if (!isForSession && !isOfLink) return this.reports.violated(walletId);
    try {
      await (isForSession ? this.#ofSession(message, kind) : this.#ofLink(message, kind));
    } catch (error) {
      if (failureOf(error).kind === "violation") this.reports.violated(walletId);
      else this.reports.alert("FAULT", walletIdText(walletId));
    }
  }

  /** What was explained is written; then the store may close. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.driver.endAll("stopped");
    this.exchange.lost();
    this.freezes.stop();
    await this.rows.stop();
    await this.ports.runner.close();
  }

  /** A write that no session asks for, in the wallet's turn. False: it is owed. */
  write(wallet: HeldWallet, change: RowChange, put: StoredShare | null = null): Promise<boolean> {
    return this.rows.write(wallet, { ...this.#changed(wallet, change), put });
  }

  #frozenHere(wallet: HeldWallet): Promise<void> {
    wallet.owesNotice = false;
    this.reports.frozen(wallet.id, wallet.row, "cheat");
    return this.freezes.tell(wallet);
  }

  #driverHooks(): DriverHooks {
    return {
      beside: (wallet, session, effect) => this.#role.beside(wallet, session, effect),
      frozen: (wallet) => this.#frozenHere(wallet),
      ended: (wallet, session, outcome) => this.#ended(wallet, session, outcome),
      backupFailed: (wallet) => this.reports.alert("BACKUP_FAILED", wallet.id),
      dropped: () => this.#dropped(),
    };
  }

  #ended(wallet: HeldWallet, session: LiveSession, outcome: SessionOutcome): void {
    const { end } = outcome;
    if (isDead(end, this.ports.clock.monoNs() - this.#lastFrameNs)) this.ports.link.drop();
    this.reports.ended(wallet, session.names, end, this.rows.isOpen);
    const isRefusedState = end.kind === "failed" && end.failure.kind === "refused" && end.failure.code === "STATE";
    if (isRefusedState && end.by === "peer") this.exchange.ask(wallet);
    // An epoch that is prepared, kept, or active without the peer's word is settled, whatever ended the session.
    const isUnanswered = outcome.isDecided && end.kind !== "done";
    const { row } = wallet;
    const { kind, mode, isAsked } = session.names;
    if (isUnanswered && kind === "refresh") wallet.unconfirmed = { mode: mode ?? 0, isAsked };
    if (row !== null && (isUnanswered || row.stage !== "none" || row.keptEpoch !== 0)) this.exchange.ask(wallet);
    this.#role.sessionEnded(wallet, session, outcome);
  }

  #changed(wallet: HeldWallet, change: RowChange): RowWrite {
    const { row, erase } = change;
    if (row?.status === "frozen" && wallet.row?.status !== "frozen") this.reports.frozen(wallet.id, row, "peer");
    if (row !== null) this.reports.endedLate(wallet, row);
    return { row, erase, beside: this.#role.besideChange(wallet, change) };
  }

  #hello({ header, body }: Message): void {
    const hello = namesNoSession(header) ? this.greeting.received(body) : null;
    // Two parties that may not work together break no rule of the wire.
    if (hello === null) {
      if (this.greeting.problem === null) this.#closed();
      else this.ports.link.drop();
      return;
    }
    this.#role.greeted();
    this.exchange.begin(!sameBytes(hello.inventory, inventoryOf(this.rows.all())));
  }

  /** The connection cannot be used: it is closed, and the client tries again. */
  #closed(): void {
    this.reports.violated(null);
    this.ports.link.drop();
  }

  async #ofLink(message: Message, { name }: MessageKind): Promise<void> {
    if (name === "state") return this.exchange.onState(message);
    if (name === "stateReply") return this.exchange.onReply(message);
    if (name === "count" || name === "counted") return this.#role.counted(message);
    const wallet = this.rows.get(message.header.walletId);
    if (wallet === null) return this.#dropped();
    if (name === "freeze") return wallet.inTurn(() => this.#frozenByPeer(wallet, message.header.epoch));
    if (name !== "frozen" || !this.freezes.answered(wallet.id)) this.#dropped();
  }

  async #frozenByPeer(wallet: HeldWallet, epoch: number): Promise<void> {
    if (this.freezes.isTooMany()) this.reports.alert("FREEZE_NOTICES", wallet.id);
    const { session, row } = wallet;
    if (session !== null && row?.activeEpoch === epoch) await this.driver.endNow(wallet, session, "freeze notice");
    const result = await this.freezes.noticed(wallet, epoch);
    if (result === "refused") this.reports.violated(wallet.walletId);
    if (result === "frozen") this.reports.frozen(wallet.id, wallet.row, "peer");
    if (wallet.row !== null && wallet.row.stage !== "none") this.exchange.ask(wallet);
  }

  async #ofSession(message: Message, kind: MessageKind): Promise<void> {
    if (kind.scope === "opening") return this.#role.opening(message, kind);
    const wallet = this.rows.get(message.header.walletId);
    if (wallet === null) return this.#dropped();
    const { party } = this.ports.identity;
    const write = (held: HeldWallet, change: RowChange) => this.write(held, change);
    const send = (reply: Message) => this.ports.link.send(reply);
    await this.toSession(wallet, message, async () => {
      const result = await lateActivation({ party, write, send }, wallet, message);
      if (result === "dropped") this.#dropped();
      if (result === "violation") this.reports.violated(wallet.walletId);
    });
  }

  /** In time or late is judged now, the rest in the wallet's turn. */
  async toSession(wallet: HeldWallet, message: Message, otherwise: () => Promise<void>): Promise<void> {
    const { session } = wallet;
    if (session !== null && !session.arrived()) void this.driver.endSoon(session, "deadline");
    const isInTime = session !== null && session.waiting === null;
    await wallet.inTurn(() =>
      wallet.session === null
        ? otherwise()
        : this.driver.receive(wallet, wallet.session, message, isInTime && wallet.session === session),
    );
  }
}

/** No message is a sign of life: a peer that is gone without a word is found by a deadline that it let pass in silence. */
function isDead(end: SessionEnd, silentNs: number): boolean {
  const isLate = end.kind === "failed" && end.failure.kind === "transport" && end.failure.cause === "timeout";
  return isLate && end.by === "self" && silentNs >= SILENT_MS * 1e6;
}
