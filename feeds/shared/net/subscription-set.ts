/** The streams that one persistent socket is to carry: what each connection is asked for, and whether it carries all. */
import type { Link } from "./link.js";
import { isSuspect } from "./subscription-health.js";
import { Subscription, type SubscriptionSpec } from "./subscriptions.js";

export class SubscriptionSet {
  readonly #maxCount: number;
  readonly #byName = new Map<string, Subscription>();

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  get byName(): ReadonlyMap<string, Subscription> {
    return this.#byName;
  }

  get(name: string): Subscription | null {
    return this.#byName.get(name) ?? null;
  }

  /** Returns null when the socket carries its maximum. */
  add(spec: SubscriptionSpec): Subscription | null {
    if (this.#byName.size >= this.#maxCount) return null;
    const subscription = new Subscription(spec);
    this.#byName.set(spec.name, subscription);
    return subscription;
  }

  delete(name: string): boolean {
    return this.#byName.delete(name);
  }

  /** Asks a new connection for all of them that are not given up. */
  askAll(link: Link): void {
    const suspects: Subscription[] = [];
    for (const subscription of this.#byName.values()) {
      if (subscription.isQuarantined) continue;
      if (isSuspect(subscription)) suspects.push(subscription);
      else link.writer.ask(subscription.spec.name, false);
    }
    // The most suspected last: what goes before them is cleared, so that after each kill fewer of them are left.
    suspects.sort((left, right) => left.suspicion - right.suspicion);
    for (const { spec } of suspects) link.writer.ask(spec.name, true);
    link.writer.flush();
  }

  /** These names were written on the connection whose data count. */
  requested(names: readonly string[], nowNs: number): void {
    for (const name of names) this.#byName.get(name)?.requested(nowNs);
  }

  /** A connection survived these suspects. */
  cleared(names: readonly string[]): void {
    for (const name of names) this.#byName.get(name)?.cleared();
  }

  /** The connection is gone: nothing is expected until it is asked for again. */
  unasked(): void {
    for (const subscription of this.#byName.values()) subscription.unasked();
  }

  /** Every stream whose silence counts has delivered on this connection. */
  isCarriedBy(link: Link): boolean {
    for (const subscription of this.#byName.values()) {
      if (subscription.isQuarantined || subscription.spec.livenessMs === 0) continue;
      if (subscription.seenLinkId < link.id) return false;
    }
    return true;
  }
}
