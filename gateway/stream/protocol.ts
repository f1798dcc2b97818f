/**
 * Handles client frames and replies. Every frame that is understood has exactly one reply, errors included; an invalid
 * frame (binary, too long, no JSON object) ends the connection with 4400 after its error.
 *
 * Nothing thrown leaves `handle`, and nothing a client sent is logged.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import {
  authenticatedSchema,
  authSchema,
  authTicketSchema,
  cancelOnDisconnectSchema,
  disconnectSwitchesSchema,
  DISCONNECT_BOUNDS,
  MAX_ID_CHARS,
  OP_WORDS,
  pingSchema,
  pongSchema,
  resumedSchema,
  resumeSchema,
  subscribedSchema,
  unsubscribedSchema,
  unsubscribeSchema,
} from "../../schemas/stream.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { compileValidator } from "../../schemas/validate.js";
import { PUBLIC_TOPIC_WORDS } from "../../schemas/stream-data.js";
import type { Caller } from "../http/caller.js";
import { asServiceError, publicDetails, scrubbedError } from "../http/error-reply.js";
import { parseJsonBody } from "../http/json-body.js";
import { invalidParameters } from "../http/query.js";
import type { ResumedSub } from "./account-topics.js";
import type { AuthClaim } from "./auth.js";
import type { StreamCallers } from "./callers.js";
import { checked } from "./checked.js";
import type { Connection } from "./connection.js";
import type { DisconnectSwitches, DisconnectWish, HeldSwitch } from "./disconnect-switches.js";
import { CLOSE_AUTH_FAILED, CLOSE_BAD_FRAME, CLOSE_RATE_LIMITED } from "./limits.js";
import type { StreamCounts } from "./stream-counts.js";
import type { StreamKey } from "./stream-key.js";
import type { StreamKeys } from "./stream-keys.js";
import type { Topics } from "./topics.js";
import { blocksOfFrame, type StoredWallets } from "./stored-blocks.js";

/** What the protocol needs from the hub. */
export interface ProtocolHost {
  readonly frameBytesMax: number;
  /** Most bytes of missed updates; a resume frame that needs more gets new snapshots for the rest. */
  readonly resumeBytesMax: number;
  readonly keys: Pick<StreamKeys, "open" | "settle">;
  readonly counts: Pick<StreamCounts, "errorsOut">;
  readonly topics: Topics;
  readonly callers: StreamCallers;
  readonly logger: Logger;
  /** Null when trading is not served here. */
  readonly switches: DisconnectSwitches | null;
  /** Null where no wallet has keys. */
  readonly wallets: StoredWallets | null;
  wallMs(): number;
  /** Ends a connection that is one too many. */
  turnAway(connection: Connection): void;
}

/** The `id` of the present frame, to be repeated. */
type IdPart = { readonly id?: string };

type Frame = Readonly<Record<string, unknown>>;

/** A frame that waits until the proof before it is settled. */
interface HeldFrame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

/** A proof is settled within moments; a client that sends more until then is ended with 4429. */
const HELD_FRAMES_MAX = 32;
const PUBLIC_TOPICS: ReadonlySet<unknown> = new Set(PUBLIC_TOPIC_WORDS);

/** The position that a client reports. */
interface ResumeWish extends ResumedSub {
  readonly epoch: string;
  readonly seq: number;
}

export class Protocol {
  readonly #host: ProtocolHost;
  readonly #auth = compileValidator(authSchema);
  readonly #authTicket = compileValidator(authTicketSchema);
  readonly #unsubscribe = compileValidator(unsubscribeSchema);
  readonly #resume = compileValidator(resumeSchema);
  readonly #ping = compileValidator(pingSchema);
  readonly #cancelOnDisconnect = compileValidator(cancelOnDisconnectSchema);
  readonly #subscribedText = compileSerialiser(subscribedSchema);
  readonly #resumedText = compileSerialiser(resumedSchema);
  readonly #unsubscribedText = compileSerialiser(unsubscribedSchema);
  readonly #switchesText = compileSerialiser(disconnectSwitchesSchema);
  readonly #pongText = compileSerialiser(pongSchema);
  readonly #authenticatedText = compileSerialiser(authenticatedSchema);

  /** Connections whose proof is not settled yet, with what they sent since. */
  readonly #held = new Map<Connection, HeldFrame[]>();

  constructor(host: ProtocolHost) {
    this.#host = host;
  }

  handle(connection: Connection, bytes: Buffer, isBinary: boolean): void {
    const held = this.#held.get(connection);
    if (held !== undefined) {
      if (held.length >= HELD_FRAMES_MAX) connection.end(CLOSE_RATE_LIMITED, "RATE_LIMITED");
      else held.push({ bytes: Buffer.copyBytesFrom(bytes), isBinary });
      return;
    }
    const read = this.#read(bytes, isBinary);
    if (typeof read === "string") {
      this.error(connection, new ServiceError("BAD_FRAME", { problem: read }), {});
      connection.end(CLOSE_BAD_FRAME, "BAD_FRAME");
      return;
    }
    const id = idOf(read);
    try {
      this.#operate(connection, read, id);
    } catch (error) {
      this.error(connection, error, id);
    }
  }

  /** Sends an error frame; the connection stays open. */
  error(connection: Connection, thrown: unknown, id: IdPart): void {
    const error = asServiceError(thrown);
    const isFault = error.code === "INTERNAL";
    if (isFault)
      this.#host.logger.error("stream.fault", {
        errorName: error.cause instanceof Error ? error.cause.name : "unknown",
      });
    this.#host.counts.errorsOut++;
    // The context of an INTERNAL may reveal internals.
    const details = isFault ? {} : publicDetails(error.context);
    connection.send(scrubbedError({ type: "error", ...id, code: error.code, error: error.message, details }, error));
  }

  /** Returns the frame, or the reason why it is invalid. */
  #read(bytes: Buffer, isBinary: boolean): Frame | string {
    const limit = this.#host.frameBytesMax;
    if (isBinary) return "binary frames are not spoken here";
    if (bytes.length > limit) return `longer than ${limit} bytes`;
    const parsed = parseJsonBody(bytes);
    if (!parsed.ok) {
      const { problem } = parsed.details;
      return typeof problem === "string" ? problem.replace("the body", "the frame") : "not valid JSON";
    }
    const { value } = parsed;
    if (value === null || typeof value !== "object" || Array.isArray(value)) return "not a JSON object";
    return value as Frame;
  }

  #operate(connection: Connection, frame: Frame, id: IdPart): void {
    switch (frame["op"]) {
      case "subscribe":
        this.#subscribe(connection, frame, id);
        break;
      case "unsubscribe":
        this.#end(connection, checked(this.#unsubscribe, frame).subs, id);
        break;
      case "resume": {
        const { subs, exchanges, walletId, credentials } = checked(this.#resume, frame);
        const common = {
          ...(exchanges === undefined ? {} : { exchanges }),
          ...(walletId === undefined ? {} : { walletId }),
          ...(credentials === undefined ? {} : { credentials }),
        };
        this.#resumeAll(
          connection,
          subs.map((wish) => ({ ...common, ...wish })),
          id,
        );
        break;
      }
      case "cancelOnDisconnect":
        this.#switch(connection, frame, id);
        break;
      case "ping":
        checked(this.#ping, frame);
        connection.send(this.#pongText({ type: "pong", ...id, ts: this.#host.wallMs() }));
        break;
      case "auth":
        this.#authenticate(connection, frame, id);
        break;
      case undefined:
        throw new ServiceError("MISSING_PARAMETERS", { fields: [{ path: "op", problem: "is required" }] });
      default:
        throw invalidParameters({ path: "op", problem: `must be one of ${OP_WORDS.join(", ")}` });
    }
  }

  #subscribe(connection: Connection, frame: Frame, id: IdPart): void {
    const { callers, topics } = this.#host;
    const wished = topics.topicOf(frame);
    if (!PUBLIC_TOPICS.has(wished)) callers.require(connection, "read");
    const payer = callers.payerOf(connection);
    const specs = topics.subscribed(frame, callers.ownerOf(connection), payer);
    const keys = this.#host.keys.open(connection, specs, callers.isNobody(connection), payer);
    try {
      this.#answerSubscribe(connection, keys, id);
    } finally {
      this.#host.keys.settle(keys);
    }
  }

  #answerSubscribe(connection: Connection, keys: readonly StreamKey[], id: IdPart): void {
    const subs = keys.map((key) => ({ sub: key.text, epoch: key.epoch, seq: connection.headOf(key) }));
    connection.send(this.#subscribedText({ type: "subscribed", ...id, subs }));
    for (const key of keys) {
      if (!connection.isOpen) return;
      if (!connection.holds(key.text)) connection.add(key);
    }
  }

  #resumeAll(connection: Connection, wishes: readonly ResumeWish[], id: IdPart): void {
    const { callers, topics } = this.#host;
    const bySub = new Map(wishes.map((wish) => [wish.sub, wish]));
    if (wishes.some(({ sub }) => topics.isPrivate(sub))) callers.require(connection, "read");
    const ownerId = callers.ownerOf(connection);
    const payer = callers.payerOf(connection);
    const specs = [...bySub.values()].map((wish) => topics.resumed(wish, ownerId, payer));
    const keys = this.#host.keys.open(connection, specs, callers.isNobody(connection), payer);
    try {
      this.#answerResume(connection, keys, bySub, id);
    } finally {
      this.#host.keys.settle(keys);
    }
  }

  #answerResume(
    connection: Connection,
    keys: readonly StreamKey[],
    bySub: ReadonlyMap<string, ResumeWish>,
    id: IdPart,
  ): void {
    let missedBytes = 0;
    const rows = keys.map((key) => {
      const wish = bySub.get(key.text);
      // A key that was just opened is at 0: the caller's position belongs to another epoch.
      const seq = wish !== undefined && wish.epoch === key.epoch && key.seq > 0 ? wish.seq : -1;
      const missedFrames = this.#missedFrames(connection, key, seq, missedBytes < this.#host.resumeBytesMax);
      for (const frame of missedFrames ?? []) missedBytes += frame.length;
      return { key, seq, missedFrames };
    });
    const subs = rows.map(({ key, seq, missedFrames }) => ({
      sub: key.text,
      epoch: key.epoch,
      seq: missedFrames === null ? connection.headOf(key) : seq,
      missed: missedFrames === null,
    }));
    connection.send(this.#resumedText({ type: "resumed", ...id, subs }));
    for (const { key, missedFrames } of rows) {
      if (!connection.isOpen) return;
      if (missedFrames === null) connection.restart(key, "RESUME_MISS");
      else connection.resume(key, missedFrames);
    }
  }

  /**
   * Returns the updates from `seq` to this connection's position; null if only a snapshot will do. Old updates are not
   * merged, and more of them than a buffer may hold would close the connection, each time again; a snapshot is smaller,
   * and waits for its turn.
   */
  #missedFrames(connection: Connection, key: StreamKey, seq: number, hasRoom: boolean): readonly string[] | null {
    if (connection.headOf(key) === seq) return [];
    // The state of a running subscription may be on its way: a repeated request wants it again. A reader too slow for
    // the shared frames is not sent old ones in addition.
    if (connection.holds(key.text) || !hasRoom || !connection.isKeepingUp) return null;
    return key.framesAfter(seq, this.#host.wallMs());
  }

  #end(connection: Connection, subs: readonly string[], id: IdPart): void {
    const ended = subs.filter((sub) => connection.remove(sub));
    if (ended.length === 0) throw new ServiceError("UNKNOWN_SUBSCRIPTION", { sub: subs[0] });
    connection.send(this.#unsubscribedText({ type: "unsubscribed", ...id, subs: ended }));
  }

  /** Replied to when the venues have answered; frames that arrive meanwhile may be answered earlier. */
  #switch(connection: Connection, frame: Frame, id: IdPart): void {
    const { callers, switches } = this.#host;
    const { enabled = true, ...wish } = checked(this.#cancelOnDisconnect, frame);
    callers.require(connection, "trade");
    if (switches === null) throw new ServiceError("NOT_SUPPORTED", { what: "cancelOnDisconnect" });
    const ownerId = callers.ownerOf(connection);
    const work = enabled
      ? switches.arm(connection, disconnectWish(this.#host.wallets, wish, ownerId, callers.payerOf(connection)))
      : switches.disarm(connection);
    work.then(
      (held) => connection.send(this.#switchesText({ type: "cancelOnDisconnect", ...id, switches: held.map(rowOf) })),
      (error: unknown) => this.error(connection, error, id),
    );
  }

  #authenticate(connection: Connection, frame: Frame, id: IdPart): void {
    const claim = this.#claimOf(frame);
    try {
      const proven = this.#host.callers.prove(connection, claim);
      if (proven === "TOO_MANY") this.#host.turnAway(connection);
      else if (proven.settled === null) this.#greet(connection, proven.caller, id);
      else this.#greetLater(connection, proven.caller, proven.settled, id);
    } catch (thrown) {
      const error = asServiceError(thrown);
      const isRefused = error.status === 401 || error.status === 403;
      const context = { ...error.context, serverTime: this.#host.wallMs() };
      this.error(connection, isRefused ? new ServiceError(error.code, context) : error, id);
      if (isRefused) connection.end(CLOSE_AUTH_FAILED, "AUTH_FAILED");
      else if (error.code === "RATE_LIMITED") connection.end(CLOSE_RATE_LIMITED, "RATE_LIMITED");
    }
  }

  #claimOf(frame: Frame): AuthClaim {
    if (frame["ticket"] === undefined) return checked(this.#auth, frame);
    if (["apiKey", "timestamp", "signature"].some((name) => frame[name] !== undefined))
      throw invalidParameters({ path: "ticket", problem: "must not be beside apiKey, timestamp or signature" });
    return checked(this.#authTicket, frame);
  }

  #greet(connection: Connection, { scopes }: Caller, id: IdPart): void {
    connection.send(this.#authenticatedText({ type: "authenticated", ...id, scopes: [...scopes] }));
  }

  /** What the client sends meanwhile is handled after it, in order. */
  #greetLater(connection: Connection, caller: Caller, settled: Promise<void>, id: IdPart): void {
    this.#held.set(connection, []);
    void settled.then(() => {
      const held = this.#held.get(connection) ?? [];
      this.#held.delete(connection);
      if (!this.#host.callers.believe(connection, caller)) return;
      this.#greet(connection, caller, id);
      for (const { bytes, isBinary } of held) if (connection.isOpen) this.handle(connection, bytes, isBinary);
    });
  }
}

interface DisconnectFields {
  readonly exchanges?: readonly RoutableVenue[];
  readonly walletId?: string;
  readonly credentials?: Readonly<Partial<Record<string, unknown>>>;
  readonly timeoutMs?: number;
  readonly graceMs?: number;
}

function disconnectWish(
  wallets: StoredWallets | null,
  fields: DisconnectFields,
  ownerId: string | null,
  payer: string | null,
): DisconnectWish {
  const { walletId, credentials } = fields;
  const blocks = blocksOfFrame(wallets, { walletId, walletAddress: null, ownerId }, credentials);
  const { timeoutMs = DISCONNECT_BOUNDS.defaultTimeoutMs, graceMs = 0 } = fields;
  const venues = fields.exchanges ?? ROUTABLE_VENUES.filter((venue) => (blocks[venue] ?? null) !== null);
  if (venues.length === 0)
    throw new ServiceError("MISSING_PARAMETERS", { fields: [{ path: "credentials", problem: "is required" }] });
  // More than half of the time is always left between two heartbeats.
  if (graceMs * 2 > timeoutMs)
    throw invalidParameters({ path: "graceMs", problem: `must be at most half of timeoutMs, ${timeoutMs}` });
  return { venues: [...new Set(venues)], blocks, timeoutMs, graceMs, ownerId, payer };
}

function rowOf({ facts, graceMs }: HeldSwitch) {
  const { venue: exchange, switchId, state, timeoutMs, venueArmed, venueSymbols } = facts;
  return { exchange, switchId, state, graceMs, timeoutMs, venueArmed, venueSymbols };
}

/** Repeated only when it is a text of legal length; any other id is refused with the frame. */
function idOf(frame: Frame): IdPart {
  const id = frame["id"];
  return typeof id === "string" && id.length <= MAX_ID_CHARS ? { id } : {};
}
