/** A venue of one account with a connection for each set of credentials, by hand: what it streams, answers and omits. */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import type { AccountFeed, AccountTruth, LoadFailure, Question } from "../account/account-feed.js";
import type { FeedParts } from "../account/account-session-stream.js";
import { AccountSessionStreams } from "../account/account-session-streams.js";
import { ConnectionBudget } from "../net/connection-budget.js";
import { UnknownWords } from "../room/unknown-words.js";
import { WireFault } from "../room/wire-fields.js";
import { FakeNetwork } from "./fake-connector.js";

export const BTC = { nativeSymbol: "BTC" } as Instrument;
export const TRUTH_EVERY_MS = 60_000;
export const BACKOFF = { baseMs: 250, capMs: 10_000 } as const;
export const MAX_STREAMS = 3;
const ROTATE_AFTER_MS = 600_000;

export class TestSession implements AccountSession {
  readonly venue = "venuetwo";
  readonly accountId: string;
  readonly tag: string;
  readonly payer = null;
  isOpen = true;

  constructor(accountId: string, secret: string) {
    this.accountId = accountId;
    this.tag = `${accountId} ${secret}`;
  }

  close(): void {
    this.isOpen = false;
  }
}

export const held = (qtyLots: number): readonly VenuePosition[] =>
  qtyLots === 0 ? [] : [{ nativeSymbol: "BTC", direction: "LONG", qtyLots } as VenuePosition];

/** A load that is out: the test answers it. */
export interface OpenLoad extends Question {
  readonly session: TestSession;
  /** With what the venue said when it was asked; a frame since then is newer. */
  answer(lots: number): void;
  fail(failure: LoadFailure): void;
  throws(error: Error): void;
}

/** Frames: `ready`, `pong`, a number of lots, and anything else, which cannot be read. */
export class TestFeed implements AccountFeed<TestSession> {
  readonly connection;
  readonly parts: FeedParts<TestSession>;
  readonly losses: string[] = [];
  readonly #venue: SessionVenueBench;
  readonly #ready = new Set<number>();
  #positions = held(0);
  #frameCount = 0;

  constructor(venue: SessionVenueBench, parts: FeedParts<TestSession>) {
    this.#venue = venue;
    this.parts = parts;
    this.connection = {
      url: "ws://venue",
      heartbeat: { pingText: venue.pingText, everyMs: 2_000, idleMs: 60_000 },
      channels: [],
      protocol: { subscribe: () => "", unsubscribe: () => "", maxNamesPerFrame: 1 },
      messagesPerSecond: 10,
      rotateAfterMs: ROTATE_AFTER_MS,
    };
  }

  positions(): readonly VenuePosition[] {
    return this.#positions;
  }

  onFrame(data: Buffer, _tsRecvNs: number, linkId: number): void {
    const text = data.toString("utf8");
    if (text === "pong") return;
    if (text === "ready") {
      this.#ready.add(linkId);
      if (linkId === this.parts.socket().primaryLinkId) this.parts.reconciler().start();
      return;
    }
    if (!/^\d+$/.test(text)) throw new WireFault("frame", "is no number");
    const before = this.#positions;
    this.#frameCount++;
    this.#positions = held(Number(text));
    this.parts.reads.moved(before, this.#positions);
    if (this.parts.isLive()) this.parts.tell({ kind: "positions" });
  }

  onOpen(): void {
    // Nothing is asked for.
  }

  isReady(linkId: number): boolean {
    return this.#venue.isReadyAtOnce || this.#ready.has(linkId);
  }

  lost(isReconnected: boolean): void {
    this.losses.push(isReconnected ? "reconnected" : "silent");
  }

  load(session: TestSession, question: Question): Promise<AccountTruth | LoadFailure> {
    const framesBefore = this.#frameCount;
    const { clock, loads } = this.#venue;
    return new Promise((resolve, reject) => {
      loads.push({
        ...question,
        session,
        answer: (lots) => {
          const asOfMs = clock.wallMs();
          const adopt = (): boolean => this.#adopt(lots, framesBefore);
          resolve({ positions: held(lots), asOfMs, adopt });
        },
        fail: resolve,
        throws: reject,
      });
    });
  }

  takeNews(): readonly AccountEvent[] {
    return [];
  }

  stop(): void {
    this.losses.push("stopped");
  }

  #adopt(lots: number, framesBefore: number): boolean {
    if (this.#frameCount > framesBefore) return false;
    const before = this.#positions;
    this.#positions = held(lots);
    return before[0]?.qtyLots !== this.#positions[0]?.qtyLots;
  }
}

export interface SessionVenueTraits {
  /** Null: it is pinged by the protocol. */
  readonly pingText?: string | null;
  readonly isReadyAtOnce?: boolean;
}

/** Streams over `TestFeed`s on a virtual clock. */
export class SessionVenueBench {
  readonly clock = new VirtualClock();
  readonly network = new FakeNetwork();
  readonly pingText: string | null;
  /** A connection is ready as it opens: its URL is the subscription. */
  readonly isReadyAtOnce: boolean;
  readonly loads: OpenLoad[] = [];
  readonly feeds: TestFeed[] = [];
  readonly lines: string[] = [];
  readonly streams: AccountSessionStreams<TestSession>;

  constructor({ pingText = '"ping"', isReadyAtOnce = false }: SessionVenueTraits = {}) {
    const { clock, lines, network } = this;
    const log = (event: string, fields?: LogFields): void => {
      lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
    };
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    this.pingText = pingText;
    this.isReadyAtOnce = isReadyAtOnce;
    network.pong = "pong";
    this.streams = new AccountSessionStreams<TestSession>({
      ...{ name: "test.account", clock, random: createSeededRandom(3), logger, maxStreams: MAX_STREAMS },
      connector: network.connector,
      budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
      pace: { backoff: BACKOFF, truthEveryMs: TRUTH_EVERY_MS },
      clockOffsetMs: () => 0,
      words: new UnknownWords("test", () => logger),
      isUsable: (session: AccountSession): session is TestSession => session instanceof TestSession && session.isOpen,
      tagOf: ({ tag }) => tag,
      feed: (parts) => {
        const feed = new TestFeed(this, parts);
        this.feeds.push(feed);
        return feed;
      },
    });
  }

  open(session: AccountSession, events: AccountEvent[] = []): AccountStream {
    const opened = this.streams.openAccountStream(session, (event) => events.push(event));
    if (!opened.ok) throw new Error(opened.problem);
    return opened.stream;
  }

  /** Opens the newest connection, which is ready then. */
  async connect(): Promise<void> {
    this.network.last.open();
    if (!this.isReadyAtOnce) this.network.last.receive("ready");
    await this.clock.advanceAsync(0);
  }

  /** The oldest load that is out is answered so. */
  async answer(lots: number): Promise<void> {
    this.loads.shift()?.answer(lots);
    await this.clock.advanceAsync(0);
  }

  async fail(failure: LoadFailure): Promise<void> {
    this.loads.shift()?.fail(failure);
    await this.clock.advanceAsync(0);
  }

  async wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 250) await this.clock.advanceAsync(Math.min(250, left));
  }
}
