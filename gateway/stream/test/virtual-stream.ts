/**
 * The hub without a network and without waiting: virtual clock, fake rooms, sockets with buffers of a stated size that
 * a test reads at will. The test decides the order of everything.
 */
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { ClientSignedRoom } from "../../../engine/client-signed-room.js";
import { ChainPortfolio } from "../../../engine/portfolio/chain-portfolio.js";
import { Portfolio } from "../../../engine/portfolio/portfolio.js";
import type { ResolvedExecution } from "../../../engine/portfolio/resolved-executions.js";
import { AccountVenue } from "../../../engine/portfolio/test/fake-accounts.js";
import { createKeyedHash } from "../../../engine/storage/server-secret.js";
import type { Market } from "../../../engine/market/market.js";
import { ACCOUNT_PACES } from "../../../feeds/registry.js";
import { MarketView } from "../../api/market-view.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "../../test/fake-room.js";
import type { Connection, StreamSocket } from "../connection.js";
import { StreamHub } from "../hub.js";
import { DEFAULT_STREAM_LIMITS, type StreamLimits } from "../limits.js";
import type { StoredWallets } from "../stored-blocks.js";
import type { StreamTransfers } from "../transfer-topic.js";
import { Fold, type Frame } from "./frame-judge.js";
import { judge } from "./stream-client.js";
import { anInstrument } from "../../../engine/domain/test/instruments.js";

type Item =
  | { readonly kind: "frame"; readonly text: string }
  | { readonly kind: "ping"; readonly payload: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

/** Bytes of a frame in addition to its text. */
const HEADER_BYTES = 4;

function sizeOf(item: Item): number {
  return HEADER_BYTES + (item.kind === "frame" ? item.text.length : 8);
}

/** Server side of one connection, its path, and the client at its end. */
export class VirtualClient {
  readonly frames: Frame[] = [];
  /** A long run checks and folds its frames without keeping them. */
  keepsFrames = true;
  readonly folds: Map<string, Fold>;
  readonly #stream: VirtualStream;
  readonly #channels = new Set<string>();
  /** What the kernels hold, and what waits before them. */
  readonly #path: Item[] = [];
  readonly #waiting: Item[] = [];
  #pathBytes = 0;
  #waitingBytes = 0;
  connection!: Connection;
  /** Bytes that the kernels take. */
  pathBytesMax = Number.POSITIVE_INFINITY;
  /** Reads everything at once; a test that sets false calls `read`. */
  isReading = true;
  answersPings = true;
  pingCount = 0;
  onFrame: (frame: Frame) => void = () => {};
  /** Subscriptions that the hub restarts: a snapshot must follow. */
  readonly owed = new Set<string>();
  /** A planted fault: frames that never come. */
  loses: (frame: Frame) => boolean = () => false;
  end: { readonly code: number; readonly reason: string } | null = null;
  #isEnded = false;

  constructor(stream: VirtualStream, folds: Map<string, Fold>) {
    this.#stream = stream;
    this.folds = folds;
  }

  has(channel: string): boolean {
    return this.#channels.has(channel);
  }

  send(text: string): void {
    this.#push({ kind: "frame", text });
  }

  ping(payload: string): void {
    this.pingCount++;
    this.#push({ kind: "ping", payload });
  }

  bufferedBytes(): number {
    this.#mustBeOpen();
    return this.#waitingBytes;
  }

  join(channel: string): void {
    this.#mustBeOpen();
    this.#channels.add(channel);
  }

  leave(channel: string): void {
    this.#mustBeOpen();
    this.#channels.delete(channel);
  }

  cork(run: () => void): void {
    this.#mustBeOpen();
    run();
  }

  /** The socket's `end`. */
  close(code: number, reason: string): void {
    this.#mustBeOpen();
    this.#push({ kind: "close", code, reason });
    this.#isEnded = true;
    this.#channels.clear();
  }

  /** Client → server. */
  op(frame: Record<string, unknown>): void {
    if (!this.#isEnded) this.#stream.hub.receive(this.connection, Buffer.from(JSON.stringify(frame)), false);
    this.#stream.turn();
  }

  /** The client takes `bytes` from the path. */
  read(bytes: number): void {
    let left = bytes;
    for (let item = this.#path[0]; item !== undefined && left > 0 && this.end === null; item = this.#path[0]) {
      left -= sizeOf(item);
      this.#pathBytes -= sizeOf(item);
      this.#path.shift();
      this.#fill();
      this.#take(item);
    }
  }

  /** The connection is lost; nothing more arrives. */
  cut(): void {
    this.end ??= { code: 1006, reason: "" };
    if (!this.#isEnded) this.connection.gone();
    this.#isEnded = true;
    this.#channels.clear();
  }

  #mustBeOpen(): void {
    if (this.#isEnded) throw new Error("a closed socket was touched");
  }

  #push(item: Item): void {
    this.#mustBeOpen();
    if (this.#waitingBytes > this.#stream.hub.limits.fatalBufferBytes) {
      this.connection.end(4408, "SLOW_CONSUMER");
      return;
    }
    this.#waiting.push(item);
    this.#waitingBytes += sizeOf(item);
    this.#fill();
    if (this.isReading) this.#stream.afterTurn(() => this.read(Number.POSITIVE_INFINITY));
  }

  #fill(): void {
    const before = this.#waitingBytes;
    for (let item = this.#waiting[0]; item !== undefined; item = this.#waiting[0]) {
      if (this.#pathBytes > 0 && this.#pathBytes + sizeOf(item) > this.pathBytesMax) break;
      this.#waiting.shift();
      this.#waitingBytes -= sizeOf(item);
      this.#path.push(item);
      this.#pathBytes += sizeOf(item);
    }
    if (before > 0 && this.#waitingBytes === 0 && !this.#isEnded)
      this.#stream.afterTurn(() => {
        if (!this.#isEnded) this.connection.catchUp();
      });
  }

  #take(item: Item): void {
    if (item.kind === "close") {
      this.end = { code: item.code, reason: item.reason };
      return;
    }
    if (item.kind === "ping") {
      // The reply arrives in a later turn: a hub that pings again at once would otherwise loop forever in this one.
      if (this.answersPings)
        this.#stream.afterTurn(() => {
          if (!this.#isEnded) this.connection.pong(item.payload);
        });
      return;
    }
    const frame = judge.check(item.text);
    if (this.loses(frame)) return;
    if (this.keepsFrames) this.frames.push(frame);
    this.onFrame(frame);
    if (frame.type === "resumed") {
      for (const { sub, missed, epoch, seq } of frame.subs) {
        if (missed) this.owed.add(sub);
        const fold = this.folds.get(sub);
        if (!missed && (fold?.epoch !== epoch || fold.seq !== seq))
          throw new Error(`resumed ${sub} at ${seq}, the client is at ${fold?.seq ?? "nothing"}`);
      }
    }
    if (frame.type === "snapshot") this.owed.delete(frame.sub);
    if (frame.type === "snapshot" || frame.type === "update") {
      const fold = this.folds.get(frame.sub) ?? new Fold(frame.sub);
      if (frame.type === "update" && fold.frameCount === 0)
        throw new Error(`an update before its snapshot: ${item.text}`);
      this.folds.set(frame.sub, fold);
      fold.take(frame);
    } else if (frame.type === "unsubscribed") {
      for (const sub of frame.subs as unknown as string[]) {
        this.folds.delete(sub);
        this.owed.delete(sub);
      }
    } else if (frame.type === "heartbeat") {
      for (const [sub, head] of Object.entries(frame.heads)) {
        // 0: its snapshot waits.
        if (head > 0 && this.folds.get(sub)?.seq !== head)
          throw new Error(
            `heartbeat says ${head} of ${sub}, the client is at ${this.folds.get(sub)?.seq ?? "nothing"}`,
          );
      }
    }
  }
}

export class VirtualStream {
  readonly clock = new VirtualClock();
  readonly markets: { readonly btcOne: Market; readonly btcTwo: Market; readonly ethOne: Market };
  readonly one: FakeRoom;
  readonly two: FakeRoom;
  readonly view: MarketView;
  readonly hub: StreamHub;
  /** Accounts of the same venues: the first streams two of them and is public, the second is polled. */
  readonly accounts: { readonly one: AccountVenue; readonly two: AccountVenue };
  readonly portfolio: Portfolio;
  readonly hash = createKeyedHash(Buffer.alloc(32, 9));
  /** Server wallets with keys; a test sets them. */
  wallets: StoredWallets = () => null;
  /** Reports that an execution was resolved. */
  resolve: (execution: ResolvedExecution) => void = () => {};
  readonly #clients = new Set<VirtualClient>();
  #deferred: (() => void)[] = [];
  #after: (() => void)[] = [];
  publishCount = 0;
  /** Most rounds in a row of work that waits for its own turn; with fewer, timers run in between. */
  roundsMax = Number.POSITIVE_INFINITY;
  /** For each past turn: bytes that the hub gave to sockets within it. */
  readonly turnBytes: number[] = [];
  #bytesBefore = 0;

  /** `transfers`: money of server wallets; absent: that topic is not served. `clientSigned`: absent: it is not configured. */
  constructor(
    limits: Partial<StreamLimits> = {},
    transfers: ((clock: VirtualClock) => Omit<StreamTransfers, "hash" | "logger">) | null = null,
    clientSigned: ClientSignedRoom | null = null,
  ) {
    this.markets = {
      btcOne: fakeMarket(anInstrument(), { deepTier: true }),
      btcTwo: fakeMarket(anInstrument({ venue: "venuetwo" })),
      ethOne: fakeMarket(anInstrument({ symbol: "ETH", priceDecimals: 2 })),
    };
    const { btcOne, btcTwo, ethOne } = this.markets;
    this.one = createFakeRoom("venueone", [btcOne, ethOne], () => this.clock.wallMs());
    this.two = createFakeRoom("venuetwo", [btcTwo], () => this.clock.wallMs());
    this.view = new MarketView([this.one, this.two]);
    const { clock } = this;
    this.accounts = {
      one: new AccountVenue("venueone", clock, { streamPlaces: 2, isPublic: true, markets: [btcOne, ethOne] }),
      two: new AccountVenue("venuetwo", clock, { streamPlaces: null, markets: [btcTwo] }),
    };
    const { hash } = this;
    this.portfolio = new Portfolio({
      rooms: new Map([this.accounts.one.room, this.accounts.two.room].map((room) => [room.venue, room])),
      clock,
      logger: silentLogger,
      hash,
      paces: {
        ...ACCOUNT_PACES,
        venuetwo: {
          positions: { looksPerMinute: 600, intervalMsMin: 500 },
          orders: { looksPerMinute: 600, intervalMsMin: 500 },
        },
      },
      resolved: {
        listen: (listener) => {
          this.resolve = listener;
          return () => {};
        },
      },
    });
    for (const market of [btcOne, btcTwo, ethOne]) {
      this.load(market);
      this.tick(market, "100.5");
    }
    this.hub = new StreamHub(
      { ...DEFAULT_STREAM_LIMITS, ...limits },
      {
        clock: this.clock,
        logger: silentLogger,
        view: this.view,
        publish: (channel, text) => {
          this.publishCount++;
          for (const client of [...this.#clients]) if (client.has(channel)) client.send(text);
        },
        defer: (run) => void this.#deferred.push(run),
        epoch: "virtual",
        refusedTickers: new Set(),
        accounts: {
          portfolio: this.portfolio,
          hash,
          wallets: (walletId, ownerId) => this.wallets(walletId, ownerId),
          ...(clientSigned === null
            ? {}
            : { chain: new ChainPortfolio({ room: clientSigned, clock, logger: silentLogger }) }),
        },
        ...(transfers === null ? {} : { transfers: { ...transfers(clock), hash, logger: silentLogger } }),
      },
    );
  }

  connect(folds = new Map<string, Fold>()): VirtualClient {
    const client = new VirtualClient(this, folds);
    this.#clients.add(client);
    const socket: StreamSocket = {
      send: (text) => client.send(text),
      ping: (payload) => client.ping(payload),
      bufferedBytes: () => client.bufferedBytes(),
      join: (channel) => client.join(channel),
      leave: (channel) => client.leave(channel),
      cork: (run) => client.cork(run),
      end: (code, reason) => client.close(code, reason),
    };
    client.connection = this.hub.connect(socket, "test");
    return client;
  }

  forget(client: VirtualClient): void {
    this.#clients.delete(client);
  }

  /** Ends the turn of the event loop: what was deferred runs, then the network moves. */
  turn(): void {
    for (let round = 0; round < this.roundsMax; round++) {
      if (this.#deferred.length + this.#after.length === 0) return;
      const deferred = this.#deferred;
      this.#deferred = [];
      for (const run of deferred) run();
      const after = this.#after;
      this.#after = [];
      const { bytesOut } = this.hub.counts;
      this.turnBytes.push(bytesOut - this.#bytesBefore);
      this.#bytesBefore = bytesOut;
      for (const run of after) run();
    }
  }

  afterTurn(run: () => void): void {
    this.#after.push(run);
  }

  advance(ms: number): void {
    for (let left = ms; left > 0; left -= 10) {
      this.clock.advance(Math.min(10, left));
      this.turn();
    }
  }

  /** Like `advance`, and replies of venues arrive. */
  async advanceAsync(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10) {
      await this.clock.advanceAsync(Math.min(10, left));
      this.turn();
    }
  }

  /** A book of `levelCount` levels a side around 1 000. */
  load(market: Market, levelCount = 30, size = 5): void {
    const bids = Array.from({ length: levelCount }, (_, index) => [10_000 - index, size + index] as const);
    const asks = Array.from({ length: levelCount }, (_, index) => [10_001 + index, size + index] as const);
    loadBook(market.book, bids, asks, this.clock.monoNs(), market.book.seq + 1, this.clock.wallMs());
  }

  setBid(market: Market, ticks: number, lots: number): void {
    market.book.applyBid(ticks, lots);
    market.book.commit(market.book.seq + 1, this.clock.wallMs(), this.clock.monoNs());
  }

  tick(market: Market, markPrice: string): void {
    market.ticker.markPrice = markPrice;
    market.ticker.stamp(this.clock.wallMs(), this.clock.monoNs());
  }

  /** Books are proven current, as by a live feed. */
  prove(): void {
    for (const market of [this.markets.btcOne, this.markets.btcTwo, this.markets.ethOne]) {
      market.book.prove(this.clock.monoNs());
      market.deep?.prove(this.clock.monoNs());
    }
  }
}
