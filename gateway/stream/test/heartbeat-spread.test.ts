/** Heartbeats of connections that came at once do not come at once: other requests wait for each of them. */
import { afterEach, expect, it } from "vitest";
import { DEFAULT_STREAM_LIMITS } from "../limits.js";
import { VirtualStream } from "./virtual-stream.js";

const CLIENTS = 1_280;
const STEP_MS = 100;

let stream: VirtualStream;

afterEach(() => stream.hub.stop());

it("the hub spreads the heartbeats of connections that came at once over the interval, from the first one on", () => {
  stream = new VirtualStream();
  const clients = Array.from({ length: CLIENTS }, () => stream.connect(new Map()));
  const heartbeats = (): number =>
    clients.reduce((sum, { frames }) => sum + frames.filter(({ type }) => type === "heartbeat").length, 0);
  const perStep: number[] = [];
  let before = 0;
  const { heartbeatMs } = DEFAULT_STREAM_LIMITS;
  for (let atMs = 0; atMs < 3 * heartbeatMs; atMs += STEP_MS) {
    stream.advance(STEP_MS);
    const now = heartbeats();
    perStep.push(now - before);
    before = now;
  }
  expect(before).toBeGreaterThanOrEqual(2 * CLIENTS);
  expect(Math.max(...perStep)).toBeLessThanOrEqual((4 * CLIENTS * STEP_MS) / heartbeatMs);
});
