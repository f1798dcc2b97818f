/**
 * The stream client: a thin shell that gives the state machine sockets, time and random numbers, and notifies
 * listeners. Runs in a browser and under Node; everything from outside is passed in.
 *
 * Invariants: listeners run after the state is complete, never inside a decision. Events of a socket that was given up
 * are ignored. After `stop` no timer and no socket is left.
 */
import type { FeedHealth } from "./frames.js";
import { applyClaim, applyClosed, applyNoClaim, applyOpened, applyText, applyTick, start, stop } from "./link.js";
import { pump, unwant, want } from "./requests.js";
import {
  type Counts,
  createStreamState,
  type Effect,
  type LinkPhase,
  type Refusal,
  type StaleReason,
  type StreamState,
  type SubscribeParams,
} from "./state.js";
import type { Topic, TopicData } from "./topics.js";

/** Events of a socket; none after `closed`. */
export interface SocketEvents {
  opened(): void;
  said(data: unknown): void;
  closed(code: number): void;
}

/** May throw on a socket that is not open (any more): nothing is lost by that. */
export interface StreamSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
}

export interface StreamClock {
  /** Monotonic ms. */
  nowMs(): number;
  /** Calls repeatedly; the returned function ends it. */
  every(intervalMs: number, callback: () => void): () => void;
}

/** What proves a key: a signature over the time and the stream's address, or a ticket. Each is accepted once. */
export type StreamClaim =
  | { readonly apiKey: string; readonly timestamp: number; readonly signature: string }
  | { readonly ticket: string };

export interface StreamKey {
  /** Called for each connection. Null: there is no key now. A rejection gives up the connection, to try again later. */
  claim(): Promise<StreamClaim | null>;
  /** The server refused a claim; its own time where it says so. */
  refused?(code: string, serverTimeMs: number | null): void;
}

export interface StreamClientOptions {
  readonly url: string;
  /** Opens a browser's WebSocket, or that of `ws`, in the same form. May throw, which counts as a failed connection. */
  readonly openSocket: (url: string, events: SocketEvents) => StreamSocket;
  readonly clock: StreamClock;
  /** Uniform in [0, 1); for jitter. */
  readonly random: () => number;
  /** Without it no connection proves a key. */
  readonly key?: StreamKey;
}

/** What a listener sees of one subscription. */
export interface SubscriptionView {
  readonly key: string;
  readonly topic: Topic;
  readonly symbol: string;
  /** Null before the first snapshot. What is not current stays readable. */
  readonly data: TopicData | null;
  readonly current: boolean;
  readonly staleReason: StaleReason | null;
  readonly epoch: string;
  readonly seq: number;
  /** Monotonic ms of the last frame, and the server's time in it. */
  readonly heardMs: number;
  readonly tsMs: number;
}

export interface StreamStatus {
  readonly phase: LinkPhase;
  readonly sinceMs: number;
  /** Monotonic ms of the next attempt; null unless waiting. */
  readonly retryAtMs: number | null;
  /** Why the last connection ended; null while none has. */
  readonly reason: string | null;
  /** Why the server did not accept the key; null while it has not refused it. */
  readonly refusal: Refusal | null;
  readonly lagging: boolean;
  readonly feeds: ReadonlyMap<string, FeedHealth>;
  /** Monotonic ms at which `feeds` was reported. */
  readonly feedsHeardMs: number;
}

export interface SubscriptionListener {
  changed(view: SubscriptionView): void;
  /** The server refused the parameters; they are sent again only on a new connection. */
  refused?(code: string, error: string): void;
}

/** How often time-outs are checked. */
export const TICK_MS = 250;

export class StreamClient {
  readonly #options: StreamClientOptions;
  readonly #state: StreamState;
  readonly #listeners = new Map<SubscriptionListener, number>();
  readonly #statusListeners = new Set<() => void>();
  #socket: StreamSocket | null = null;
  #listening: SocketEvents | null = null;
  #endTicks: (() => void) | null = null;

  constructor(options: StreamClientOptions) {
    this.#options = options;
    this.#state = createStreamState(options.key !== undefined);
  }

  start(): void {
    this.#endTicks ??= this.#options.clock.every(TICK_MS, () =>
      this.#run((effects) => applyTick(this.#state, this.#now(), this.#options.random(), effects)),
    );
    this.#run((effects) => start(this.#state, this.#now(), effects));
  }

  /** Subscriptions stay wanted; `start` continues with them. */
  stop(): void {
    this.#endTicks?.();
    this.#endTicks = null;
    this.#run((effects) => stop(this.#state, this.#now(), effects));
  }

  /**
   * Notifies the listener of each key of these parameters; existing data is reported at once. The returned function
   * ends it. Throws RangeError beyond the subscriptions that a connection may have.
   */
  subscribe(params: SubscribeParams, listener: SubscriptionListener): () => void {
    const wanted = want(this.#state, params, this.#now());
    if (!wanted.ok) throw new RangeError(wanted.code);
    const { id } = wanted.request;
    // A separate object: the same listener may be passed twice.
    const entry: SubscriptionListener = {
      changed: (view) => listener.changed(view),
      refused: (code, error) => listener.refused?.(code, error),
    };
    this.#listeners.set(entry, id);
    for (const key of wanted.request.keys) {
      const view = this.#view(key);
      if (view !== null) entry.changed(view);
    }
    this.#run((effects) => pump(this.#state, this.#now(), effects));
    return () => {
      if (!this.#listeners.delete(entry)) return;
      unwant(this.#state, id);
      this.#run((effects) => pump(this.#state, this.#now(), effects));
    };
  }

  /** The listener runs after the link or feed health changed; the returned function ends it. */
  onStatus(listener: () => void): () => void {
    const entry = () => listener();
    this.#statusListeners.add(entry);
    return () => this.#statusListeners.delete(entry);
  }

  get status(): StreamStatus {
    const { link, feeds, feedsHeardMs } = this.#state;
    return {
      phase: link.phase,
      sinceMs: link.sinceMs,
      retryAtMs: link.phase === "waiting" ? link.retryAtMs : null,
      reason: link.reason,
      refusal: link.refusal,
      lagging: link.laggingUntilMs > this.#now(),
      feeds,
      feedsHeardMs,
    };
  }

  get counts(): Readonly<Counts> {
    return this.#state.counts;
  }

  #now(): number {
    return this.#options.clock.nowMs();
  }

  #run(decide: (effects: Effect[]) => void): void {
    const effects: Effect[] = [];
    decide(effects);
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case "open":
        this.#open();
        return;
      case "close":
        this.#drop(effect.code, effect.reason);
        return;
      case "send":
        this.#send(effect.text);
        return;
      case "changed": {
        const requestIds = this.#state.subs.get(effect.key)?.requestIds;
        const view = this.#view(effect.key);
        if (requestIds === undefined || view === null) return;
        for (const [listener, id] of [...this.#listeners]) if (requestIds.has(id)) listener.changed(view);
        return;
      }
      case "refused": {
        const refusal = this.#state.requests.get(effect.requestId)?.refusal;
        if (refusal == null) return;
        for (const [listener, id] of [...this.#listeners])
          if (id === effect.requestId) listener.refused?.(refusal.code, refusal.error);
        return;
      }
      case "claim":
        this.#claim();
        return;
      case "claimRefused":
        this.#options.key?.refused?.(effect.code, effect.serverTimeMs);
        return;
      case "status":
        for (const listener of [...this.#statusListeners]) listener();
        return;
    }
  }

  #open(): void {
    // False for a socket that was given up.
    const isCurrent = () => this.#listening === events;
    const events: SocketEvents = {
      opened: () => {
        if (isCurrent()) this.#run((effects) => applyOpened(this.#state, this.#now(), effects));
      },
      said: (data) => {
        if (isCurrent())
          this.#run((effects) => applyText(this.#state, data, this.#now(), this.#options.random(), effects));
      },
      closed: (code) => {
        if (!isCurrent()) return;
        this.#forget();
        this.#closed(code);
      },
    };
    this.#listening = events;
    try {
      this.#socket = this.#options.openSocket(this.#options.url, events);
    } catch {
      // A refused address, or a page that may not connect.
      this.#forget();
      this.#closed(1006);
    }
  }

  /** For the present socket: a claim that comes later than its end is dropped. */
  #claim(): void {
    const { key, random } = this.#options;
    const listening = this.#listening;
    if (key === undefined) return;
    key.claim().then(
      (claim) => {
        if (this.#listening === listening) this.#run((effects) => applyClaim(this.#state, claim, this.#now(), effects));
      },
      () => {
        if (this.#listening === listening)
          this.#run((effects) => applyNoClaim(this.#state, this.#now(), random(), effects));
      },
    );
  }

  #closed(code: number): void {
    this.#run((effects) => applyClosed(this.#state, code, this.#now(), this.#options.random(), effects));
  }

  #drop(code: number, reason: string): void {
    const socket = this.#socket;
    this.#forget();
    try {
      socket?.close(code, reason);
    } catch {
      // Already closed, or not open yet in a socket that throws then: it is dropped either way.
    }
  }

  #forget(): void {
    this.#socket = null;
    this.#listening = null;
  }

  #send(text: string): void {
    try {
      this.#socket?.send(text);
    } catch {
      // The socket is closing: its close event follows, and everything is requested again on the next one.
    }
  }

  #view(key: string): SubscriptionView | null {
    const sub = this.#state.subs.get(key);
    if (sub === undefined) return null;
    const { topic, symbol, data, stale, epoch, seq, heardMs, tsMs } = sub;
    return { key, topic, symbol, data, current: stale === null, staleReason: stale, epoch, seq, heardMs, tsMs };
  }
}
