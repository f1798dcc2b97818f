/**
 * Which of a socket's streams are dead, and which kill the connection whenever they are asked for.
 *
 * Invariants: a stream found dead is asked for again first, and the connection is replaced only when it stays dead or
 * most died together; a name is given up only when it was sent alone and the connection was killed, more than once.
 */
import type { SocketOptions } from "./socket-options.js";
import type { ProbeResult, Subscription } from "./subscriptions.js";

/** Kills in a row with a name among the suspects before it is sent apart: one alone is mostly chance. */
const SUSPECT_AFTER = 2;
/** Kills with the name sent alone before it is given up. */
const QUARANTINE_AFTER = 2;
/** Dead verdicts in a row for one stream: the first resubscribes it, the second replaces the connection. */
const RECONNECT_AFTER_DEAD = 2;
/** So many streams dead at one look, and at least half of all: it is the connection. */
const MASS_DEATH_MIN = 3;
export const MAX_LOGGED_NAMES = 20;

/** What it asks of the socket. */
interface HealthHost {
  /** Of the connection whose data count; 0 while there is none. */
  linkId(): number;
  /** Asks for the stream anew on the present connection. */
  askAnew(name: string): void;
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
  quarantinedCount = 0;

  constructor(
    options: Pick<SocketOptions, "clock" | "logger" | "name" | "handlers">,
    subscriptions: ReadonlyMap<string, Subscription>,
    host: HealthHost,
  ) {
    this.#options = options;
    this.#subscriptions = subscriptions;
    this.#host = host;
  }

  /** Looks at the silence of every stream. */
  judgeAll(nowNs: number): void {
    let judgedCount = 0;
    const dead: Subscription[] = [];
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.isQuarantined || subscription.spec.livenessMs === 0) continue;
      judgedCount++;
      const verdict = subscription.judge(nowNs);
      if (verdict === "dead") dead.push(subscription);
      else if (verdict === "probe") this.#probe(subscription);
    }
    if (dead.length > 0) this.#dead(dead, dead.length >= MASS_DEATH_MIN && dead.length * 2 >= judgedCount);
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
      this.quarantinedCount++;
      logger.error("socket.quarantined", { socket: socketName, name });
      this.#host.guard(() => handlers.onQuarantined?.(name));
    }
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

  /** Asks for dead streams anew, or replaces the connection: when one stays dead, or when most of them died together. */
  #dead(dead: readonly Subscription[], isMassDeath: boolean): void {
    const { logger, name: socketName, handlers, clock } = this.#options;
    let isHopeless = isMassDeath;
    for (const subscription of dead) {
      const { name } = subscription.spec;
      this.silentCount++;
      subscription.deadCount++;
      subscription.unknownCount = 0;
      if (subscription.deadCount >= RECONNECT_AFTER_DEAD) isHopeless = true;
      this.#host.guard(() => handlers.onSilent?.(name));
    }
    const names = dead.slice(0, MAX_LOGGED_NAMES).map((subscription) => subscription.spec.name);
    logger.warn("socket.silent", { socket: socketName, count: dead.length, isHopeless, names: names.join(" ") });
    if (isHopeless) {
      for (const subscription of dead) subscription.deadCount = 0;
      this.#host.reconnect("silent");
      return;
    }
    for (const subscription of dead) {
      subscription.requested(clock.monoNs());
      this.#host.askAnew(subscription.spec.name);
    }
  }
}
