/** A running local venue on a virtual clock, and plain calls to it. Shared by this room's tests. */
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { type Frame, type Listener, listenTo } from "../../core/test/listener.js";
import type { VenuefourSimOptions } from "../wire/options.js";
import { startVenuefourSim, type VenuefourSim } from "../sim.js";

export interface TestVenue {
  readonly venue: VenuefourSim;
  readonly clock: VirtualClock;
}

export async function startTestVenue(options: Partial<VenuefourSimOptions> = {}): Promise<TestVenue> {
  const clock = new VirtualClock();
  const venue = await startVenuefourSim({
    seed: 5,
    clock,
    symbols: ["BTC", "ETH", "kPEPE"],
    flow: { levelCount: 40, tradesPerSecond: 20 },
    limits: { creditsPerMinute: 100_000 },
    cadences: { speedBumpMs: 0 },
    ...options,
  });
  return { venue, clock };
}

export function connect(venue: VenuefourSim): Promise<Listener> {
  return listenTo(venue.wsUrl);
}

export async function subscribe(listener: Listener, params: object): Promise<void> {
  listener.send({ method: "subscribe", params });
  await listener.drained();
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
}

export async function get(venue: VenuefourSim, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(await fetch(`${venue.restUrl}/api/v1/${path}`, { headers }));
}

export async function post(venue: VenuefourSim, path: string, body: unknown): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json" };
  return answerOf(await fetch(`${venue.restUrl}/api/v1/${path}`, { method: "POST", headers, body: text }));
}

export async function control(venue: VenuefourSim, name: string, body: object): Promise<Answer> {
  return answerOf(await fetch(`${venue.restUrl}/_sim/${name}`, { method: "POST", body: JSON.stringify(body) }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, text, headers: response.headers, json: readObject(text) };
}

function readObject(text: string): Answer["json"] {
  try {
    return JSON.parse(text) as Answer["json"];
  } catch {
    // Some answers are plain text; the test looks at it.
    return {};
  }
}

export interface WireLevel {
  readonly p: string;
  readonly a: string;
  readonly n: number;
}

export interface WireBook {
  readonly l: readonly [readonly WireLevel[], readonly WireLevel[]];
  readonly s: string;
  readonly t: number;
  readonly li: number;
}

export function booksOf(listener: Listener): WireBook[] {
  return listener.frames.filter((frame) => frame.channel === "book").map((frame) => frame.data as WireBook);
}

export function dataOf(frame: Frame | undefined): Readonly<Record<string, unknown>> {
  return frame?.data as Readonly<Record<string, unknown>>;
}
