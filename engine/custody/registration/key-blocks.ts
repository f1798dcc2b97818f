/** The keys that trade, as blocks of credentials: each secret stays sealed but for the moment in which a session takes it. */
import { ServiceError } from "../../domain/errors.js";
import type { LifetimeClock } from "../../domain/lifetime-clock.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { StoredSecret } from "../../key-registrar.js";
import { type KeyParts, withSecret } from "./key-parts.js";
import { type KeyPlace, rowKey, sealContext, type StoredKey } from "./key-row.js";
import { isExpired, tradingKey } from "./key-views.js";

export type VenueBlocks = Readonly<Partial<Record<RoutableVenue, unknown>>>;

export class KeyBlocks {
  readonly #parts: KeyParts;
  readonly #lifetime: LifetimeClock;
  /** Keys whose secret could be opened as they lie in memory: one look is enough. */
  readonly #opened = new WeakSet<StoredKey>();
  /** Their blocks: one of a key that the venue made has a part of what is sealed, and subscriptions ask every moment. */
  readonly #blocks = new WeakMap<StoredKey, unknown>();

  constructor(parts: KeyParts, lifetime: LifetimeClock) {
    this.#parts = parts;
    this.#lifetime = lifetime;
  }

  /** Of the kind that is configured: keys of another one trade no more. */
  trading(place: KeyPlace): StoredKey | undefined {
    const kind = this.#parts.registrars.get(place.venue)?.kind;
    const live = tradingKey(this.#parts.book.keysOf(place), this.#lifetime.nowMs());
    return kind === undefined || live?.flow === kind ? live : undefined;
  }

  /**
   * Blocks of interface spec 2.3 for one request. Rejects with SEAL_BROKEN, SEAL_KEY_UNKNOWN or STORE_UNAVAILABLE where a
   * secret cannot be opened; later each session opens it by itself.
   */
  async opened(walletId: string): Promise<VenueBlocks> {
    for (const { place, live } of this.#usable(walletId)) {
      if (this.#opened.has(live)) continue;
      await withSecret(this.#parts, place, live, () => null);
      this.#opened.add(live);
    }
    return this.stored(walletId);
  }

  /** The same without a look at secrets that were seen. */
  stored(walletId: string): VenueBlocks {
    const blocks: Partial<Record<RoutableVenue, unknown>> = {};
    for (const { place, live, registrar } of this.#usable(walletId)) {
      if (!this.#blocks.has(live)) this.#blocks.set(live, registrar.block(live, this.#secretOf(place, live)));
      blocks[place.venue] = this.#blocks.get(live);
    }
    return blocks;
  }

  #secretOf(place: KeyPlace, live: StoredKey): StoredSecret {
    return new StoredSecret(
      `${rowKey(place)}/${live.signer}/${live.name}`,
      () => this.#openNow(place, live),
      () => this.stored(place.walletId)[place.venue] ?? null,
    );
  }

  /** `hear`: another key trades for the wallet at a venue, or none does any more. Call the result to end it. */
  listen(walletId: string, hear: () => void): () => void {
    return this.#parts.book.listen(walletId, () => {
      try {
        hear();
      } catch (error) {
        // What was made durable is done, whatever a listener makes of it.
        const errorName = error instanceof Error ? error.name : "unknown";
        this.#parts.logger.error("venue_keys.listener_failed", { errorName });
      }
    });
  }

  /** The keys that trade, at venues that are configured. */
  #usable(walletId: string) {
    return this.#parts.book.rowsOf(walletId).flatMap((place) => {
      const registrar = this.#parts.registrars.get(place.venue);
      const live = this.trading(place);
      return registrar === undefined || live === undefined ? [] : [{ place, live, registrar }];
    });
  }

  /** Null for a key that has ended since. A serial may then be that of another: the count begins anew with the row. */
  #openNow(place: KeyPlace, { serial, signer, name }: StoredKey): Uint8Array | null {
    const key = this.#parts.book
      .keysOf(place)
      .find((one) => one.serial === serial && one.signer === signer && one.name === name);
    if (key === undefined || key.state === "REVOKING" || isExpired(key, this.#lifetime.nowMs())) return null;
    try {
      return this.#parts.sealer.open(sealContext(place, key), Buffer.from(key.sealed, "base64"));
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.error("venue_keys.not_opened", { name: rowKey(place), code });
      return null;
    }
  }
}
