/**
 * What is seen of followed orders: by the account's stream, listened to here, or by a read (follow-reads.ts).
 *
 * Invariant: what is seen of an order never goes back (fewer fills, open again).
 */
import type { Clock } from "../../domain/clock.js";
import { isSameScale } from "../../domain/instrument.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { submittedTicks } from "../attempt-figures.js";
import { isOneIdAlone, isOtherId, wholeOrder } from "../order-parts.js";
import { hasOwnPrice, isPriced, type OrderAttempt } from "../run.js";
import { noteOtherId } from "../run-writes.js";
import type { SendBounds } from "../send/absence-proof.js";
import { restingPauseMs } from "../send/look-pause.js";
import { applyResolution } from "../send/outcome.js";
import type { FollowKeys } from "./follow-keys.js";
import { isResting, isSame, type Followed, type FollowedRun, type FollowEntry } from "./followed-run.js";
import type { OrderListeners } from "./order-listeners.js";

export const FIRST_PAUSE_MS = 2_000;

interface SightParts {
  readonly bounds: SendBounds;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose orders they are. */
interface SightOwner<Run> {
  orders(): Iterable<Followed<Run>>;
  readonly keys: FollowKeys;
  readonly listeners: OrderListeners;
  /** What is due at the venue may have changed. */
  wake(venue: RoutableVenue): void;
  /** Called in the turn in which more was seen of an order (`order`), or in which it should be looked at (null). */
  onSight(run: Run, order: VenueOrder | null): void;
  publish(entry: FollowEntry<Run>): void;
}

export class FollowSights<Run extends FollowedRun> {
  readonly #parts: SightParts;
  readonly #owner: SightOwner<Run>;
  readonly #clock: Clock;
  #stopped = false;

  constructor(parts: SightParts, owner: SightOwner<Run>) {
    this.#parts = parts;
    this.#owner = owner;
    this.#clock = parts.clock;
  }

  /** Listens and reads, where there are credentials for it. */
  begin(order: Followed<Run>): void {
    const { account, attempt, room } = order;
    const keys = this.#owner.keys.get(account);
    if (keys === null || this.#stopped) return;
    order.unlisten ??= this.#owner.listeners.listen(account, room, keys.open, {
      venueClientOrderId: attempt.venueClientOrderId,
      get venueOrderId() {
        return attempt.order?.venueOrderId ?? "";
      },
      onChange: (seen) => this.#onChange(order, seen),
      onLost: () => this.#onLost(order),
      onOtherId: (venueOrderId) => noteIn(attempt, venueOrderId),
    });
    this.#owner.wake(room.venue);
  }

  /** Credentials of the account came by: its orders that waited for them are listened to and read again. */
  resume(account: string): void {
    for (const order of this.#owner.orders())
      if (order.account === account && order.unlisten === null) {
        this.#markDue(order);
        this.begin(order);
      }
  }

  /** Streamed with the credentials in use from here on, where there are any. */
  renew(account: string): void {
    const orders = [...this.#owner.orders()].filter((order) => order.account === account);
    for (const order of orders) {
      order.unlisten?.();
      order.unlisten = null;
    }
    for (const order of orders) this.begin(order);
  }

  /** Nothing is listened to from here on that is not yet. */
  stop(): void {
    this.#stopped = true;
  }

  /** More is known of it than before. False: but not what it filled at, which is to be read first. */
  see(order: Followed<Run>, seen: VenueOrder, isTakenUnpriced: boolean, isReplaced?: true): boolean {
    const { attempt, entry } = order;
    const known = attempt.order;
    if (!isResting(attempt) || known === null || seen.status === "UNKNOWN" || !isSame(attempt, known, seen))
      return true;
    const { order: whole } = wholeOrder(attempt, seen, isReplaced);
    // A read that lags behind proves nothing.
    if (whole.filledLots < known.filledLots || isNoNews(attempt, known, whole)) return true;
    const averagePrice = seen.averagePrice ?? (whole.filledLots === known.filledLots ? known.averagePrice : null);
    // Of one with several ids each has a price of its own.
    const found = whole === seen ? { ...seen, averagePrice } : seen;
    if (!isPriced(whole === seen ? found : whole) && !isTakenUnpriced) return false;
    const replaced = isReplaced === undefined ? {} : { isReplaced };
    applyResolution(this.#parts, attempt, { kind: "found", order: found, ...replaced });
    order.pauseMs = FIRST_PAUSE_MS;
    this.#owner.onSight(entry.run, attempt.order);
    this.#owner.publish(entry);
    return true;
  }

  /** Protection that its venue had acknowledged: taken as refused, and worth sending again. */
  seeAbsent({ attempt, entry }: Followed<Run>): void {
    applyResolution(this.#parts, attempt, { kind: "notPlaced" });
    if (attempt.order !== null) this.#owner.onSight(entry.run, attempt.order);
    this.#owner.publish(entry);
  }

  /** Something may have happened that nobody has told. */
  #markDue(order: Followed<Run>): void {
    order.isAnswered = false;
    order.pauseMs = FIRST_PAUSE_MS;
    order.dueNs = this.#clock.monoNs();
  }

  /** Its next look is no later than that of an order which no stream tells of. */
  #onLost(order: Followed<Run>): void {
    order.dueNs = Math.min(order.dueNs, this.#clock.monoNs() + restingPauseMs(order.pauseMs, false) * 1e6);
    this.#owner.wake(order.room.venue);
  }

  #onChange(order: Followed<Run>, seen: VenueOrder | null): void {
    const listed = order.room.markets.get(order.entry.run.symbol)?.instrument;
    const isOnItsScale = listed !== undefined && isSameScale(listed, order.instrument);
    // What filled without a price is read for it, and what is counted on another scale than it was sent on.
    if (seen !== null && seen.venueClientOrderId === order.attempt.venueClientOrderId)
      noteIn(order.attempt, seen.venueOrderId);
    const isToRead = !isOnItsScale || seen === null || isOneIdAlone(order.attempt, seen);
    if (!isToRead && this.see(order, seen, false)) return;
    this.#markDue(order);
    this.#owner.onSight(order.entry.run, null);
    this.#owner.wake(order.room.venue);
  }
}

/** Another may be in its place by the time of the next look, which finds only that. */
function noteIn(attempt: OrderAttempt, venueOrderId: string): void {
  if (isOtherId(attempt, venueOrderId)) noteOtherId(attempt, venueOrderId);
}

/** Status, fills, id, size and price are known as they are shown. */
function isNoNews(attempt: OrderAttempt, known: VenueOrder, shown: VenueOrder): boolean {
  const { changedLots, qtyLots } = attempt;
  if (shown.status !== known.status || shown.filledLots !== known.filledLots) return false;
  if (hasOwnPrice(attempt) && shown.priceTicks > 0 && shown.priceTicks !== submittedTicks(attempt)) return false;
  const isNewId = shown.venueOrderId !== "" && shown.venueOrderId !== known.venueOrderId;
  return !isNewId && (shown.qtyLots === 0 || shown.qtyLots === (changedLots ?? qtyLots));
}
