import { describe, expect, it } from "vitest";
import { createDesk, orderContext, orderName } from "./test/desk-harness.js";

const WEEK_AND_MORE_MS = 8 * 24 * 3_600_000;
const LIMIT = { type: "LIMIT", price: "95000" } as const;

describe("the caller's name of an order", () => {
  it("stays its own, and finds it, though our wall clock is set ahead of its day and of its retention", async () => {
    const harness = await createDesk();
    const placed = await harness.order({ ...LIMIT, clientOrderId: "mine" });
    harness.clock.stepWall(WEEK_AND_MORE_MS);
    // Rows past their time are swept away meanwhile.
    await harness.clock.advanceAsync(180_000);
    expect(await harness.place({ ...LIMIT, clientOrderId: "mine" })).toMatchObject({
      ok: false,
      code: "DUPLICATE_CLIENT_ORDER_ID",
    });
    expect(harness.venue.log).toHaveLength(1);
    const asked = harness.desk.orderStatus(orderName("mine"), orderContext(harness.clock));
    expect(await harness.run(asked)).toMatchObject({
      ok: true,
      order: { orderId: placed.orderId, clientOrderId: "mine" },
    });
  });
});
