/**
 * What is written on one connection, within the venue's pace of messages: single messages first, then the ends of
 * subscriptions, then subscriptions, and those under suspicion last (suspect-groups.ts).
 *
 * Invariants: a name that is given up and asked for again goes out in that order; nothing is written before the connection
 * is open, nor once it is to close.
 *
 * Bounds: `maxQueuedSends` messages; names are as many as there are subscriptions.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { MessagePacer } from "./connection-budget.js";
import type { Connection } from "./connector.js";
import { SuspectGroups, takeNames } from "./suspect-groups.js";

export interface SubscribeProtocol {
  subscribe(names: readonly string[]): string;
  unsubscribe(names: readonly string[]): string;
  readonly maxNamesPerFrame: number;
}

export interface WriterOptions {
  readonly clock: Clock;
  readonly protocol: SubscribeProtocol;
  /** All must allow a message. */
  readonly pacers: readonly MessagePacer[];
  readonly maxQueuedSends: number;
  /** Unsent bytes beyond which the peer counts as stuck. */
  readonly maxBufferedBytes: number;
}

export interface WriterHandlers {
  /** These names have just been written. */
  onRequested(names: readonly string[]): void;
  /** A group of suspects was sent and the connection survived it. */
  onCleared(names: readonly string[]): void;
  /** The peer takes nothing any more. */
  onStuck(): void;
}

export class PacedWriter {
  readonly #options: WriterOptions;
  readonly #handlers: WriterHandlers;
  readonly #suspects: SuspectGroups;
  /** Null while it is not open. */
  #connection: Connection | null = null;
  #isClosing = false;
  /** Insertion-ordered, so the first asked is the first sent. */
  readonly #pending = new Set<string>();
  readonly #pendingRemovals = new Set<string>();
  readonly #sends: string[] = [];
  #timer: TimerHandle | null = null;

  constructor(options: WriterOptions, handlers: WriterHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#suspects = new SuspectGroups(options.clock, (names) => {
      handlers.onCleared(names);
      this.#pump();
    });
  }

  /** Everything asked for has been written. */
  get isRequested(): boolean {
    return this.#pending.size === 0 && this.#suspects.waitingCount === 0 && this.#pendingRemovals.size === 0;
  }

  get queuedSendCount(): number {
    return this.#sends.length;
  }

  /** Which names may have ended the connection. */
  get suspects(): Pick<SuspectGroups, "recentNames" | "suspectNames"> {
    return this.#suspects;
  }

  opened(connection: Connection): void {
    this.#connection = connection;
  }

  /** The closing handshake has begun. */
  closing(): void {
    this.#isClosing = true;
  }

  closed(): void {
    this.#connection = null;
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#suspects.stop();
  }

  /** Asks for a stream. Written with the others asked for in this turn, so that they share messages. */
  ask(name: string, isSuspect: boolean): void {
    // An unsubscription that waits goes out before it: asked for twice, a stream is refused or brings no snapshot.
    if (isSuspect) this.#suspects.add(name);
    else this.#pending.add(name);
    this.#pumpSoon();
  }

  /** Writes at once what the pace allows. */
  flush(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
    this.#pump();
  }

  unsubscribe(name: string): void {
    const wasUnsent = this.#pending.delete(name) || this.#suspects.delete(name);
    if (!wasUnsent) this.#remove(name);
    this.#pumpSoon();
  }

  /** Unsubscribes and subscribes again, in that order. */
  resubscribe(name: string): void {
    this.#remove(name);
    this.#pending.add(name);
    this.#pumpSoon();
  }

  /** Queues one message behind the pace; false when not open or the queue is full. */
  send(text: string): boolean {
    if (this.#connection === null || this.#sends.length >= this.#options.maxQueuedSends) return false;
    this.#sends.push(text);
    this.#pump();
    return true;
  }

  /** Nothing was asked for on a connection that is not open. */
  #remove(name: string): void {
    if (this.#connection !== null) this.#pendingRemovals.add(name);
  }

  #pumpSoon(): void {
    if (this.#connection !== null && this.#timer === null) this.#pumpIn(0);
  }

  #pumpIn(ms: number): void {
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = null;
      this.#pump();
    }, ms);
  }

  /** Writes what is due and allowed; otherwise comes back when it is. */
  #pump(): void {
    if (this.#timer !== null || this.#isClosing) return;
    const { pacers, maxBufferedBytes } = this.#options;
    while (this.#connection !== null && (this.#sends.length > 0 || !this.isRequested)) {
      if (this.#connection.bufferedBytes > maxBufferedBytes) {
        this.#handlers.onStuck();
        return;
      }
      const isSuspectNext = this.#sends.length === 0 && this.#pendingRemovals.size === 0 && this.#pending.size === 0;
      // Suspects wait for the group before theirs; its end comes back here.
      if (isSuspectNext && !this.#suspects.mayWrite()) return;
      let waitMs = 0;
      for (const pacer of pacers) waitMs = Math.max(waitMs, pacer.waitMs());
      if (waitMs > 0) {
        this.#pumpIn(Math.ceil(waitMs) + 1);
        return;
      }
      for (const pacer of pacers) pacer.take();
      this.#writeNext(this.#connection);
    }
  }

  #writeNext(connection: Connection): void {
    const { protocol } = this.#options;
    const message = this.#sends.shift();
    if (message !== undefined) {
      connection.send(message);
      return;
    }
    const removals = takeNames(this.#pendingRemovals, protocol.maxNamesPerFrame);
    if (removals.length > 0) {
      connection.send(protocol.unsubscribe(removals));
      return;
    }
    const pending = takeNames(this.#pending, protocol.maxNamesPerFrame);
    const areSuspects = pending.length === 0;
    const names = areSuspects ? this.#suspects.take(protocol.maxNamesPerFrame) : pending;
    if (names.length === 0) return;
    this.#suspects.note(names, areSuspects);
    connection.send(protocol.subscribe(names));
    this.#handlers.onRequested(names);
  }
}
