/**
 * Checks every frame of the stream against the AsyncAPI document: a frame that does not match it fails the test that
 * received it. Also folds frames as a client would.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { crc32 } from "node:zlib";
import { buildAsyncApi } from "../../../schemas/asyncapi.js";

export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly sub: string;
  readonly epoch: string;
  readonly seq: number;
  readonly prevSeq: number;
  readonly ts: number;
  readonly reason?: string;
  readonly code: string;
  readonly error: string;
  readonly details: Record<string, unknown>;
  readonly data: Record<string, Record<string, unknown>>;
  readonly subs: readonly SubRow[];
  readonly heads: Record<string, number>;
  readonly feeds: Record<string, { state: string; ageMs: number | null; breaker: string }>;
  readonly n: number;
  readonly retryAfterMs: number;
}

export interface SubRow {
  readonly sub: string;
  readonly epoch: string;
  readonly seq: number;
  readonly missed?: boolean;
}

const MESSAGE_OF: Readonly<Record<string, string>> = {
  subscribed: "Subscribed",
  resumed: "Resumed",
  unsubscribed: "Unsubscribed",
  cancelOnDisconnect: "DisconnectSwitches",
  pong: "Pong",
  authenticated: "Authenticated",
  lagging: "Lagging",
  heartbeat: "Heartbeat",
  error: "StreamError",
  status: "Notice",
  resync: "Resync",
};

const TOPIC_MESSAGE: Readonly<Record<string, string>> = {
  ticker: "Ticker",
  book: "Book",
  status: "Status",
  positions: "Positions",
  orders: "Orders",
  transfers: "Transfers",
};

export class FrameJudge {
  /** Names of the messages seen. */
  readonly seen = new Set<string>();
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();

  constructor() {
    // Stops at the first error, which is enough to fail and cheap: tens of thousands of frames pass through here.
    this.#ajv = new Ajv2020({ strict: false });
    this.#ajv.addSchema(buildAsyncApi(), "asyncapi");
  }

  /** Returns the frame as an object; throws when it does not match the document. */
  check(text: string): Frame {
    const frame = JSON.parse(text) as Frame;
    const name = nameOf(frame);
    const validate = this.#validator(name);
    if (!validate(frame)) throw new Error(`off the document: ${name} ${JSON.stringify(validate.errors)} in ${text}`);
    this.seen.add(name);
    return frame;
  }

  #validator(name: string): ValidateFunction {
    const known = this.#validators.get(name);
    if (known !== undefined) return known;
    const validate = this.#ajv.compile({ $ref: `asyncapi#/components/schemas/${name}` });
    this.#validators.set(name, validate);
    return validate;
  }
}

function nameOf(frame: Frame): string {
  const fixed = MESSAGE_OF[frame.type];
  if (fixed !== undefined) return fixed;
  const topic = TOPIC_MESSAGE[frame.sub.split(":", 1)[0] ?? ""];
  if (topic === undefined || (frame.type !== "snapshot" && frame.type !== "update"))
    throw new Error(`a frame of no kind: ${JSON.stringify(frame)}`);
  return topic + (frame.type === "snapshot" ? "Snapshot" : "Update");
}

type Sides = { bids: Map<string, string>; asks: Map<string, string> };

/** What a client knows of one subscription, folded from its frames by the published rules alone. */
export class Fold {
  readonly sub: string;
  epoch = "";
  seq = 0;
  frameCount = 0;
  crcCount = 0;
  /** Merged fields by venue (`ticker`), or the whole data (`status`). */
  readonly fields: Record<string, Record<string, unknown>> = {};
  readonly books: Record<string, Sides> = {};
  /** Rows of `positions` and `orders`, by key. */
  readonly rows = new Map<string, Record<string, unknown>>();
  /** `[event, row key]` of every update of such a topic. */
  readonly events: [string, string][] = [];

  constructor(sub: string) {
    this.sub = sub;
  }

  /** Throws on a gap, a wrong epoch or a wrong checksum. */
  take(frame: Frame): void {
    this.frameCount++;
    if (frame.type === "snapshot") {
      this.epoch = frame.epoch;
      for (const name of Object.keys(this.fields)) delete this.fields[name];
      for (const name of Object.keys(this.books)) delete this.books[name];
      this.rows.clear();
    } else {
      if (frame.epoch !== this.epoch) throw new Error(`${this.sub}: epoch ${frame.epoch} after ${this.epoch}`);
      if (frame.prevSeq !== this.seq) throw new Error(`${this.sub}: prevSeq ${frame.prevSeq} after ${this.seq}`);
      if (frame.seq <= frame.prevSeq) throw new Error(`${this.sub}: seq ${frame.seq} after ${frame.prevSeq}`);
    }
    this.seq = frame.seq;
    if (this.sub.startsWith("positions:")) {
      this.#takePositions(frame.data);
      return;
    }
    if (this.sub.startsWith("orders:")) {
      this.#takeOrders(frame);
      return;
    }
    if (this.sub.startsWith("transfers:")) {
      this.#takeTransfers(frame);
      return;
    }
    for (const [name, member] of Object.entries(frame.data)) {
      if (typeof member !== "object") continue;
      if (this.sub.startsWith("book:")) this.#takeBook(name, member);
      else this.fields[name] = { ...this.fields[name], ...member };
    }
  }

  /** `[price, size]`, best first. */
  levels(venue: string, side: "bids" | "asks"): [string, string][] {
    const sign = side === "bids" ? -1 : 1;
    return [...(this.books[venue]?.[side] ?? [])].sort((a, b) => sign * (Number(a[0]) - Number(b[0])));
  }

  #takePositions(data: Frame["data"]): void {
    const { positions, events, coverage } = data as unknown as {
      readonly positions: readonly Record<string, unknown>[];
      readonly events?: readonly string[];
      readonly coverage?: Record<string, Record<string, unknown>>;
    };
    if (events !== undefined && events.length !== positions.length) throw new Error(`${this.sub}: events do not pair`);
    for (const [index, row] of positions.entries()) {
      const id = row["positionId"] === undefined ? "" : `|${String(row["positionId"])}`;
      const key = `${String(row["exchange"])}|${String(row["symbol"])}|${String(row["direction"])}${id}`;
      const event = events?.[index] ?? "";
      const isGone = row["size"] === "0";
      if (events !== undefined) {
        this.events.push([event, key]);
        if (this.rows.has(key) === (event === "opened")) throw new Error(`${this.sub}: ${event} of ${key}`);
        if (isGone !== (event === "closed" || (event === "liquidated" && isGone)))
          throw new Error(`${this.sub}: ${event} with size ${String(row["size"])}`);
      } else if (isGone) throw new Error(`${this.sub}: a snapshot shows what is gone`);
      if (isGone) this.rows.delete(key);
      else this.rows.set(key, row);
    }
    Object.assign(this.fields, coverage ?? {});
  }

  #takeTransfers(frame: Frame): void {
    const data = frame.data as unknown as {
      readonly transfers?: readonly Record<string, unknown>[];
      readonly event?: string;
      readonly transfer?: Record<string, unknown>;
    };
    for (const transfer of data.transfers ?? [data.transfer ?? {}]) {
      const id = String(transfer["transferId"]);
      if (data.event !== undefined) this.events.push([data.event, id]);
      if (data.event === "transfer.created" && this.rows.has(id))
        throw new Error(`${this.sub}: ${id} is created, and was there`);
      this.rows.set(id, transfer);
    }
  }

  #takeOrders(frame: Frame): void {
    const data = frame.data as unknown as Record<string, unknown>;
    const set = (order: Record<string, unknown>) => {
      const key = `${String(order["exchange"])}|${String(order["symbol"])}|${String(order["orderId"])}`;
      const isOpen = order["status"] === "OPEN" || order["status"] === "PARTIALLY_FILLED";
      if (isOpen) this.rows.set(key, order);
      else if (data["event"] !== "fill" || order["status"] !== "UNKNOWN") this.rows.delete(key);
      return key;
    };
    if (frame.type === "snapshot") {
      for (const order of data["orders"] as Record<string, unknown>[]) set(order);
      Object.assign(this.fields, data["coverage"]);
      return;
    }
    const event = String(data["event"]);
    if (event === "order" || event === "fill") this.events.push([event, set(data["order"] as Record<string, unknown>)]);
    else this.events.push([event, ""]);
    if (event === "coverage") Object.assign(this.fields, data["coverage"]);
  }

  #takeBook(venue: string, member: Record<string, unknown>): void {
    const sides = this.books[venue] ?? { bids: new Map(), asks: new Map() };
    this.books[venue] = sides;
    for (const side of ["bids", "asks"] as const) {
      for (const [price, size] of member[side] as [string, string][]) {
        if (size === "0") sides[side].delete(price);
        else sides[side].set(price, size);
      }
    }
    const { state } = member;
    this.fields[venue] = { ...this.fields[venue], ...(state === undefined ? {} : { state }) };
    if (member["crc"] === undefined) return;
    this.crcCount++;
    const top = (side: "bids" | "asks") =>
      this.levels(venue, side)
        .slice(0, 10)
        .map((level) => level.join(":"));
    const crc = crc32([...top("bids"), ...top("asks")].join("|"));
    if (crc !== member["crc"]) throw new Error(`${this.sub}: crc ${String(member["crc"])} of ${venue}, folded ${crc}`);
  }
}
