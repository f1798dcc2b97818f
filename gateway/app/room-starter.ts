/** Starts the rooms and waits for live books, at the start of the service and after it. */
import { type Clock, delay, type TimerHandle } from "../../engine/domain/clock.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import type { MarketRoom } from "../../engine/ports.js";
import type { ServiceLogger } from "./log.js";
import { StartError } from "../children/start-error.js";

/** How long the service waits for a first live book of every venue before it listens anyway. */
const FIRST_BOOK_WAIT_MS = 5_000;
const FIRST_BOOK_POLL_MS = 20;
/** A venue that could not be reached at the start is tried again this often. */
const START_RETRY_MS = 30_000;

/** Starts rooms side by side. A venue out of reach does not delay the others; it is tried again until it answers. */
export class RoomStarter {
  readonly #rooms: readonly MarketRoom[];
  readonly #clock: Clock;
  readonly #logger: ServiceLogger;
  readonly #timers = new Set<TimerHandle>();
  #stopped = false;

  constructor(rooms: readonly MarketRoom[], clock: Clock, logger: ServiceLogger) {
    this.#rooms = rooms;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    const started = await Promise.all(this.#rooms.map((room) => this.#startRoom(room)));
    if (!started.includes(true)) {
      throw new StartError([`no venue could be reached: ${this.#rooms.map((room) => room.venue).join(", ")}`]);
    }
    for (const [index, room] of this.#rooms.entries()) if (started[index] === false) this.#retryLater(room);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) this.#clock.clearTimer(timer);
    this.#timers.clear();
  }

  async #startRoom(room: MarketRoom): Promise<boolean> {
    try {
      await room.start();
      return true;
    } catch (error) {
      this.#logger.error("room.start_failed", {
        venue: room.venue,
        errorName: error instanceof Error ? error.name : "unknown",
      });
      return false;
    }
  }

  #retryLater(room: MarketRoom): void {
    if (this.#stopped) return;
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      void this.#startRoom(room).then((started) => {
        if (!started) this.#retryLater(room);
      });
    }, START_RETRY_MS);
    this.#timers.add(timer);
  }
}

export async function waitForBooks(rooms: readonly MarketRoom[], clock: Clock): Promise<void> {
  const untilNs = clock.monoNs() + FIRST_BOOK_WAIT_MS * 1e6;
  while (!rooms.every(hasLiveBook) && clock.monoNs() < untilNs) await delay(clock, FIRST_BOOK_POLL_MS);
}

/** A room without markets has nothing to wait for. */
function hasLiveBook(room: MarketRoom): boolean {
  if (room.markets.size === 0) return true;
  for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) return true;
  return false;
}
