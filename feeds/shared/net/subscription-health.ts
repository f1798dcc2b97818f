/**
 * Which of a socket's streams are dead, and which kill the connection whenever they are asked for.
 *
 * Invariants: a stream found dead is asked for again first, and the connection is replaced only when it stays dead or
 * most died together. A stream that a fresh connection did not revive (a delisted market's) costs the others no more: it
 * is asked for alone, with growing spacing, until it delivers, and is not counted where most die together. A name is given
 * up only when it was sent alone and the connection was killed, more than once, and is asked for again alone with growing
 * spacing: a venue that ends connections by chance makes innocent names suspect.
 */
import type { SocketOptions } from "./socket-options.js";
import type { ProbeResult, Subscription } from "./subscriptions.js";

/** Kills in a row with a name among the suspects before it is sent apart: one alone is mostly chance. */
const SUSPECT_AFTER = 2;
/** Kills with the name sent alone before it is given up. */
const QUARANTINE_AFTER = 2;
/** Dead verdicts in a row for one stream: the first resubscribes it, the second replaces the connection. */
const RECONNECT_AFTER_DEAD = 2;
/** Before a stream that a fresh connection did not revive is looked at again: doubled each time, up to the maximum. */
const ALONE_AFTER_MS = 5_000;
const ALONE_AFTER_MAX_MS = 300_000;
/** So many streams dead at one look, and at least half of all: it is the connection. */
const MASS_DEATH_MIN = 3;
/** Before a name that was given up is asked for again: doubled each time, up to the maximum. A killer costs its neighbours that often. */
const RETRY_AFTER_MS = 10_000;
const RETRY_AFTER_MAX_MS = 600_000;
export const MAX_LOGGED_NAMES = 20;

/** What it asks of the socket. */
interface HealthHost {
  /** Of the connection whose data count; 0 while there is none. */
  linkId(): number;
  /** Asks for the stream again on the present connection. */
  askAgain(name: string): void;
  /** Sends the name by itself; false while the connection is too young or being replaced. */
  askAlone(name: string): boolean;
  /** Drops the present connection. */
  reconnect(reason: string): void;
  /** Runs a handler whose bugs must not spread. */
  guard(call: () => void): void;
}

/** Is the name to be sent by itself? */
export function isSuspect(subscription: Subscription): boolean {
  return subscription.suspicion >= SUSPECT_AFTER;
}

export class SubscriptionHealth {
  readonly #options: Pick<SocketOptions, "clock" | "logger" | "name" | "handlers">;
  readonly #subscriptions: ReadonlyMap<string, Subscription>;
  readonly #host: HealthHost;
  silentCount = 0;

  constructor(
    options: Pick<SocketOptions, "clock" | "logger" | "name" | "handlers">,
    subscriptions: ReadonlyMap<string, Subscription>,
    host: HealthHost,
  ) {
    this.#options = options;
    this.#subscriptions = subscriptions;
    this.#host = host;
  }

  /** Given up at present. */
  get quarantinedCount(): number {
    let count = 0;
    for (const { isQuarantined } of this.#subscriptions.values()) if (isQuarantined) count++;
    return count;
  }

  /** Looks at the silence of every stream. */
  judgeAll(nowNs: number): void {
    this.#retryOne(nowNs);
    let judgedCount = 0;
    let newlyDeadCount = 0;
    const dead: Subscription[] = [];
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.isQuarantined || subscription.spec.livenessMs === 0) continue;
      const verdict = subscription.judge(nowNs);
      if (verdict === "dead") {
        dead.push(subscription);
        // The fresh connection carries others, and did not revive this one.
        if (subscription.diedWithMost && this.#hasSpoken()) subscription.wasReplacedFor = true;
      } else if (verdict === "probe") this.#probe(subscription);
      if (subscription.wasReplacedFor) continue;
      judgedCount++;
      if (verdict === "dead") newlyDeadCount++;
    }
    if (dead.length > 0) this.#dead(dead, newlyDeadCount >= MASS_DEATH_MIN && newlyDeadCount * 2 >= judgedCount);
  }

  /** Has the present connection carried anything? */
  #hasSpoken(): boolean {
    const linkId = this.#host.linkId();
    for (const { seenLinkId } of this.#subscriptions.values()) if (seenLinkId === linkId) return true;
    return false;
  }

  /** The connection was killed soon after these names were sent. */
  suspect(names: readonly string[]): void {
    const { logger, name: socketName, handlers } = this.#options;
    for (const name of names) {
      const subscription = this.#subscriptions.get(name);
      if (subscription === undefined) continue;
      subscription.suspicion++;
      if (names.length > 1 || subscription.suspicion <= SUSPECT_AFTER) continue;
      subscription.aloneKillCount++;
      if (subscription.aloneKillCount < QUARANTINE_AFTER) continue;
      subscription.isQuarantined = true;
      const waitMs = Math.min(RETRY_AFTER_MAX_MS, RETRY_AFTER_MS * 2 ** Math.min(subscription.givenUpCount++, 10));
      subscription.retryAtNs = this.#options.clock.monoNs() + waitMs * 1e6;
      logger.error("socket.quarantined", { socket: socketName, name });
      this.#host.guard(() => handlers.onQuarantined?.(name));
    }
  }

  /** One name on trial at a time: of two, a kill would not show which it was. */
  #retryOne(nowNs: number): void {
    let due: Subscription | null = null;
    for (const subscription of this.#subscriptions.values()) {
      if (!subscription.isQuarantined && isSuspect(subscription)) return;
      if (due === null && subscription.isQuarantined && nowNs >= subscription.retryAtNs) due = subscription;
    }
    if (due === null) return;
    const { name } = due.spec;
    if (!this.#host.askAlone(name)) return;
    due.isQuarantined = false;
    // The next kill with it alone gives it up again.
    due.suspicion = SUSPECT_AFTER;
    due.aloneKillCount = QUARANTINE_AFTER - 1;
    this.#options.logger.info("socket.quarantine-retried", { socket: this.#options.name, name });
    this.#host.guard(() => this.#options.handlers.onRetried?.(name));
  }

  #probe(subscription: Subscription): void {
    const { probe, name } = subscription.spec;
    if (probe === null) return;
    subscription.isProbing = true;
    const linkId = this.#host.linkId();
    const settle = (result: ProbeResult): void => {
      const isDead = subscription.probed(result, this.#options.clock.monoNs());
      const isCurrent = linkId === this.#host.linkId() && this.#subscriptions.get(name) === subscription;
      if (isDead && isCurrent) this.#dead([subscription], false);
    };
    probe().then(settle, () => settle("unknown"));
  }

  /** Asks for dead streams again, or replaces the connection: when one stays dead, or when most of them died together. */
  #dead(dead: readonly Subscription[], isMassDeath: boolean): void {
    const { logger, name: socketName, handlers, clock } = this.#options;
    let isHopeless = isMassDeath;
    for (const subscription of dead) {
      const { name } = subscription.spec;
      this.silentCount++;
      subscription.deadCount++;
      subscription.unknownCount = 0;
      if (subscription.deadCount >= RECONNECT_AFTER_DEAD && !subscription.wasReplacedFor) isHopeless = true;
      this.#host.guard(() => handlers.onSilent?.(name));
    }
    const names = dead.slice(0, MAX_LOGGED_NAMES).map((subscription) => subscription.spec.name);
    logger.warn("socket.silent", { socket: socketName, count: dead.length, isHopeless, names: names.join(" ") });
    if (isHopeless) {
      // The fresh connection is for all that were found dead; each has its own probe, and would ask for one of its own.
      for (const subscription of this.#subscriptions.values()) {
        // When most died together it was the connection: none of them is to blame, unless the next one does not revive it.
        if (subscription.deadCount > 0) {
          if (isMassDeath) subscription.diedWithMost = true;
          else subscription.wasReplacedFor = true;
        }
        subscription.deadCount = 0;
      }
      this.#host.reconnect("silent");
      return;
    }
    const nowNs = clock.monoNs();
    for (const subscription of dead) {
      subscription.requested(nowNs);
      if (subscription.wasReplacedFor) {
        const waitMs = Math.min(ALONE_AFTER_MAX_MS, ALONE_AFTER_MS * 2 ** subscription.aloneCount++);
        subscription.restsUntilNs = nowNs + waitMs * 1e6;
      }
      this.#host.askAgain(subscription.spec.name);
    }
  }
}
