/**
 * The twenty best levels of every market whose whole book is not there: a stream of its own (`depth20`), on connections
 * of its own that are made first, so that hundreds of markets are LIVE long before their snapshots could be paid for.
 *
 * Invariants: what comes here replaces a book and is never merged with diffs (market/sync.ts keeps them apart); a market is
 * asked for here only while its chain is not LIVE; a lost connection takes down the books that only it showed. Where the
 * stream is silent, because the market is, REST brings the same levels once and the probe keeps them proven.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import {
  BOOK_LIVE,
  INVALID_DECODE,
  INVALID_DISCONNECTED,
  INVALID_PROBE_MISMATCH,
} from "../../../engine/market/book.js";
import { doubleMidTicks } from "../../../engine/market/depth-walk.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { logDropped } from "../../shared/net/dropped-frame.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { LoadRefused } from "../../shared/book/resync.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { Subscription } from "../../shared/net/subscriptions.js";
import type { VenuetwoDecoder } from "./decode.js";
import { FRAME_DEPTH, FRAME_DRIFT, FRAME_OTHER } from "./frame.js";
import {
  IDLE_SOCKET_MS,
  MAX_MESSAGES_PER_SECOND,
  MAX_STREAMS_PER_SOCKET,
  ROTATE_AFTER_MS,
  STREAMS_PER_SUBSCRIBE,
} from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";
import type { QuietProbe } from "./quiet-probe.js";
import type { SnapshotQueue } from "./snapshot-queue.js";
import { streamName } from "./stream-plan.js";
import { depthSymbolOf } from "./unreadable.js";

export interface ShallowTierOptions {
  readonly url: string;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: ConnectionBudget;
  /** Shared with the diffs: the same symbols, slots and decimals. */
  readonly decoder: VenuetwoDecoder;
  readonly probe: QuietProbe;
  readonly snapshots: SnapshotQueue;
  /** How much older than its receipt a frame counts (0 unless it was held up on its way). */
  readonly lateNs: (slot: MarketSlot, tsEventMs: number) => number;
}

/** Silence of the stream after which the market is probed, and after which REST is asked for a market that shows nothing. */
const SILENCE_MS = 900;
const LOOK_EVERY_MS = 500;
/** REST is asked again so long after an answer that was none, and after one that the grid cannot hold. */
const ASK_AGAIN_MS = 2_000;
const MISFIT_PAUSE_MS = 20_000;
const PING_EVERY_MS = 15_000;
/** Other connections of the room wait for these so long; a venue that refuses these may serve those. */
const YIELD_MAX_MS = 5_000;
const YIELD_AGAIN_MS = 100;

interface Place {
  readonly slot: MarketSlot;
  readonly socket: PersistentSocket;
  subscription: Subscription | null;
  isAsking: boolean;
  /** Monotonic ns before which REST is not asked again. */
  askAfterNs: number;
}

export class ShallowTier {
  readonly #options: ShallowTierOptions;
  readonly #protocol: SubscribeProtocol;
  readonly #sockets: PersistentSocket[] = [];
  /** By slot of the decoder. */
  readonly #places: (Place | undefined)[] = [];
  readonly #placeByName = new Map<string, Place>();
  #nextRequestId = 1;
  #isStarted = false;
  #lookTimer: TimerHandle | null = null;
  /** When the other connections began to wait; -1 while they need not. */
  #yieldSinceNs = -1;

  constructor(options: ShallowTierOptions) {
    this.#options = options;
    const message = (method: string) => (names: readonly string[]) =>
      JSON.stringify({ method, params: names, id: this.#nextRequestId++ });
    this.#protocol = {
      subscribe: message("SUBSCRIBE"),
      unsubscribe: message("UNSUBSCRIBE"),
      maxNamesPerFrame: STREAMS_PER_SUBSCRIBE,
    };
  }

  get sockets(): readonly PersistentSocket[] {
    return this.#sockets;
  }

  get hasMarkets(): boolean {
    return this.#placeByName.size > 0;
  }

  /** A market of the decoder's slot `index`. It has a place on its connection, asked for or not, until it is removed. */
  add(index: number, slot: MarketSlot): void {
    if (this.#places[index]?.slot === slot) return;
    const withRoom = this.#sockets.find((socket) => this.#placeCountOf(socket) < MAX_STREAMS_PER_SOCKET);
    const place: Place = {
      slot,
      socket: withRoom ?? this.#createSocket(),
      subscription: null,
      isAsking: false,
      askAfterNs: 0,
    };
    this.#places[index] = place;
    this.#placeByName.set(shallowName(slot), place);
    this.follow(index);
  }

  /** The market is no longer streamed. */
  remove(index: number): void {
    const place = this.#places[index];
    if (place === undefined) return;
    this.#places[index] = undefined;
    this.#placeByName.delete(shallowName(place.slot));
    this.#options.snapshots.drop(place.slot, "shallow");
    place.socket.unsubscribe(shallowName(place.slot));
    place.slot.sync.loseShallow(INVALID_DISCONNECTED);
  }

  start(): void {
    this.#isStarted = true;
    for (const socket of this.#sockets) socket.start();
    this.#look();
  }

  stop(): void {
    if (this.#lookTimer !== null) this.#options.clock.clearTimer(this.#lookTimer);
    this.#lookTimer = null;
    for (const socket of this.#sockets) socket.stop();
  }

  /** Asks for the market while its chain is not LIVE, and gives it up once it is. */
  follow(index: number): void {
    const place = this.#places[index];
    if (place === undefined) return;
    const isWanted = !place.slot.sync.isLive;
    if (isWanted === (place.subscription !== null)) return;
    if (!isWanted) {
      place.socket.unsubscribe(shallowName(place.slot));
      place.subscription = null;
      return;
    }
    place.subscription = place.socket.subscribe({
      name: shallowName(place.slot),
      livenessMs: SILENCE_MS,
      probe: () => this.#options.probe.probe(place.slot.market),
    });
  }

  /** How long the other connections have to wait for these to be made; 0 when they need not. */
  yieldMs(): number {
    const isMissing = this.#isStarted && this.#sockets.some(({ state }) => state !== "open");
    if (!isMissing) {
      this.#yieldSinceNs = -1;
      return 0;
    }
    const nowNs = this.#options.clock.monoNs();
    if (this.#yieldSinceNs < 0) this.#yieldSinceNs = nowNs;
    return (nowNs - this.#yieldSinceNs) / 1e6 < YIELD_MAX_MS ? YIELD_AGAIN_MS : 0;
  }

  #placeCountOf(socket: PersistentSocket): number {
    let count = 0;
    for (const place of this.#placeByName.values()) if (place.socket === socket) count++;
    return count;
  }

  #createSocket(): PersistentSocket {
    const { url, clock, random, logger, connector, budget } = this.#options;
    const socket = new PersistentSocket({
      name: `venuetwo.shallow.${this.#sockets.length}`,
      url,
      clock,
      random,
      logger,
      connector,
      budget,
      heartbeat: { pingText: null, everyMs: PING_EVERY_MS, idleMs: IDLE_SOCKET_MS },
      protocol: this.#protocol,
      pacers: () => [new MessagePacer(clock, MAX_MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: MAX_STREAMS_PER_SOCKET,
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#onFrame(data, tsRecvNs, linkId),
        onDown: () => {
          for (const place of this.#places)
            if (place?.socket === socket) place.slot.sync.loseShallow(INVALID_DISCONNECTED);
        },
        onSilent: (name) => this.#placeByName.get(name)?.slot.sync.loseShallow(INVALID_PROBE_MISMATCH),
        onQuarantined: (name) => logger.error("venuetwo.stream-quarantined", { name }),
      },
    });
    this.#sockets.push(socket);
    if (this.#isStarted) socket.start();
    return socket;
  }

  #onFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    const { decoder, logger, lateNs } = this.#options;
    const kind = decoder.decodeFrame(data, 0, data.length);
    const { frame } = decoder;
    const place = kind === FRAME_DEPTH || kind === FRAME_DRIFT ? this.#places[frame.slot] : undefined;
    if (place !== undefined && kind === FRAME_DEPTH) {
      place.subscription?.alive(tsRecvNs, linkId);
      const asOfNs = tsRecvNs - lateNs(place.slot, frame.tsEventMs);
      if (place.slot.sync.onShallow(frame, asOfNs)) this.#shown(place.slot, tsRecvNs);
      return;
    }
    // Acknowledgements are of this kind; so is a depth frame that says it is something else.
    const symbol = place === undefined ? depthSymbolOf(data) : place.slot.market.instrument.nativeSymbol;
    if (symbol === null) {
      if (kind === FRAME_OTHER && data.includes('"code"')) logger.error("venuetwo.subscribe-refused", { code: 0 });
      return;
    }
    logDropped(logger, "venuetwo", "depth20", kind === FRAME_DRIFT ? "DRIFT" : "MALFORMED", symbol);
    this.#places[decoder.symbols.slotOf(symbol)]?.slot.sync.loseShallow(INVALID_DECODE);
  }

  #shown({ market }: MarketSlot, tsRecvNs: number): void {
    market.stats.update(doubleMidTicks(market) / 2, tsRecvNs);
  }

  /** Markets that show nothing though their stream runs: nobody trades them, so REST is asked. */
  #look(): void {
    const nowNs = this.#options.clock.monoNs();
    for (const place of this.#places) {
      if (
        place === undefined ||
        place.isAsking ||
        nowNs < place.askAfterNs ||
        place.slot.market.book.state === BOOK_LIVE
      )
        continue;
      const aliveNs = place.subscription?.aliveNs ?? -1;
      if (aliveNs >= 0 && place.subscription?.isQuarantined === false && this.#isSettled(place, nowNs))
        void this.#ask(place);
    }
    this.#lookTimer = this.#options.clock.setTimer(() => this.#look(), LOOK_EVERY_MS);
  }

  /** The request for the stream is so old that a market that moves would have shown itself. */
  #isSettled({ subscription, socket }: Place, nowNs: number): boolean {
    return socket.state === "open" && subscription !== null && nowNs - subscription.aliveNs >= LOOK_EVERY_MS * 1e6;
  }

  async #ask(place: Place): Promise<void> {
    const { snapshots, decoder, clock } = this.#options;
    place.isAsking = true;
    const linkId = place.socket.primaryLinkId;
    const answer = await snapshots.load(place.slot, "shallow");
    place.isAsking = false;
    if (answer === null) place.askAfterNs = clock.monoNs() + ASK_AGAIN_MS * 1e6;
    // Of another connection's time: what changed between the two is not known.
    if (answer === null || answer instanceof LoadRefused || linkId !== place.socket.primaryLinkId || linkId === 0)
      return;
    const index = this.#places.indexOf(place);
    if (index < 0) return;
    const { body, askedNs } = answer;
    if (decoder.decodeSnapshot(body, 0, body.length, index) !== FRAME_DEPTH) {
      place.askAfterNs = clock.monoNs() + MISFIT_PAUSE_MS * 1e6;
      return;
    }
    // A dead stream would not have told what changed since: no newer than the question.
    if (place.slot.sync.onShallow(decoder.frame, askedNs)) this.#shown(place.slot, clock.monoNs());
  }
}

function shallowName(slot: MarketSlot): string {
  return `${streamName(slot)}@depth20@100ms`;
}
