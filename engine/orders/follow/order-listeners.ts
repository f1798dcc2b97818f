/**
 * Listeners of orders on account streams: who waits for an order of ours learns of it the moment its account's stream
 * reports it. One stream for each account, shared by all its orders, open while one of them is listened for.
 *
 * Invariants: a listener gets the stream's own report of that order, or null (something happened that the stream does not
 * describe, or may have been missed): then the venue is to be asked. A stream may be lost at any time: its listeners are
 * told, and nobody relies on it alone. A stream is open with the session of one who listens there: with the last of those whose it is it goes, and
 * is opened with another's.
 *
 * Bounds: MAX_STREAMS accounts of a venue, so that subscribers find streams too; beyond it, and where none opens, it is
 * tried again every RETRY_MS while somebody listens.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { AccountEvent, AccountSession, AccountStream, VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";

/** Of a venue. The scarcest venue streams ten users an address. */
export const MAX_STREAMS = 6;
const RETRY_MS = 30_000;

export interface OrderListener {
  readonly venueClientOrderId: string;
  /** "" while the venue has given none. */
  readonly venueOrderId: string;
  onChange(order: VenueOrder | null): void;
  /** From here on the stream tells nothing, until `onChange`. */
  onLost?(): void;
  /** It has been named under an id, which may not be its newest any more. */
  onOtherId?(venueOrderId: string): void;
}

type Opener = () => AccountSession | null;

interface ListenedAccount {
  readonly key: string;
  readonly room: VenueRoom;
  /** With what each would open the stream. */
  readonly listeners: Map<OrderListener, Opener>;
  /** Whose the open session is. */
  openedWith: Opener | null;
  session: AccountSession | null;
  stream: AccountStream | null;
  timer: TimerHandle | null;
}

export class OrderListeners {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #accounts = new Map<string, ListenedAccount>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** `key` names the account. `openSession`: one of it, closed when nobody listens any more who came with the same. */
  listen(key: string, room: VenueRoom, openSession: Opener, one: OrderListener): () => void {
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = { key, room, listeners: new Map(), openedWith: null, session: null, stream: null, timer: null };
      this.#accounts.set(key, account);
    }
    account.listeners.set(one, openSession);
    if (account.stream === null && account.timer === null) this.#open(account);
    return () => this.#unlisten(account, one);
  }

  /** Its stream is up, by its room's own rule of trust. */
  isLive(key: string): boolean {
    return this.#accounts.get(key)?.stream?.state === "LIVE";
  }

  /** An order of this client id has, or had, this id: whoever listens for it reads it with credentials of its own. */
  name(venue: RoutableVenue, { venueClientOrderId, venueOrderId }: VenueOrder): void {
    if (venueClientOrderId === null || venueOrderId === "") return;
    for (const { listeners, room } of this.#accounts.values())
      for (const one of room.venue === venue ? listeners.keys() : [])
        if (one.venueClientOrderId === venueClientOrderId) one.onOtherId?.(venueOrderId);
  }

  /** An order of this client id is followed: it was sent here, so no other order of the account has that id. */
  hasListener(venue: RoutableVenue, venueClientOrderId: string): boolean {
    for (const { listeners, room } of this.#accounts.values())
      for (const one of room.venue === venue ? listeners.keys() : [])
        if (one.venueClientOrderId === venueClientOrderId) return true;
    return false;
  }

  #unlisten(account: ListenedAccount, one: OrderListener): void {
    account.listeners.delete(one);
    if (this.#accounts.get(account.key) !== account) return;
    if (account.listeners.size > 0) {
      if (account.openedWith === null || [...account.listeners.values()].includes(account.openedWith)) return;
      this.#close(account);
      this.#open(account);
      return;
    }
    this.#accounts.delete(account.key);
    if (account.timer !== null) this.#clock.clearTimer(account.timer);
    account.timer = null;
    this.#close(account);
  }

  #open(account: ListenedAccount): void {
    const { room } = account;
    // The last one that came: of those that differ its credentials are the ones that were good last.
    const openSession = [...account.listeners.values()].at(-1);
    if (room.streams === null || openSession === undefined) return;
    const session = this.#openCount(room.venue) < MAX_STREAMS ? openSession() : null;
    if (session === null) {
      this.#retryLater(account);
      return;
    }
    account.session = session;
    account.openedWith = openSession;
    try {
      const opened = room.streams.openAccountStream(session, (event) => this.#onEvent(account, session, event));
      if (opened.ok) {
        // It went down, or nobody listens any more, before it was open.
        if (account.session === session) account.stream = opened.stream;
        else opened.stream.close();
        return;
      }
    } catch (error) {
      // A room that throws is a bug of ours; the looks go on.
      this.#logger.error("account_stream_threw", { venue: room.venue, problem: problemOf(error) });
    }
    this.#close(account);
    this.#retryLater(account);
  }

  #openCount(venue: RoutableVenue): number {
    let count = 0;
    for (const { room, session } of this.#accounts.values()) if (session !== null && room.venue === venue) count++;
    return count;
  }

  #close(account: ListenedAccount): void {
    account.stream?.close();
    account.stream = null;
    account.session?.close();
    account.session = null;
    account.openedWith = null;
  }

  #retryLater(account: ListenedAccount): void {
    account.timer ??= this.#clock.setTimer(() => {
      account.timer = null;
      this.#open(account);
    }, RETRY_MS);
  }

  #onEvent(account: ListenedAccount, session: AccountSession, event: AccountEvent): void {
    // Of a stream that was closed meanwhile.
    if (account.session !== session) return;
    switch (event.kind) {
      case "order":
        this.#dispatch(account, event.order, event.order);
        return;
      case "fill":
        // The order of a fill may be as it was before it, or not described at all.
        this.#dispatch(account, event.order, null);
        return;
      case "state":
        if (event.state === "DOWN") {
          this.#close(account);
          this.#retryLater(account);
        }
        for (const one of [...account.listeners.keys()])
          if (event.state === "LIVE") this.#notify(one, null);
          else one.onLost?.();
        return;
      case "positions":
        return;
    }
  }

  #dispatch(account: ListenedAccount, named: VenueOrder, reported: VenueOrder | null): void {
    const { venueClientOrderId, venueOrderId } = named;
    for (const one of [...account.listeners.keys()]) {
      const isMeant =
        (venueClientOrderId !== null && venueClientOrderId === one.venueClientOrderId) ||
        (venueOrderId !== "" && venueOrderId === one.venueOrderId);
      if (isMeant) this.#notify(one, reported?.status === "UNKNOWN" ? null : reported);
    }
  }

  #notify(one: OrderListener, order: VenueOrder | null): void {
    try {
      one.onChange(order);
    } catch (error) {
      this.#logger.error("order_listener_threw", { problem: problemOf(error) });
    }
  }
}
