/**
 * Cancels of all orders while the API is slow, answers are lost, the sequencer stands still and lets some expire, and
 * reads of transactions fail: one that is accepted has been executed, and one that is rejected never is. `FUZZ_SEED`
 * replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { delay } from "../../../engine/domain/clock.js";
import type { CancelAllOutcome } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import type { VenuethreeAccountStreams } from "../account/streams.js";
import { ready } from "../test/account-rows.js";
import { ACCOUNT, API_KEY, OPTIONS, PUBLIC_KEY, sentTx, settledOver } from "../test/trading-harness.js";
import { watchedOrders } from "./watched-orders.js";

const planted = vi.hoisted(() => ({ trustsTheApi: false }));
vi.mock(import("./change-confirmation.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    async confirmCancelAll(...asked) {
      const outcome = await original.confirmCancelAll(...asked);
      return planted.trustsTheApi && outcome.outcome === "unknown" ? ALL_CANCELED : outcome;
    },
  };
});

const ALL_CANCELED: CancelAllOutcome = { outcome: "accepted", canceledCount: null, failed: [] };
const LISTED_KEY = { account_index: ACCOUNT, api_key_index: API_KEY, nonce: 43, public_key: PUBLIC_KEY };
const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 74_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 20);
const CANCELS = 12;
const ANSWERS = CANCELS * 8;
const SEQUENCER_MS = 100;
/** Longer than a transaction lives. */
const STANDS_MS = 8_000;
/** After this long nothing of a cancel is under way. */
const OVER_MS = 60_000;

/** What the sequencer makes of it, and when; monotonic ms. */
interface Fate {
  readonly atMs: number;
  readonly isExecuted: boolean;
}

/** Accepted and not executed by then, or rejected and executed after all. */
async function wrongAnswers(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  const { harness, session } = ready();
  const { clock, http, trading } = harness;
  await trading.resolveKey(session, OPTIONS);
  const nowMs = (): number => clock.monoNs() / 1e6;
  const wallBeginMs = clock.wallMs() - nowMs();
  const fates = new Map<string, Fate>();

  const take = (request: HttpRequest): string => {
    const { fields, hash } = sentTx(request);
    const waitMs = random.next() < 0.6 ? SEQUENCER_MS : random.next() * STANDS_MS;
    const atMs = nowMs() + waitMs;
    fates.set(hash, { atMs, isExecuted: wallBeginMs + atMs < Number(fields["ExpiredAt"]) });
    return hash;
  };
  const send = async (request: HttpRequest): Promise<HttpResult> => {
    await delay(clock, random.next() < 0.7 ? 20 : random.next() * OPTIONS.timeoutMs);
    const dice = random.next();
    if (dice < 0.1) return http.response(429, "");
    if (dice < 0.2) return { kind: "noResponse", reason: "TIMEOUT" };
    const hash = take(request);
    if (dice < 0.3) return { kind: "noResponse", reason: "TIMEOUT" };
    return http.response(200, { code: 200, message: "{}", tx_hash: hash });
  };
  const read = (request: HttpRequest): HttpResult => {
    const fate = fates.get(new URLSearchParams(request.path.split("?")[1]).get("value") ?? "");
    if (random.next() < 0.2) return http.response(503, "");
    if (fate === undefined || fate.atMs > nowMs()) return http.response(200, { code: 200, status: 1, event_info: "" });
    if (!fate.isExecuted) return http.response(200, { code: 200, status: 0, event_info: "" });
    return http.response(200, { code: 200, status: 2, event_info: JSON.stringify({ ae: "" }) });
  };
  const answer = (request: HttpRequest): HttpResult | Promise<HttpResult> => {
    if (request.path.startsWith("/api/v1/nextNonce")) return http.response(200, { code: 200, nonce: 43 });
    if (request.path.startsWith("/api/v1/apikeys")) return http.response(200, { code: 200, api_keys: [LISTED_KEY] });
    return request.path.startsWith("/api/v1/tx?") ? read(request) : send(request);
  };
  for (let count = 0; count < ANSWERS; count++) http.step(answer);

  const streams = { watched: () => null } as unknown as VenuethreeAccountStreams;
  const orders = watchedOrders(
    trading,
    streams,
    trading.confirmation,
    new VerifiedReads<readonly VenuePosition[]>(clock),
  );
  const wrong: string[] = [];
  for (let cancel = 0; cancel < CANCELS; cancel++) {
    fates.clear();
    const asked = orders.cancelAll?.(session, null, OPTIONS);
    if (asked === undefined) throw new Error("the room has no cancel of all");
    const { outcome } = await settledOver(clock, asked);
    const executed = (byMs: number): boolean =>
      [...fates.values()].some((fate) => fate.isExecuted && fate.atMs <= byMs);
    const isWrong = outcome === "accepted" ? !executed(nowMs()) : outcome === "rejected" && executed(Infinity);
    if (isWrong) wrong.push(`cancel ${cancel}: ${outcome}`);
    clock.advance(OVER_MS);
  }
  return wrong;
}

afterEach(() => {
  planted.trustsTheApi = false;
});

describe("cancels of all orders of venuethree while its sequencer stands still", () => {
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))(
    "are accepted once they are executed, seed %i",
    async (seed) => {
      expect(await wrongAnswers(seed)).toEqual([]);
    },
  );

  it("are accepted too early where the API's yes is taken for the end: the judge sees that", async () => {
    planted.trustsTheApi = true;
    let wrongRuns = 0;
    for (let run = 0; run < RUNS; run++) if ((await wrongAnswers(FIRST_SEED + run)).length > 0) wrongRuns++;
    expect(wrongRuns).toBeGreaterThan(RUNS / 4);
  });
});
