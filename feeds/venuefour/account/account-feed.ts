/**
 * The private channels of one account of venuefour and the REST reads beside them, for the stream of its credentials
 * (shared/account/account-session-stream.ts).
 *
 * Invariant: after a loss the fills that were missed are read and reported, each once (catch-up.ts). The venue shows an
 * account to all who name it, so events are passed on before the first read.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import type {
  AccountConnection,
  AccountFeed,
  AccountTruth,
  LoadFailure,
  Question,
} from "../../shared/account/account-feed.js";
import type { FeedParts } from "../../shared/account/account-session-stream.js";
import { SURELY_LATER_MS } from "../../shared/account/streamed-reads.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import {
  ACCOUNT_IDLE_MS,
  ACCOUNT_PING_EVERY_MS,
  MESSAGES_PER_SECOND,
  PING_TEXT,
  ROTATE_AFTER_MS,
} from "../rules/limits.js";
import { AccountCatchUp, type CatchUpDeps } from "./catch-up.js";
import { AccountChannels } from "./channels.js";
import { type AccountFrame, decodeAccountFrame } from "./frames.js";
import type { KnownSettings } from "./known-settings.js";
import { normalizeFill, normalizeOrder } from "./normalize.js";
import type { VenuefourSession } from "./session.js";
import { AccountState } from "./state.js";
import type { VenuefourWireFill, VenuefourWirePosition, VenuefourWireUpdate } from "./wire.js";

export interface AccountFeedOptions extends CatchUpDeps {
  readonly wsUrl: string;
  readonly logger: Logger;
  readonly settings: KnownSettings;
}

/** What the channels say. */
type News = Exclude<AccountFrame, { readonly kind: "echo" | "ignored" | "malformed" | "unknown" }>;

/** A fill waits so long for the update of its order before the venue is asked for it. */
const FILL_PATIENCE_MS = 2_000;

export class VenuefourAccountFeed implements AccountFeed<VenuefourSession> {
  readonly connection: AccountConnection;
  readonly #options: AccountFeedOptions;
  readonly #parts: FeedParts<VenuefourSession>;
  readonly #words: UnknownWords;
  readonly #channels: AccountChannels;
  readonly #account = new AccountState();
  readonly #catchUp: AccountCatchUp;
  /** Of positions, those that were taken. */
  #positionFrameCount = 0;
  /** Monotonic ms of the last one. */
  #positionFrameMs = Number.NEGATIVE_INFINITY;
  /** One of a lower number came after it. */
  #hasLateFrame = false;
  #fillTimer: TimerHandle | null = null;

  constructor(options: AccountFeedOptions, words: UnknownWords, parts: FeedParts<VenuefourSession>) {
    const { clock, logger, wsUrl } = options;
    const { accountId, socket } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#words = words;
    this.#catchUp = new AccountCatchUp(options, accountId, this.#account, () => void parts.counters.unreadFillCount++);
    this.#channels = new AccountChannels({ accountId, clock, logger, socket });
    this.connection = {
      url: wsUrl,
      heartbeat: { pingText: PING_TEXT, everyMs: ACCOUNT_PING_EVERY_MS, idleMs: ACCOUNT_IDLE_MS },
      channels: this.#channels.names,
      protocol: {
        subscribe: (names) => `{"method":"subscribe","params":${names[0] ?? "{}"}}`,
        unsubscribe: (names) => `{"method":"unsubscribe","params":${names[0] ?? "{}"}}`,
        maxNamesPerFrame: 1,
      },
      messagesPerSecond: MESSAGES_PER_SECOND,
      rotateAfterMs: ROTATE_AFTER_MS,
    };
  }

  positions(): readonly VenuePosition[] {
    return this.#account.positions();
  }

  onOpen(linkId: number): void {
    this.#channels.opened(linkId);
  }

  isReady(linkId: number): boolean {
    return this.#channels.isAnswered(linkId);
  }

  lost(isReconnected: boolean): void {
    this.#catchUp.lost();
    if (isReconnected) this.#account.forgetSequence();
  }

  stop(): void {
    this.#channels.stop();
    if (this.#fillTimer !== null) this.#options.clock.clearTimer(this.#fillTimer);
  }

  // ------------------------------------------------------------ frames

  onFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    const frame = decodeAccountFrame(data.toString("utf8"));
    if (frame.kind === "unknown") this.#words.note("channel", frame.channel);
    else if (frame.kind === "echo") {
      if (this.#channels.echoed(frame.channel, tsRecvNs, linkId)) this.#parts.reconciler().start();
    } else if (frame.kind === "malformed") this.#unread(frame.problem, frame.isOfFills);
    else if (frame.kind !== "ignored") {
      try {
        this.#apply(frame);
      } catch (error) {
        if (!(error instanceof WireFault)) throw error;
        this.#unread(`${error.field} ${error.problem}`, frame.kind === "fills");
      }
    }
  }

  /** Lost with the rest of its frame. */
  #unread(problem: string, isOfFills: boolean): void {
    if (isOfFills) this.#catchUp.lost();
    this.#parts.reconciler().unread(problem);
  }

  #apply(frame: News): void {
    const reconciler = this.#parts.reconciler();
    switch (frame.kind) {
      case "positions":
        this.#applyPositions(frame.rows, frame.li);
        return;
      case "orders":
        for (const { order, li } of frame.rows) this.#applyOrder(order, li);
        return;
      case "fills":
        for (const wire of frame.rows) this.#applyFill(wire);
        this.#awaitOrders();
        return;
      case "settings":
        this.#options.settings.changed(this.#parts.accountId);
        reconciler.start();
    }
  }

  #applyPositions(rows: readonly VenuefourWirePosition[], li: number | null): void {
    const { accountId, isLive, reads, reconciler, tell } = this.#parts;
    const { account, clock } = this.#options;
    const { lateCount } = this.#account;
    const positions = account.normalizePositions(accountId, rows);
    const before = this.#account.positions();
    const isChanged = this.#account.applyPositions(positions, li);
    const held = this.#account.positions();
    if (this.#account.lateCount > lateCount) {
      // Out of order, or the venue's numbers began again: only a read shows the truth.
      this.#hasLateFrame = true;
      reads.doubtPositions();
      reconciler().refreshSoon();
      return;
    }
    this.#positionFrameCount++;
    this.#positionFrameMs = reads.begin();
    this.#hasLateFrame = false;
    // A whole picture, unless something newer is held.
    if (held === positions) reads.proven(clock.wallMs());
    reads.moved(before, held);
    if (isChanged && isLive()) tell({ kind: "positions" });
  }

  #applyOrder(wire: VenuefourWireUpdate["order"], li: number): void {
    const { accountId, reads, reconciler, tell } = this.#parts;
    const { instrumentOf, memory } = this.#options;
    const instrument = instrumentOf(wire.symbol);
    // A contract outside our list can not be traded here.
    if (instrument === null) return;
    const order = normalizeOrder(wire, instrument);
    if (order.status === "UNKNOWN") this.#words.note("status", order.venueStatus);
    const events = this.#account.applyOrder(order, li);
    reads.told(order);
    reconciler().happened(order.tsVenueMs);
    memory.reported(accountId, order);
    for (const event of events) tell(event);
  }

  #applyFill(wire: VenuefourWireFill): void {
    const instrument = this.#options.instrumentOf(wire.symbol);
    if (instrument === null) return;
    const { tradeId, venueOrderId, nativeSymbol, qtyLots, fee } = normalizeFill(wire, instrument);
    const fill = { tradeId, venueOrderId, nativeSymbol, qtyLots, price: wire.price, fee };
    for (const event of this.#account.applyFill(fill)) this.#parts.tell(event);
  }

  /** Fills whose order has not been reported: its update is late, or lost. */
  #awaitOrders(): void {
    if (this.#fillTimer !== null || this.#account.awaitedOrderIds().length === 0) return;
    this.#fillTimer = this.#options.clock.setTimer(() => {
      this.#fillTimer = null;
      if (this.#account.awaitedOrderIds().length > 0) this.#parts.reconciler().start();
    }, FILL_PATIENCE_MS);
  }

  // ------------------------------------------------------------ reads

  /** All of it each time: the few credits of open orders find what no frame reported. */
  async load(session: VenuefourSession, question: Question): Promise<AccountTruth | LoadFailure> {
    const { beganMs } = question;
    const framesBefore = this.#positionFrameCount;
    const caught = await this.#catchUp.read(session, question);
    if (typeof caught === "string") return caught;
    const { positions, lastId, asOfMs } = caught;
    return {
      positions,
      asOfMs,
      adopt: () => {
        const hasNewerFrame = this.#positionFrameCount > framesBefore;
        // Where numbers may have begun again, what is asked for so long after the last frame is newer, independent of
        // its own.
        const isSurelyLater = beganMs - this.#positionFrameMs >= SURELY_LATER_MS;
        const isBegunAgain = this.#hasLateFrame && !hasNewerFrame && isSurelyLater;
        this.#catchUp.taken(caught);
        return this.#account.adoptPositions(positions, lastId, hasNewerFrame, isBegunAgain);
      },
    };
  }

  takeNews(): readonly AccountEvent[] {
    return this.#catchUp.takeNews();
  }
}
