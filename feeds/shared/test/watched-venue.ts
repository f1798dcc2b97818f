/** A watcher of accounts on a virtual clock, over a network and reads that answer from what an invented venue holds. */
import { silentLogger, type Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent, AccountSession, AccountStream, CallOptions, Read } from "../../../engine/ports.js";
import {
  type AccountAccess,
  type AccountHost,
  type AccountSource,
  type Adopt,
  type Adopted,
  type Applied,
  refusedLoad,
} from "../account/account-source.js";
import { AccountWatcher, type AccountWatcherOptions } from "../account/account-watcher.js";
import type { LoadRefused } from "../book/resync.js";
import { failedRead } from "../net/call-results.js";
import { ConnectionBudget, MessagePacer } from "../net/connection-budget.js";
import { FakeNetwork } from "./fake-connector.js";

export const COIN = "BTC";
const CHANNELS = ["positions", "orders"] as const;

/** Frames of a channel: a whole picture of the position as of a time, or the end of an order. */
type TestFrame =
  | { readonly kind: "positions"; readonly lots: number; readonly atMs: number }
  | { readonly kind: "ended"; readonly clientId: string; readonly filledLots: number };

interface Picture {
  readonly lots: number;
  readonly atMs: number;
}

/** What the venue holds, and how it answers reads. */
export class WatchedVenue {
  readonly clock: VirtualClock;
  readonly lots = new Map<string, number>();
  /** What reads show where they lag behind that; dated as they are asked. */
  readonly readLots = new Map<string, number>();
  /** `account alice`, `positions alice`, in the order asked. */
  readonly calls: string[] = [];
  /** Who paid for each of them. */
  readonly payers: (string | null)[] = [];
  /** `hangs`: no answer until the caller's time is over. */
  answers: "truly" | "fails" | "hangs" | "refuses" = "truly";
  /** What is answered is what was held when it was asked. */
  readMs = 0;
  refusedMs = 0;
  /** Owners whose sessions are closed. */
  readonly closed = new Set<string>();
  /** Their subscriptions end soon. */
  readonly ending = new Set<string>();
  /** Owners whose account the venue does not tell, and why. */
  readonly unresolved = new Map<string, "AUTH" | "TIMEOUT">();

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  async read(what: string, key: string, call: CallOptions): Promise<Read<Picture>> {
    this.calls.push(`${what} ${key}`);
    this.payers.push(call.payer ?? null);
    const { answers, readMs, refusedMs } = this;
    const asOfMs = this.clock.wallMs();
    const lots = this.readLots.get(key) ?? this.lots.get(key) ?? 0;
    const picture = { lots, atMs: this.clock.trueMs() };
    const waitMs = answers === "hangs" ? call.timeoutMs : readMs;
    if (waitMs > 0) await new Promise<void>((resolve) => void this.clock.setTimer(resolve, waitMs));
    if (answers === "refuses") return failedRead("BREAKER_OPEN", "shut", refusedMs);
    if (answers !== "truly") return failedRead("TIMEOUT", "no answer");
    return { ok: true, value: picture, asOfMs, source: "venue" };
  }
}

class TestAccess implements AccountAccess<string> {
  readonly #venue: WatchedVenue;
  /** As often as they joined. */
  readonly #owners: string[] = [];
  #kept: string | null = null;

  constructor(venue: WatchedVenue) {
    this.#venue = venue;
  }

  get isOpen(): boolean {
    return this.#kept !== null || this.#owners.some((owner) => !this.#venue.closed.has(owner));
  }

  get isEnding(): boolean {
    return this.#owners.some((owner) => this.#venue.ending.has(owner));
  }

  join(owner: string): void {
    this.#owners.push(owner);
  }

  leave(owner: string): void {
    const place = this.#owners.indexOf(owner);
    if (place >= 0) this.#owners.splice(place, 1);
  }

  keep(owner: string): void {
    this.#kept = owner;
  }

  forgetKept(): void {
    this.#kept = null;
  }

  refused(): void {
    this.#kept = null;
  }
}

export class TestSource implements AccountSource<string, TestFrame> {
  readonly channels: AccountSource<string, TestFrame>["channels"];
  readonly access: TestAccess;
  readonly needsRead = false;
  readonly #host: AccountHost;
  readonly #venue: WatchedVenue;
  #picture: Picture | null = null;

  constructor(host: AccountHost, venue: WatchedVenue, livenessMs: number) {
    this.#host = host;
    this.#venue = venue;
    this.access = new TestAccess(venue);
    this.channels = CHANNELS.map((name, index) => ({
      name: `${name}/${host.key}`,
      livenessMs: index === 0 ? livenessMs : 0,
    }));
  }

  get hasPicture(): boolean {
    return this.#picture !== null;
  }

  positions(): readonly VenuePosition[] {
    return positionsOf(this.#picture?.lots ?? 0);
  }

  apply(frame: TestFrame): Applied {
    this.#host.life.noteFrame();
    if (frame.kind === "ended") {
      const { clientId: venueClientOrderId, filledLots } = frame;
      const order = { venueClientOrderId, venueOrderId: "1", filledLots, status: "FILLED" } as unknown as VenueOrder;
      this.#host.emit({ kind: "order", order });
      return { ok: true, acknowledges: null };
    }
    // A size that no lot counts.
    if (!Number.isSafeInteger(frame.lots)) return { ok: false, problem: "lots" };
    this.#take(frame);
    this.#host.reads.happened(frame.atMs);
    return { ok: true, acknowledges: null };
  }

  async load(call: CallOptions): Promise<Adopt | LoadRefused | null> {
    const read = await this.#venue.read("account", this.#host.key, call);
    return read.ok ? () => this.#adopt(read.value) : refusedLoad([read]);
  }

  async loadPositions(call: CallOptions): Promise<Adopt | null> {
    const read = await this.#venue.read("positions", this.#host.key, call);
    return read.ok ? () => this.#adopt(read.value) : null;
  }

  noteEvent(): void {}

  #adopt(picture: Picture): Adopted {
    const before = this.#picture;
    const agrees = this.#take(picture);
    const differences = agrees && before !== null && before.lots !== picture.lots ? 1 : 0;
    return { ok: true, differences, agrees };
  }

  /** False: something newer is held. */
  #take(picture: Picture): boolean {
    if (this.#picture !== null && picture.atMs < this.#picture.atMs) return false;
    this.#picture = { lots: picture.lots, atMs: picture.atMs };
    this.#host.reads.proven(picture.atMs);
    this.#host.emit({ kind: "positions" });
    return true;
  }
}

export function positionsOf(lots: number): readonly VenuePosition[] {
  const direction = lots < 0 ? "SHORT" : "LONG";
  const qtyLots = Math.abs(lots);
  return lots === 0 ? [] : [{ nativeSymbol: COIN, direction, qtyLots } as unknown as VenuePosition];
}

export interface WatchOptions {
  readonly seed?: number;
  readonly limits?: Partial<AccountWatcherOptions<string, TestFrame, TestSource>["limits"]>;
  readonly freeingMs?: number;
  /** Of the channel of positions; 0: silence says nothing. */
  readonly livenessMs?: number;
  readonly isProvenByConnection?: boolean;
  readonly messagesPerMinute?: number;
  readonly logger?: Logger;
}

export class WatchBench {
  readonly clock = new VirtualClock();
  readonly venue = new WatchedVenue(this.clock);
  readonly network = new FakeNetwork();
  readonly watcher: AccountWatcher<string, TestFrame, TestSource>;
  readonly events: AccountEvent[] = [];

  constructor(options: WatchOptions = {}) {
    const { clock, network, venue } = this;
    const messages = new MessagePacer(clock, options.messagesPerMinute ?? 1_000, 60_000);
    this.watcher = new AccountWatcher<string, TestFrame, TestSource>({
      venue: "venue",
      clock,
      random: createSeededRandom(options.seed ?? 7),
      logger: options.logger ?? silentLogger,
      socket: {
        name: "venue.accounts",
        url: "ws://venue",
        connector: network.connector,
        budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 60 }),
        pacers: () => [messages],
        heartbeat: { pingText: '{"ping":true}', everyMs: 2_000, idleMs: 30_000 },
        maxSubscriptions: 100,
      },
      protocol: {
        subscribe: (name) => JSON.stringify({ subscribe: name }),
        unsubscribe: (name) => JSON.stringify({ unsubscribe: name }),
      },
      limits: {
        maxAccounts: 3,
        maxHot: 2,
        hotWindowMs: 60_000,
        hotIdleMs: 60_000,
        hotReplaces: false,
        asksAreUses: false,
        ...options.limits,
      },
      freeingMs: options.freeingMs ?? 0,
      truthEveryMs: 60_000,
      isProvenByConnection: options.isProvenByConnection ?? true,
      admit: ({ accountId }) =>
        accountId === "" ? { ok: false, problem: "names nobody" } : { ok: true, key: accountId },
      resolve: async ({ accountId }) => {
        const code = venue.unresolved.get(accountId);
        if (code !== undefined) return failedRead(code, "not told");
        return { ok: true, value: accountId, asOfMs: clock.wallMs(), source: "venue" };
      },
      keyOf: (owner) => owner,
      open: (host) => new TestSource(host, venue, options.livenessMs ?? 0),
      onFrame: (data) => this.#frame(JSON.parse(data.toString()) as Record<string, unknown>),
    });
    network.pong = '{"pong":true}';
  }

  /** What was written and is no ping. */
  get sent(): readonly string[] {
    return this.network.connections.flatMap(({ sent }) => sent).filter((text) => !text.includes("ping"));
  }

  states(): readonly string[] {
    return this.events.flatMap((event) => (event.kind === "state" ? [event.state] : []));
  }

  open(
    key: string,
    onEvent = (event: AccountEvent): void => void this.events.push(event),
    payer: string | null = null,
  ): AccountStream {
    const opened = this.watcher.openAccountStream(sessionOf(key, payer), onEvent);
    if (!opened.ok) throw new Error(opened.problem);
    return opened.stream;
  }

  receive(frame: Readonly<Record<string, unknown>>): void {
    this.network.last.receive(JSON.stringify(frame));
  }

  acknowledge(key: string): void {
    for (const name of CHANNELS) this.receive({ ack: `${name}/${key}` });
  }

  /** A frame tells what the venue holds. */
  tell(key: string, lots = this.venue.lots.get(key) ?? 0, atMs = this.clock.trueMs()): void {
    this.receive({ key, kind: "positions", lots, atMs });
  }

  /** Null while it cannot be read. */
  lots(stream: AccountStream): number | null {
    const read = stream.positions();
    return read.ok ? (read.value[0]?.qtyLots ?? 0) : null;
  }

  /** Opened, connected and written; nothing is acknowledged. */
  async written(key: string): Promise<AccountStream> {
    const stream = this.open(key);
    await this.clock.advanceAsync(0);
    if (this.network.last.sent.length === 0) this.network.last.open();
    await this.clock.advanceAsync(10);
    return stream;
  }

  async live(key: string): Promise<AccountStream> {
    const stream = await this.written(key);
    this.acknowledge(key);
    await this.clock.advanceAsync(10);
    if (stream.state !== "LIVE") throw new Error(`${key} is ${stream.state}`);
    return stream;
  }

  #frame(frame: Record<string, unknown>): void {
    const { ack, key, pong } = frame;
    if (pong === true) return;
    if (frame["full"] === true) this.watcher.full();
    else if (typeof ack === "string") this.watcher.get(ack.split("/")[1] ?? "")?.acknowledge(ack);
    else if (typeof key !== "string") this.watcher.unreadable(null, "whose it is");
    else if (frame["kind"] === undefined) this.watcher.unreadable(key, "no kind");
    else this.watcher.get(key)?.onFrame(frame as unknown as TestFrame);
  }
}

export function sessionOf(accountId: string, payer: string | null = null): AccountSession {
  return { venue: "venueone", accountId, payer, close: () => {} };
}
