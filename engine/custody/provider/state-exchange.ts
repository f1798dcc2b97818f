/**
 * Two parties that meet tell each other of every wallet that is not plainly active, or of all where their inventories
 * differ, and settle what is in doubt by the rules of docs/mpc.md, section 11. Until all own `State` of a connection are
 * answered nothing begins; a wallet that is asked for later is in doubt by itself.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { Party } from "../mpc/base/parameters.js";
import { otherParty } from "../mpc/base/parameters.js";
import { refreshDueChange, type RowChange, settle, viewOf, type WalletView } from "../mpc/state/two-phase.js";
import type { Message } from "../mpc/wire/header.js";
import { decodeState, encodeState } from "../mpc/wire/link-bodies.js";
import type { HeldWallet } from "./held-wallet.js";
import { linkMessage } from "./host-messages.js";
import type { PartyRows, RowWrite } from "./party-rows.js";
import { walletIdText } from "./wallet-names.js";

/** `State` messages that wait for their reply at once. */
const ASKED_MAX = 32;
/** A `State` of a wallet whose session still runs at the peer is dropped there. */
const REPEAT_MS = 10_000;
/** A wallet that is not settled by then is not settled by more of the same. */
const ROUNDS_MAX = 10;

export interface ExchangePorts {
  readonly party: Party;
  readonly rows: PartyRows;
  readonly clock: Clock;
  send(message: Message): void;
}

export interface ExchangeHooks {
  /** The write of a rule, with what belongs into its commit. */
  changed(wallet: HeldWallet, change: RowChange): RowWrite;
  /** The peer has a wallet that this party has not. */
  unknown(walletId: Uint8Array, view: WalletView): void;
  /** After each verdict but "again", and when all are answered. */
  settled(wallet: HeldWallet | null): void;
  neverSettles(wallet: HeldWallet): void;
  dropped(): void;
}

export class StateExchange {
  readonly #ports: ExchangePorts;
  readonly #hooks: ExchangeHooks;
  readonly #rounds = new Map<string, number>();
  readonly #asked = new Map<string, HeldWallet>();
  #queue: HeldWallet[] = [];
  /** Of the beginning of this connection, not answered yet. */
  #first: Set<string> | null = null;
  #timer: TimerHandle | null = null;

  constructor(ports: ExchangePorts, hooks: ExchangeHooks) {
    this.#ports = ports;
    this.#hooks = hooks;
  }

  /** All that was asked at the beginning of this connection is answered. */
  get isOpen(): boolean {
    return this.#first !== null && this.#first.size === 0;
  }

  get isAllAnswered(): boolean {
    return this.isOpen && this.#asked.size === 0 && this.#queue.length === 0;
  }

  begin(inventoriesDiffer: boolean): void {
    this.lost();
    const wallets = [...this.#ports.rows.all()].filter((wallet) => wallet.row !== null);
    // What no message of this connection contradicts, the inventories have said.
    for (const wallet of wallets) wallet.verdict = "settled";
    const asked = wallets.filter((wallet) => inventoriesDiffer || !wallet.isPlain);
    this.#first = new Set(asked.map(({ id }) => id));
    for (const wallet of asked) this.ask(wallet);
    if (asked.length === 0) this.#hooks.settled(null);
    this.#repeatLater();
  }

  lost(): void {
    if (this.#timer !== null) this.#ports.clock.clearTimer(this.#timer);
    this.#timer = null;
    for (const wallet of [...this.#asked.values(), ...this.#queue]) wallet.isAsked = false;
    this.#asked.clear();
    this.#rounds.clear();
    this.#queue = [];
    this.#first = null;
  }

  /** Sends the wallet's `State`; the wallet is in doubt until it is answered. */
  ask(wallet: HeldWallet): void {
    if (this.#first === null || wallet.row === null || wallet.isAsked) return;
    wallet.isAsked = true;
    this.#queue.push(wallet);
    this.#pump();
  }

  async onState(message: Message): Promise<void> {
    const { walletId } = message.header;
    const { party, rows } = this.#ports;
    const view = decodeState(message.body, otherParty(party));
    const wallet = rows.get(walletId);
    if (wallet === null || (wallet.row === null && wallet.session === null)) {
      this.#reply(walletId, null);
      this.#hooks.unknown(walletId, view);
      return;
    }
    await wallet.inTurn(() => this.#stated(wallet, view));
  }

  async onReply(message: Message): Promise<void> {
    const view = decodeState(message.body, otherParty(this.#ports.party));
    const wallet = this.#asked.get(walletIdText(message.header.walletId));
    if (wallet === undefined) return this.#hooks.dropped();
    await wallet.inTurn(async () => {
      if (!this.#asked.delete(wallet.id)) return;
      wallet.isAsked = false;
      // The rows may have moved since it was sent: then the reply is to another question.
      const isCurrent = wallet.session === null && wallet.debt === null;
      const isAgain = isCurrent ? await this.#settle(wallet, view) : wallet.debt !== null;
      if (isAgain) this.#askAgain(wallet);
      if (!wallet.isAsked) this.#answered(wallet);
      this.#pump();
    });
  }

  async #stated(wallet: HeldWallet, view: WalletView): Promise<void> {
    const { session } = wallet;
    // What is owed to the store is not told: the peer would build on it.
    if (wallet.debt !== null || (session !== null && !session.isDecided)) return this.#hooks.dropped();
    const isAgain = session === null && (await this.#settle(wallet, view));
    if (wallet.debt !== null) return;
    this.#reply(wallet.walletId, wallet);
    if (isAgain) this.#askAgain(wallet);
    else this.#hooks.settled(wallet);
  }

  /** Returns whether a rule changed something at either side. */
  async #settle(wallet: HeldWallet, view: WalletView): Promise<boolean> {
    const { party, rows, clock } = this.#ports;
    const { change, verdict } = settle(party, wallet.own(), view, clock.wallMs());
    if (change !== null && !(await rows.write(wallet, this.#hooks.changed(wallet, change)))) return true;
    if (verdict === "again") return wallet.row !== null;
    wallet.verdict = verdict;
    // C says by this that its counts or its store ask for a refresh; S makes it.
    if (party === 0 && view.status === "refreshDue" && wallet.row?.status === "active")
      await rows.write(wallet, this.#hooks.changed(wallet, refreshDueChange(wallet.row)));
    return false;
  }

  #askAgain(wallet: HeldWallet): void {
    const rounds = (this.#rounds.get(wallet.id) ?? 0) + 1;
    this.#rounds.set(wallet.id, rounds);
    if (rounds === ROUNDS_MAX) this.#hooks.neverSettles(wallet);
    if (rounds < ROUNDS_MAX) {
      this.ask(wallet);
      return;
    }
    // Asked for at the slow pace of the repeats from there on.
    wallet.isAsked = true;
    this.#asked.set(wallet.id, wallet);
  }

  #answered(wallet: HeldWallet): void {
    this.#first?.delete(wallet.id);
    this.#hooks.settled(wallet);
  }

  #pump(): void {
    while (this.#asked.size < ASKED_MAX) {
      const wallet = this.#queue.shift();
      if (wallet === undefined) return;
      this.#asked.set(wallet.id, wallet);
      void wallet.inTurn(async () => this.#sendState(wallet));
    }
  }

  #sendState(wallet: HeldWallet): void {
    if (this.#asked.get(wallet.id) !== wallet || wallet.debt !== null) return;
    if (wallet.row === null) {
      this.#asked.delete(wallet.id);
      wallet.isAsked = false;
      this.#answered(wallet);
      return;
    }
    if (wallet.session === null || wallet.session.isDecided) this.#ports.send(this.#message("state", wallet));
  }

  #reply(walletId: Uint8Array, wallet: HeldWallet | null): void {
    const body = encodeState(viewOf(wallet?.own() ?? null));
    this.#ports.send(linkMessage(this.#ports.party, "stateReply", walletId, wallet?.row?.activeEpoch ?? 0, body));
  }

  #message(name: "state", wallet: HeldWallet): Message {
    const body = encodeState(viewOf(wallet.own()));
    return linkMessage(this.#ports.party, name, wallet.walletId, wallet.row?.activeEpoch ?? 0, body);
  }

  #repeatLater(): void {
    this.#timer = this.#ports.clock.setTimer(() => {
      for (const wallet of this.#asked.values()) void wallet.inTurn(async () => this.#sendState(wallet));
      this.#repeatLater();
    }, REPEAT_MS);
  }
}
