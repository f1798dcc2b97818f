/** A streamed account of venuethree beside what its venue holds, LIVE. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, AccountReader, AccountSession, AccountStream, OrderSender } from "../../../engine/ports.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import { streamedReader } from "../account/streamed-reads.js";
import { watchedOrders } from "../orders/watched-orders.js";
import { account, position } from "./account-rows.js";
import { type AccountStreamsOptions, accountStreamsOf } from "./account-streams.js";
import { ACCOUNT, API_KEY, BTC, createHarness, type Harness, PUBLIC_KEY, sentTx } from "./trading-harness.js";

const CHANNELS = ["orders", "trades", "positions"] as const;

export interface TrustScene {
  readonly harness: Harness;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly session: AccountSession;
  readonly stream: AccountStream;
  readonly events: AccountEvent[];
  /** Names of the calls. */
  readonly calls: string[];
  readonly venue: {
    /** What it holds. */
    size: string;
    isRestDown: boolean;
    /** Pongs come. */
    isTalking: boolean;
    /** What answers of REST wait for. */
    gate: Promise<void>;
  };
  receive(name: (typeof CHANNELS)[number], rows: unknown, type?: string, sentAtMs?: number): void;
  /** A pong, where it talks. */
  pong(): void;
  wait(ms: number): Promise<void>;
  held(): number | null;
}

export async function turns(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}

export interface LiveOptions extends Pick<AccountStreamsOptions, "clockOffsetMs"> {
  /** What the streams take for the clock. */
  readonly streamsClock?: (clock: VirtualClock) => Clock;
}

export async function live({ clockOffsetMs, streamsClock }: LiveOptions = {}): Promise<TrustScene> {
  const harness = createHarness();
  const { clock, http, trading } = harness;
  const network = new FakeNetwork();
  const calls: string[] = [];
  const venue = { size: "0.02500", isRestDown: false, isTalking: true, gate: Promise.resolve() };
  const answer = (request: HttpRequest) => {
    http.step(answer);
    const name = /v1\/(\w+)/.exec(request.path)?.[1] ?? "";
    calls.push(name);
    if (name === "sendTx") return http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash });
    if (venue.isRestDown && name !== "apikeys") return http.response(503, "");
    const key = { account_index: ACCOUNT, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY };
    const accounts = [account({ positions: [position({ position: venue.size })] })];
    const response = http.response(200, { code: 200, orders: [], trades: [], accounts, api_keys: [key] });
    return venue.gate.then(() => response);
  };
  http.step(answer);
  const streams = accountStreamsOf(harness, network, {
    seed: 3,
    clock: streamsClock?.(clock) ?? clock,
    ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
  });
  const events: AccountEvent[] = [];
  const session = harness.open();
  const opened = streams.openAccountStream(session, (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  const readTx = async () => ({ ok: true, value: null, asOfMs: 0, source: "venue" }) as const;
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  const scene: TrustScene = {
    harness,
    reader: streamedReader(trading, streams, clock, 300, verified),
    orders: watchedOrders(trading, streams, { clock, cancelDelayMs: 0, readTx }, verified),
    session,
    stream: opened.stream,
    events,
    calls,
    venue,
    receive(name, rows, type = "update", timestamp = clock.wallMs()) {
      const channel = `account_all_${name}`;
      const frame = { type: `${type}/${channel}`, channel: `${channel}:${ACCOUNT}`, [name]: rows, timestamp };
      network.last.receive(JSON.stringify(frame));
    },
    pong() {
      if (venue.isTalking) network.last.receive('{"type":"pong"}');
    },
    async wait(ms) {
      for (let left = ms; left > 0; left -= 250) {
        clock.advance(Math.min(250, left));
        scene.pong();
        await turns();
      }
    },
    held() {
      const read = scene.reader.heldPositions?.(session, BTC) ?? null;
      return read?.ok === true ? (read.value[0]?.qtyLots ?? 0) : null;
    },
  };
  await turns();
  network.last.open();
  await scene.wait(100);
  for (const name of ["orders", "trades"] as const) scene.receive(name, {}, "subscribed");
  scene.receive("positions", { 1: position() }, "subscribed");
  await scene.wait(250);
  if (scene.held() !== 2_500) throw new Error(`not LIVE: ${JSON.stringify(events.at(-1))}`);
  return scene;
}
