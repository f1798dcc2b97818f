/**
 * One user stream of venuetwo and the REST reads beside it, for the stream of its credentials
 * (shared/account/account-session-stream.ts).
 *
 * Invariants: a listen key is given out for the name of an API key alone, so nothing that the stream says is passed on
 * before a signed read of these credentials has been answered. After a loss the fills that were missed are read and
 * reported, each once (catch-up.ts).
 */
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
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import { decodeUserEvent } from "../market/decode-slow.js";
import type { StreamHostLayout } from "../market/stream-plan.js";
import type { VenuetwoWireUserEvent } from "../market/wire.js";
import { MAX_MESSAGES_PER_SECOND, ROTATE_AFTER_MS } from "../rules/limits.js";
import { AccountCatchUp, type CatchUpDeps } from "./catch-up.js";
import { marginModeOf, statusOfWord } from "./normalize.js";
import type { VenuetwoSession } from "./session.js";
import type { AppliedEvent } from "./order-state.js";
import { AccountState } from "./state.js";
import { type ListenKeys, StreamKey } from "./stream-key.js";

export interface AccountFeedOptions extends CatchUpDeps {
  readonly wsUrl: string;
  readonly layout: StreamHostLayout;
  readonly listenKeys: ListenKeys;
  /** The first time of the venue that is not believed (feeds/shared/book/stamps.ts). */
  readonly latestVenueMs: () => number;
}

/** The stream is silent while nothing happens: the pongs prove that it lives (streamed-reads.ts: 6 s of silence). */
const PING_EVERY_MS = 2_000;
const IDLE_MS = 12_000;

export class VenuetwoAccountFeed implements AccountFeed<VenuetwoSession> {
  readonly connection: AccountConnection;
  readonly #options: AccountFeedOptions;
  readonly #parts: FeedParts<VenuetwoSession>;
  readonly #words: UnknownWords;
  readonly #key: StreamKey;
  readonly #account = new AccountState();
  readonly #catchUp: AccountCatchUp;
  /** A signed read of these credentials was answered. */
  #isProven = false;
  /** The connection that was open is dead, until the next one opens. */
  #isKeyReplaced = false;

  constructor(options: AccountFeedOptions, words: UnknownWords, parts: FeedParts<VenuetwoSession>) {
    const { clock, layout, listenKeys, logger, wsUrl } = options;
    this.#options = options;
    this.#parts = parts;
    this.#words = words;
    this.#catchUp = new AccountCatchUp(options, this.#account, () => void parts.counters.unreadFillCount++);
    this.#key = new StreamKey({
      ...{ listenKeys, clock, logger },
      session: parts.session,
      isOpen: () => parts.socket().state === "open",
      onExpired: (aliveMs) => {
        this.#catchUp.silentSince(aliveMs);
        parts.renew("listen key gone");
      },
      onReplaced: (aliveMs) => {
        this.#catchUp.silentSince(aliveMs);
        this.#catchUp.lost();
        this.#isKeyReplaced = true;
      },
      onRefusal: (isRefused) => parts.reconciler().noteRefusal(isRefused),
    });
    this.connection = {
      url: async () => {
        const key = encodeURIComponent(await this.#key.get());
        return layout === "single" ? `${wsUrl}/ws/${key}` : `${wsUrl}/private/ws?listenKey=${key}`;
      },
      heartbeat: { pingText: null, everyMs: PING_EVERY_MS, idleMs: IDLE_MS },
      // The listen key is the subscription; nothing is ever asked for by name.
      channels: [],
      protocol: { subscribe: () => "", unsubscribe: () => "", maxNamesPerFrame: 1 },
      messagesPerSecond: MAX_MESSAGES_PER_SECOND,
      rotateAfterMs: ROTATE_AFTER_MS,
    };
  }

  positions(): readonly VenuePosition[] {
    return this.#account.positions();
  }

  onOpen(): void {
    if (this.#isKeyReplaced) this.#catchUp.lost();
    this.#isKeyReplaced = false;
  }

  isReady(): boolean {
    return true;
  }

  lost(isReconnected: boolean): void {
    this.#catchUp.lost();
    // What the next connection missed may contradict any event of this one.
    if (isReconnected) this.#account.forgetEventTimes();
  }

  stop(): void {
    this.#key.stop();
  }

  // ------------------------------------------------------------ events

  onFrame(data: Buffer): void {
    const reconciler = this.#parts.reconciler();
    const event = decodeUserEvent(data.toString("utf8"));
    if (event.kind !== "expired") this.#key.noteEvent();
    switch (event.kind) {
      case "expired":
        this.#parts.renew("listen key expired");
        return;
      case "ignored":
        return;
      case "malformed":
        this.#unread("an event that cannot be read");
        return;
      case "unknown":
        // An unknown kind need not be about positions; an unreadable event may have moved one.
        this.#words.note("event", event.event);
        reconciler.start();
        return;
    }
    this.#apply(event);
    this.#noteWords(event);
  }

  #apply(event: VenuetwoWireUserEvent): void {
    const { clockOffsetMs, instrumentOf } = this.#options;
    const { reads, reconciler } = this.#parts;
    switch (event.kind) {
      case "order": {
        const tsEventMs = this.#timeOf(event.tsEventMs);
        if (tsEventMs !== null) reconciler().happened(tsEventMs);
        this.#applied(this.#account.orders.applyOrder(event.order, tsEventMs, instrumentOf));
        break;
      }
      case "account": {
        const tsEventMs = this.#timeOf(event.tsEventMs);
        if (tsEventMs !== null) reconciler().happened(tsEventMs);
        const before = this.#account.positions();
        const applied = this.#account.applyPositions(event.positions, tsEventMs, instrumentOf);
        reads.moved(before, this.#account.positions());
        if (tsEventMs !== null) reads.proven(tsEventMs - clockOffsetMs());
        this.#applied(applied);
        break;
      }
      case "leverage":
        this.#applied(this.#account.applyLeverage(event.symbol, event.leverage));
        break;
      case "config":
        reconciler().start();
        break;
      default:
        break;
    }
  }

  #noteWords(event: VenuetwoWireUserEvent): void {
    if (event.kind === "order" && statusOfWord(event.order.X) === "UNKNOWN") this.#words.note("status", event.order.X);
    if (event.kind !== "account") return;
    for (const { mt } of event.positions) if (marginModeOf(mt) === null) this.#words.note("margin type", mt);
  }

  /**
   * Returns null for a time in the future. Such an event is taken, as it is news to its listeners, but bars no earlier
   * event and proves nothing: the stream is not LIVE until REST has answered.
   */
  #timeOf(tsEventMs: number): number | null {
    const latestMs = this.#options.latestVenueMs();
    this.#account.forgetBeyond(latestMs);
    if (tsEventMs < latestMs) return tsEventMs;
    this.#parts.reconciler().unread("an event of a time that is not yet");
    return null;
  }

  #applied(applied: AppliedEvent): void {
    if (applied.kind === "unfit") {
      this.#unread(applied.problem);
      return;
    }
    for (const event of applied.events) {
      if (event.kind === "order") this.#parts.reads.told(event.order);
      // Positions can be read only when LIVE, and are announced then.
      if (event.kind === "positions" && !this.#parts.isLive()) continue;
      if (this.#isProven) this.#parts.tell(event);
    }
  }

  /** What the event said is lost, and it may have been a fill. */
  #unread(problem: string): void {
    this.#catchUp.lost();
    this.#parts.reconciler().unread(problem);
  }

  // ------------------------------------------------------------ reads

  async load(session: VenuetwoSession, question: Question): Promise<AccountTruth | LoadFailure> {
    const caught = await this.#catchUp.read(session, question);
    if (typeof caught === "string") return caught;
    const { asOfMs, positions, sinceVenueMs } = caught;
    return {
      positions,
      asOfMs,
      adopt: () => {
        this.#account.forgetBeyond(this.#options.latestVenueMs());
        this.#catchUp.taken(caught);
        return this.#account.adoptPositions(positions, sinceVenueMs);
      },
    };
  }

  takeNews(): readonly AccountEvent[] {
    const learnt = this.#catchUp.takeNews();
    // What was learnt before the proof is reported now.
    const news = this.#isProven
      ? learnt
      : this.#account.orders.openOrders().map((order): AccountEvent => ({ kind: "order", order }));
    this.#isProven = true;
    return news;
  }
}
