/** What snapshots cost of the venue's weight: what was sent, and nothing else. */
import { expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import { SHALLOW_WEIGHT_RESERVED, SNAPSHOT_WEIGHT, SNAPSHOT_WEIGHT_AT_ONCE } from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";
import { SnapshotQueue } from "./snapshot-queue.js";

/** What is kept for best levels left out. */
const AT_ONCE = Math.floor((SNAPSHOT_WEIGHT_AT_ONCE - SHALLOW_WEIGHT_RESERVED) / SNAPSHOT_WEIGHT);

function slotOf(nativeSymbol: string): MarketSlot {
  const book = { state: "EMPTY" };
  const market = { instrument: { nativeSymbol }, book, ticker: { volume24h: "1" } };
  return { sync: { isLive: false, expectSnapshot: () => {} }, market } as unknown as MarketSlot;
}

function start() {
  const clock = new VirtualClock();
  const requests: HttpRequest[] = [];
  let isDown = false;
  const http: Pick<VenueHttp, "request"> = {
    request: async (request): Promise<HttpResult> => {
      if (isDown) return { kind: "notSent", reason: "CONNECT_FAILED", retryAfterMs: null };
      requests.push(request);
      return { kind: "response", status: 500, headers: {}, body: "" } as HttpResult;
    },
  };
  const queue = new SnapshotQueue({ clock, http: http as VenueHttp, needOf: () => 0 });
  const slots = Array.from({ length: 4 * AT_ONCE }, (_, index) => slotOf(`S${index}USDT`));
  return {
    ...{ clock, requests, queue, slots },
    setDown(value: boolean) {
      isDown = value;
    },
  };
}

it("a load that is dropped, or whose place another takes, while it waits is never sent", async () => {
  const { clock, queue, requests, slots } = start();
  const [first, second] = slots as [MarketSlot, MarketSlot];
  const answers = [queue.load(first, "whole"), queue.load(second, "whole"), queue.load(second, "whole")];
  queue.drop(first, "whole");
  await clock.advanceAsync(60_000);
  expect(await Promise.all(answers)).toEqual([null, null, null]);
  expect(requests.map(({ path }) => /symbol=(\w+)/.exec(path)?.[1])).toEqual(["S1USDT"]);
});

it("a load that never left this machine costs nothing: what is asked for after it is sent at once", async () => {
  const { clock, queue, requests, setDown, slots } = start();
  setDown(true);
  for (const slot of slots) {
    void queue.load(slot, "whole");
    await clock.advanceAsync(1);
  }
  setDown(false);
  for (const slot of slots.slice(0, AT_ONCE)) void queue.load(slot, "whole");
  await clock.advanceAsync(500);
  expect(requests).toHaveLength(AT_ONCE);
});
